//! What happens if rows whose answer is unsure are left unanswered.

use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_report::figures::{ThresholdPoint, Thresholds};
use mpu_train::{Confusion, PuJudgement, answers};

use crate::commands::evaluate::rows::{Known, Scored};
use crate::run_folder::Model;

/// Steps of the threshold from 0 to 1.
const STEPS: usize = 40;

/// The curve over thresholds; none for a model without probabilities.
pub(super) fn curve(model: &Model, scored: &Scored) -> anyhow::Result<Option<Thresholds>> {
    let Some(calibration) = &model.card.calibration else {
        return Ok(None);
    };
    let k = model.card.class_names.len();
    let probabilities = calibration.probabilities(&scored.scores)?;
    let likeliest = probabilities
        .chunks(k)
        .map(|row| row.iter().copied().fold(0.0, f64::max));
    let likeliest: Vec<f64> = likeliest.collect();
    let given = answers(&scored.scores, k);
    let mut points = Vec::new();
    for step in 0..STEPS {
        let threshold = step as f64 / STEPS as f64;
        let answered: Vec<bool> = likeliest.iter().map(|p| *p >= threshold).collect();
        points.push(match &scored.known {
            Known::Truths(truths) => by_truth(k, threshold, truths, &given, &answered)?,
            Known::Pu(labels) => by_pu(&model.card.priors, threshold, labels, &given, &answered)?,
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
    let rates: Vec<_> = (0..k).map(|class| confusion.rates(class)).collect();
    let any = answered.contains(&true);
    let precision = rates.iter().map(|r| r.precision).sum::<f64>() / k as f64;
    let n_answered = answered.iter().filter(|a| **a).count();
    Ok(ThresholdPoint {
        threshold,
        precision: any.then_some(precision),
        recall: Some(rates.iter().map(|r| r.recall).sum::<f64>() / k as f64),
        answered: Some(n_answered as f64 / answered.len().max(1) as f64),
    })
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
    let real = || (0..negative).chain([negative + 1]);
    let mean = |rate: fn(&mpu_train::pu_metrics::ClassJudgement) -> Option<f64>| {
        let rates: Option<Vec<f64>> = real()
            .map(|class| Some(rate(judgement.classes[class].as_ref()?).unwrap_or(0.0)))
            .collect();
        rates.map(|rates| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let mut pool = labels.iter().zip(answered);
    let n_answered = pool
        .by_ref()
        .filter(|(label, answered)| **label == MpuLabel::Unlabeled && **answered)
        .count();
    Ok(ThresholdPoint {
        threshold,
        precision: mean(|class| class.precision.map(|p| p.value)).filter(|_| n_answered > 0),
        recall: mean(|class| class.recall.map(|r| r.value)),
        answered: Some(n_answered as f64 / judgement.n_pool.max(1) as f64),
    })
}
