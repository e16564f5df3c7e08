//! From a run's folder to its report.

use std::path::Path;

use mpu_prior::report::Note;
use mpu_report::Record;
use mpu_report::figures::{Answers, PriorSensitivity};
use mpu_report::run_report::{Fact, Part, RunReport};

use super::{facts, parts, pool, thresholds, verdict};
use crate::classifier::Classifier;
use crate::error::{Context as _, Result, bail};
use crate::files::file_name;
use crate::folder::{ModelCard, RunFolder};
use crate::judge::{self, ByPu, ByTruth, Known, RowsOptions, ScoredRows};

/// Why parts that need true labels are not there.
const NO_TRUTH: &str = "they need rows with true labels, which can be named with --data";

/// Why parts that come from labelled and unlabelled rows are not there.
pub(crate) const NO_PU: &str = "the run kept no rows out of training (data.validation-share is 0)";

/// What the parts are measured on.
pub(crate) struct Measured {
    pub(crate) truth: Option<(ScoredRows, ByTruth)>,
    /// Why there is none.
    pub(crate) no_truth: String,
    pub(crate) pu: Option<(ScoredRows, ByPu)>,
}

impl Measured {
    fn of(model: &Classifier, data: Option<&Path>, options: &RowsOptions) -> Result<Self> {
        let mut no_truth = NO_TRUTH.to_owned();
        let (mut truth, mut pu) = (None, judge::held_out(model));
        match data {
            Some(file) => {
                let scored = judge::of_file(model, file, options)?;
                match scored.known {
                    Known::Truths(_) => truth = Some(scored),
                    Known::Pu(_) => pu = Some(scored),
                }
            }
            // A model in memory names no test rows.
            None if model.folder().is_none() => {}
            None => match judge::test_rows(model) {
                Ok(found) => truth = found,
                Err(error) => {
                    let error = error.to_string();
                    let first = error.lines().next().unwrap_or_default();
                    no_truth = format!("the run's test rows are not here ({first})");
                }
            },
        }
        let truth = truth.map(|scored| -> Result<_> {
            let Known::Truths(truths) = &scored.known else {
                bail!("rows without true labels where they are needed");
            };
            let found = ByTruth::new(model, &model.rule(), truths, &scored.scores)?;
            Ok((scored, found))
        });
        let pu = pu.map(|scored| -> Result<_> {
            let Known::Pu(labels) = &scored.known else {
                bail!("rows with true labels where they are not expected");
            };
            let found = ByPu::new(model, &model.rule(), labels, &scored.scores)?;
            Ok((scored, found))
        });
        Ok(Self {
            truth: truth.transpose()?,
            no_truth,
            pu: pu.transpose()?,
        })
    }

    /// All rows.
    fn scored(&self) -> impl Iterator<Item = &ScoredRows> {
        let truth = self.truth.iter().map(|(scored, _)| scored);
        truth.chain(self.pu.iter().map(|(scored, _)| scored))
    }
}

/// The report of one run.
///
/// It is judged by the rows of `data`, if given, else by the rows that its run held out and tested on.
pub fn of_folder(path: &Path, data: Option<&Path>, options: &RowsOptions) -> Result<RunReport> {
    let model = Classifier::load(path)?;
    let record = &RunFolder::open(path)?.finished()?;
    let name = std::path::absolute(path)?;
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    report(&model, record, &name, &Measured::of(&model, data, options)?)
}

/// The report of a classifier that need not be in a folder, judged by the rows that its run held out.
pub fn of_classifier(model: &Classifier) -> Result<RunReport> {
    let record = model.record();
    let record = record.context("the model has no record of its run")?;
    let measured = Measured::of(model, None, &RowsOptions::default())?;
    report(model, record, &model.card().dataset, &measured)
}

fn report(
    model: &Classifier,
    record: &Record,
    name: &str,
    measured: &Measured,
) -> Result<RunReport> {
    let truth = measured.truth.as_ref();
    let pu = measured.pu.as_ref();
    let judged = truth.map(|(scored, _)| scored).or(pu.map(|(s, _)| s));
    let curve = judged.map(|scored| thresholds::curve(model, scored));
    let expected = pool::expected(model)?;
    let verdict = expected.as_ref();
    let verdict = verdict.map(|expected| verdict::verdict(model, expected, measured));
    let (histograms, precision_recall) = match pu {
        None => (None, None),
        Some((scored, _)) => (
            pool::histograms(model, scored)?,
            pool::precision_recall(model, scored)?,
        ),
    };
    let no_probabilities = "they need probabilities, which are fitted to rows held out of training (data.validation-share is 0)";
    let no_table = "the run used a benchmark, not your own data";
    let no_importances = match &model.card().schema {
        None => no_table,
        Some(schema) if schema.is_images() => "images have no columns",
        Some(_) => "an earlier version made the run",
    };
    Ok(RunReport {
        name: name.to_owned(),
        verdict: verdict.transpose()?,
        facts: facts(model, record, measured),
        model: facts::of_model(model, record),
        warnings: warnings(model, measured),
        doubts: doubts(model, measured),
        measured_on: match (truth, &record.scores) {
            (Some((scored, _)), _) => scored.rows.clone(),
            (None, Some(_)) => on_split("test rows while training", record),
            (None, None) => String::new(),
        },
        estimated_on: pu.map_or_else(String::new, |(scored, _)| on_split(&scored.rows, record)),
        scores: parts::scores(model, record, measured),
        expected: Part::or_missing(expected, no_table),
        histograms: Part::or_missing(histograms, no_probabilities),
        precision_recall: Part::or_missing(precision_recall, no_probabilities),
        importances: Part::or_missing(pool::importances(model), no_importances),
        class_scores: parts::class_scores(measured),
        class_estimates: parts::class_estimates(model.names(), measured),
        curves: parts::curves(model),
        answers: Part::or_missing(
            truth.map(|(scored, found)| Answers {
                rows: scored.rows.clone(),
                classes: model.names().to_vec(),
                counts: found.confusion.clone(),
                margins: found.true_margins.clone(),
            }),
            &measured.no_truth,
        ),
        reliability: parts::reliability(model.names(), measured),
        thresholds: Part::or_missing(curve.transpose()?.flatten(), no_probabilities),
        priors: Part::Given(parts::priors(model)),
        sensitivity: Part::or_missing(
            pu.map(|(_, found)| PriorSensitivity::new(&found.counted, &found.sensitivity)),
            NO_PU,
        ),
        data_check: parts::data_check(model),
        config_toml: without_folders(model.config()),
    })
}

/// A configuration that names files without the folders they are in: a report goes to other people.
fn without_folders(config: &str) -> String {
    const FILES: [&str; 5] = ["file", "test", "unlabeled", "positives", "labels"];
    let shown = |line: &str| {
        let quoted = line.split_once(" = ");
        match quoted {
            Some((key, value)) if FILES.contains(&key) => {
                let path = value.trim_matches(['"', '\'']);
                let name = file_name(Path::new(path));
                format!("{key} = \"{name}\"\n")
            }
            _ => format!("{line}\n"),
        }
    };
    config.lines().map(shown).collect()
}

fn warnings(model: &Classifier, measured: &Measured) -> Vec<String> {
    let card = model.card();
    let mut warnings = Vec::new();
    if let Some(mark) = &card.data_mark {
        warnings.push(format!("The data are not as published: {mark}."));
    }
    if card.method.uses_hidden_labels() {
        warnings.push("The method sees labels that a user does not have.".to_owned());
    }
    for suspect in card.check.iter().flat_map(|check| &check.leakage) {
        warnings.push(format!(
            "Column `{}` alone almost tells labelled from unlabelled rows. If it only records how the rows were gathered, \
             leave it out with `--exclude`.",
            suspect.column
        ));
    }
    let scored = measured.scored();
    let noticed = scored.flat_map(|scored| &scored.noticed.warnings);
    warnings.extend(noticed.map(|phrase| sentence(phrase)));
    warnings
}

/// What is doubtful of priors and estimates.
fn doubts(model: &Classifier, measured: &Measured) -> Vec<String> {
    let mut told = prior_warnings(model.card());
    let doubts = measured.pu.iter().flat_map(|(_, found)| &found.doubts);
    told.extend(doubts.map(|phrase| sentence(phrase)));
    told
}

/// What is to be minded of the priors. A bound that does not hold says the same of every class.
fn prior_warnings(card: &ModelCard) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut unbounded = Vec::new();
    let classes = card.estimated_priors.iter().flat_map(|r| &r.classes);
    for (class, name) in classes.zip(&card.class_names) {
        for note in &class.notes {
            match note {
                Note::LowerAboveUpper { .. } => unbounded.push(name.as_str()),
                note => warnings.push(format!("Prior of class {name}: {note}.")),
            }
        }
    }
    if !unbounded.is_empty() {
        warnings.push(format!(
            "Priors of {}: the lower bound does not hold, because other classes look too similar; it is left out.",
            unbounded.join(", ")
        ));
    }
    warnings
}

fn facts(model: &Classifier, record: &Record, measured: &Measured) -> Vec<Fact> {
    let card = model.card();
    let mut facts = facts::of_run(record, facts::data(card), facts::priors_from(card));
    let notes = measured.scored().flat_map(|scored| &scored.noticed.notes);
    let notes: Vec<&str> = notes.map(String::as_str).collect();
    if !notes.is_empty() {
        facts.push(Fact::new("rows judged", notes.join("; ")));
    }
    facts
}

/// A phrase as a sentence.
pub(crate) fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// Rows, and the split they are of.
pub(crate) fn on_split(rows: &str, record: &Record) -> String {
    let digest: String = record.split_digest.chars().take(8).collect();
    format!("{rows} (split {digest})")
}
