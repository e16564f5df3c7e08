//! Lemma 3 and Theorem 3: what a wrong prior costs.

use mpu_data::bad_setting;
use mpu_loss::Loss;

use super::{Constants, check_non_negative, loss_bound};
use crate::error::{Result, check_len, check_not_empty};

/// `b_i`, the mean gap of the loss on class-`i` data, by which the risk of class `i` moves with its
/// prior (section IV).
///
/// ```text
/// b_i(f) = E_{p_i}[ ℓ(f_i) - ℓ(-f_i) ]
/// ```
///
/// `margins` are the scores `f_i` of labelled rows of class `i`.
#[doc(alias = "eq:loss-gap")]
pub fn loss_gap(loss: &Loss, margins: &[f64]) -> Result<f64> {
    check_not_empty("the margins", margins)?;
    if let Some(&value) = margins.iter().find(|z| !z.is_finite()) {
        return Err(bad_setting("a margin", value, "finite"));
    }
    let total: f64 = margins
        .iter()
        .map(|&z| loss.value(z) - loss.value(-z))
        .sum();
    Ok(total / margins.len() as f64)
}

/// The bound `C_Δ` on `|b_i|` (Lemma 3).
///
/// ```text
/// printed: 2C_ℓ      corrected: C_ℓ
/// ```
///
/// The difference of two numbers in `[0, C_ℓ]` is at most `C_ℓ`; the printed bound adds where it
/// might subtract, and is twice too large.
#[doc(alias = "eq:gap-bound")]
pub fn gap_bound(loss: &Loss, constants: Constants) -> Result<f64> {
    let c = loss_bound(loss)?;
    Ok(match constants {
        Constants::Corrected => c,
        Constants::Printed => 2.0 * c,
    })
}

/// The bias of the risk of class `i` under an assumed prior (section IV).
///
/// ```text
/// Bias_i = |π̂_i - π_i| · |b_i(f)|
/// ```
#[doc(alias = "eq:prior-bias")]
pub fn prior_bias(assumed: f64, prior: f64, gap: f64) -> f64 {
    (assumed - prior).abs() * gap.abs()
}

/// Lemma 3 for one class. An outer correction with Lipschitz constant 1 (all of ours) leaves it.
///
/// ```text
/// Bias_i ≤ C_Δ |π̂_i - π_i|
/// ```
#[doc(alias = "eq:prior-bias-bound")]
pub fn prior_bias_bound(
    assumed: f64,
    prior: f64,
    loss: &Loss,
    constants: Constants,
) -> Result<f64> {
    Ok(gap_bound(loss, constants)? * (assumed - prior).abs())
}

/// Lemma 3 for all classes, with cost weights `λ_i`.
///
/// ```text
/// Σ λ_i Bias_i ≤ (Σ λ_i) C_Δ max_i |π̂_i - π_i|
/// ```
#[doc(alias = "eq:total-prior-bias-bound")]
pub fn total_prior_bias_bound(
    weights: &[f64],
    errors: &[f64],
    loss: &Loss,
    constants: Constants,
) -> Result<f64> {
    check(weights, errors)?;
    let worst = errors.iter().map(|e| e.abs()).fold(0.0, f64::max);
    Ok(weights.iter().sum::<f64>() * gap_bound(loss, constants)? * worst)
}

/// Theorem 3 with the biases of both classifiers given.
///
/// ```text
/// R(f̂) - R(f*) ≤ 2Γ(δ) + Σ λ_i ( Bias_i(f̂) + Bias_i(f*) )
/// ```
///
/// `deviation` is `Γ(δ)`, for instance half of [`estimation_error`](super::estimation_error).
#[doc(alias = "eq:misspecified-excess")]
pub fn misspecified_excess(
    deviation: f64,
    weights: &[f64],
    learned_biases: &[f64],
    best_biases: &[f64],
) -> Result<f64> {
    check_non_negative("the deviation", &[deviation])?;
    check_non_negative("a bias", learned_biases)?;
    check_non_negative("a bias", best_biases)?;
    check(weights, learned_biases)?;
    check(weights, best_biases)?;
    let biases: f64 = weights
        .iter()
        .zip(learned_biases.iter().zip(best_biases))
        .map(|(lambda, (learned, best))| lambda * (learned + best))
        .sum();
    Ok(2.0 * deviation + biases)
}

/// Theorem 3 in its uniform form; `errors` are `π̂_i - π_i`.
///
/// ```text
/// R(f̂) - R(f*) ≤ 2Γ(δ) + 2C_Δ Σ λ_i |π̂_i - π_i|
/// ```
///
/// With `Σ λ_i = 1` and every error at most `ε`, that is at most `2Γ(δ) + 2C_Δ ε` (the remark).
#[doc(alias = "eq:misspecified-excess-bound")]
pub fn misspecified_excess_bound(
    deviation: f64,
    weights: &[f64],
    errors: &[f64],
    loss: &Loss,
    constants: Constants,
) -> Result<f64> {
    check_non_negative("the deviation", &[deviation])?;
    check(weights, errors)?;
    let error: f64 = weights
        .iter()
        .zip(errors)
        .map(|(lambda, e)| lambda * e.abs())
        .sum();
    Ok(2.0 * deviation + 2.0 * gap_bound(loss, constants)? * error)
}

fn check(weights: &[f64], values: &[f64]) -> Result<()> {
    check_non_negative("a cost weight", weights)?;
    check_len("the list", values.len(), weights.len())?;
    match values.iter().find(|v| !v.is_finite()) {
        Some(&value) => Err(bad_setting("an entry", value, "finite")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use mpu_loss::{Form, Surrogate};
    use proptest::prelude::*;

    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn statements_by_hand() {
        let ramp = Loss::new(Surrogate::Ramp, 1.0, Form::Raw).unwrap();
        // ramp(z) - ramp(-z): at 2 it is 0 - 1, at -0.5 it is 1 - 0.5.
        assert_eq!(loss_gap(&ramp, &[2.0, -0.5]).unwrap(), -0.25);
        assert!((prior_bias(0.5, 0.3, -0.25) - 0.05).abs() < 1e-15);
        let bound = |c| prior_bias_bound(0.5, 0.3, &ramp, c).unwrap();
        assert!((bound(Constants::Corrected) - 0.2).abs() < 1e-15);
        assert!((bound(Constants::Printed) - 0.4).abs() < 1e-15);
        let (weights, errors) = ([0.5, 0.5], [0.1, -0.2]);
        let total = total_prior_bias_bound(&weights, &errors, &ramp, Constants::Corrected);
        assert!((total.unwrap() - 0.2).abs() < 1e-15);
        let excess = misspecified_excess(0.1, &weights, &[0.1, 0.2], &[0.0, 0.1]).unwrap();
        assert!((excess - 0.4).abs() < 1e-15);
        let uniform =
            misspecified_excess_bound(0.1, &weights, &errors, &ramp, Constants::Corrected);
        assert!((uniform.unwrap() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_refused() {
        let loss = Loss::default();
        check_message(loss_gap(&loss, &[]), "the margins has 0 entries");
        check_message(loss_gap(&loss, &[f64::NAN]), "a margin is NaN");
        let unhinged = Loss::new(Surrogate::Unhinged, 1.0, Form::Raw).unwrap();
        check_message(gap_bound(&unhinged, Constants::Printed), "is not bounded");
        assert!(total_prior_bias_bound(&[-1.0], &[0.0], &loss, Constants::Corrected).is_err());
        assert!(total_prior_bias_bound(&[1.0], &[], &loss, Constants::Corrected).is_err());
        assert!(misspecified_excess(-1.0, &[], &[], &[]).is_err());
    }

    proptest! {
        #[test]
        fn the_bias_is_what_the_risk_moves_by_and_stays_below_its_bounds(
            margins in prop::collection::vec(-5.0f64..5.0, 1..20),
            prior in 0.0f64..1.0,
            assumed in 0.0f64..1.0,
        ) {
            for surrogate in Surrogate::ALL {
                for form in Form::ALL {
                    let loss = Loss::new(surrogate, 1.0, form).unwrap();
                    let gap = loss_gap(&loss, &margins).unwrap();
                    let bias = prior_bias(assumed, prior, gap);
                    // The per-class risk is E_u[ℓ(-f)] + π b; the pool's part does not move.
                    let moved = (assumed * gap - prior * gap).abs();
                    prop_assert!((bias - moved).abs() < 1e-12);
                    if loss.facts().bound().is_some() {
                        for constants in [Constants::Corrected, Constants::Printed] {
                            let bound = prior_bias_bound(assumed, prior, &loss, constants).unwrap();
                            prop_assert!(bias <= bound + 1e-12);
                        }
                    }
                }
            }
        }
    }
}
