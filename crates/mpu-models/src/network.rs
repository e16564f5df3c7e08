//! The reference path: a network in plain candle operations, on any device.

use candle_core::backprop::GradStore;
use candle_core::{Device, Tensor, Var};

use crate::error::{During, Error, Result};
use crate::layout::Entry;
use crate::mlp::{Linear, Mlp};
use crate::norm::BatchNorm;
use crate::params::Params;
use crate::resnet::{Block, ConvNorm, ResNet};
use crate::spec::{Mode, ModelSpec};

/// A network whose parameters are candle variables: slow on the CPU, but it runs on every device
/// and its gradients come from candle. The [fused path](crate::fused) is held to it.
#[derive(Debug, Clone)]
pub struct Network {
    spec: ModelSpec,
    entries: Vec<Entry>,
    /// One for every entry, in the same order.
    vars: Vec<Var>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Mlp(Mlp),
    ResNet(ResNet),
}

impl Network {
    /// A network on `device` with a copy of `params`.
    pub fn new(params: &Params, device: &Device) -> Result<Self> {
        let mut vars = Vec::with_capacity(params.entries().len());
        for (_, tensor) in params.to_tensors(device)? {
            vars.push(Var::from_tensor(&tensor).during("making a variable")?);
        }
        let mut take = Taker { vars: vars.iter() };
        let spec = params.spec().clone();
        let body = match &spec {
            ModelSpec::Mlp(mlp) => Body::Mlp(Mlp {
                hidden: mlp
                    .hidden
                    .iter()
                    .map(|_| Ok((take.linear()?, take.norm()?)))
                    .collect::<Result<_>>()?,
                head: take.linear()?,
            }),
            ModelSpec::ResNet(net) => Body::ResNet(ResNet {
                stem: take.conv(1)?,
                blocks: net
                    .blocks()
                    .iter()
                    .map(|block| {
                        Ok(Block {
                            first: take.conv(block.stride)?,
                            second: take.conv(1)?,
                        })
                    })
                    .collect::<Result<_>>()?,
                head: take.linear()?,
            }),
        };
        Ok(Self {
            spec,
            entries: params.entries().to_vec(),
            vars,
            body,
        })
    }

    /// Scores `[n, outputs]` of a batch: rows `[n, inputs]`, which for an image model are images
    /// in the order channel, row, column (`[n, channels, height, width]` will do as well).
    ///
    /// In [`Mode::Train`] the running statistics of batch normalisation move.
    pub fn forward(&mut self, batch: &Tensor, mode: Mode) -> Result<Tensor> {
        let n_rows = batch.dim(0).during("reading the batch's shape")?;
        let needed = n_rows * self.spec.inputs();
        if batch.elem_count() != needed || n_rows == 0 {
            let found = batch.elem_count();
            return Err(Error::Length {
                what: "the batch",
                found,
                needed,
            });
        }
        match (&self.body, &self.spec) {
            (Body::Mlp(mlp), _) => batch
                .reshape((n_rows, self.spec.inputs()))
                .and_then(|rows| mlp.forward(&rows, mode)),
            (Body::ResNet(net), ModelSpec::ResNet(spec)) => batch
                .reshape((n_rows, spec.channels, spec.height, spec.width))
                .and_then(|images| net.forward(&images, mode)),
            (Body::ResNet(_), ModelSpec::Mlp(_)) => {
                return Err(Error::OtherModel { what: "network" });
            }
        }
        .during("the forward pass")
    }

    /// The trainable variables, in order.
    pub fn trainable(&self) -> impl Iterator<Item = (&Entry, &Var)> {
        self.entries
            .iter()
            .zip(&self.vars)
            .filter(|(entry, _)| entry.role.is_trainable())
    }

    /// The gradient of every trainable value in one block, as [`Params::trainable`] is ordered.
    /// A variable the loss does not depend on has gradient zero.
    pub fn gradient(&self, grads: &GradStore) -> Result<Vec<f32>> {
        let mut block = Vec::new();
        for (entry, var) in self.trainable() {
            match grads.get(var) {
                Some(grad) => block.extend(
                    grad.flatten_all()
                        .and_then(|grad| grad.to_vec1::<f32>())
                        .during("reading a gradient")?,
                ),
                None => block.resize(block.len() + entry.n_values(), 0.0),
            }
        }
        Ok(block)
    }

    /// A copy of the parameters as they stand.
    pub fn to_params(&self) -> Result<Params> {
        let named = self.entries.iter().zip(&self.vars);
        Params::from_tensors(
            &self.spec,
            named.map(|(e, var)| (e.name.as_str(), var.as_tensor())),
        )
    }

    /// Takes the values of `params`, as after a step of an optimiser.
    pub fn set_params(&mut self, params: &Params) -> Result<()> {
        if *params.spec() != self.spec {
            return Err(Error::OtherModel { what: "network" });
        }
        for (var, (entry, values)) in self.vars.iter().zip(params.iter()) {
            Tensor::from_slice(values, entry.shape.as_slice(), var.device())
                .and_then(|tensor| var.set(&tensor))
                .during("setting a variable")?;
        }
        Ok(())
    }
}

/// Hands out variables in the order of the entries.
struct Taker<'a> {
    vars: std::slice::Iter<'a, Var>,
}

impl Taker<'_> {
    fn next(&mut self) -> Result<Var> {
        self.vars
            .next()
            .cloned()
            .ok_or(Error::OtherModel { what: "network" })
    }

    fn linear(&mut self) -> Result<Linear> {
        Ok(Linear {
            weight: self.next()?,
            bias: self.next()?,
        })
    }

    fn norm(&mut self) -> Result<BatchNorm> {
        Ok(BatchNorm {
            scale: self.next()?,
            shift: self.next()?,
            running_mean: self.next()?,
            running_var: self.next()?,
        })
    }

    fn conv(&mut self, stride: usize) -> Result<ConvNorm> {
        Ok(ConvNorm {
            weight: self.next()?,
            norm: self.norm()?,
            stride,
        })
    }
}
