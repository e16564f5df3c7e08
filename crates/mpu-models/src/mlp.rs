//! The multi-layer perceptron in plain tensor operations.

use candle_core::{Result, Tensor, Var};

use crate::norm::{BatchNorm, relu};
use crate::spec::Mode;

/// `x Wᵀ + b`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    pub(crate) weight: Var,
    pub(crate) bias: Var,
}

impl Linear {
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight.as_tensor().t()?)?
            .broadcast_add(self.bias.as_tensor())
    }
}

/// Hidden layers `Linear → ReLU → BatchNorm`, then a linear layer.
#[derive(Debug, Clone)]
pub(crate) struct Mlp {
    pub(crate) hidden: Vec<(Linear, BatchNorm)>,
    pub(crate) head: Linear,
}

impl Mlp {
    /// Scores `[n, outputs]` of rows `[n, inputs]`.
    pub(crate) fn forward(&self, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = x.clone();
        for (linear, norm) in &self.hidden {
            let active = relu(&linear.forward(&x)?)?;
            x = norm.forward(&active, mode)?;
        }
        self.head.forward(&x)
    }
}
