//! Smooth step through the hyperbolic tangent.

use candle_core::{Result, Tensor};

/// The tanh surrogate of the loss-variant table.
///
/// ```text
/// ℓ(z) = (1 - tanh(γz)) / 2
/// ```
#[doc(alias = "eq:surrogate-tanh-smooth")]
pub(super) fn value(z: f64, gamma: f64) -> f64 {
    (1.0 - (gamma * z).tanh()) / 2.0
}

/// `ℓ'(z) = -γ (1 - tanh²(γz)) / 2`.
pub(super) fn derivative(z: f64, gamma: f64) -> f64 {
    let t = (gamma * z).tanh();
    -gamma * (1.0 - t * t) / 2.0
}

pub(super) fn tensors(z: &Tensor, gamma: f64) -> Result<(Tensor, Tensor)> {
    let t = (z * gamma)?.tanh()?;
    let value = t.affine(-0.5, 0.5)?;
    let slope = t.sqr()?.affine(gamma / 2.0, -gamma / 2.0)?;
    Ok((value, slope))
}
