//! The area under the ROC curve without negatives.

use mpu_data::{MpuLabel, Priors};

use super::interval::{Estimate, Interval};
use crate::auc::Sorted;
use crate::error::Result;
use crate::held_out::Block;

/// The area under the ROC curve of each class against all others, by its own score or probability.
///
/// A row of the pool is of class `i` itself with probability `π_i` and then wins half the time, so
///
/// ```text
/// i < k:  AUC(i vs pool) = π_i/2 + (1-π_i) AUC(i vs rest)
/// k:      Σ_i π_i/(1-π_k) AUC(pool vs i) = (1-π_k)/2 + π_k AUC(k vs rest)
/// ```
///
/// solved for the last term. Intervals are DeLong's, moved and stretched likewise. `None` where a
/// group that is needed has no rows, and for a prior of 1 (no rest) or a negative prior of 0.
#[doc(alias = "eq:pu-auc")]
pub fn pu_auc<T: Copy + Into<f64>>(
    priors: &Priors,
    labels: &[MpuLabel],
    scores: &[T],
) -> Result<Vec<Option<Estimate>>> {
    let classes = priors.classes();
    let (k, negative) = (classes.get(), classes.negative());
    Block::Score.labeled_rows(classes, labels, scores)?;
    let pi = priors.as_slice();
    // One column of one group: the pool has the last place.
    let column = |group: usize, class: usize| -> Vec<f64> {
        let wanted = if group == negative {
            MpuLabel::Unlabeled
        } else {
            MpuLabel::Labeled(group)
        };
        let rows = labels.iter().zip(scores.chunks(k));
        rows.filter(|(label, _)| **label == wanted)
            .map(|(_, row)| row[class].into())
            .collect()
    };
    let observed = (0..negative).map(|class| {
        if pi[class] >= 1.0 {
            return None;
        }
        let area = area(&column(class, class), vec![(1.0, column(negative, class))])?;
        let stretch = 1.0 / (1.0 - pi[class]);
        Some(area.linear(stretch, -0.5 * pi[class] * stretch).rate())
    });
    let mut areas: Vec<Option<Estimate>> = observed.collect();
    let pi_k = pi[negative];
    areas.push(if pi_k > 0.0 && pi_k < 1.0 {
        let others = (0..negative).filter(|&class| pi[class] > 0.0);
        let others = others.map(|class| (pi[class] / (1.0 - pi_k), column(class, negative)));
        area(&column(negative, negative), others.collect())
            .map(|area| area.linear(1.0 / pi_k, -0.5 * (1.0 - pi_k) / pi_k).rate())
    } else {
        None
    });
    Ok(areas)
}

/// `Σ_g w_g AUC(own vs g)` with DeLong's variance, weights fixed; `None` if a group is empty.
fn area(own: &[f64], others: Vec<(f64, Vec<f64>)>) -> Option<Interval> {
    if own.is_empty() || others.iter().any(|(_, values)| values.is_empty()) {
        return None;
    }
    let sorted_own = Sorted::new(own.to_vec());
    let mut variance = 0.0;
    let mut placements = vec![0.0; own.len()];
    for (weight, values) in others {
        // A row of the group loses to the share of `own` above it.
        let lost: Vec<f64> = values.iter().map(|&v| 1.0 - sorted_own.below(v)).collect();
        variance += weight * weight * mean_variance(&lost);
        let sorted = Sorted::new(values);
        for (placement, &value) in placements.iter_mut().zip(own) {
            *placement += weight * sorted.below(value);
        }
    }
    variance += mean_variance(&placements);
    let mean = placements.iter().sum::<f64>() / own.len() as f64;
    Some(Interval::normal(mean, variance))
}

/// The variance of a mean.
fn mean_variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    squares / (n - 1.0).max(1.0) / n
}
