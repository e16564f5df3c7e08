//! Probability-style sigmoid.

use candle_core::{Result, Tensor};

use crate::stable::{sigmoid, sigmoid_tensor};

/// The sigmoid surrogate of section III of the paper.
///
/// ```text
/// ℓ(z) = σ(-γz) = 1 / (1 + e^{γz})
/// ```
#[doc(alias = "eq:surrogate-sigmoid-prob")]
pub(super) fn value(z: f64, gamma: f64) -> f64 {
    sigmoid(-gamma * z)
}

/// `ℓ'(z) = -γ σ(γz) σ(-γz)`.
pub(super) fn derivative(z: f64, gamma: f64) -> f64 {
    -gamma * sigmoid(gamma * z) * sigmoid(-gamma * z)
}

pub(super) fn tensors(z: &Tensor, gamma: f64) -> Result<(Tensor, Tensor)> {
    let value = sigmoid_tensor(&(z * -gamma)?)?;
    let complement = sigmoid_tensor(&(z * gamma)?)?;
    let slope = ((&value * complement)? * -gamma)?;
    Ok((value, slope))
}
