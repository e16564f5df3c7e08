//! Steps in candle's operations, which stay on their device.

use candle_core::{DType, Device, Tensor};
use mpu_data::Features;
use mpu_models::{DeviceOptimizer, Mode, Network, Params};
use mpu_risk::GroupTensors;

use super::{Engine, Epoch, Made, Rows, tensor};
use crate::checkpoint::State;
use crate::error::Result;
use crate::problem::Problem;
use crate::trainer::Run;

/// Rows that are scored at once.
const SCORED_ROWS: usize = 1024;

/// A network whose parameters, optimiser and rows live on a device. A step copies nothing down, and up only what
/// candle itself and the weights of the risk need, a few numbers each; and what dropout leaves out, if there is any.
pub(super) struct Candle<'a> {
    network: Network,
    optimizer: DeviceOptimizer,
    train: Table<'a>,
    validation: Option<Table<'a>>,
    test: Option<Table<'a>>,
    /// The rows of each of the epoch's batches, and what is known of them.
    batches: Vec<(Tensor, GroupTensors)>,
    /// The scores of the epoch's steps so far.
    scores: Vec<Tensor>,
    /// Optimiser and buffers after the last whole epoch. On a device this copies nothing.
    marked: (DeviceOptimizer, Tensor),
}

impl<'a> Candle<'a> {
    pub(super) fn new(
        run: &'a Run,
        problem: &'a Problem,
        state: &State,
        device: &Device,
    ) -> Result<Self> {
        let network = run.network(&state.params, device, run.precision)?;
        let (spec, values) = (run.settings.optimizer, state.params.trainable());
        let optimizer = DeviceOptimizer::new(spec, &state.optimizer, values, device)?;
        let marked = (optimizer.clone(), network.buffer_block()?);
        let table = |features| Table::new(features, device);
        let validation = problem.validation().map(|held| &held.features);
        let test = problem.test().map(|test| &test.features);
        Ok(Self {
            network,
            optimizer,
            train: table(&problem.train().features),
            validation: validation.map(table),
            test: test.map(table),
            batches: Vec::new(),
            scores: Vec::new(),
            marked,
        })
    }
}

impl Engine for Candle<'_> {
    fn begin(&mut self, epoch: &Epoch<'_>) -> Result<()> {
        let groups = epoch.batches.iter().map(epoch.groups);
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let device = self.network.device();
        let groups = GroupTensors::of_batches(groups, DType::F32, device)?;
        let order = index(epoch.batches.order(), device)?;
        let mut first = 0;
        let batches = groups.into_iter().map(|groups| {
            let n = groups.sample().n_rows();
            let rows = order.narrow(0, first, n)?;
            first += n;
            Ok((rows, groups))
        });
        let batches = batches.collect::<candle_core::Result<_>>();
        self.batches = batches.map_err(tensor("the rows of a batch"))?;
        self.scores.clear();
        Ok(())
    }

    fn step(&mut self, epoch: &Epoch<'_>, batch: usize) -> Result<Made> {
        let (rows, groups) = &self.batches[batch];
        let features = self.train.select(epoch.batches.rows(batch), rows)?;
        let logits = self.network.forward(&features, epoch.mode(batch))?;
        let risk = epoch.estimator.device_risk(&logits, groups)?;
        let gradients = risk.backward().map_err(tensor("the gradient"))?;
        self.optimizer.step(&self.network, &gradients, epoch.lr)?;
        self.scores.push(logits.detach());
        Ok(Made::Later)
    }

    fn told(&mut self) -> Result<Option<Vec<f32>>> {
        let values = self.optimizer.values()?;
        let read = || {
            let scores = Tensor::cat(&self.scores, 0)?.flatten_all()?;
            // `0·x` is 0 for finite x and NaN otherwise; NaN survives the sum. It goes with the scores: one copy.
            let residue = (values * 0.0)?.sum_all()?;
            Tensor::cat(&[scores, residue.reshape(1)?], 0)?.to_vec1::<f32>()
        };
        let mut all = read().map_err(tensor("reading the scores of an epoch"))?;
        self.scores.clear();
        let residue = all.pop();
        Ok((residue == Some(0.0)).then_some(all))
    }

    fn mark(&mut self) -> Result<()> {
        self.marked = (self.optimizer.clone(), self.network.buffer_block()?);
        Ok(())
    }

    fn store(&self, state: &mut State) -> Result<()> {
        let (optimizer, buffers) = &self.marked;
        state.params = self.network.params_of(&optimizer.values()?, buffers)?;
        state.optimizer = optimizer.state()?;
        Ok(())
    }

    fn predict(&mut self, rows: Rows<'_>) -> Result<Vec<f32>> {
        let (network, device) = (&self.network, self.network.device());
        let (table, rows) = match rows {
            Rows::Train(rows) => (Some(&self.train), Some(rows)),
            Rows::Validation => (self.validation.as_ref(), None),
            Rows::Test => (self.test.as_ref(), None),
        };
        let Some(table) = table else {
            return Ok(Vec::new());
        };
        let mut parts = Vec::new();
        match rows {
            Some(rows) => {
                for part in rows.chunks(SCORED_ROWS) {
                    let features = table.select(part, &index(part, device)?)?;
                    parts.push(network.forward(&features, Mode::Eval)?);
                }
            }
            None => {
                for first in (0..table.n_rows()).step_by(SCORED_ROWS) {
                    let features = table.part(first, SCORED_ROWS, device)?;
                    parts.push(network.forward(&features, Mode::Eval)?);
                }
            }
        }
        read(&parts)
    }

    fn predict_by(&mut self, params: &Params, rows: Rows<'_>) -> Result<Vec<f32>> {
        let buffers = self.network.buffer_block()?;
        self.network.set_params(params)?;
        let scores = self.predict(rows);
        self.network
            .set_trainable_block(&self.optimizer.values()?)?;
        self.network.set_buffer_block(&buffers)?;
        scores
    }
}

/// Scores of rows without an engine.
pub(crate) fn predict(network: &Network, rows: &[f32]) -> Result<Vec<f32>> {
    let inputs = network.spec().inputs();
    let mut parts = Vec::new();
    for part in rows.chunks(SCORED_ROWS * inputs) {
        let dims = (part.len() / inputs, inputs);
        let batch = Tensor::from_slice(part, dims, network.device());
        let batch = batch.map_err(tensor("the rows of a batch"))?;
        parts.push(network.forward(&batch, Mode::Eval)?);
    }
    read(&parts)
}

/// Scores in one copy.
fn read(parts: &[Tensor]) -> Result<Vec<f32>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let detached: Vec<Tensor> = parts.iter().map(Tensor::detach).collect();
    Tensor::cat(&detached, 0)
        .and_then(|scores| scores.flatten_all()?.to_vec1())
        .map_err(tensor("reading scores"))
}

fn index(rows: &[usize], device: &Device) -> Result<Tensor> {
    let rows: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
    Tensor::new(rows, device).map_err(tensor("the rows of a batch"))
}

/// Rows, on the device if they fit there.
enum Table<'a> {
    Device(Tensor),
    Host(&'a Features),
}

impl<'a> Table<'a> {
    fn new(features: &'a Features, device: &Device) -> Self {
        let dims = (features.n_rows(), features.shape().len());
        match Tensor::from_slice(features.values(), dims, device) {
            Ok(rows) => Self::Device(rows),
            Err(error) => {
                tracing::warn!("rows stay on the host and are copied batch by batch: {error}");
                Self::Host(features)
            }
        }
    }

    fn n_rows(&self) -> usize {
        match self {
            Self::Device(rows) => rows.dims()[0],
            Self::Host(features) => features.n_rows(),
        }
    }

    /// These rows; `on_device` holds the same numbers.
    fn select(&self, rows: &[usize], on_device: &Tensor) -> Result<Tensor> {
        match self {
            Self::Device(all) => all.index_select(on_device, 0),
            Self::Host(features) => upload(&features.select(rows), on_device.device()),
        }
        .map_err(tensor("the rows of a batch"))
    }

    /// At most so many rows from one on.
    fn part(&self, first: usize, most: usize, device: &Device) -> Result<Tensor> {
        let n = most.min(self.n_rows() - first);
        match self {
            Self::Device(all) => all.narrow(0, first, n),
            Self::Host(features) => {
                let rows: Vec<usize> = (first..first + n).collect();
                upload(&features.select(&rows), device)
            }
        }
        .map_err(tensor("the rows of a batch"))
    }
}

fn upload(features: &Features, device: &Device) -> candle_core::Result<Tensor> {
    let dims = (features.n_rows(), features.shape().len());
    Tensor::from_slice(features.values(), dims, device)
}
