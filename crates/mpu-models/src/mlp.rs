//! The multi-layer perceptron in candle's layers.

use candle_core::{Module as _, ModuleT, Result, Tensor};
use candle_nn::{Linear, VarBuilder, linear};

use crate::dropout::Dropout;
use crate::norm::{BatchNorm, relu};
use crate::spec::MlpSpec;

/// Hidden layers `Linear → ReLU → BatchNorm`, then a linear layer.
#[derive(Debug, Clone)]
pub(crate) struct Mlp {
    hidden: Vec<(Linear, BatchNorm)>,
    head: Linear,
}

impl Mlp {
    pub(crate) fn new(spec: &MlpSpec, vb: &VarBuilder<'_>) -> Result<Self> {
        let (mut hidden, mut inputs) = (Vec::new(), spec.inputs);
        for (index, &width) in spec.hidden.iter().enumerate() {
            let layer = linear(inputs, width, vb.pp(format!("fc{}", index + 1)))?;
            let norm = BatchNorm::new(width, &vb.pp(format!("bn{}", index + 1)))?;
            hidden.push((layer, norm));
            inputs = width;
        }
        let head = vb.pp(format!("fc{}", spec.hidden.len() + 1));
        Ok(Self {
            hidden,
            head: linear(inputs, spec.outputs, head)?,
        })
    }

    /// Scores `[n, outputs]` of rows `[n, inputs]`.
    pub(crate) fn forward(
        &self,
        x: &Tensor,
        train: bool,
        dropout: Option<Dropout>,
    ) -> Result<Tensor> {
        let mut x = x.clone();
        for (layer, (linear, norm)) in self.hidden.iter().enumerate() {
            let active = relu(&linear.forward(&x)?)?;
            x = norm.forward_t(&active, train)?;
            if let Some(dropout) = dropout {
                let (rows, units) = x.dims2()?;
                let factors = dropout.factors(layer, rows, units);
                let factors = Tensor::from_vec(factors, (rows, units), x.device())?;
                x = (x * factors.to_dtype(linear.weight().dtype())?)?;
            }
        }
        self.head.forward(&x)
    }
}
