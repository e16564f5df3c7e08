//! How far a loss is from the constant-sum condition, measured on a grid.

use candle_core::{DType, Device, Tensor};

use crate::error::{During, Result};
use crate::loss::{CONSTANT_SUM, Loss};

/// The element type a diagnostic is computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Precision {
    /// Single, as in training and in the paper's table.
    F32,
    /// Double.
    F64,
}

impl Precision {
    fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F64 => DType::F64,
        }
    }
}

/// The two diagnostic columns of the paper's table of loss variants.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ConstantSum {
    /// The largest deviation on the grid.
    pub max: f64,
    /// Its 99th percentile (linear interpolation).
    pub p99: f64,
}

/// Largest deviation, and 99th percentile, from the constant-sum condition (section III) on the
/// grid `z = -10, -9.99, …, 10`, computed by the tensor code that training uses.
///
/// ```text
/// |ℓ(z) + ℓ(-z) - C|
/// ```
///
/// The paper prints the condition as `ℓ(z,+1) + ℓ(-z,-1) ≡ C`; with `ℓ(z, y) = ℓ(yz)` that would be
/// `2ℓ(z) ≡ C`, so it must read as above.
#[doc(alias = "eq:constant-sum")]
pub fn constant_sum(loss: &Loss, precision: Precision) -> Result<ConstantSum> {
    let grid: Vec<f64> = (-1000..=1000).map(|i| f64::from(i) / 100.0).collect();
    let z = Tensor::new(grid, &Device::Cpu)
        .and_then(|z| z.to_dtype(precision.dtype()))
        .during("the margin grid")?;
    let mirrored = z.neg().during("the margin grid")?;
    let (forth, back) = (loss.tensor(&z)?, loss.tensor(&mirrored)?);
    let deviations = (forth + back)
        .and_then(|sum| {
            (sum - CONSTANT_SUM)?
                .abs()?
                .to_dtype(DType::F64)?
                .to_vec1::<f64>()
        })
        .during("the constant-sum deviation")?;
    Ok(summarize(deviations))
}

fn summarize(mut deviations: Vec<f64>) -> ConstantSum {
    deviations.sort_by(f64::total_cmp);
    let last = deviations.len() - 1;
    let position = 0.99 * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let share = position - below as f64;
    let p99 = deviations[below] + share * (deviations[above] - deviations[below]);
    ConstantSum {
        max: deviations[last],
        p99,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, Surrogate};

    #[test]
    fn the_published_columns_come_out() {
        // (surrogate, γ, form, max, p99) of the paper's table; 0 stands for "below 1e-6".
        for (surrogate, gamma, form, max, p99) in [
            (Surrogate::Hinge, 1.0, Form::Raw, 10.00, 9.90),
            (Surrogate::Hinge, 1.0, Form::Sym, 0.0, 0.0),
            (Surrogate::Logistic, 1.0, Form::Raw, 9.00, 8.90),
            (Surrogate::Ramp, 1.0, Form::Raw, 1.00, 0.90),
            (Surrogate::Ramp, 1.0, Form::Sym, 0.0, 0.0),
            (Surrogate::SigmoidProb, 1.0, Form::Raw, 0.0, 0.0),
            (Surrogate::SigmoidProb, 2.0, Form::Raw, 0.0, 0.0),
            (Surrogate::TanhSmooth, 1.0, Form::Raw, 0.0, 0.0),
            (Surrogate::Unhinged, 1.0, Form::Raw, 0.0, 0.0),
        ] {
            let loss = Loss::new(surrogate, gamma, form).unwrap();
            for (precision, noise) in [(Precision::F32, 1e-6), (Precision::F64, 1e-15)] {
                let got = constant_sum(&loss, precision).unwrap();
                for (got, want) in [(got.max, max), (got.p99, p99)] {
                    if want == 0.0 {
                        assert!(got <= noise, "{surrogate} {form} {precision:?}: {got}");
                    } else {
                        assert_eq!(format!("{got:.2}"), format!("{want:.2}"), "{surrogate}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_condition_as_printed_fails_for_every_loss() {
        // ℓ(z,+1) + ℓ(-z,-1) = ℓ(z) + ℓ(z), which is constant for no surrogate.
        for surrogate in Surrogate::ALL {
            let loss = Loss::new(surrogate, 1.0, Form::Raw).unwrap();
            let printed = |z: f64| loss.value(z) + loss.value(-(-z));
            assert!((printed(-0.5) - printed(0.5)).abs() > 0.1, "{surrogate}");
        }
    }
}
