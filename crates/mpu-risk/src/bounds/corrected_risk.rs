//! Theorem 4: the corrected risk and how far below the true one it may fall.

use mpu_data::Priors;
use mpu_loss::Loss;

use super::{Constants, SampleSizes, check_delta, check_non_negative, loss_bound};
use crate::error::Result;

/// `4 Σ π_i²/n_i + 1/n_u`, which all statements of Theorem 4 share.
fn spread(priors: &Priors, sizes: &SampleSizes) -> f64 {
    let labeled: f64 = priors
        .observed()
        .iter()
        .zip(sizes.labeled())
        .map(|(pi, &n)| pi * pi / n as f64)
        .sum();
    4.0 * labeled + 1.0 / sizes.unlabeled() as f64
}

/// How much of `C_ℓ` one per-sample loss may span: it is a sum of two surrogates, which the printed
/// statements overlook.
fn surrogates_per_sample(constants: Constants) -> f64 {
    match constants {
        Constants::Corrected => 2.0,
        Constants::Printed => 1.0,
    }
}

/// How far the corrected empirical risk may lie below the risk, with probability `1 - δ`
/// (Theorem 4).
///
/// ```text
/// corrected: 2C_ℓ sqrt( ½ (4 Σ π_i²/n_i + 1/n_u) log(1/δ) )
/// printed:    C_ℓ sqrt( ½ (4 Σ π_i²/n_i + 1/n_u) log(1/δ) )
/// ```
///
/// One sample moves the risk by `4π_i C_ℓ/n_i` or `2C_ℓ/n_u` (McDiarmid); the printed form takes
/// half of that.
#[doc(alias = "eq:risk-deviation")]
pub fn risk_deviation(
    loss: &Loss,
    priors: &Priors,
    sizes: &SampleSizes,
    delta: f64,
    constants: Constants,
) -> Result<f64> {
    check_delta(delta)?;
    sizes.check(priors)?;
    let range = surrogates_per_sample(constants) * loss_bound(loss)?;
    Ok(range * (0.5 * spread(priors, sizes) * (1.0 / delta).ln()).sqrt())
}

/// The high-probability upper bound on the risk (Theorem 4): with probability `1 - δ`
///
/// ```text
/// R(f) ≤ R̃(f) + deviation
/// ```
///
/// for one fixed `f`, with [`risk_deviation`]. `corrected` is the corrected empirical risk of
/// `csmpu-nn` or `csmpu-abs`; `R` is the paper's risk, which exceeds the true one by the
/// [gap](crate::unbiasedness_gap).
#[doc(alias = "eq:risk-upper-bound")]
pub fn risk_upper_bound(
    corrected: f64,
    loss: &Loss,
    priors: &Priors,
    sizes: &SampleSizes,
    delta: f64,
    constants: Constants,
) -> Result<f64> {
    Ok(corrected + risk_deviation(loss, priors, sizes, delta, constants)?)
}

/// `B_sup` of Theorem 4, for which the paper prints two forms; the second follows from
/// `L ≤ 2C_ℓ`.
///
/// ```text
/// corrected: 2C_ℓ (3 - 2π_k) + 2(1-π_k)          (the second printed form)
/// printed:   2C_ℓ Σ_{i<k} π_i + C_ℓ + 2(1-π_k)   (the first)
/// ```
#[doc(alias = "eq:correction-supremum")]
pub fn correction_supremum(loss: &Loss, priors: &Priors, constants: Constants) -> Result<f64> {
    let c = loss_bound(loss)?;
    let pi_k = priors.negative();
    let supremum = match constants {
        Constants::Corrected => 2.0 * c * (3.0 - 2.0 * pi_k),
        Constants::Printed => 2.0 * c * priors.observed().iter().sum::<f64>() + c,
    };
    Ok(supremum + 2.0 * (1.0 - pi_k))
}

/// The bound on the bias that the correction brings (Theorem 4).
///
/// ```text
/// E[R̃(f) - R(f)] ≤ B_sup · exp( -2ε² / (c² C_ℓ² (4 Σ π_i²/n_i + 1/n_u)) )
/// ```
///
/// with `c = 2` corrected and `c = 1` printed, and `B_sup` from [`correction_supremum`] (the second
/// form, which the paper puts here in either case).
#[doc(alias = "eq:correction-excess")]
pub fn correction_excess(
    epsilon: f64,
    loss: &Loss,
    priors: &Priors,
    sizes: &SampleSizes,
    constants: Constants,
) -> Result<f64> {
    check_non_negative("epsilon", &[epsilon])?;
    sizes.check(priors)?;
    let range = surrogates_per_sample(constants) * loss_bound(loss)?;
    let exponent = -2.0 * epsilon * epsilon / (range * range * spread(priors, sizes));
    Ok(correction_supremum(loss, priors, Constants::Corrected)? * exponent.exp())
}

#[cfg(test)]
mod tests {
    use mpu_loss::{Form, Surrogate};

    use super::*;
    use crate::error::tests::check_message;

    fn setting() -> (Loss, Priors, SampleSizes) {
        let priors = Priors::new(vec![0.25, 0.25, 0.5]).unwrap();
        let sizes = SampleSizes::new(vec![100, 50], 400).unwrap();
        (Loss::default(), priors, sizes)
    }

    #[test]
    fn deviation_by_hand() {
        let (loss, priors, sizes) = setting();
        // 4 (0.0625/100 + 0.0625/50) + 1/400 = 0.0075 + 0.0025 = 0.01; δ = e^{-2}: ½·0.01·2 = 0.01.
        let delta = (-2.0f64).exp();
        let at = |c| risk_deviation(&loss, &priors, &sizes, delta, c).unwrap();
        assert!((at(Constants::Printed) - 0.1).abs() < 1e-12);
        assert!((at(Constants::Corrected) - 0.2).abs() < 1e-12);
        let bound = risk_upper_bound(0.3, &loss, &priors, &sizes, delta, Constants::default());
        assert!((bound.unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn suprema_by_hand() {
        let (loss, priors, _) = setting();
        let at = |c| correction_supremum(&loss, &priors, c).unwrap();
        assert_eq!(at(Constants::Corrected), 2.0 * 2.0 + 1.0);
        assert_eq!(at(Constants::Printed), 2.0 * 0.5 + 1.0 + 1.0);
    }

    #[test]
    fn excess_by_hand_and_falling_in_the_sample_size() {
        let (loss, priors, sizes) = setting();
        // ε = 0.1: -2·0.01 / (4·0.01) = -0.5 corrected, -2 printed.
        let at = |c, sizes: &SampleSizes| correction_excess(0.1, &loss, &priors, sizes, c).unwrap();
        assert!((at(Constants::Corrected, &sizes) - 5.0 * (-0.5f64).exp()).abs() < 1e-12);
        assert!((at(Constants::Printed, &sizes) - 5.0 * (-2.0f64).exp()).abs() < 1e-12);
        let larger = SampleSizes::new(vec![200, 100], 800).unwrap();
        assert!(at(Constants::Corrected, &larger) < at(Constants::Corrected, &sizes));
        let deviation = |s| risk_deviation(&loss, &priors, s, 0.05, Constants::Corrected).unwrap();
        assert!(deviation(&larger) < deviation(&sizes));
    }

    #[test]
    fn bad_input_is_refused() {
        let (loss, priors, sizes) = setting();
        for delta in [0.0, 1.0, f64::NAN] {
            let result = risk_deviation(&loss, &priors, &sizes, delta, Constants::Corrected);
            check_message(result, &format!("delta is {delta}"));
        }
        let hinge = Loss::new(Surrogate::Hinge, 1.0, Form::Raw).unwrap();
        let result = risk_deviation(&hinge, &priors, &sizes, 0.1, Constants::Corrected);
        check_message(result, "hinge in form raw is not bounded");
        let few = SampleSizes::new(vec![100], 400).unwrap();
        assert!(risk_deviation(&loss, &priors, &few, 0.1, Constants::Corrected).is_err());
        assert!(SampleSizes::new(vec![0], 1).is_err() && SampleSizes::new(vec![], 1).is_err());
        assert!(correction_excess(-0.1, &loss, &priors, &sizes, Constants::Corrected).is_err());
    }
}
