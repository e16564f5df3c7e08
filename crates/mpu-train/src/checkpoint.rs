//! A run's state between two epochs, as bytes.

use mpu_models::{ModelSpec, OptimState, Params};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::error::{Result, checkpoint};
use crate::outcome::EpochMetrics;

/// The version of the checkpoint's layout.
const VERSION: u32 = 1;

/// All that is needed to go on after an epoch as if nothing had happened.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The parameters.
    pub params: Params,
    /// What the optimiser remembers.
    pub optimizer: OptimState,
    /// The figures of every epoch so far.
    pub history: Vec<EpochMetrics>,
    /// The targets of the pool's rows, `k` to a row: averages once self-training has begun, or the sums of what the
    /// networks of a teacher have answered so far.
    pub targets: Vec<f32>,
    /// A model of an earlier epoch that is kept beside the current one.
    pub kept: Option<KeptModel>,
}

/// A model of an earlier epoch: the warm-up's, or the best so far on held-out rows.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptModel {
    /// The epoch after which it was taken, counted from 1.
    pub epoch: usize,
    /// Its parameters.
    pub params: Params,
    /// Whether it is the run's result in place of the current model.
    pub in_force: bool,
}

/// What a checkpoint holds beside its blocks of numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    spec: ModelSpec,
    step: u64,
    history: Vec<EpochMetrics>,
    /// Epoch of the kept model, and whether it is in force. Files call it the spare model.
    #[serde(default, rename = "spare")]
    kept: Option<(usize, bool)>,
}

impl State {
    /// Whether self-training failed and the warm-up model took its place.
    pub fn fell_back(&self) -> bool {
        !self.targets.is_empty() && self.kept.as_ref().is_some_and(|kept| kept.in_force)
    }

    /// The figures of an epoch, counted from 1.
    pub(crate) fn figures(&self, epoch: usize) -> Option<&EpochMetrics> {
        self.history.get(epoch.checked_sub(1)?)
    }

    /// Keeps the current model beside the one that is trained on.
    pub(crate) fn keep_current(&mut self) {
        self.kept = Some(KeptModel {
            epoch: self.epochs_done(),
            params: self.params.clone(),
            in_force: false,
        });
    }

    /// Makes the kept model, if there is one, the run's result.
    pub(crate) fn use_kept(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.in_force = true;
        }
    }

    /// Checks that the state belongs to a run of this architecture with at least so many epochs.
    pub(crate) fn check(&self, spec: &ModelSpec, epochs: usize) -> Result<()> {
        if self.params.spec() != spec {
            return Err(checkpoint(
                "it is of another architecture than the configuration",
            ));
        }
        let done = self.epochs_done();
        if done > epochs {
            return Err(checkpoint(format!(
                "{done} epochs are trained already, {epochs} asked for"
            )));
        }
        Ok(())
    }

    /// Checks that the pool has so many targets.
    pub(crate) fn check_targets(&self, needed: usize) -> Result<()> {
        let found = self.targets.len();
        if found != needed {
            return Err(checkpoint(format!(
                "it has {found} targets where the pool needs {needed}: it is of other rows, or of another method"
            )));
        }
        Ok(())
    }

    /// How many epochs have been trained.
    pub fn epochs_done(&self) -> usize {
        self.history.len()
    }

    /// The state as a safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            version: VERSION,
            spec: self.params.spec().clone(),
            step: self.optimizer.step,
            history: self.history.clone(),
            kept: self.kept.as_ref().map(|kept| (kept.epoch, kept.in_force)),
        };
        let header = serde_json::to_vec(&header).map_err(checkpoint)?;
        let mut blocks = vec![
            ("params.trainable", little_endian(self.params.trainable())),
            ("params.buffers", little_endian(self.params.buffers())),
            ("optimizer.first", little_endian(&self.optimizer.first)),
            ("optimizer.second", little_endian(&self.optimizer.second)),
        ];
        if !self.targets.is_empty() {
            blocks.push(("pool.targets", little_endian(&self.targets)));
        }
        if let Some(KeptModel { params, .. }) = &self.kept {
            blocks.push(("spare.trainable", little_endian(params.trainable())));
            blocks.push(("spare.buffers", little_endian(params.buffers())));
        }
        let mut views = vec![("header.json", view(Dtype::U8, header.len(), &header)?)];
        for (name, bytes) in &blocks {
            views.push((name, view(Dtype::F32, bytes.len() / 4, bytes)?));
        }
        safetensors::serialize(views, None).map_err(checkpoint)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(checkpoint)?;
        let header = file.tensor("header.json").map_err(checkpoint)?;
        let header: Header = serde_json::from_slice(header.data()).map_err(checkpoint)?;
        if header.version != VERSION {
            let found = header.version;
            return Err(checkpoint(format!(
                "version {found}, but this build reads {VERSION}"
            )));
        }
        let block = |name| -> Result<Vec<f32>> {
            let tensor = file.tensor(name).map_err(checkpoint)?;
            if tensor.dtype() != Dtype::F32 {
                return Err(checkpoint(format!("{name} is not a block of f32")));
            }
            Ok(numbers(tensor.data()))
        };
        let params = Params::from_blocks(
            &header.spec,
            block("params.trainable")?,
            block("params.buffers")?,
        )?;
        let optimizer = OptimState {
            step: header.step,
            first: block("optimizer.first")?,
            second: block("optimizer.second")?,
        };
        let kept = match header.kept {
            None => None,
            Some((epoch, in_force)) => Some(KeptModel {
                epoch,
                params: Params::from_blocks(
                    &header.spec,
                    block("spare.trainable")?,
                    block("spare.buffers")?,
                )?,
                in_force,
            }),
        };
        let targets = match file.tensor("pool.targets") {
            Ok(_) => block("pool.targets")?,
            Err(_) => Vec::new(),
        };
        Ok(Self {
            params,
            optimizer,
            history: header.history,
            targets,
            kept,
        })
    }
}

/// Parameters as a safetensors file with a tensor for every named entry.
pub fn model_to_bytes(params: &Params) -> Result<Vec<u8>> {
    let blocks: Vec<(&str, &[usize], Vec<u8>)> = params
        .iter()
        .map(|(entry, values)| {
            (
                entry.name.as_str(),
                entry.shape.as_slice(),
                little_endian(values),
            )
        })
        .collect();
    let mut views = Vec::new();
    for (name, shape, bytes) in &blocks {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes).map_err(checkpoint)?;
        views.push((*name, view));
    }
    safetensors::serialize(views, None).map_err(checkpoint)
}

/// Reads what [`model_to_bytes`] wrote.
pub fn model_from_bytes(spec: &ModelSpec, bytes: &[u8]) -> Result<Params> {
    let file = SafeTensors::deserialize(bytes).map_err(checkpoint)?;
    let mut params = Params::zeros(spec)?;
    let entries = params.entries().to_vec();
    if file.len() != entries.len() {
        let (found, needed) = (file.len(), entries.len());
        return Err(checkpoint(format!(
            "{found} tensors where the model has {needed}"
        )));
    }
    for entry in entries {
        let tensor = file.tensor(&entry.name).map_err(checkpoint)?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != entry.shape.as_slice() {
            let (name, shape) = (&entry.name, &entry.shape);
            return Err(checkpoint(format!(
                "{name} is not an f32 tensor of shape {shape:?}"
            )));
        }
        let values = numbers(tensor.data());
        if values.iter().any(|value| !value.is_finite()) {
            return Err(checkpoint(format!(
                "{} holds a number that is not finite",
                entry.name
            )));
        }
        match params.get_mut(&entry.name) {
            Some(place) => place.copy_from_slice(&values),
            None => return Err(checkpoint(format!("{} is not a parameter", entry.name))),
        }
    }
    Ok(params)
}

fn view(dtype: Dtype, len: usize, bytes: &[u8]) -> Result<TensorView<'_>> {
    TensorView::new(dtype, vec![len], bytes).map_err(checkpoint)
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&four| f32::from_le_bytes(four))
        .collect()
}
