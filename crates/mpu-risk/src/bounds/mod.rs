//! The theory of the paper in plain `f64`: estimation error, misspecified priors, corrected risk.
//!
//! | statement | function |
//! |---|---|
//! | Lemma 1 | [`excess_from_deviations`] |
//! | Lemma 2 | [`uniform_deviation`] |
//! | Theorem 2 | [`estimation_error`] |
//! | Lemma 3 | [`prior_bias`], [`prior_bias_bound`], [`total_prior_bias_bound`] |
//! | Theorem 3 and its remark | [`misspecified_excess`], [`misspecified_excess_bound`] |
//! | Theorem 4 | [`risk_upper_bound`], [`risk_deviation`], [`correction_excess`] |
//!
//! Several printed constants are wrong or loose. [`Constants`] chooses: `Corrected` is the default
//! and what the proofs support, `Printed` is what the paper prints. docs/EQUATIONS.md in the
//! repository says for each what differs and why.
//!
//! Theorem 2 needs Rademacher complexities. Give them, or let [`Network`] bound them from the
//! weights of a trained network.

mod corrected_risk;
mod estimation_error;
mod misspecification;
mod rademacher;

pub use corrected_risk::{
    correction_excess, correction_supremum, risk_deviation, risk_upper_bound,
};
pub use estimation_error::{
    Complexities, estimation_error, excess_from_deviations, uniform_deviation,
};
pub use misspecification::{
    gap_bound, loss_gap, misspecified_excess, misspecified_excess_bound, prior_bias,
    prior_bias_bound, total_prior_bias_bound,
};
pub use rademacher::{Layer, Network};

use mpu_data::{Priors, bad_setting};
use mpu_loss::Loss;

use crate::error::{Error, Result, check_len, check_not_empty};
use crate::groups::Groups;

/// Which constants a statement is evaluated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Constants {
    /// Those that the proof supports.
    #[default]
    Corrected,
    /// Those printed in the paper.
    Printed,
}

/// Sizes of the labelled sets `n_i` and of the pool (`n_k` in the paper), all at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleSizes {
    labeled: Vec<usize>,
    unlabeled: usize,
}

impl SampleSizes {
    /// Takes the number of labelled rows of each observed class and the number of pool rows.
    pub fn new(labeled: Vec<usize>, unlabeled: usize) -> Result<Self> {
        for &n in labeled.iter().chain([&unlabeled]) {
            if n == 0 {
                return Err(bad_setting("a sample size", n, "at least 1"));
            }
        }
        check_not_empty("the labelled sample sizes", &labeled)?;
        Ok(Self { labeled, unlabeled })
    }

    /// The sizes of the groups of a sample.
    pub fn of(groups: &Groups) -> Result<Self> {
        Self::new(groups.n_labeled().to_vec(), groups.n_unlabeled())
    }

    /// The number of labelled rows of each observed class.
    pub fn labeled(&self) -> &[usize] {
        &self.labeled
    }

    /// The number of pool rows.
    pub fn unlabeled(&self) -> usize {
        self.unlabeled
    }

    fn check(&self, priors: &Priors) -> Result<()> {
        check_len(
            "the labelled sample sizes",
            self.labeled.len(),
            priors.observed().len(),
        )
    }
}

/// `C_ℓ`, the upper end of a loss in `[0, C_ℓ]`.
fn loss_bound(loss: &Loss) -> Result<f64> {
    let (surrogate, form) = (loss.surrogate(), loss.form());
    loss.facts()
        .bound()
        .ok_or(Error::Unbounded { surrogate, form })
}

fn check_delta(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(bad_setting("delta", delta, "above 0 and below 1"))
}

fn check_non_negative(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
        Some(&value) => Err(bad_setting(what, value, "finite and at least 0")),
        None => Ok(()),
    }
}
