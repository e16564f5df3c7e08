//! The area under the ROC curve: how well one class's score ranks its rows before the others.
//!
//! ```
//! use mpu_data::ClassCount;
//! use mpu_eval::auc::one_versus_rest;
//!
//! // Class 0 before class 1 in three of four pairs.
//! let scores = [0.1_f32, 0.9, 0.4, 0.6, 0.35, 0.65, 0.8, 0.2];
//! let auc = one_versus_rest(ClassCount::new(2)?, &[1, 1, 0, 0], &scores)?;
//! assert_eq!(auc, [Some(0.75), Some(0.75)]);
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::ClassCount;

use crate::error::Result;
use crate::held_out::{Block, check_truths};

/// The area under the ROC curve of each class against all others, by its own score; ties count half.
///
/// ```text
/// AUC_i = P[f_i(x) > f_i(x')] + ½ P[f_i(x) = f_i(x')],   x of class i, x' of another
/// ```
///
/// `None` for a class that has no rows or all of them. Scores or probabilities, `k` to a row.
#[doc(alias = "eq:auc")]
pub fn one_versus_rest<T: Copy + Into<f64>>(
    classes: ClassCount,
    truths: &[usize],
    scores: &[T],
) -> Result<Vec<Option<f64>>> {
    let k = classes.get();
    let rows = Block::Score.rows(classes, scores)?;
    check_truths(classes, truths, rows)?;
    let auc = |class: usize| {
        let (mut own, mut rest) = (Vec::new(), Vec::new());
        for (row, &truth) in scores.chunks(k).zip(truths) {
            let side = if truth == class { &mut own } else { &mut rest };
            side.push(row[class].into());
        }
        if own.is_empty() || rest.is_empty() {
            return None;
        }
        let rest = Sorted::new(rest);
        Some(own.iter().map(|&f| rest.below(f)).sum::<f64>() / own.len() as f64)
    };
    Ok((0..k).map(auc).collect())
}

/// Numbers in order, asked what share of them lies below another.
pub(crate) struct Sorted(Vec<f64>);

impl Sorted {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        // -0 is 0: `total_cmp` alone would order them.
        for value in &mut values {
            *value += 0.0;
        }
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The share below `value`, equal ones by half.
    pub(crate) fn below(&self, value: f64) -> f64 {
        let less = self.0.partition_point(|v| *v < value);
        let not_more = self.0.partition_point(|v| *v <= value);
        0.5 * (less + not_more) as f64 / self.0.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scikit-learn 1.9.1, `roc_auc_score(y == c, s[:, c])` for each class c.
    #[test]
    fn scikit_learn_agrees() {
        let truths = [0, 1, 2, 2, 1, 0, 0, 1];
        let scores: [f64; 24] = [
            0.5, 0.3, 0.2, 0.2, 0.5, 0.3, 0.3, 0.3, 0.4, 0.6, 0.1, 0.3, 0.3, 0.4, 0.3, 0.4, 0.2,
            0.4, 0.3, 0.6, 0.1, 0.1, 0.8, 0.1,
        ];
        let auc = one_versus_rest(ClassCount::THREE, &truths, &scores).unwrap();
        let golden = [
            0.733_333_333_333_333_3,
            0.866_666_666_666_666_7,
            0.791_666_666_666_666_7,
        ];
        for (auc, golden) in auc.iter().zip(golden) {
            assert!((auc.unwrap() - golden).abs() < 1e-12, "{auc:?} {golden}");
        }
    }

    #[test]
    fn all_pairs_agree_and_ends_are_ends() {
        let mut draws = crate::testing::Draws(4);
        let mut value = || {
            let class = (draws.uniform() * 2.0) as usize;
            (class, (draws.uniform() * 8.0).floor())
        };
        let values: Vec<(usize, f64)> = (0..60).map(|_| value()).collect();
        let truths: Vec<usize> = values.iter().map(|v| v.0).collect();
        let scores: Vec<f64> = values.iter().flat_map(|v| [v.1, -v.1]).collect();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for a in values.iter().filter(|v| v.0 == 0) {
            for b in values.iter().filter(|v| v.0 == 1) {
                pairs += 1.0;
                wins += if a.1 > b.1 { 1.0 } else { 0.0 } + if a.1 == b.1 { 0.5 } else { 0.0 };
            }
        }
        let two = ClassCount::new(2).unwrap();
        let auc = one_versus_rest(two, &truths, &scores).unwrap();
        assert!((auc[0].unwrap() - wins / pairs).abs() < 1e-12);
        assert!((auc[1].unwrap() - wins / pairs).abs() < 1e-12);
        let perfect = one_versus_rest(two, &[0, 1], &[1.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(perfect, [Some(1.0), Some(1.0)]);
        // -0 and 0 tie.
        let tie = one_versus_rest(two, &[0, 1], &[0.0, 0.0, -0.0, 0.0]).unwrap();
        assert_eq!(tie[0], Some(0.5));
        assert_eq!(
            one_versus_rest(two, &[0], &[0.0, 0.0]).unwrap(),
            [None, None]
        );
        assert!(one_versus_rest(two, &[0], &[0.0, f64::NAN]).is_err());
    }
}
