//! What happens if rows whose answer is unsure are left unanswered.

use mpu_data::{ClassCount, MpuLabel};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::held_out::Block;
use crate::metrics::Confusion;
use crate::pu_metrics::{ClassJudgement, Estimate, Evidence, PuJudgement};

/// Shares among the rows whose largest predicted probability reaches a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ThresholdPoint {
    /// The threshold.
    pub threshold: f64,
    /// Macro precision of the answered rows.
    #[serde(default)]
    pub precision: Option<f64>,
    /// Macro recall, unanswered rows counted as missed.
    #[serde(default)]
    pub recall: Option<f64>,
    /// The share of rows that are answered.
    #[serde(default)]
    pub answered: Option<f64>,
}

/// The curve over `n_steps` thresholds from 0 to below 1, by true labels. `given` are the answers, right or
/// not; a row is answered where its largest probability reaches the threshold.
pub fn by_truth(
    classes: ClassCount,
    truths: &[usize],
    given: &[usize],
    probabilities: &[f64],
    n_steps: usize,
) -> Result<Vec<ThresholdPoint>> {
    let k = classes.get();
    curve(classes, probabilities, n_steps, |threshold, sure| {
        // No answer is one more answer, which is never right.
        let given: Vec<usize> = given
            .iter()
            .zip(sure)
            .map(|(&answer, &sure)| if sure { answer } else { k })
            .collect();
        let confusion = Confusion::new(ClassCount::new(k + 1)?, truths, &given)?;
        let is_given = |class: &usize| given.contains(class);
        let precision = (0..k).filter(is_given);
        let n_answered = sure.iter().filter(|sure| **sure).count();
        Ok(ThresholdPoint {
            threshold,
            precision: mean(precision.map(|class| confusion.rates(class).precision)),
            recall: mean((0..k).map(|class| confusion.rates(class).recall)),
            answered: Some(n_answered as f64 / sure.len().max(1) as f64),
        })
    })
}

/// The same, estimated from labelled rows and the pool; the share of answered rows is that of the pool. A row is
/// answered where the largest of `probabilities`, those that answers were decided by, reaches the threshold.
pub fn by_pu(
    evidence: &Evidence<'_>,
    given: &[usize],
    probabilities: &[f64],
    n_steps: usize,
) -> Result<Vec<ThresholdPoint>> {
    // No answer is one more observed class that no row is of: its prior is 0. It stands before the
    // negative class, which comes last.
    let (priors, labels) = (evidence.priors.priors(), evidence.labels);
    let negative = priors.classes().negative();
    let with_none = evidence.priors.with_none()?;
    let target = evidence.target.with_none()?;
    let widened = evidence.probabilities.map(|p| {
        let rows = p.chunks(negative + 1);
        let rows = rows.flat_map(|row| [&row[..negative], &[0.0], &row[negative..]].concat());
        rows.collect::<Vec<f64>>()
    });
    let widened = Evidence {
        priors: &with_none,
        target: &target,
        labels,
        probabilities: widened.as_deref(),
    };
    let classes = priors.classes();
    curve(classes, probabilities, n_steps, |threshold, sure| {
        let given: Vec<usize> = given
            .iter()
            .zip(sure)
            .map(|(&answer, &sure)| match answer {
                _ if !sure => negative,
                answer if answer == negative => negative + 1,
                answer => answer,
            })
            .collect();
        let judgement = PuJudgement::of(&widened, &given)?;
        // If a class cannot be judged, neither can the mean.
        let real = (0..negative).chain([negative + 1]);
        let rates = real.map(|class| judgement.classes[class].as_ref());
        let rates: Option<Vec<&ClassJudgement>> = rates.collect();
        let mean_of = |rate: fn(&ClassJudgement) -> Option<Estimate>| {
            let rates = rates.iter().flatten();
            mean(rates.filter_map(|class| rate(class)?.known()))
        };
        let pool = labels.iter().zip(sure);
        let n_answered = pool
            .filter(|(label, sure)| **label == MpuLabel::Unlabeled && **sure)
            .count();
        Ok(ThresholdPoint {
            threshold,
            precision: mean_of(|class| class.precision),
            recall: mean_of(|class| class.recall),
            answered: Some(n_answered as f64 / judgement.n_pool.max(1) as f64),
        })
    })
}

/// One point for each threshold, told which rows reach it.
fn curve(
    classes: ClassCount,
    probabilities: &[f64],
    n_steps: usize,
    point: impl Fn(f64, &[bool]) -> Result<ThresholdPoint>,
) -> Result<Vec<ThresholdPoint>> {
    Block::Probability.rows(classes, probabilities)?;
    let rows = probabilities.chunks(classes.get());
    let likeliest = rows.map(|row| row.iter().copied().fold(0.0, f64::max));
    let likeliest: Vec<f64> = likeliest.collect();
    (0..n_steps)
        .map(|step| {
            let threshold = step as f64 / n_steps as f64;
            let sure: Vec<bool> = likeliest.iter().map(|p| *p >= threshold).collect();
            point(threshold, &sure)
        })
        .collect()
}

/// The mean of some numbers. A class that is never given has no precision, and does not count.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use mpu_data::Priors;

    use super::*;
    use crate::pu_metrics::{Target, UncertainPriors};

    const P: [f64; 8] = [0.9, 0.1, 0.6, 0.4, 0.2, 0.8, 0.45, 0.55];

    #[test]
    fn unsure_rows_are_left_out_of_precision_and_missed_by_recall() {
        let two = ClassCount::new(2).unwrap();
        let points = by_truth(two, &[0, 1, 1, 1], &[0, 0, 1, 1], &P, 4).unwrap();
        assert_eq!(points.len(), 4);
        let all = points[0];
        assert_eq!((all.precision, all.answered), (Some(0.75), Some(1.0)));
        let sure = points[3];
        assert_eq!(sure.threshold, 0.75);
        assert_eq!(sure.precision, Some(1.0));
        assert_eq!(sure.recall, Some(f64::midpoint(1.0, 1.0 / 3.0)));
        assert_eq!(sure.answered, Some(0.5));
        assert!(by_truth(two, &[0], &[0, 0, 1, 1], &P, 4).is_err());
        assert!(by_truth(two, &[0, 1, 1, 1], &[0, 0, 1, 1], &P[1..], 4).is_err());
    }

    #[test]
    fn without_labels_the_share_is_that_of_the_pool() {
        let priors = Priors::new(vec![0.5, 0.5]).unwrap();
        let labels = [Labeled(0), Unlabeled, Unlabeled, Unlabeled];
        let priors = UncertainPriors::exact(priors);
        let evidence = Evidence {
            priors: &priors,
            target: &Target::Pool,
            labels: &labels,
            probabilities: Some(&P),
        };
        let points = by_pu(&evidence, &[0, 0, 1, 1], &P, 4).unwrap();
        assert_eq!(points[0].answered, Some(1.0));
        assert_eq!(points[3].answered, Some(1.0 / 3.0));
        assert!(by_pu(&evidence, &[0], &P, 4).is_err());
    }
}
