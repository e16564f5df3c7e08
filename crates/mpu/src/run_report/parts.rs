//! The parts of a report: scores, curves, calibration, priors, data check.

use mpu_data::table::{ColumnCheck, ColumnType};
use mpu_eval::Rates;
use mpu_eval::pu_metrics::Estimate;
use mpu_report::Record;
use mpu_report::figures::{
    CurveKind, PriorClass, PriorEstimates, Reliability, RunCurve, RunCurves,
};
use mpu_report::run_report::{
    Basis, CheckedColumn, ClassScore, DataCheck, Fact, Part, Score, ScoreKind,
};
use mpu_train::EpochMetrics;

use super::facts::grouped;
use super::fill::{Measured, NO_PU, sentence};
use crate::classifier::Classifier;
use crate::files::file_name;
use crate::judge::ClassFigures;
use crate::prior_summary::prior_chart;

// What means over the classes are called.
const PRECISION: &str = "precision, mean of the classes";
const RECALL: &str = "recall, mean of the classes";
const F1: &str = "F1, mean of the classes";
const AUC: &str = "AUC, mean of the classes";

fn share(name: &str, basis: Basis, value: f64) -> Score {
    Score::new(name, ScoreKind::Share, basis, value)
}

fn by_truth(name: &str, value: f64) -> Score {
    share(name, Basis::TrueLabels, value)
}

/// What the record says of test rows.
pub(crate) fn recorded(record: &Record) -> Vec<Score> {
    let Some(scores) = &record.scores else {
        return Vec::new();
    };
    vec![
        by_truth("accuracy", scores.accuracy),
        by_truth(PRECISION, scores.precision),
        by_truth(RECALL, scores.recall),
        by_truth(F1, scores.f1),
    ]
}

/// The accuracy on training rows, if it is known.
pub(crate) fn on_training_rows(accuracy: Option<f64>) -> Option<Score> {
    let score = |value| share("accuracy on training rows", Basis::HiddenLabels, value);
    accuracy.map(score)
}

pub(crate) fn scores(model: &Classifier, record: &Record, measured: &Measured) -> Vec<Score> {
    let mut scores = Vec::new();
    if let Some((_, found)) = &measured.truth {
        let right = (found.accuracy * found.n_rows as f64).round() as u64;
        let ends = Estimate::of_share(right, found.n_rows);
        scores.push(Score {
            interval: Some((ends.low, ends.high)),
            ..by_truth("accuracy", found.accuracy)
        });
        for (name, value) in [
            (PRECISION, Some(found.macro_precision)),
            (RECALL, Some(found.macro_recall)),
            (F1, Some(found.macro_f1)),
            (AUC, found.macro_auc),
        ] {
            scores.extend(value.map(|value| by_truth(name, value)));
        }
        if let Some(reliability) = &found.reliability {
            let name = "calibration error of the answer";
            let (kind, basis) = (ScoreKind::Number, Basis::TrueLabels);
            scores.push(Score::new(name, kind, basis, reliability.top_error));
        }
    } else {
        scores.extend(recorded(record));
    }
    if let Some((_, found)) = &measured.pu {
        let mean = found.judgement.mean.as_ref();
        for (name, rate) in [
            ("accuracy", found.judgement.accuracy),
            (PRECISION, mean.map(|m| m.precision)),
            (RECALL, mean.map(|m| m.recall)),
            (F1, mean.map(|m| m.f1)),
        ] {
            scores.extend(rate.map(|rate| Score::estimated(name, rate)));
        }
        let auc = found.macro_auc;
        scores.extend(auc.map(|auc| share(AUC, Basis::PuRows, auc)));
        let number = |name: &str, value| Score::new(name, ScoreKind::Number, Basis::PuRows, value);
        let risk = &found.risk;
        scores.push(number("risk", risk.value));
        let upper = |upper| number("risk, upper bound of 95 % (Theorem 4)", upper);
        scores.extend(risk.upper.map(upper));
    }
    let reported = model.reported();
    let trained = reported.and_then(|metrics| metrics.oracle_train_accuracy);
    scores.extend(on_training_rows(trained));
    scores
}

pub(crate) fn class_scores(measured: &Measured) -> Part<Vec<ClassScore>> {
    let Some((_, found)) = &measured.truth else {
        return Part::missing(&measured.no_truth);
    };
    let score = |class: &ClassFigures| {
        let (precision, recall, f1) = (class.precision, class.recall, class.f1);
        let rates = Rates {
            precision,
            recall,
            f1,
        };
        class_score(&class.class, rates, class.rows)
    };
    Part::Given(found.classes.iter().map(score).collect())
}

/// The rates of a class, by true labels.
pub(crate) fn class_score(class: &str, rates: Rates, rows: u64) -> ClassScore {
    ClassScore {
        class: class.to_owned(),
        precision: Some(rates.precision),
        precision_interval: None,
        recall: Some(rates.recall),
        recall_interval: None,
        f1: Some(rates.f1),
        rows: Some(rows),
    }
}

pub(crate) fn class_estimates(names: &[String], measured: &Measured) -> Part<Vec<ClassScore>> {
    let Some((_, found)) = &measured.pu else {
        return Part::missing(NO_PU);
    };
    Part::Given(ClassScore::estimated(names, &found.judgement))
}

pub(crate) fn curves(model: &Classifier) -> Part<RunCurves> {
    if model.weights().is_none() {
        return Part::missing("the model has no network");
    }
    let history = model.history();
    if history.is_empty() {
        return Part::missing("the run's folder has no metrics.csv");
    }
    let value = |kind: CurveKind, metrics: &EpochMetrics| match kind {
        CurveKind::TrainRisk => Some(metrics.raw_risk),
        CurveKind::TrainRiskCorrected => Some(metrics.corrected_risk),
        CurveKind::ValidationRisk => metrics.validation_risk,
        CurveKind::TestLoss => metrics.test_loss,
        CurveKind::PuAccuracy => metrics.validation_accuracy,
        CurveKind::OracleTrainAccuracy => metrics.oracle_train_accuracy,
        CurveKind::TestAccuracy => metrics.test_accuracy,
        // The risks tell more.
        CurveKind::TrainLoss => None,
    };
    let curve = |kind: CurveKind| RunCurve {
        kind,
        values: history.iter().map(|metrics| value(kind, metrics)).collect(),
    };
    let any = |curve: &RunCurve| curve.values.iter().any(Option::is_some);
    Part::Given(RunCurves {
        kept_epoch: model.reported().map(|metrics| metrics.epoch),
        curves: CurveKind::ALL.map(curve).into_iter().filter(any).collect(),
    })
}

pub(crate) fn reliability(names: &[String], measured: &Measured) -> Part<Reliability> {
    let Some((scored, found)) = &measured.truth else {
        return Part::missing(&measured.no_truth);
    };
    let Some(reliability) = &found.reliability else {
        return Part::missing(
            "the model has no probabilities: no rows were held out to fit them to (data.validation-share is 0)",
        );
    };
    Part::Given(Reliability::new(&scored.rows, names, reliability))
}

pub(crate) fn priors(model: &Classifier) -> PriorEstimates {
    let card = model.card();
    let used = card.priors.as_slice();
    let shown = |class: &str, used: f64| PriorClass {
        class: class.to_owned(),
        used: Some(used),
        ..PriorClass::default()
    };
    let Some(report) = &card.estimated_priors else {
        let classes = model.names().iter().zip(used);
        return PriorEstimates {
            classes: classes.map(|(name, &used)| shown(name, used)).collect(),
            ..PriorEstimates::default()
        };
    };
    let observed = &card.class_names[..report.classes.len().min(card.class_names.len())];
    let confidence = 1.0 - report.delta;
    let mut chart = prior_chart(&[report], observed, report, None, Some(used), confidence);
    for (drawn, class) in chart.classes.iter_mut().zip(&report.classes) {
        // A lower bound above the upper one rests on an assumption that does not hold.
        if class.lower_if_acceptance_below_alpha > class.upper {
            drawn.lower = None;
        }
    }
    let negative = shown(model.unknown(), card.priors.negative());
    chart.classes.push(negative);
    chart
}

pub(crate) fn data_check(model: &Classifier) -> Part<DataCheck> {
    let Some(check) = &model.card().check else {
        return Part::missing("the run used a benchmark, not your own data");
    };
    let files: Vec<String> = check.files.iter().map(|file| file_name(file)).collect();
    let mut facts = vec![
        Fact::new("files", files.join(", ")),
        Fact::new("rows", grouped(check.rows as usize)),
        Fact::new("unlabelled rows", grouped(check.unlabeled as usize)),
    ];
    let left_out = (!check.excluded.is_empty()).then(|| check.excluded.join(", "));
    for (name, value) in [
        ("label column", &check.label_column),
        ("id column", &check.id_column),
        ("columns left out", &left_out),
    ] {
        facts.extend(value.iter().map(|value| Fact::new(name, value)));
    }
    let column = |column: &ColumnCheck| CheckedColumn {
        column: column.name.clone(),
        kind: match column.kind {
            _ if column.constant => "one value only".to_owned(),
            ColumnType::Numeric => "number".to_owned(),
            ColumnType::Categorical(n) => format!("{n} categories"),
        },
        missing: column.missing,
    };
    let findings = check.warnings.iter();
    Part::Given(DataCheck {
        findings: findings.map(|w| sentence(&w.to_string())).collect(),
        facts,
        columns: check.columns.iter().map(column).collect(),
    })
}
