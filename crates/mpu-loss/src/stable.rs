//! Overflow-safe primitives, in `f64` and in plain tensor operations that every device has.
//!
//! The tensor forms here carry no gradient of their own: [`with_slope`] attaches the exact one.
//! That keeps backward passes free of the NaNs that differentiating through `exp` and `where`
//! produces at large scores, and sets the slope at kinks by rule rather than by accident.

use candle_core::{Result, Tensor};

/// `1 / (1 + e^{-x})`.
pub(crate) fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x >= 0.0 {
        1.0 / (1.0 + e)
    } else {
        e / (1.0 + e)
    }
}

/// `log(1 + e^x)`.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// [`sigmoid`] of every element.
pub(crate) fn sigmoid_tensor(x: &Tensor) -> Result<Tensor> {
    let e = x.abs()?.neg()?.exp()?;
    let upper = (&e + 1.0)?.recip()?;
    let lower = (&e * &upper)?;
    x.ge(0.0)?.where_cond(&upper, &lower)
}

/// [`softplus`] of every element.
pub(crate) fn softplus_tensor(x: &Tensor) -> Result<Tensor> {
    let tail = (x.abs()?.neg()?.exp()? + 1.0)?.log()?;
    x.maximum(0.0)? + tail
}

/// 1 where `lower < x < upper`, else 0, in the type of `x`.
pub(crate) fn inside(x: &Tensor, lower: f64, upper: f64) -> Result<Tensor> {
    let dtype = x.dtype();
    x.gt(lower)?.to_dtype(dtype)? * x.lt(upper)?.to_dtype(dtype)?
}

/// A tensor that has the given value, and the given slope with respect to `x`.
///
/// `value + (x - x₀)·slope` with `x₀` cut off from the graph: the bracket is exactly zero.
pub(crate) fn with_slope(x: &Tensor, value: &Tensor, slope: &Tensor) -> Result<Tensor> {
    let displacement = (x - x.detach())?;
    value.detach() + (displacement * slope.detach())?
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::*;

    const EXTREMES: [f64; 9] = [-100.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 30.0, 100.0];

    #[test]
    fn scalar_forms_at_known_points() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert!((sigmoid(1.0) - 0.731_058_578_630_004_9).abs() < 1e-15);
        assert!((sigmoid(-100.0) - 3.720_075_976_020_836e-44).abs() < 1e-58);
        assert_eq!(softplus(0.0), std::f64::consts::LN_2);
        assert_eq!(softplus(100.0), 100.0);
        assert!((softplus(-100.0) - 3.720_075_976_020_836e-44).abs() < 1e-58);
    }

    #[test]
    fn tensor_forms_agree_with_scalar_forms() {
        for dtype in [DType::F32, DType::F64] {
            let tolerance = if dtype == DType::F32 { 2e-7 } else { 1e-15 };
            let x = Tensor::new(&EXTREMES, &Device::Cpu)
                .unwrap()
                .to_dtype(dtype)
                .unwrap();
            for (tensor, scalar) in [
                (sigmoid_tensor(&x).unwrap(), sigmoid as fn(f64) -> f64),
                (softplus_tensor(&x).unwrap(), softplus),
            ] {
                let got = tensor
                    .to_dtype(DType::F64)
                    .unwrap()
                    .to_vec1::<f64>()
                    .unwrap();
                for (&z, got) in EXTREMES.iter().zip(got) {
                    let want = scalar(z);
                    assert!(
                        (got - want).abs() <= tolerance * want.abs().max(1.0),
                        "{z}: {got} {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_attached_slope_is_the_gradient_and_leaves_the_value_alone() {
        let x = Var::new(&[1.5f64, -2.0], &Device::Cpu).unwrap();
        let value = Tensor::new(&[7.0f64, 8.0], &Device::Cpu).unwrap();
        let slope = Tensor::new(&[0.25f64, -3.0], &Device::Cpu).unwrap();
        let y = with_slope(&x, &value, &slope).unwrap();
        assert_eq!(y.to_vec1::<f64>().unwrap(), [7.0, 8.0]);
        let gradients = y.sum_all().unwrap().backward().unwrap();
        assert_eq!(
            gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(),
            [0.25, -3.0]
        );
    }
}
