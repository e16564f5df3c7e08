//! What happens if rows whose answer is unsure are left unanswered.

use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_eval::pu_metrics::{ClassJudgement, Estimate};
use mpu_eval::{Confusion, PuJudgement};
use mpu_report::figures::{ThresholdPoint, Thresholds};

use crate::commands::evaluate::rows::{Known, Scored};
use mpu::Classifier;

/// Steps of the threshold from 0 to 1.
const STEPS: usize = 40;

/// The curve over thresholds; none for a model without probabilities.
pub(super) fn curve(model: &Classifier, scored: &Scored) -> anyhow::Result<Option<Thresholds>> {
    let Some(calibration) = &model.card().calibration else {
        return Ok(None);
    };
    let k = model.card().class_names.len();
    let probabilities = calibration.probabilities(&scored.scores)?;
    let likeliest = probabilities
        .chunks(k)
        .map(|row| row.iter().copied().fold(0.0, f64::max));
    let likeliest: Vec<f64> = likeliest.collect();
    let given = mpu_eval::top_classes(&scored.scores, k);
    let mut points = Vec::new();
    for step in 0..STEPS {
        let threshold = step as f64 / STEPS as f64;
        let answered: Vec<bool> = likeliest.iter().map(|p| *p >= threshold).collect();
        points.push(match &scored.known {
            Known::Truths(truths) => by_truth(k, threshold, truths, &given, &answered)?,
            Known::Pu(labels) => by_pu(&model.card().priors, threshold, labels, &given, &answered)?,
        });
    }
    let estimated = match scored.known {
        Known::Truths(_) => "",
        Known::Pu(_) => ", estimated",
    };
    Ok(Some(Thresholds {
        rows: format!("{}{estimated}", scored.rows),
        points,
    }))
}

fn by_truth(
    k: usize,
    threshold: f64,
    truths: &[usize],
    given: &[usize],
    answered: &[bool],
) -> anyhow::Result<ThresholdPoint> {
    // No answer is one more answer, which is never right.
    let given: Vec<usize> = given
        .iter()
        .zip(answered)
        .map(|(&answer, &answered)| if answered { answer } else { k })
        .collect();
    let confusion = Confusion::new(ClassCount::new(k + 1)?, truths, &given)?;
    let is_given = |class: &usize| given.contains(class);
    let precision = (0..k)
        .filter(is_given)
        .map(|c| confusion.rates(c).precision);
    let recall = (0..k).map(|class| confusion.rates(class).recall);
    let n_answered = answered.iter().filter(|a| **a).count();
    Ok(ThresholdPoint {
        threshold,
        precision: mean(precision),
        recall: mean(recall),
        answered: Some(n_answered as f64 / answered.len().max(1) as f64),
    })
}

/// The mean of some numbers. A class that is never given has no precision, and does not count.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn by_pu(
    priors: &Priors,
    threshold: f64,
    labels: &[MpuLabel],
    given: &[usize],
    answered: &[bool],
) -> anyhow::Result<ThresholdPoint> {
    // No answer is one more observed class that no row is of: its prior is 0. It stands before the
    // negative class, which comes last.
    let negative = priors.classes().negative();
    let mut observed = priors.observed().to_vec();
    observed.push(0.0);
    let priors = Priors::from_observed(&observed)?;
    let given: Vec<usize> = given
        .iter()
        .zip(answered)
        .map(|(&answer, &answered)| match answer {
            _ if !answered => negative,
            answer if answer == negative => negative + 1,
            answer => answer,
        })
        .collect();
    let judgement = PuJudgement::new(&priors, labels, &given)?;
    // If a class cannot be judged, neither can the mean.
    let real = (0..negative).chain([negative + 1]);
    let rates: Option<Vec<&ClassJudgement>> = real
        .map(|class| judgement.classes[class].as_ref())
        .collect();
    let mean_of = |rate: fn(&ClassJudgement) -> Option<Estimate>| {
        let rates = rates.iter().flatten();
        mean(rates.filter_map(|class| Some(rate(class)?.value)))
    };
    let pool = labels.iter().zip(answered);
    let n_answered = pool
        .filter(|(label, answered)| **label == MpuLabel::Unlabeled && **answered)
        .count();
    Ok(ThresholdPoint {
        threshold,
        precision: mean_of(|class| class.precision),
        recall: mean_of(|class| class.recall),
        answered: Some(n_answered as f64 / judgement.n_pool.max(1) as f64),
    })
}
