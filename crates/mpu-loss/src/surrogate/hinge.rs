//! Hinge loss.

use candle_core::{Result, Tensor};

use crate::stable::inside;

/// The hinge surrogate.
///
/// ```text
/// ℓ(z) = max(0, 1 - z)
/// ```
#[doc(alias = "eq:surrogate-hinge")]
pub(super) fn value(z: f64) -> f64 {
    (1.0 - z).max(0.0)
}

/// `ℓ'(z) = -1` below `z = 1`, else 0; at the kink 0, as PyTorch's `relu(1 - z)` has it.
pub(super) fn derivative(z: f64) -> f64 {
    if z < 1.0 { -1.0 } else { 0.0 }
}

pub(super) fn tensors(z: &Tensor) -> Result<(Tensor, Tensor)> {
    let value = z.affine(-1.0, 1.0)?.maximum(0.0)?;
    let slope = inside(z, f64::NEG_INFINITY, 1.0)?.neg()?;
    Ok((value, slope))
}
