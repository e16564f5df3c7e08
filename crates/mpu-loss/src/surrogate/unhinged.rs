//! Unhinged loss.

use candle_core::{Result, Tensor};

/// The unhinged surrogate of section III of the paper: linear and unbounded.
///
/// ```text
/// ℓ(z) = (1 - z) / 2
/// ```
#[doc(alias = "eq:surrogate-unhinged")]
pub(super) fn value(z: f64) -> f64 {
    (1.0 - z) / 2.0
}

/// `ℓ'(z) = -1/2`.
pub(super) fn derivative() -> f64 {
    -0.5
}

pub(super) fn tensors(z: &Tensor) -> Result<(Tensor, Tensor)> {
    let value = z.affine(-0.5, 0.5)?;
    let slope = z.zeros_like()?.affine(1.0, -0.5)?;
    Ok((value, slope))
}
