//! What an estimator says about itself: its gap, its offset, and one class at a time.

use mpu_data::{Priors, bad_setting};
use mpu_loss::{CONSTANT_SUM, Loss, top_observed};

use crate::bounds::Constants;
use crate::error::{Result, check_len, check_priors};
use crate::groups::Groups;

/// By how much the paper's risk (Theorem 1) exceeds the true risk, estimated from labelled rows
/// alone. Not in the paper.
///
/// ```text
/// gap = Σ_{i<k} π_i mean_{X_i}[ ℓ(f_i) - ℓ(f_{i*}) ] ≥ 0
/// ```
///
/// From the constant-sum condition `L_i + L_k = 2C + ℓ(f_i) - ℓ(f_{i*})`, which the paper takes to be
/// `2C`. The gap vanishes exactly where the top observed score on class-`i` data is `f_i`.
/// `csmpu-exact-*` has none. For a surrogate that does not satisfy the condition the number is
/// still reported, but the difference from the true risk then has other parts as well.
#[doc(alias = "eq:unbiasedness-gap")]
pub fn unbiasedness_gap(
    loss: &Loss,
    priors: &Priors,
    scores: &[f64],
    groups: &Groups,
) -> Result<f64> {
    let k = groups.classes().get();
    check_priors(priors, k)?;
    check_len("the scores", scores.len(), groups.n_rows() * k)?;
    let excess = |(&r, &class): (&usize, &usize)| -> Result<f64> {
        let row = &scores[r * k..(r + 1) * k];
        Ok(loss.value(row[class]) - loss.value(row[top_observed(row)?]))
    };
    let rows = groups.labeled_rows().iter().zip(groups.labeled_classes());
    let excesses: Vec<f64> = rows.map(excess).collect::<Result<_>>()?;
    let means = groups.labeled_means(&excesses);
    Ok(priors
        .observed()
        .iter()
        .zip(means)
        .map(|(pi, mean)| pi * mean.unwrap_or(0.0))
        .sum())
}

/// The constant by which `area` exceeds `ure-ovr` for every constant-sum surrogate. Not in the
/// paper.
///
/// ```text
/// R_area - R_ure-ovr = k/(k-1) · C · (1-π_k)
/// ```
///
/// The two therefore have the same gradients and the same minimiser. The paper's tables report very
/// different accuracies for them, so its URE-OVR cannot have used the same surrogate.
#[doc(alias = "eq:area-offset")]
pub fn area_offset(priors: &Priors) -> f64 {
    let k = priors.classes().get() as f64;
    k / (k - 1.0) * CONSTANT_SUM * (1.0 - priors.negative())
}

/// The risk of one class against the rest, from positives of it and the pool (equations 1 and 2 of
/// the paper).
///
/// ```text
/// R_k = π_k E_P[ℓ(z)] + (1-π_k) E_N[ℓ(-z)]
///     = 2π_k E_P[ℓ(z)] - E_U[ℓ(z)] + (1-π_k)C     corrected
///     = 2π_k E_P[ℓ(z)] - E_U[ℓ(z)] - 2(1-π_k)C    printed
/// ```
///
/// The printed constant belongs to Theorem 1; here it is wrong, which enumeration of a finite
/// distribution shows. `mean_positive` is `E_P[ℓ(z)]`, `mean_unlabeled` is `E_U[ℓ(z)]`.
#[doc(alias = "eq:ovr-risk-sym")]
pub fn class_risk(
    prior: f64,
    mean_positive: f64,
    mean_unlabeled: f64,
    constants: Constants,
) -> Result<f64> {
    if !(0.0..=1.0).contains(&prior) {
        let allowed = "from 0 to 1";
        return Err(bad_setting("the prior", prior, allowed));
    }
    let constant = match constants {
        Constants::Corrected => (1.0 - prior) * CONSTANT_SUM,
        Constants::Printed => -2.0 * (1.0 - prior) * CONSTANT_SUM,
    };
    Ok(2.0 * prior * mean_positive - mean_unlabeled + constant)
}
