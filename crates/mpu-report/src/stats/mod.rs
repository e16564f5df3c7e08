//! Statistics of a handful of runs, in plain `f64`.
//!
//! What cannot be computed is `None`: the standard deviation of one value, a test without a
//! difference. Nothing here draws random numbers.
//!
//! | item | what it is |
//! |---|---|
//! | [`mean`], [`std_dev`], [`Spread`] | the mean, and the deviation with `n - 1` |
//! | [`median`], [`mad`] | their robust counterparts, the latter unscaled |
//! | [`t_quantile`], [`t_interval`] | Student's t |
//! | [`wilcoxon`] | the paired two-sided signed-rank test |
//! | [`holm`] | p-values adjusted for their number |
//! | [`cliffs_delta`] | how often one sample exceeds another |
//! | [`ranks`] | ranks, ties in the middle |

#[cfg(test)]
mod golden;
mod student;
mod wilcoxon;

pub use student::{Interval, t_interval, t_quantile};
pub use wilcoxon::{EXACT_UP_TO, Wilcoxon, wilcoxon};

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation, with `n - 1`; none below two values.
pub fn std_dev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let center = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - center).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Mean and sample standard deviation; the latter needs two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean; not a number where there are no values.
    pub mean: f64,
    /// The deviation with `n - 1`.
    pub std: Option<f64>,
}

impl Spread {
    /// Mean and deviation of some values.
    pub fn of(values: &[f64]) -> Self {
        Self {
            mean: mean(values).unwrap_or(f64::NAN),
            std: std_dev(values),
        }
    }

    /// `90.59 ± 1.14`, without the deviation where there is none.
    pub fn show(&self, decimals: usize) -> String {
        match self.std {
            Some(std) => format!("{:.decimals$} ± {std:.decimals$}", self.mean),
            None => format!("{:.decimals$}", self.mean),
        }
    }
}

/// The median; of an even number of values the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        Some(upper)
    } else {
        Some(f64::midpoint(sorted[middle - 1], upper))
    }
}

/// The median absolute deviation from the median, not scaled to a normal distribution.
pub fn mad(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|v| (v - center).abs()).collect();
    median(&deviations)
}

/// The rank of each value, the smallest having rank 1; equal values share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let below = order.partition_point(|&i| values[i] < values[tied[0]]);
        let shared = below as f64 + (tied.len() + 1) as f64 / 2.0;
        for &index in tied {
            ranks[index] = shared;
        }
    }
    ranks
}

/// Cliff's delta: the share of pairs in which `first` is larger less the share in which `second` is.
///
/// **Positive when the first sample tends to be larger**, 1 when all of it lies above the second.
pub fn cliffs_delta(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let mut balance = 0i64;
    for a in first {
        for b in second {
            balance += i64::from(a > b) - i64::from(a < b);
        }
    }
    Some(balance as f64 / (first.len() * second.len()) as f64)
}

/// Holm's step-down adjustment of p-values, in the order they came in.
///
/// The smallest is multiplied by their number, the next by one less, and so on; an adjusted value is
/// never below that of a smaller p, nor above 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let n = p_values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; n];
    let mut floor = 0.0f64;
    for (position, &index) in order.iter().enumerate() {
        floor = floor.max((p_values[index] * (n - position) as f64).min(1.0));
        adjusted[index] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_by_hand() {
        let values = [1.0, 2.0, 4.0, 9.0];
        assert_eq!(mean(&values), Some(4.0));
        assert_eq!(std_dev(&values), Some((38.0f64 / 3.0).sqrt()));
        assert_eq!(Spread::of(&values).show(2), "4.00 ± 3.56");
        assert_eq!(Spread::of(&[5.0]).show(1), "5.0");
        assert_eq!(median(&values), Some(3.0));
        assert_eq!(mad(&values), Some(1.5));
    }

    #[test]
    fn what_cannot_be_computed_is_none() {
        assert_eq!((mean(&[]), median(&[]), mad(&[])), (None, None, None));
        assert_eq!((std_dev(&[]), std_dev(&[3.0])), (None, None));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
        assert!(holm(&[]).is_empty() && ranks(&[]).is_empty());
    }

    #[test]
    fn ties_share_the_middle_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
    }

    #[test]
    fn cliffs_delta_is_positive_when_the_first_is_larger() {
        assert_eq!(cliffs_delta(&[5.0, 6.0], &[1.0, 2.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[5.0, 6.0]), Some(-1.0));
        assert_eq!(cliffs_delta(&[1.0], &[1.0]), Some(0.0));
    }

    #[test]
    fn holm_by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03]);
        for (found, expected) in adjusted.into_iter().zip([0.03, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
