//! The numbers of a network: named, in a fixed order, trainable ones apart from buffers.

use candle_core::{DType, Device, Tensor};

use crate::error::{During, Error, Result, check_length};
use crate::layout::{Entry, Role, entries_of};
use crate::spec::ModelSpec;

/// The parameters of one network.
///
/// Trainable values lie in one block and buffers (running statistics) in another, each in the
/// order of [`Params::entries`]: an optimiser needs only [`Params::trainable_mut`] and a gradient
/// of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    spec: ModelSpec,
    entries: Vec<Entry>,
    trainable: Vec<f32>,
    buffers: Vec<f32>,
}

impl Params {
    /// Parameters that are all zero but for the scales and running variances, which are one.
    /// See [`Params::init`](crate::init) for weights to train from.
    pub fn zeros(spec: &ModelSpec) -> Result<Self> {
        spec.check()?;
        let entries = entries_of(spec);
        let mut params = Self {
            spec: spec.clone(),
            entries,
            trainable: Vec::new(),
            buffers: Vec::new(),
        };
        for entry in &params.entries {
            let value = match entry.role {
                Role::Scale | Role::RunningVar => 1.0,
                _ => 0.0,
            };
            let block = if entry.role.is_trainable() {
                &mut params.trainable
            } else {
                &mut params.buffers
            };
            block.resize(block.len() + entry.n_values(), value);
        }
        Ok(params)
    }

    /// Parameters from the two blocks that [`Params::trainable`] and [`Params::buffers`] give.
    pub fn from_blocks(spec: &ModelSpec, trainable: Vec<f32>, buffers: Vec<f32>) -> Result<Self> {
        let mut params = Self::zeros(spec)?;
        let (n_trainable, n_buffers) = (params.trainable.len(), params.buffers.len());
        check_length(
            "the block of trainable values",
            trainable.len(),
            n_trainable,
        )?;
        check_length("the block of buffers", buffers.len(), n_buffers)?;
        params.trainable = trainable;
        params.buffers = buffers;
        Ok(params)
    }

    /// Parameters from named tensors in any order: every name of the model once, and no other.
    ///
    /// PyTorch's `num_batches_tracked` counters are passed over: nothing here depends on them.
    pub fn from_tensors<'a>(
        spec: &ModelSpec,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    ) -> Result<Self> {
        let mut params = Self::zeros(spec)?;
        let mut seen = vec![false; params.entries.len()];
        for (name, tensor) in tensors {
            if name.ends_with(".num_batches_tracked") {
                continue;
            }
            let found = params.entries.iter().position(|entry| entry.name == name);
            let Some(index) = found.filter(|&index| !seen[index]) else {
                return Err(Error::UnexpectedParameter {
                    name: name.to_owned(),
                });
            };
            let entry = &params.entries[index];
            if tensor.dims() != entry.shape {
                return Err(Error::ParameterShape {
                    name: name.to_owned(),
                    found: tensor.dims().to_vec(),
                    needed: entry.shape.clone(),
                });
            }
            let values = tensor
                .to_dtype(DType::F32)
                .and_then(|tensor| tensor.flatten_all()?.to_vec1::<f32>())
                .during("reading a parameter tensor")?;
            let (range, role) = (entry.range(), entry.role);
            params.block_mut(role)[range].copy_from_slice(&values);
            seen[index] = true;
        }
        match seen.iter().position(|&seen| !seen) {
            None => Ok(params),
            Some(index) => Err(Error::MissingParameter {
                name: params.entries[index].name.clone(),
            }),
        }
    }

    /// Every parameter as a tensor on `device`, trainable or not, in order.
    pub fn to_tensors(&self, device: &Device) -> Result<Vec<(&Entry, Tensor)>> {
        self.iter()
            .map(|(entry, values)| {
                let tensor = Tensor::from_slice(values, entry.shape.as_slice(), device)
                    .during("making a parameter tensor")?;
                Ok((entry, tensor))
            })
            .collect()
    }

    /// The architecture these are the parameters of.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Names, shapes and places, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Every parameter with its values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Entry, &[f32])> {
        self.entries
            .iter()
            .map(|entry| (entry, &self.block(entry.role)[entry.range()]))
    }

    /// The values of the parameter called `name`.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        self.iter()
            .find(|(entry, _)| entry.name == name)
            .map(|(_, values)| values)
    }

    /// The values of the parameter called `name`, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut [f32]> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let (range, role) = (entry.range(), entry.role);
        Some(&mut self.block_mut(role)[range])
    }

    /// All trainable values.
    pub fn trainable(&self) -> &[f32] {
        &self.trainable
    }

    /// All trainable values, for an optimiser.
    pub fn trainable_mut(&mut self) -> &mut [f32] {
        &mut self.trainable
    }

    /// All buffers: running means and variances.
    pub fn buffers(&self) -> &[f32] {
        &self.buffers
    }

    /// All buffers, for a pass that updates running statistics.
    pub fn buffers_mut(&mut self) -> &mut [f32] {
        &mut self.buffers
    }

    /// Trainable values to read and buffers to change, at once.
    pub(crate) fn split_mut(&mut self) -> (&[f32], &mut [f32]) {
        (&self.trainable, &mut self.buffers)
    }

    pub(crate) fn block(&self, role: Role) -> &[f32] {
        if role.is_trainable() {
            &self.trainable
        } else {
            &self.buffers
        }
    }

    fn block_mut(&mut self, role: Role) -> &mut [f32] {
        if role.is_trainable() {
            &mut self.trainable
        } else {
            &mut self.buffers
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(spec: &ModelSpec) -> Params {
        let mut params = Params::zeros(spec).unwrap();
        for (i, value) in params.trainable_mut().iter_mut().enumerate() {
            *value = i as f32;
        }
        for (i, value) in params.buffers_mut().iter_mut().enumerate() {
            *value = -(i as f32);
        }
        params
    }

    #[test]
    fn names_and_sizes_are_pytorchs() {
        let mlp = Params::zeros(&ModelSpec::mlp5(784, 4)).unwrap();
        assert_eq!(mlp.entries()[0].name, "fc1.weight");
        assert_eq!(mlp.entries()[0].shape, [300, 784]);
        assert_eq!(mlp.entries().last().unwrap().name, "fc5.bias");
        assert_eq!(
            mlp.trainable().len(),
            784 * 300 + 3 * 90_000 + 1200 + 4 * 300 * 3 + 4
        );
        assert_eq!(mlp.buffers().len(), 4 * 600);
        let net = Params::zeros(&ModelSpec::resnet20(3, 32, 32, 10)).unwrap();
        // The count the ResNet paper gives for depth 20: 0.27 million.
        assert_eq!(net.trainable().len(), 269_722);
        assert_eq!(net.get("layer2.0.conv1.weight").unwrap().len(), 32 * 16 * 9);
        assert_eq!(net.get("layer3.2.bn2.running_var").unwrap(), [1.0; 64]);
        assert!(net.get("layer4.0.conv1.weight").is_none());
    }

    #[test]
    fn tensors_and_blocks_carry_everything_there_and_back() {
        for spec in [ModelSpec::mlp5(5, 3), ModelSpec::resnet20(1, 4, 4, 2)] {
            let params = numbered(&spec);
            let tensors = params.to_tensors(&Device::Cpu).unwrap();
            // Any order will do.
            let named = tensors
                .iter()
                .rev()
                .map(|(entry, tensor)| (entry.name.as_str(), tensor));
            assert_eq!(Params::from_tensors(&spec, named).unwrap(), params);
            let (trainable, buffers) = (params.trainable().to_vec(), params.buffers().to_vec());
            assert_eq!(
                Params::from_blocks(&spec, trainable, buffers).unwrap(),
                params
            );
        }
    }

    #[test]
    fn wrong_tensors_are_named() {
        let spec = ModelSpec::mlp5(5, 3);
        let params = numbered(&spec);
        let tensors = params.to_tensors(&Device::Cpu).unwrap();
        let named: Vec<_> = tensors.iter().map(|(e, t)| (e.name.as_str(), t)).collect();
        let missing = Params::from_tensors(&spec, named[1..].iter().copied());
        assert!(matches!(missing, Err(Error::MissingParameter { name }) if name == "fc1.weight"));
        let twice = Params::from_tensors(&spec, named.iter().chain(&named[..1]).copied());
        assert!(matches!(twice, Err(Error::UnexpectedParameter { name }) if name == "fc1.weight"));
        let other = Params::from_tensors(&ModelSpec::mlp5(6, 3), named);
        assert!(matches!(other, Err(Error::ParameterShape { needed, .. }) if needed == [300, 6]));
        assert!(Params::from_blocks(&spec, vec![], vec![]).is_err());
    }
}
