//! Best-bin estimation (Garg, Wu, Smola, Balakrishnan, Lipton, "Mixture Proportion Estimation and PU Learning:
//! A Modern Approach", NeurIPS 2021).

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_not_negative, check_open_share};
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator, one_by_one};
use crate::margins::{Counts, Margins};
use crate::tail::Tails;

mpu_data::defaults! {
    /// The estimator `bbe`.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct BestBin {
        /// The probability that the deviation allowed for is exceeded.
        pub delta: f64 = 0.1,
        /// By how much more than the deviation is allowed for.
        pub gamma: f64 = 0.01,
    }
}

impl PriorEstimator for BestBin {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::Bbe
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        check_open_share("delta", self.delta)?;
        check_not_negative("gamma", self.gamma)?;
        let settings = *self;
        Ok(one_by_one(margins, |class| {
            let tails = Tails::new(margins, class);
            move |counts: &Counts| settings.best_bin(&tails, counts)
        }))
    }
}

impl BestBin {
    /// The ratio of acceptance rates at the threshold where its upper limit is least.
    ///
    /// ```text
    /// t̂ = argmin_t  q_U(t)/q_j(t) + (1+γ)/q_j(t) · (√(log(4/δ)/2n_U) + √(log(4/δ)/2n_j))
    /// π̂_j = q_U(t̂) / q_j(t̂),   q(t) the share with z_j ≥ t
    /// ```
    #[doc(alias = "eq:best-bin")]
    fn best_bin(&self, tails: &Tails, counts: &Counts) -> f64 {
        let (n_labeled, n_pool) = tails.totals(counts);
        let deviation = |n: u64| (libm::log(4.0 / self.delta) / (2.0 * n as f64)).sqrt();
        let slack = (1.0 + self.gamma) * (deviation(n_pool) + deviation(n_labeled));
        let mut best = (f64::INFINITY, 1.0);
        tails.walk(counts, |above| {
            let on_class = above.labeled as f64 / n_labeled as f64;
            let on_pool = above.pool as f64 / n_pool as f64;
            let limit = (on_pool + slack) / on_class;
            if limit < best.0 {
                best = (limit, on_pool / on_class);
            }
            true
        });
        best.1.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margins::Rows;

    #[test]
    fn the_best_bin_by_hand() {
        // Four labelled rows at 4, 3, 2, 1; four of ten pool rows at 3.5, 2.5, 2.5, 0, the rest lower.
        // Slack s = 1.01 (√(ln 40/20) + √(ln 40/8)): large, so that the widest bins win:
        // z ≥ 2: (0.3 + s)/0.75, z ≥ 1: (0.3 + s)/1. The estimate is 0.3/1.
        let class = Rows::of_one_fold([4.0, 3.0, 2.0, 1.0]);
        let pool = Rows::of_one_fold([3.5, 2.5, 2.5, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]);
        let margins = Margins::new(vec![class], pool).unwrap();
        assert_eq!(BestBin::default().estimate(&margins).unwrap(), [0.3]);
        // Without slack the least ratio wins: nothing of the pool is at or above 4.
        let greedy = BestBin {
            delta: 1.0 - 1e-12,
            gamma: 0.0,
        };
        let found = greedy.estimate(&margins).unwrap()[0];
        assert_eq!(found, 0.3, "log 4 still allows for much");
        let counted = Counts::new(&margins, |_, row| if row == 0 { 3 } else { 1 });
        let prepared = BestBin::default().prepare(&margins).unwrap();
        // The row at 3.5 counts three times: 5 of 12 at or above 1.
        assert!((prepared.point(&counted).unwrap()[0] - 5.0 / 12.0).abs() < 1e-12);
    }

    #[test]
    fn bad_settings_are_refused() {
        let row = Rows::of_one_fold([0.0]);
        let margins = Margins::new(vec![row.clone()], row).unwrap();
        for (delta, gamma) in [(0.0, 0.1), (0.1, -1.0), (f64::NAN, 0.1)] {
            assert!(BestBin { delta, gamma }.estimate(&margins).is_err());
        }
    }
}
