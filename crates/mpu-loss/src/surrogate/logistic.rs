//! Logistic log-loss.

use candle_core::{Result, Tensor};

use crate::stable::{sigmoid, sigmoid_tensor, softplus, softplus_tensor};

/// The logistic surrogate (softplus).
///
/// ```text
/// ℓ(z) = log(1 + e^{-γz})
/// ```
#[doc(alias = "eq:surrogate-logistic")]
pub(super) fn value(z: f64, gamma: f64) -> f64 {
    softplus(-gamma * z)
}

/// `ℓ'(z) = -γ σ(-γz)`.
pub(super) fn derivative(z: f64, gamma: f64) -> f64 {
    -gamma * sigmoid(-gamma * z)
}

pub(super) fn tensors(z: &Tensor, gamma: f64) -> Result<(Tensor, Tensor)> {
    let x = (z * -gamma)?;
    let slope = (sigmoid_tensor(&x)? * -gamma)?;
    Ok((softplus_tensor(&x)?, slope))
}
