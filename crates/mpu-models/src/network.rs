//! Networks in plain candle operations, on any device.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, ModuleT, Tensor, Var};
use candle_nn::VarBuilder;

use crate::error::{During, Error, Result};
use crate::layout::Entry;
use crate::mlp::Mlp;
use crate::module::{Body, Module, Named};
use crate::params::Params;
use crate::resnet::ResNet;
use crate::spec::{Mode, ModelSpec};

/// A network whose parameters are candle variables: slow on the CPU, but it runs on every device
/// and its gradients come from candle. The [fused path](crate::fused) is held to it.
///
/// Its layers are candle-nn's where these compute what PyTorch's do; batch normalisation and ReLU are our own. So are
/// the variables: a `VarMap` has the order of a hash and cannot be seeded on the CPU.
#[derive(Clone)]
pub struct Network {
    spec: ModelSpec,
    entries: Vec<Entry>,
    /// One for every entry, in the same order.
    vars: Vec<Var>,
    device: Device,
    /// What trainable variables are stored and computed in.
    dtype: DType,
    layers: Layers,
}

/// A network that is built: ours apart that can leave values out.
#[derive(Clone)]
enum Layers {
    Mlp(Mlp),
    Other(Body),
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// A network on `device` with a copy of `params`.
    pub fn new(params: &Params, device: &Device) -> Result<Self> {
        Self::in_precision(None, params, device, DType::F32)
    }

    /// The network that a module builds, on `device` with a copy of `params`.
    pub fn of(module: &Module, params: &Params, device: &Device) -> Result<Self> {
        Self::in_precision(Some(module), params, device, DType::F32)
    }

    /// A network that computes in `dtype`, `bf16` say: its trainable variables, and what its layers make of them. What
    /// goes in and comes out is `f32`, and so are buffers, gradients and blocks of parameters: who trains it keeps
    /// parameters of full precision and hands them over after every step ([`set_trainable_block`](Self::set_trainable_block)).
    pub fn in_precision(
        module: Option<&Module>,
        params: &Params,
        device: &Device,
        dtype: DType,
    ) -> Result<Self> {
        Self::with(params, device, dtype, |vb| {
            Ok(match (module, params.spec()) {
                (Some(module), _) => Layers::Other(module.build(vb).during(BUILDING)?),
                (None, ModelSpec::Mlp(mlp)) => Layers::Mlp(Mlp::new(mlp, &vb).during(BUILDING)?),
                (None, ModelSpec::ResNet(net)) => {
                    Layers::Other(Arc::new(ResNet::new(net, &vb).during(BUILDING)?))
                }
                (None, ModelSpec::Module(_)) => {
                    return Err(Error::OwnNetwork {
                        what: "a network without a module",
                        hint: "give the module that it was built from",
                    });
                }
            })
        })
    }

    fn with(
        params: &Params,
        device: &Device,
        dtype: DType,
        build: impl FnOnce(VarBuilder<'static>) -> Result<Layers>,
    ) -> Result<Self> {
        let (mut vars, mut named) = (Vec::new(), BTreeMap::new());
        for (entry, tensor) in params.to_tensors(device)? {
            let tensor = if entry.role.is_trainable() {
                tensor.to_dtype(dtype)
            } else {
                Ok(tensor)
            };
            let var = tensor.and_then(|tensor| Var::from_tensor(&tensor));
            let var = var.during("making a variable")?;
            vars.push(var.clone());
            named.insert(entry.name.clone(), var);
        }
        let backend = Box::new(Named(named));
        let layers = build(VarBuilder::from_backend(backend, dtype, device.clone()))?;
        Ok(Self {
            spec: params.spec().clone(),
            entries: params.entries().to_vec(),
            vars,
            device: device.clone(),
            dtype,
            layers,
        })
    }

    /// The architecture.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Where its variables are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Scores `[n, outputs]` of a batch: rows `[n, inputs]`, which for an image model are images
    /// in the order channel, row, column (`[n, channels, height, width]` will do as well).
    ///
    /// In training the running statistics of batch normalisation move. Nothing is read back from the device.
    pub fn forward(&self, batch: &Tensor, mode: Mode) -> Result<Tensor> {
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
        let dropout = match (mode, &self.layers) {
            (Mode::Drop(_), Layers::Other(_)) => return Err(Error::NoDropout),
            (Mode::Drop(dropout), Layers::Mlp(_)) => Some(dropout),
            _ => None,
        };
        let training = mode != Mode::Eval;
        let scores = batch
            .reshape(self.spec.batch_dims(n_rows))
            .and_then(|batch| batch.to_dtype(self.dtype))
            .and_then(|batch| match &self.layers {
                Layers::Mlp(mlp) => mlp.forward(&batch, training, dropout),
                Layers::Other(body) => body.forward_t(&batch, training),
            })
            .and_then(|scores| scores.to_dtype(DType::F32))
            .during("the forward pass")?;
        let needed = [n_rows, self.spec.outputs()];
        if scores.dims() != needed {
            return Err(Error::Scores {
                found: scores.dims().to_vec(),
                needed: needed.to_vec(),
            });
        }
        Ok(scores)
    }

    /// The trainable variables, in order.
    pub fn trainable(&self) -> impl Iterator<Item = (&Entry, &Var)> {
        self.of_kind(Kind::Trainable)
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Entry, &Var)> {
        self.entries
            .iter()
            .zip(&self.vars)
            .filter(move |(entry, _)| entry.role.is_trainable() == (kind == Kind::Trainable))
    }

    /// The gradient of every trainable value in one block on the device, as [`Params::trainable`] is ordered.
    /// A variable the loss does not depend on has gradient zero.
    pub fn gradient_block(&self, grads: &GradStore) -> Result<Tensor> {
        let parts = self.trainable().map(|(_, var)| match grads.get(var) {
            Some(grad) => grad.flatten_all()?.to_dtype(DType::F32),
            None => Tensor::zeros(var.elem_count(), DType::F32, &self.device),
        });
        parts
            .collect::<candle_core::Result<Vec<Tensor>>>()
            .and_then(|parts| Tensor::cat(&parts, 0))
            .during("joining the gradients")
    }

    /// [`gradient_block`](Self::gradient_block), read back.
    pub fn gradient(&self, grads: &GradStore) -> Result<Vec<f32>> {
        self.gradient_block(grads)?
            .to_vec1()
            .during("reading the gradient")
    }

    /// A copy of all trainable values in one block on the device.
    pub fn trainable_block(&self) -> Result<Tensor> {
        self.block(Kind::Trainable)
    }

    /// A copy of all buffers in one block on the device.
    pub fn buffer_block(&self) -> Result<Tensor> {
        self.block(Kind::Buffer)
    }

    fn block(&self, kind: Kind) -> Result<Tensor> {
        let parts = self.of_kind(kind).map(|(_, var)| {
            // A variable of one part would be handed on as it is, and move with the network.
            let values = var.as_detached_tensor().flatten_all()?;
            values.to_dtype(DType::F32)?.copy()
        });
        let parts = parts.collect::<candle_core::Result<Vec<Tensor>>>();
        parts
            .and_then(|parts| match parts.as_slice() {
                [] => Tensor::zeros(0, DType::F32, &self.device),
                parts => Tensor::cat(parts, 0),
            })
            .during("joining the variables")
    }

    /// Takes the trainable values of a block on the device.
    pub fn set_trainable_block(&self, block: &Tensor) -> Result<()> {
        self.set_block(Kind::Trainable, block)
    }

    /// Takes the buffers of a block on the device.
    pub fn set_buffer_block(&self, block: &Tensor) -> Result<()> {
        self.set_block(Kind::Buffer, block)
    }

    fn set_block(&self, kind: Kind, block: &Tensor) -> Result<()> {
        for (entry, var) in self.of_kind(kind) {
            block
                .narrow(0, entry.offset, entry.n_values())
                .and_then(|part| part.reshape(entry.shape.as_slice())?.to_dtype(var.dtype()))
                .and_then(|part| var.set(&part))
                .during("setting a variable")?;
        }
        Ok(())
    }

    /// A copy of the parameters as they stand, read back from the device.
    pub fn to_params(&self) -> Result<Params> {
        self.params_of(&self.trainable_block()?, &self.buffer_block()?)
    }

    /// Parameters of the network from two blocks, read back from the device.
    pub fn params_of(&self, trainable: &Tensor, buffers: &Tensor) -> Result<Params> {
        let read = |block: &Tensor| block.to_vec1::<f32>().during("reading the variables");
        Params::from_blocks(&self.spec, read(trainable)?, read(buffers)?)
    }

    /// Takes the values of `params`, as after a step of an optimiser.
    pub fn set_params(&self, params: &Params) -> Result<()> {
        if *params.spec() != self.spec {
            return Err(Error::OtherModel { what: "network" });
        }
        for (values, kind) in [
            (params.trainable(), Kind::Trainable),
            (params.buffers(), Kind::Buffer),
        ] {
            let block = Tensor::from_slice(values, values.len(), &self.device);
            self.set_block(kind, &block.during("setting the variables")?)?;
        }
        Ok(())
    }
}

impl ModuleT for Network {
    fn forward_t(&self, batch: &Tensor, train: bool) -> candle_core::Result<Tensor> {
        let mode = if train { Mode::Train } else { Mode::Eval };
        self.forward(batch, mode).map_err(candle_core::Error::wrap)
    }
}

const BUILDING: &str = "building the network";

/// What the optimiser moves, and what it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trainable,
    Buffer,
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::{DeviceOptimizer, Init, OptimSpec, Optimizer, ResNetSpec};

    /// Half precision as the CPU has it: the way of `bf16` on other devices.
    #[test]
    fn half_precision_computes_beside_parameters_of_full_precision() {
        let image = ModelSpec::ResNet(ResNetSpec {
            channels: 1,
            height: 4,
            width: 4,
            depth: 8,
            outputs: 3,
        });
        for spec in [ModelSpec::mlp5(16, 3), image] {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let params = Params::init(&spec, Init::Torch, &mut rng).unwrap();
            let rows: Vec<f32> = (0..8 * 16).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
            let rows = Tensor::from_vec(rows, (8, 16), &Device::Cpu).unwrap();
            let [full, half] = [DType::F32, DType::F16].map(|dtype| {
                let network = Network::in_precision(None, &params, &Device::Cpu, dtype).unwrap();
                let (spec, values) = (OptimSpec::ADAM, params.trainable());
                let memory = Optimizer::new(spec, values.len()).unwrap();
                let optimizer = DeviceOptimizer::new(spec, memory.state(), values, &Device::Cpu);
                let mut optimizer = optimizer.unwrap();
                let mut losses = Vec::new();
                for _ in 0..8 {
                    let scores = network.forward(&rows, Mode::Train).unwrap();
                    assert_eq!(scores.dtype(), DType::F32);
                    let loss = (scores - 1.0).unwrap().sqr().unwrap().mean_all().unwrap();
                    let gradients = loss.backward().unwrap();
                    let block = network.gradient_block(&gradients).unwrap();
                    assert_eq!(block.dtype(), DType::F32);
                    optimizer.step(&network, &gradients, 1e-3).unwrap();
                    losses.push(loss.to_scalar::<f32>().unwrap());
                }
                for (entry, var) in network.entries.iter().zip(&network.vars) {
                    let wanted = if entry.role.is_trainable() {
                        dtype
                    } else {
                        DType::F32
                    };
                    assert_eq!(var.dtype(), wanted, "{}", entry.name);
                }
                let kept = optimizer.values().unwrap().to_vec1::<f32>().unwrap();
                let used = network.trainable_block().unwrap();
                let used = used.to_vec1::<f32>().unwrap();
                assert_eq!(kept == used, dtype == DType::F32, "what is kept is finer");
                losses
            });
            assert_ne!(full, half);
            for (full, half) in full.iter().zip(&half) {
                assert!((full - half).abs() < 0.02 * full.max(0.1), "{full} {half}");
            }
            assert!(half[7] < half[0], "{half:?}");
        }
    }
}
