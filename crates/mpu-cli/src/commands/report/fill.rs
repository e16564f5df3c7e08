//! From a run's folder to its report.

use std::path::Path;

use anyhow::Context as _;
use mpu_report::Format;
use mpu_report::figures::{
    Answers, ClassReliability, CurveKind, PriorClass, PriorEstimates, PriorSensitivity,
    Reliability, ReliabilityBin, RunCurve, RunCurves, SensitivityCurve,
};
use mpu_report::run_report::{Basis, ClassScore, DataCheck, Part, RunReport, Score, ScoreKind};
use mpu_train::EpochMetrics;
use mpu_train::PuJudgement;
use mpu_train::pu_metrics::Estimate;
use mpu_train::reliability::calibration_error;

use super::{facts, thresholds};
use crate::args::evaluate::RowsArgs;
use crate::commands::evaluate::by_pu::ByPu;
use crate::commands::evaluate::by_truth::ByTruth;
use crate::commands::evaluate::rows::{self, Known, Scored};
use crate::commands::{check, prior};
use crate::files;
use crate::run_folder::{Model, Summary};

/// Why parts that need true labels are not there.
const NO_TRUTH: &str = "they need rows with true labels, which can be named with --data";

/// Why parts that come from labelled and unlabelled rows are not there.
const NO_PU: &str = "the run kept no rows out of training (data.validation-share is 0)";

/// What the parts are measured on.
struct Measured {
    truth: Option<(Scored, ByTruth)>,
    /// Why there is none.
    no_truth: String,
    pu: Option<(Scored, ByPu)>,
}

impl Measured {
    fn of(model: &Model, args: &RowsArgs) -> anyhow::Result<Self> {
        let mut no_truth = NO_TRUTH.to_owned();
        let (mut truth, mut pu) = (None, rows::held_out(model)?);
        match &args.data {
            Some(file) => {
                let scored = rows::of_file(model, file, args)?;
                match scored.known {
                    Known::Truths(_) => truth = Some(scored),
                    Known::Pu(_) => pu = Some(scored),
                }
            }
            None => match rows::test_rows(model) {
                Ok(found) => truth = found,
                Err(error) => {
                    let error = format!("{error:#}");
                    let first = error.lines().next().unwrap_or_default();
                    no_truth = format!("the run's test rows are not here ({first})");
                }
            },
        }
        let truth = truth.map(|scored| -> anyhow::Result<_> {
            let Known::Truths(truths) = &scored.known else {
                anyhow::bail!("rows without true labels where they are needed");
            };
            let card = &model.card;
            let calibration = card.calibration.as_ref();
            let found = ByTruth::new(&card.class_names, truths, &scored.scores, calibration)?;
            Ok((scored, found))
        });
        let pu = pu.map(|scored| -> anyhow::Result<_> {
            let Known::Pu(labels) = &scored.known else {
                anyhow::bail!("rows with true labels where they are not expected");
            };
            let found = ByPu::new(model, labels, &scored.scores)?;
            Ok((scored, found))
        });
        Ok(Self {
            truth: truth.transpose()?,
            no_truth,
            pu: pu.transpose()?,
        })
    }
}

/// The report of one run.
pub(super) fn run(path: &Path, args: &RowsArgs) -> anyhow::Result<RunReport> {
    let model = Model::open(path)?;
    let summary = summary(&model)?;
    let measured = Measured::of(&model, args)?;
    let card = &model.card;
    let config = model.folder.file("config.toml");
    let config_toml = String::from_utf8_lossy(&files::read(&config)?).into_owned();
    let name = std::path::absolute(path)?;
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    let truth = measured.truth.as_ref();
    let pu = measured.pu.as_ref();
    let judged = truth.map(|(scored, _)| scored).or(pu.map(|(s, _)| s));
    let curve = judged.map(|scored| thresholds::curve(&model, scored));
    Ok(RunReport {
        name: name.into_owned(),
        facts: facts::of_run(&model, &summary),
        model: facts::of_model(&model, &summary),
        warnings: warnings(&model, &measured),
        measured_on: measured_on(&summary, &measured),
        scores: scores(&summary, &measured),
        class_scores: class_scores(&card.class_names, &measured),
        curves: curves(&model, &summary)?,
        answers: Part::or_missing(
            truth.map(|(scored, found)| Answers {
                rows: scored.rows.clone(),
                classes: card.class_names.clone(),
                counts: found.confusion.clone(),
                margins: found.true_margins.clone(),
            }),
            &measured.no_truth,
        ),
        reliability: reliability(&card.class_names, &measured),
        thresholds: Part::or_missing(
            curve.transpose()?.flatten(),
            "they need probabilities, which are fitted to rows held out of training (data.validation-share is 0)",
        ),
        priors: Part::Given(priors(&model)),
        sensitivity: Part::or_missing(pu.map(|(_, found)| sensitivity(found)), NO_PU),
        data_check: data_check(&model)?,
        config_toml,
    })
}

fn summary(model: &Model) -> anyhow::Result<Summary> {
    let file = model.folder.file("summary.json");
    let bytes = files::read(&file).with_context(|| {
        let path = model.folder.path().display();
        format!("the run is not finished\nhint: go on with `mpu-cli train --resume {path}`")
    })?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", file.display()))
}

fn warnings(model: &Model, measured: &Measured) -> Vec<String> {
    let card = &model.card;
    let mut warnings = Vec::new();
    if let Some(mark) = &card.data_mark {
        warnings.push(format!("The data are not as published: {mark}."));
    }
    if card.method.uses_hidden_labels() {
        warnings.push("The method sees labels that a user does not have.".to_owned());
    }
    if let Some(report) = &card.estimated_priors {
        for (class, name) in report.classes.iter().zip(&card.class_names) {
            let notes = class.notes.iter();
            warnings.extend(notes.map(|note| format!("Prior of class {name}: {note}.")));
        }
    }
    for suspect in card.check.iter().flat_map(|check| &check.leakage) {
        warnings.push(format!(
            "Column {} tells labelled from unlabelled rows almost alone (AUC {:.3}): suspected leakage.",
            suspect.column, suspect.auc
        ));
    }
    if let Some((scored, found)) = &measured.pu {
        warnings.extend(
            found
                .doubts
                .iter()
                .chain(&scored.notes)
                .map(|d| sentence(d)),
        );
    }
    if let Some((scored, _)) = &measured.truth {
        warnings.extend(scored.notes.iter().map(|note| sentence(note)));
    }
    warnings
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn measured_on(summary: &Summary, measured: &Measured) -> String {
    let mut parts = Vec::new();
    if let Some((scored, _)) = &measured.truth {
        parts.push(scored.rows.clone());
    } else if summary.last.test_accuracy.is_some() {
        parts.push("test rows while training".to_owned());
    }
    if let Some((scored, _)) = &measured.pu {
        parts.push(scored.rows.clone());
    }
    if parts.is_empty() {
        return String::new();
    }
    let digest: String = summary.split_digest.chars().take(8).collect();
    format!("{} (split {digest})", parts.join("; estimates: "))
}

fn share(name: &str, basis: Basis, value: f64) -> Score {
    Score::new(name, ScoreKind::Share, basis, value)
}

fn scores(summary: &Summary, measured: &Measured) -> Vec<Score> {
    let mut scores = Vec::new();
    let last = &summary.last;
    let by_truth = |name: &str, value: f64| share(name, Basis::TrueLabels, value);
    if let Some((_, found)) = &measured.truth {
        scores.push(by_truth("accuracy", found.accuracy));
        scores.push(by_truth("macro precision", found.macro_precision));
        scores.push(by_truth("macro recall", found.macro_recall));
        scores.push(by_truth("macro F1", found.macro_f1));
        scores.extend(found.macro_auc.map(|auc| by_truth("macro AUC", auc)));
        if let Some(reliability) = &found.reliability {
            let error = reliability.top_error;
            let name = "calibration error of the answer";
            scores.push(Score::new(
                name,
                ScoreKind::Number,
                Basis::TrueLabels,
                error,
            ));
        }
    } else {
        for (name, value) in [
            ("accuracy", last.test_accuracy),
            ("macro precision", last.test_precision),
            ("macro recall", last.test_recall),
            ("macro F1", last.test_f1),
        ] {
            scores.extend(value.map(|value| by_truth(name, value)));
        }
    }
    if let Some((_, found)) = &measured.pu {
        let estimated = |name: &str, found: Option<Estimate>| {
            found.map(|e| share(name, Basis::PuRows, e.value).within(e.low, e.high))
        };
        let mean = found.judgement.mean.as_ref();
        scores.extend(estimated("accuracy", found.judgement.accuracy));
        scores.extend(estimated("macro precision", mean.map(|m| m.precision)));
        scores.extend(estimated("macro recall", mean.map(|m| m.recall)));
        scores.extend(estimated("macro F1", mean.map(|m| m.f1)));
        scores.extend(
            found
                .macro_auc
                .map(|auc| share("macro AUC", Basis::PuRows, auc)),
        );
        let number = |name: &str, value| Score::new(name, ScoreKind::Number, Basis::PuRows, value);
        let risk = &found.risk;
        scores.push(number("risk", risk.value));
        let upper = risk
            .upper
            .map(|upper| number("risk, upper bound of 95 % (Theorem 4)", upper));
        scores.extend(upper);
    }
    if let Some(value) = last.oracle_train_accuracy {
        let name = "accuracy on training rows";
        scores.push(share(name, Basis::HiddenLabels, value));
    }
    scores
}

fn class_scores(names: &[String], measured: &Measured) -> Part<Vec<ClassScore>> {
    if let Some((_, found)) = &measured.truth {
        let score = |class: &crate::commands::evaluate::by_truth::ClassFigures| ClassScore {
            class: class.class.clone(),
            precision: Some(class.precision),
            recall: Some(class.recall),
            f1: Some(class.f1),
            rows: Some(class.rows),
        };
        return Part::Given(found.classes.iter().map(score).collect());
    }
    let Some((_, found)) = &measured.pu else {
        return Part::missing(NO_PU);
    };
    let judgement: &PuJudgement = &found.judgement;
    let value = |rate: Option<Estimate>| rate.map(|rate| rate.value);
    let score = |(class, name): (usize, &String)| {
        let rates = judgement.classes[class].as_ref();
        ClassScore {
            class: format!("{name} (estimated)"),
            precision: value(rates.and_then(|r| r.precision)),
            recall: value(rates.and_then(|r| r.recall)),
            f1: value(rates.and_then(|r| r.f1)),
            rows: judgement.n_labeled.get(class).copied(),
        }
    };
    Part::Given(names.iter().enumerate().map(score).collect())
}

fn curves(model: &Model, summary: &Summary) -> anyhow::Result<Part<RunCurves>> {
    let file = model.folder.file("metrics.csv");
    if !file.exists() {
        return Ok(Part::missing("the run's folder has no metrics.csv"));
    }
    let damaged = || format!("{} is damaged", file.display());
    let mut reader = csv::Reader::from_path(&file).with_context(damaged)?;
    let history = reader
        .deserialize()
        .collect::<Result<Vec<EpochMetrics>, _>>();
    let history = history.with_context(damaged)?;
    let value = |kind: CurveKind, metrics: &EpochMetrics| match kind {
        CurveKind::TrainRisk => Some(metrics.raw_risk),
        CurveKind::TrainRiskCorrected => Some(metrics.corrected_risk),
        CurveKind::ValidationRisk => metrics.validation_risk,
        CurveKind::TestLoss => metrics.test_loss,
        CurveKind::PuAccuracy => metrics.validation_accuracy,
        CurveKind::OracleTrainAccuracy => metrics.oracle_train_accuracy,
        CurveKind::TestAccuracy => metrics.test_accuracy,
    };
    let curve = |kind: CurveKind| RunCurve {
        kind,
        values: history.iter().map(|metrics| value(kind, metrics)).collect(),
    };
    let any = |curve: &RunCurve| curve.values.iter().any(Option::is_some);
    Ok(Part::Given(RunCurves {
        kept_epoch: Some(summary.last.epoch),
        curves: CurveKind::ALL.map(curve).into_iter().filter(any).collect(),
    }))
}

fn reliability(names: &[String], measured: &Measured) -> Part<Reliability> {
    let Some((scored, found)) = &measured.truth else {
        return Part::missing(&measured.no_truth);
    };
    let Some(reliability) = &found.reliability else {
        return Part::missing(
            "the model has no probabilities: no rows were held out to fit them to (data.validation-share is 0)",
        );
    };
    let class = |(name, bins): (&String, &Vec<mpu_train::reliability::Bin>)| ClassReliability {
        class: name.clone(),
        ece: Some(calibration_error(bins)),
        bins: bins
            .iter()
            .map(|bin| ReliabilityBin {
                predicted: bin.predicted,
                observed: bin.observed,
                count: bin.count,
            })
            .collect(),
    };
    Part::Given(Reliability {
        rows: scored.rows.clone(),
        ece: Some(reliability.classwise_error),
        classes: names.iter().zip(&reliability.classes).map(class).collect(),
    })
}

fn priors(model: &Model) -> PriorEstimates {
    let card = &model.card;
    let used = card.priors.as_slice();
    let negative = PriorClass {
        class: card.class_names.last().cloned().unwrap_or_default(),
        lower: None,
        upper: None,
        used: Some(card.priors.negative()),
        truth: None,
    };
    let Some(report) = &card.estimated_priors else {
        let class = |(name, &used): (&String, &f64)| PriorClass {
            class: name.clone(),
            used: Some(used),
            ..negative.clone()
        };
        return PriorEstimates {
            classes: card.class_names.iter().zip(used).map(class).collect(),
            ..PriorEstimates::default()
        };
    };
    let observed = &card.class_names[..report.classes.len().min(card.class_names.len())];
    let confidence = 1.0 - report.delta;
    let mut chart = prior::chart(&[report], observed, report, None, Some(used), confidence);
    chart.classes.push(negative);
    chart
}

fn sensitivity(found: &ByPu) -> PriorSensitivity {
    type Pick = fn(&PuJudgement) -> Option<f64>;
    let picks: [(&str, Pick); 3] = [
        ("estimated accuracy (%)", |j| Some(j.accuracy?.value)),
        ("estimated macro precision (%)", |j| {
            Some(j.mean.as_ref()?.precision.value)
        }),
        ("estimated macro F1 (%)", |j| {
            Some(j.mean.as_ref()?.f1.value)
        }),
    ];
    let curve = |(metric, pick): (&str, Pick)| {
        let percent = |judgement: &PuJudgement| pick(judgement).map(|share| 100.0 * share);
        let changed = found.all_varied();
        let mut points: Vec<(f64, Option<f64>)> = changed
            .map(|one| (one.factor - 1.0, percent(&one.judgement)))
            .collect();
        points.push((0.0, percent(&found.judgement)));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        SensitivityCurve {
            metric: metric.to_owned(),
            points,
        }
    };
    PriorSensitivity {
        changed: "priors of all observed classes, for the same model".to_owned(),
        curves: picks.map(curve).into_iter().collect(),
    }
}

fn data_check(model: &Model) -> anyhow::Result<Part<DataCheck>> {
    let Some(check) = &model.card.check else {
        return Ok(Part::missing("the data are a benchmark's"));
    };
    let text = check::describe(check, None, Format::Table)?;
    // What is warned of is told as findings.
    let lines = text.lines().filter(|line| !line.starts_with("warning: "));
    Ok(Part::Given(DataCheck {
        findings: check
            .warnings
            .iter()
            .map(|w| sentence(&w.to_string()))
            .collect(),
        text: lines.map(|line| format!("{line}\n")).collect(),
    }))
}
