//! Do probabilities mean what they say? Bins of predicted against observed frequencies.
//!
//! This needs true classes, so it is for rows whose classes are known: a test set, or a study.
//!
//! ```
//! use mpu_data::ClassCount;
//! use mpu_eval::reliability::Reliability;
//!
//! let probabilities = [0.8, 0.2, 0.8, 0.2, 0.8, 0.2, 0.3, 0.7];
//! let reliability = Reliability::new(ClassCount::new(2)?, &[0, 0, 1, 1], &probabilities, 10)?;
//! // Three rows at 0.8 of which 2 are right, one at 0.7 that is.
//! assert!((reliability.top_error - (0.75 * (0.8 - 2.0 / 3.0) + 0.25 * 0.3)).abs() < 1e-12);
//! assert_eq!(reliability.top.len(), 2);
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::{ClassCount, bad_setting, top_class};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::held_out::{Block, check_truths};

/// The rows whose predicted probability falls between two edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The lower edge.
    pub low: f64,
    /// The upper edge, which belongs to the next bin but for the last.
    pub high: f64,
    /// The mean of the predicted probabilities.
    pub predicted: f64,
    /// How often it was so.
    pub observed: f64,
    /// The number of rows.
    pub count: u64,
}

/// Bins of equal width and the calibration errors they give. Bins without rows are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    /// The bins of each class: its probability against its frequency.
    pub classes: Vec<Vec<Bin>>,
    /// The bins of the highest probability against how often the answer was right.
    pub top: Vec<Bin>,
    /// The expected calibration error of the answer (Guo et al. 2017).
    pub top_error: f64,
    /// The class-wise expected calibration error (Kull et al. 2019).
    pub classwise_error: f64,
}

impl Reliability {
    /// Sorts rows of probabilities into `n_bins` bins of equal width.
    pub fn new(
        classes: ClassCount,
        truths: &[usize],
        probabilities: &[f64],
        n_bins: usize,
    ) -> Result<Self> {
        let k = classes.get();
        let rows = Block::Probability.rows(classes, probabilities)?;
        check_truths(classes, truths, rows)?;
        if n_bins == 0 {
            return Err(bad_setting("number of bins", "0", "at least 1"));
        }
        let rows = || truths.iter().zip(probabilities.chunks(k));
        let by_class: Vec<Vec<Bin>> = (0..k)
            .map(|class| bins(n_bins, rows().map(|(&y, p)| (p[class], y == class))))
            .collect();
        let top = bins(
            n_bins,
            rows().map(|(&y, p)| {
                let answer = top_class(p);
                (p[answer], y == answer)
            }),
        );
        let errors = by_class.iter().map(|bins| calibration_error(bins));
        Ok(Self {
            top_error: calibration_error(&top),
            classwise_error: errors.sum::<f64>() / k as f64,
            classes: by_class,
            top,
        })
    }
}

/// The expected calibration error of bins; 0 if they are empty.
///
/// ```text
/// Σ_b (n_b / n) |observed_b - predicted_b|
/// ```
#[doc(alias = "eq:calibration-error")]
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let n: u64 = bins.iter().map(|bin| bin.count).sum();
    let error = |bin: &Bin| bin.count as f64 * (bin.observed - bin.predicted).abs();
    bins.iter().map(error).sum::<f64>() / n.max(1) as f64
}

fn bins(n_bins: usize, rows: impl Iterator<Item = (f64, bool)>) -> Vec<Bin> {
    let mut sums = vec![(0.0, 0u64, 0u64); n_bins];
    for (p, hit) in rows {
        let at = ((p * n_bins as f64).max(0.0) as usize).min(n_bins - 1);
        sums[at].0 += p;
        sums[at].1 += u64::from(hit);
        sums[at].2 += 1;
    }
    let edge = |at: usize| at as f64 / n_bins as f64;
    sums.into_iter()
        .enumerate()
        .filter(|(_, (_, _, count))| *count > 0)
        .map(|(at, (sum, hits, count))| Bin {
            low: edge(at),
            high: edge(at + 1),
            predicted: sum / count as f64,
            observed: hits as f64 / count as f64,
            count,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let p = [0.9, 0.1, 0.0, 0.2, 0.8, 0.0, 0.1, 0.2, 0.7, 1.0, 0.0, 0.0];
        let r = Reliability::new(ClassCount::THREE, &[0, 2, 2, 0], &p, 5).unwrap();
        // Top: 0.9 right, 0.8 wrong and 1.0 right share a bin; 0.7 right.
        let top = (2.7_f64 - 2.0).abs() / 4.0 + 0.3 / 4.0;
        assert!((r.top_error - top).abs() < 1e-12, "{r:?}");
        // Class 0: {0.1 no}, {0.2 no}, {0.9, 1.0 yes}. Class 1: {0.1, 0 no}, {0.2 no}, {0.8 no}.
        // Class 2: {0, 0 | no, 0 yes}, {0.7 yes}.
        let classes = [0.4 / 4.0, 1.1 / 4.0, (1.0 + 0.3) / 4.0];
        assert!((r.classwise_error - classes.iter().sum::<f64>() / 3.0).abs() < 1e-12);
        assert_eq!(r.classes[0].iter().map(|b| b.count).sum::<u64>(), 4);
        assert_eq!(r.classes[0].last().unwrap().high, 1.0);
    }

    #[test]
    fn bad_input_is_refused_and_no_rows_have_no_error() {
        let three = ClassCount::THREE;
        assert!(Reliability::new(three, &[0], &[0.5, 0.5, 0.0], 0).is_err());
        assert!(Reliability::new(three, &[0, 1], &[0.5, 0.5, 0.0], 5).is_err());
        assert!(Reliability::new(three, &[0], &[0.5, 1.5, 0.0], 5).is_err());
        assert!(Reliability::new(three, &[3], &[0.5, 0.5, 0.0], 5).is_err());
        assert_eq!(Reliability::new(three, &[], &[], 5).unwrap().top_error, 0.0);
    }
}
