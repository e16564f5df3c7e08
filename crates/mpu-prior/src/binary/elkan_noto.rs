//! Elkan and Noto's constant (C. Elkan, K. Noto, "Learning classifiers from only positive and unlabeled data",
//! KDD 2008), for labelled rows that were drawn apart from the pool.

use crate::error::Result;
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator, one_by_one};
use crate::margins::{Counts, Group, Margins};

/// The estimator `elkan-noto`. It takes margins for log odds and stands or falls with their calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElkanNoto;

/// The prior from the mean probability `c` that the classifier gives to labelled rows of being labelled.
///
/// ```text
/// π̂_j = (n_j / n_U) (1 - c) / c,   c = mean over X_j of σ(z_j)
/// ```
///
/// Among labelled rows and pool together, `P(s = j | x) = c P(y = j | x)`, so there are `n_j / c` rows of class `j`,
/// of which `n_j` are labelled and the rest are the pool's.
#[doc(alias = "eq:elkan-noto")]
pub fn elkan_noto(c: f64, n_labeled: f64, n_pool: f64) -> f64 {
    (n_labeled / n_pool * (1.0 - c) / c).clamp(0.0, 1.0)
}

impl PriorEstimator for ElkanNoto {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::ElkanNoto
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        let sigmoid = |z: f64| 1.0 / (1.0 + libm::exp(-z));
        let pool = margins.index(Group::Pool);
        Ok(one_by_one(margins, |class| {
            let own = margins.margin(Group::Class(class), class);
            let probabilities: Vec<f64> = own.map(sigmoid).collect();
            move |counts: &Counts| {
                let n_pool = counts.total(pool) as f64;
                let counted = probabilities.iter().zip(counts.at(class));
                let sum: f64 = counted.map(|(p, &count)| p * f64::from(count)).sum();
                let n_labeled = counts.total(class) as f64;
                // A margin of -800 has probability 0; the smallest number keeps the quotient defined.
                elkan_noto((sum / n_labeled).max(f64::MIN_POSITIVE), n_labeled, n_pool)
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margins::Rows;

    #[test]
    fn the_constant_by_hand() {
        // 100 labelled among 100 + 400 rows, half of all rows of the class labelled: 100 more in the pool.
        assert_eq!(elkan_noto(0.5, 100.0, 400.0), 0.25);
        assert_eq!(elkan_noto(1.0, 100.0, 400.0), 0.0);
        assert_eq!(elkan_noto(1e-9, 100.0, 400.0), 1.0);
        let log_odds = |p: f64| libm::log(p / (1.0 - p));
        let class = Rows {
            values: vec![log_odds(0.4), log_odds(0.8)],
            folds: vec![0, 1],
        };
        let margins = Margins::new(vec![class], Rows::of_one_fold([0.0; 4])).unwrap();
        let found = ElkanNoto.estimate(&margins).unwrap()[0];
        assert!((found - 0.5 * 0.4 / 0.6).abs() < 1e-12, "{found}");
    }
}
