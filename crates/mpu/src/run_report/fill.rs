//! From a run's folder to its report.

use std::path::Path;

use mpu_prior::report::Note;
use mpu_report::Record;
use mpu_report::figures::{Answers, PriorSensitivity};
use mpu_report::run_report::{Fact, Part, RunReport};

use super::{facts, parts, thresholds};
use crate::classifier::Classifier;
use crate::error::{Result, bail};
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
    let measured = Measured::of(&model, data, options)?;
    let name = std::path::absolute(path)?;
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let truth = measured.truth.as_ref();
    let pu = measured.pu.as_ref();
    let judged = truth.map(|(scored, _)| scored).or(pu.map(|(s, _)| s));
    let curve = judged.map(|scored| thresholds::curve(&model, scored));
    Ok(RunReport {
        name: name.into_owned(),
        facts: facts(&model, record, &measured),
        model: facts::of_model(&model, record),
        warnings: warnings(&model, &measured),
        measured_on: measured_on(record, &measured),
        scores: parts::scores(&model, record, &measured),
        class_scores: parts::class_scores(model.names(), &measured),
        curves: parts::curves(&model),
        answers: Part::or_missing(
            truth.map(|(scored, found)| Answers {
                rows: scored.rows.clone(),
                classes: model.names().to_vec(),
                counts: found.confusion.clone(),
                margins: found.true_margins.clone(),
            }),
            &measured.no_truth,
        ),
        reliability: parts::reliability(model.names(), &measured),
        thresholds: Part::or_missing(
            curve.transpose()?.flatten(),
            "they need probabilities, which are fitted to rows held out of training (data.validation-share is 0)",
        ),
        priors: Part::Given(parts::priors(&model)),
        sensitivity: Part::or_missing(
            pu.map(|(_, found)| PriorSensitivity::new(&found.counted, &found.sensitivity)),
            NO_PU,
        ),
        data_check: parts::data_check(&model)?,
        config_toml: model.config().to_owned(),
    })
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
    warnings.extend(prior_warnings(card));
    for suspect in card.check.iter().flat_map(|check| &check.leakage) {
        warnings.push(format!(
            "Column {} alone almost separates labelled from unlabelled rows (AUC {:.3}): suspected leakage.",
            suspect.column, suspect.auc
        ));
    }
    let doubts = measured.pu.iter().flat_map(|(_, found)| &found.doubts);
    let noticed = measured
        .scored()
        .flat_map(|scored| &scored.noticed.warnings);
    warnings.extend(doubts.chain(noticed).map(|phrase| sentence(phrase)));
    warnings
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
    let notes: Vec<&str> = measured
        .scored()
        .flat_map(|scored| &scored.noticed.notes)
        .map(String::as_str)
        .collect();
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

fn measured_on(record: &Record, measured: &Measured) -> String {
    let mut parts = Vec::new();
    if let Some((scored, _)) = &measured.truth {
        parts.push(scored.rows.clone());
    } else if record.scores.is_some() {
        parts.push("test rows while training".to_owned());
    }
    if let Some((scored, _)) = &measured.pu {
        parts.push(scored.rows.clone());
    }
    if parts.is_empty() {
        return String::new();
    }
    on_split(&parts.join("; estimates: "), record)
}

/// Rows, and the split they are of.
pub(crate) fn on_split(rows: &str, record: &Record) -> String {
    let digest: String = record.split_digest.chars().take(8).collect();
    format!("{rows} (split {digest})")
}
