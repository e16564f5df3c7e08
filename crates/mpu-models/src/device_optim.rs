//! Optimisers beside networks on a device.

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, DType, Device, Storage, Tensor};

use crate::error::{During as _, Result, check_length};
use crate::network::Network;
use crate::optim::{OptimSpec, OptimState, Optimizer, adam_step};

/// An [`Optimizer`] whose parameters and memory live in blocks on the network's device; a step reads nothing back.
///
/// On the CPU, where nothing is far, it is the [`Optimizer`] itself, which moves a block in place. A dozen operations on
/// tensors would each make a new block, and the system would have to find fresh memory for most of them.
///
/// candle-nn's own AdamW has the same formula, but keeps its memory to itself, so that nothing could be resumed.
#[derive(Debug, Clone)]
pub struct DeviceOptimizer(Memory);

#[derive(Debug, Clone)]
enum Memory {
    Host {
        optimizer: Optimizer,
        values: Vec<f32>,
        gradient: Vec<f32>,
    },
    Device(Blocks),
}

const STEP: &str = "the optimiser's step";

impl DeviceOptimizer {
    /// Goes on from parameters and a state that [`state`](Self::state) or an [`Optimizer`] gave.
    pub fn new(
        spec: OptimSpec,
        state: &OptimState,
        values: &[f32],
        device: &Device,
    ) -> Result<Self> {
        check_length("parameters", values.len(), state.first.len())?;
        let optimizer = Optimizer::resume(spec, state.clone())?;
        Ok(Self(if device.is_cpu() {
            Memory::Host {
                optimizer,
                values: values.to_vec(),
                gradient: vec![0.0; values.len()],
            }
        } else {
            Memory::Device(Blocks::new(&optimizer, values, device)?)
        }))
    }

    /// The parameters, in one block on the device.
    pub fn values(&self) -> Result<Tensor> {
        match &self.0 {
            Memory::Host { values, .. } => {
                Tensor::from_slice(values, values.len(), &Device::Cpu).during("the parameters")
            }
            Memory::Device(blocks) => Ok(blocks.values.clone()),
        }
    }

    /// What to keep in order to resume, read back from the device.
    pub fn state(&self) -> Result<OptimState> {
        match &self.0 {
            Memory::Host { optimizer, .. } => Ok(optimizer.state().clone()),
            Memory::Device(blocks) => blocks.state(),
        }
    }

    /// Moves the parameters against the gradient of every trainable variable of a network with learning rate `lr`, and
    /// hands them to the network.
    pub fn step(&mut self, network: &Network, gradients: &GradStore, lr: f64) -> Result<()> {
        match &mut self.0 {
            Memory::Host {
                optimizer,
                values,
                gradient,
            } => {
                for (entry, var) in network.trainable() {
                    copy(gradients.get(var), &mut gradient[entry.range()]).during(STEP)?;
                }
                optimizer.step(values, gradient, lr)?;
                for (entry, var) in network.trainable() {
                    let moved = &values[entry.range()];
                    Tensor::from_slice(moved, entry.shape.as_slice(), &Device::Cpu)
                        .and_then(|moved| var.set(&moved.to_dtype(var.dtype())?))
                        .during(STEP)?;
                }
                Ok(())
            }
            Memory::Device(blocks) => {
                blocks.step(&network.gradient_block(gradients)?, lr)?;
                network.set_trainable_block(&blocks.values)
            }
        }
    }
}

/// Copies a tensor of the CPU, or zeros if there is none.
fn copy(from: Option<&Tensor>, to: &mut [f32]) -> candle_core::Result<()> {
    let Some(from) = from else {
        to.fill(0.0);
        return Ok(());
    };
    let flat = from.to_dtype(DType::F32)?.flatten_all()?;
    let (storage, layout) = flat.storage_and_layout();
    match (&*storage, layout.contiguous_offsets()) {
        (Storage::Cpu(CpuStorage::F32(values)), Some((first, end))) if end - first == to.len() => {
            to.copy_from_slice(&values[first..end]);
        }
        _ => candle_core::bail!("a gradient of another shape or device than its variable"),
    }
    Ok(())
}

/// Parameters and the memory of their optimiser in blocks on a device. Tensors are never changed in place, so that a
/// clone copies nothing.
#[derive(Debug, Clone)]
struct Blocks {
    spec: OptimSpec,
    step: u64,
    values: Tensor,
    first: Tensor,
    second: Tensor,
}

impl Blocks {
    fn new(optimizer: &Optimizer, values: &[f32], device: &Device) -> Result<Self> {
        let block = |values: &[f32]| {
            Tensor::from_slice(values, values.len(), device).during("the optimiser's memory")
        };
        let state = optimizer.state();
        Ok(Self {
            spec: optimizer.spec(),
            step: state.step,
            values: block(values)?,
            first: block(&state.first)?,
            second: block(&state.second)?,
        })
    }

    fn state(&self) -> Result<OptimState> {
        let read = |block: &Tensor| {
            block
                .to_vec1::<f32>()
                .during("reading the optimiser's memory")
        };
        Ok(OptimState {
            step: self.step,
            first: read(&self.first)?,
            second: read(&self.second)?,
        })
    }

    fn step(&mut self, gradient: &Tensor, lr: f64) -> Result<()> {
        self.step += 1;
        self.move_by(gradient, lr).during(STEP)
    }

    fn move_by(&mut self, gradient: &Tensor, lr: f64) -> candle_core::Result<()> {
        match self.spec {
            OptimSpec::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                let k = adam_step([beta1, beta2], eps, weight_decay, self.step, lr);
                let change = (gradient - &self.first)?.affine(f64::from(k.share1), 0.0)?;
                self.first = (&self.first + change)?;
                let new = gradient.sqr()?.affine(f64::from(k.share2), 0.0)?;
                self.second = (self.second.affine(f64::from(k.beta2), 0.0)? + new)?;
                let root = self.second.sqrt()?.affine(1.0, f64::from(k.eps))?;
                let step = (self.first.affine(f64::from(k.step), 0.0)? / root)?;
                if k.keep != 1.0 {
                    self.values = self.values.affine(f64::from(k.keep), 0.0)?;
                }
                self.values = (&self.values - step)?;
            }
            OptimSpec::Sgd { momentum } => {
                self.first = (self.first.affine(momentum, 0.0)? + gradient)?;
                self.values = (&self.values - self.first.affine(lr, 0.0)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::tests::{LR, N, SPECS, check_formulas};

    #[test]
    fn blocks_follow_the_formulas_and_resume() {
        for spec in SPECS {
            let mut state = Optimizer::new(spec, N).unwrap().state().clone();
            check_formulas(spec, 2e-6, |values, gradient| {
                // Stopped and resumed in between.
                let optimizer = Optimizer::resume(spec, state.clone()).unwrap();
                let mut blocks = Blocks::new(&optimizer, values, &Device::Cpu).unwrap();
                let gradient = Tensor::from_vec(gradient, N, &Device::Cpu).unwrap();
                blocks.step(&gradient, LR).unwrap();
                *values = blocks.values.to_vec1().unwrap();
                state = blocks.state().unwrap();
            });
            assert_eq!(state.step, 5);
        }
    }
}
