//! Every surrogate in both forms, held to independent formulas, differences and known facts.

use candle_core::{DType, Device, Tensor, Var};
use mpu_loss::{Form, Loss, Surrogate};
use proptest::prelude::*;

use crate::refused;

/// All surrogates × forms × a few scales.
fn all_losses() -> Vec<Loss> {
    let mut losses = Vec::new();
    for surrogate in Surrogate::ALL {
        for form in Form::ALL {
            for gamma in [1.0, 2.0, 0.5] {
                losses.extend(Loss::new(surrogate, gamma, form));
            }
        }
    }
    assert_eq!(
        losses.len(),
        3 * 2 * 3 + 3 * 2,
        "three surrogates have a scale"
    );
    losses
}

/// The formulas as printed, written a second time and without care for overflow.
fn printed(surrogate: Surrogate, gamma: f64, form: Form, z: f64) -> f64 {
    let raw = |z: f64| match surrogate {
        Surrogate::SigmoidProb => 1.0 / (1.0 + (gamma * z).exp()),
        Surrogate::Unhinged => (1.0 - z) / 2.0,
        Surrogate::TanhSmooth => (1.0 - (gamma * z).tanh()) / 2.0,
        Surrogate::Hinge => f64::max(0.0, 1.0 - z),
        Surrogate::Ramp => f64::min(1.0, f64::max(0.0, 1.0 - z)),
        Surrogate::Logistic => (1.0 + (-gamma * z).exp()).ln(),
    };
    match form {
        Form::Raw => raw(z),
        Form::Sym => f64::min(1.0, f64::max(0.0, (raw(z) - raw(-z)) / 2.0 + 0.5)),
    }
}

/// Where a loss may have a kink: no difference quotient is taken there.
fn near_a_kink(z: f64, gamma: f64) -> bool {
    [0.0, 0.5, 1.0, 1.0 / gamma]
        .iter()
        .any(|k| (z.abs() - k).abs() < 1e-3)
}

#[test]
fn hand_computed_values() {
    use Form::{Raw, Sym};
    use Surrogate::{Hinge, Logistic, Ramp, SigmoidProb, TanhSmooth, Unhinged};
    let at = |surrogate, gamma, form, z| Loss::new(surrogate, gamma, form).unwrap().value(z);
    for (got, want) in [
        (at(SigmoidProb, 1.0, Raw, 0.0), 0.5),
        (at(SigmoidProb, 2.0, Raw, 0.5), 0.268_941_421_369_995_1),
        (at(Unhinged, 1.0, Raw, 3.0), -1.0),
        (at(Unhinged, 1.0, Sym, 3.0), 0.0),
        (at(TanhSmooth, 1.0, Raw, 0.5), 0.268_941_421_369_995_1),
        (at(Hinge, 1.0, Raw, -2.0), 3.0),
        (at(Hinge, 1.0, Sym, 0.25), 0.25),
        (at(Hinge, 1.0, Sym, -2.0), 1.0),
        (at(Ramp, 1.0, Raw, 0.25), 0.75),
        (at(Ramp, 1.0, Sym, 0.5), 0.25),
        (at(Logistic, 1.0, Raw, 0.0), std::f64::consts::LN_2),
        (at(Logistic, 2.0, Sym, 0.25), 0.25),
    ] {
        assert!((got - want).abs() < 1e-15, "{got} is not {want}");
    }
}

#[test]
fn slopes_at_kinks_are_those_of_pytorch() {
    let slope = |surrogate, form, z| Loss::new(surrogate, 1.0, form).unwrap().derivative(z);
    // relu(1 - z) at z = 1.
    assert_eq!(slope(Surrogate::Hinge, Form::Raw, 1.0), 0.0);
    // minimum(1, relu(1 - z)): a tie is shared at 0, relu has slope 0 at 1.
    assert_eq!(slope(Surrogate::Ramp, Form::Raw, 0.0), -0.5);
    assert_eq!(slope(Surrogate::Ramp, Form::Raw, 1.0), 0.0);
    // No kink there once symmetrised.
    assert_eq!(slope(Surrogate::Ramp, Form::Sym, 0.0), -0.5);
    // clamp passes the gradient at its limits and not beyond.
    assert_eq!(slope(Surrogate::Hinge, Form::Sym, 0.5), -1.0);
    assert_eq!(slope(Surrogate::Hinge, Form::Sym, 0.500_001), 0.0);
    assert_eq!(slope(Surrogate::Unhinged, Form::Sym, -1.5), 0.0);
}

#[test]
fn facts_hold_and_are_tight() {
    let grid: Vec<f64> = (-100_000..=100_000)
        .map(|i| f64::from(i) / 1000.0)
        .collect();
    for loss in all_losses() {
        let facts = loss.facts();
        let values: Vec<f64> = grid.iter().map(|&z| loss.value(z)).collect();
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| {
                (l.min(v), h.max(v))
            });
        assert!(facts.low <= low && high <= facts.high, "{loss:?}");
        if facts.low.is_finite() {
            assert!(
                low - facts.low < 1e-9,
                "{loss:?}: the lower end is not reached"
            );
        } else {
            assert!(low < -10.0, "{loss:?}");
        }
        if facts.high.is_finite() {
            assert!(
                facts.high - high < 1e-9,
                "{loss:?}: the upper end is not reached"
            );
        } else {
            assert!(high > 10.0, "{loss:?}");
        }
        let steepest = grid
            .iter()
            .map(|&z| loss.derivative(z).abs())
            .fold(0.0, f64::max);
        assert!(
            (steepest - facts.lipschitz).abs() < 1e-9,
            "{loss:?}: {steepest}"
        );
        let rises = values.windows(2).any(|pair| pair[1] > pair[0] + 1e-15);
        assert_eq!(facts.non_increasing, !rises, "{loss:?}");
        let worst = grid
            .iter()
            .map(|&z| (loss.value(z) + loss.value(-z) - 1.0).abs())
            .fold(0.0, f64::max);
        assert_eq!(facts.constant_sum, worst < 1e-12, "{loss:?}: {worst}");
        assert_eq!(
            facts.bound(),
            (facts.low >= 0.0 && facts.high == 1.0).then_some(1.0)
        );
    }
}

#[test]
fn tensors_agree_with_scalars_to_a_hundred_and_at_kinks() {
    let grid = [
        -100.0, -31.5, -2.0, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 31.5, 100.0,
    ];
    for loss in all_losses() {
        for (dtype, tolerance) in [(DType::F32, 3e-7), (DType::F64, 1e-14)] {
            let z = Tensor::new(&grid, &Device::Cpu)
                .unwrap()
                .to_dtype(dtype)
                .unwrap();
            let z = Var::from_tensor(&z).unwrap();
            let values = loss.tensor(&z).unwrap();
            let gradients = values.sum_all().unwrap().backward().unwrap();
            let slopes = gradients.get(&z).unwrap();
            let read = |t: &Tensor| t.to_dtype(DType::F64).unwrap().to_vec1::<f64>().unwrap();
            for ((&z, value), slope) in grid.iter().zip(read(&values)).zip(read(slopes)) {
                for (got, want) in [(value, loss.value(z)), (slope, loss.derivative(z))] {
                    assert!(got.is_finite(), "{loss:?} {dtype:?} at {z}");
                    let scale = want.abs().max(1.0);
                    assert!(
                        (got - want).abs() <= tolerance * scale,
                        "{loss:?} {z}: {got} {want}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_bad_scale_is_refused_with_its_value() {
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let told = format!("gamma is {gamma}: it must be a finite number above 0");
        refused(Loss::new(Surrogate::Logistic, gamma, Form::Raw), &told);
    }
    let told = "gamma is 2, but hinge has no scale: it must be 1";
    refused(Loss::new(Surrogate::Hinge, 2.0, Form::Raw), told);
}

#[test]
fn unknown_names_are_explained() {
    for told in ["`sigmoid`", "sigmoid_prob"] {
        refused("sigmoid".parse::<Surrogate>(), told);
    }
    assert!("symmetric".parse::<Form>().is_err());
    let loss: Loss = serde_json::from_str(r#"{"surrogate": "hinge", "form": "sym"}"#).unwrap();
    assert_eq!(loss, Loss::new(Surrogate::Hinge, 1.0, Form::Sym).unwrap());
    assert!(serde_json::from_str::<Loss>(r#"{"surrogate": "logistic", "gamma": 0}"#).is_err());
    assert!(serde_json::from_str::<Loss>(r#"{"surrogate": "logistic", "gama": 1}"#).is_err());
}

proptest! {
    #[test]
    fn values_are_the_printed_formulas(z in -20.0f64..20.0) {
        for loss in all_losses() {
            let want = printed(loss.surrogate(), loss.gamma(), loss.form(), z);
            let got = loss.value(z);
            prop_assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{:?} {} {}", loss, got, want);
        }
    }

    #[test]
    fn derivatives_are_central_differences(z in -5.0f64..5.0) {
        let h = 1e-5;
        for loss in all_losses().into_iter().filter(|loss| !near_a_kink(z, loss.gamma())) {
            let want = (loss.value(z + h) - loss.value(z - h)) / (2.0 * h);
            let got = loss.derivative(z);
            prop_assert!((got - want).abs() <= 1e-6 * want.abs().max(1e-3), "{:?} {} {}", loss, got, want);
        }
    }

    #[test]
    fn extreme_margins_stay_finite(z in -1e300f64..1e300) {
        for loss in all_losses() {
            prop_assert!(loss.value(z).is_finite() && loss.derivative(z).is_finite(), "{:?}", loss);
        }
    }
}
