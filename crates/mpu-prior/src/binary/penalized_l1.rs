//! Penalised L1 divergence (du Plessis, Niu, Sugiyama, "Class-prior estimation for learning from positive and
//! unlabeled data", Machine Learning 106, 2017).

use mpu_data::bad_setting;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator};
use crate::margins::{Counts, Margins};
use crate::moments::{Binned, Shares};

mpu_data::defaults! {
    /// The estimator `pen-l1`, on one margin at a time.
    ///
    /// The margin enters as its rank among the class's labelled margins, in 200 steps, so that the width of the basis
    /// functions means the same for every scale of margins. The authors choose width and regularisation by
    /// cross-validation; here both are fixed, which keeps a replicate cheap.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct PenalizedL1 {
        /// Gaussian basis functions, centres evenly on the ranks.
        pub n_basis: usize = 50,
        /// Their width, as a share of the ranks.
        pub width: f64 = 0.1,
        /// The regularisation `λ`. Small: noise pulls the estimate down. Large: it is biased upwards.
        pub lambda: f64 = 0.01,
    }
}

const N_RANKS: usize = 200;

/// The minimiser in `[0, 1]` of the penalised L1 divergence.
///
/// ```text
/// argmin_θ  (1/λ) Σ_l max(0, β_l)²  - θ + 1,   β_l = θ a_l - b_l
/// ```
///
/// `a_l` and `b_l` are the means of basis function `l` over the class and over the pool. The slope in `θ` increases;
/// its zero is found by bisection.
#[doc(alias = "eq:penalized-l1")]
pub fn penalized_l1(on_class: &[f64], on_pool: &[f64], lambda: f64) -> f64 {
    let slope = |theta: f64| -> f64 {
        let terms = on_class.iter().zip(on_pool);
        let sum: f64 = terms.map(|(a, b)| a * (theta * a - b).max(0.0)).sum();
        2.0 / lambda * sum - 1.0
    };
    let (mut low, mut high) = (0.0, 1.0);
    if slope(high) <= 0.0 {
        return high;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if slope(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::midpoint(low, high)
}

impl PriorEstimator for PenalizedL1 {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::PenL1
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        for (name, value) in [
            ("width", self.width),
            ("lambda", self.lambda),
            ("n-basis", self.n_basis as f64),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                let allowed = "a positive number";
                return Err(bad_setting(name, value, allowed));
            }
        }
        let rank = |bin: usize| (bin as f64 + 0.5) / N_RANKS as f64;
        let center = |l: usize| (l as f64 + 0.5) / self.n_basis as f64;
        let basis = (0..self.n_basis).map(|l| {
            let far = |bin: usize| (rank(bin) - center(l)) / self.width;
            (0..N_RANKS)
                .map(|bin| libm::exp(-0.5 * far(bin) * far(bin)))
                .collect()
        });
        Ok(Box::new(PreparedL1 {
            lambda: self.lambda,
            basis: basis.collect(),
            binned: Binned::new(margins, N_RANKS),
        }))
    }
}

struct PreparedL1 {
    lambda: f64,
    /// Values of each basis function on the ranks.
    basis: Vec<Vec<f64>>,
    binned: Binned,
}

impl Prepared for PreparedL1 {
    fn point(&self, counts: &Counts) -> Result<Vec<f64>> {
        let shares = self.binned.shares(counts);
        let n = shares.n_observed();
        let of = |class| {
            let (a, b) = (
                self.means(&shares, class, class),
                self.means(&shares, n, class),
            );
            penalized_l1(&a, &b, self.lambda)
        };
        Ok((0..n).map(of).collect())
    }
}

impl PreparedL1 {
    fn means(&self, shares: &Shares<'_>, group: usize, class: usize) -> Vec<f64> {
        let bins = shares.bins(group, class);
        let mean = |basis: &Vec<f64>| basis.iter().zip(&bins).map(|(v, share)| v * share).sum();
        self.basis.iter().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimiser_by_hand() {
        // One function: 2/λ a (θa - b) = 1, so θ = b/a + λ/(2a²).
        let found = penalized_l1(&[0.5], &[0.2], 0.1);
        assert!((found - (0.4 + 0.2)).abs() < 1e-12, "{found}");
        // Of two functions only the one with θa > b counts: the other's ratio is 2.
        let found = penalized_l1(&[0.5, 0.1], &[0.2, 0.2], 0.1);
        assert!((found - 0.6).abs() < 1e-12, "{found}");
        // Both: Σ 2/λ a (θa - b) = 1 with a = (1, 1), b = (0.1, 0.3), λ = 0.4: 2θ - 0.4 = 0.2.
        let found = penalized_l1(&[1.0, 1.0], &[0.1, 0.3], 0.4);
        assert!((found - 0.3).abs() < 1e-12, "{found}");
        assert_eq!(penalized_l1(&[0.5], &[0.2], 10.0), 1.0, "cut at one");
    }
}
