//! The parts of a report: scores, curves, calibration, priors, data check.

use mpu_eval::pu_metrics::Estimate;
use mpu_report::figures::{
    CurveKind, PriorClass, PriorEstimates, Reliability, RunCurve, RunCurves,
};
use mpu_report::run_report::{Basis, ClassScore, DataCheck, Part, Score, ScoreKind};
use mpu_report::{Format, Record};
use mpu_train::EpochMetrics;

use super::fill::{Measured, NO_PU, sentence};
use crate::classifier::Classifier;
use crate::data_check::describe_check;
use crate::error::Result;
use crate::judge::ClassFigures;
use crate::prior_summary::prior_chart;

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
        by_truth("macro precision", scores.precision),
        by_truth("macro recall", scores.recall),
        by_truth("macro F1", scores.f1),
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
        scores.extend(recorded(record));
    }
    if let Some((_, found)) = &measured.pu {
        let estimated =
            |name: &str, found: Option<Estimate>| found.map(|e| Score::estimated(name, e));
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
    let reported = model.reported();
    scores.extend(on_training_rows(
        reported.and_then(|metrics| metrics.oracle_train_accuracy),
    ));
    scores
}

pub(crate) fn class_scores(names: &[String], measured: &Measured) -> Part<Vec<ClassScore>> {
    if let Some((_, found)) = &measured.truth {
        let score = |class: &ClassFigures| ClassScore {
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
    Part::Given(ClassScore::estimated(names, &found.judgement))
}

pub(crate) fn curves(model: &Classifier) -> Part<RunCurves> {
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
    let negative = PriorClass {
        class: model.unknown().to_owned(),
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
            classes: model.names().iter().zip(used).map(class).collect(),
            ..PriorEstimates::default()
        };
    };
    let observed = &card.class_names[..report.classes.len().min(card.class_names.len())];
    let confidence = 1.0 - report.delta;
    let mut chart = prior_chart(&[report], observed, report, None, Some(used), confidence);
    for (shown, class) in chart.classes.iter_mut().zip(&report.classes) {
        // A lower bound above the upper one rests on an assumption that does not hold.
        if class.lower_if_acceptance_below_alpha > class.upper {
            shown.lower = None;
        }
    }
    chart.classes.push(negative);
    chart
}

pub(crate) fn data_check(model: &Classifier) -> Result<Part<DataCheck>> {
    let Some(check) = &model.card().check else {
        return Ok(Part::missing("the run used a benchmark, not your own data"));
    };
    let text = describe_check(check, None, Format::Table)?;
    // What is warned of is told as findings.
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("warning: "))
        .collect();
    Ok(Part::Given(DataCheck {
        findings: check
            .warnings
            .iter()
            .map(|w| sentence(&w.to_string()))
            .collect(),
        text: lines.join("\n") + "\n",
    }))
}
