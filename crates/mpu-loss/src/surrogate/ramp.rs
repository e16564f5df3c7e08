//! Ramp loss.

use candle_core::{Result, Tensor};

use crate::stable::inside;

/// The ramp surrogate: the hinge, cut off at one.
///
/// ```text
/// ℓ(z) = min(1, max(0, 1 - z))
/// ```
#[doc(alias = "eq:surrogate-ramp")]
pub(super) fn value(z: f64) -> f64 {
    (1.0 - z).clamp(0.0, 1.0)
}

/// `ℓ'(z) = -1` for `0 < z < 1`, else 0; at the kinks as PyTorch's `minimum(1, relu(1 - z))` has
/// it: 0 at `z = 1` (relu), -1/2 at `z = 0` (a tie is shared), which also makes the symmetrised
/// ramp's slope right where it has no kink.
pub(super) fn derivative(z: f64) -> f64 {
    if z == 0.0 {
        -0.5
    } else if z > 0.0 && z < 1.0 {
        -1.0
    } else {
        0.0
    }
}

pub(super) fn tensors(z: &Tensor) -> Result<(Tensor, Tensor)> {
    let value = z.affine(-1.0, 1.0)?.clamp(0.0, 1.0)?;
    let tie = z.eq(0.0)?.to_dtype(z.dtype())?;
    let slope = (inside(z, 0.0, 1.0)? + (tie * 0.5)?)?.neg()?;
    Ok((value, slope))
}
