//! What makes the steps of a run: fused passes on the CPU, or candle's operations on any device.

pub(crate) mod candle;
mod fused;

use candle_core::Device;
use mpu_models::{Dropout, Mode, Network, Params};
use mpu_risk::{Estimator, Groups, RiskTerms};

use self::candle::Candle;
use self::fused::Fused;
use crate::batch::Batches;
use crate::checkpoint::State;
use crate::device::DeviceChoice;
use crate::error::{Error, Result};
use crate::precision::Precision;
use crate::problem::Problem;
use crate::trainer::Run;

/// What makes the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EngineChoice {
    /// Hand-written passes in reused buffers: MLP and ResNet on the CPU, where it is the fastest.
    Fused,
    /// candle's operations and gradients: any network on any device. Parameters, the optimiser's memory and the rows
    /// stay there; figures are read once an epoch.
    Candle,
}

mpu_data::named!(EngineChoice, "engine", { Fused => "fused", Candle => "candle" });

/// A network in training. It stands where its last step left it.
pub(crate) trait Engine {
    /// Takes up the batches of an epoch.
    fn begin(&mut self, epoch: &Epoch<'_>) -> Result<()>;

    /// Makes a step on one of the batches.
    fn step(&mut self, epoch: &Epoch<'_>, batch: usize) -> Result<Made>;

    /// The scores of the epoch's steps, `k` to a row in the order of training, where they have not been told
    /// ([`Made::Later`]). `None` if a parameter is not finite any more.
    fn told(&mut self) -> Result<Option<Vec<f32>>>;

    /// Takes note that the epoch is whole: this is what [`store`](Self::store) gives from now on.
    fn mark(&mut self) -> Result<()>;

    /// Writes parameters and the optimiser's memory after the last whole epoch into a state.
    fn store(&self, state: &mut State) -> Result<()>;

    /// Scores of rows in evaluation mode, `k` to a row.
    fn predict(&mut self, rows: Rows<'_>) -> Result<Vec<f32>>;

    /// The same by other parameters.
    fn predict_by(&mut self, params: &Params, rows: Rows<'_>) -> Result<Vec<f32>>;
}

/// What an engine needs to know of an epoch.
pub(crate) struct Epoch<'a> {
    /// The rows of each batch.
    pub(crate) batches: Batches,
    /// What is minimised.
    pub(crate) estimator: &'a Estimator,
    /// What it may know of the rows of a batch.
    pub(crate) groups: &'a dyn Fn(&[usize]) -> Result<Groups>,
    /// The learning rate.
    pub(crate) lr: f64,
    /// What each batch's step leaves out of the hidden layers.
    pub(crate) dropouts: Vec<Dropout>,
}

impl Epoch<'_> {
    /// How a batch goes through the network.
    fn mode(&self, batch: usize) -> Mode {
        let dropout = self.dropouts.get(batch);
        dropout.map_or(Mode::Train, |&dropout| Mode::Drop(dropout))
    }
}

/// Rows of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// These of the training rows.
    Train(&'a [usize]),
    /// All validation rows.
    Validation,
    /// All test rows.
    Test,
}

/// What came of a step.
pub(crate) enum Made {
    /// Its figures.
    Step(Step),
    /// They stay on the device until the epoch is over.
    Later,
    /// A score or the gradient is not finite.
    Diverged,
}

/// The figures of a step.
pub(crate) struct Step {
    /// The batch's scores, row by row.
    pub(crate) scores: Vec<f64>,
    /// The parts of its risk.
    pub(crate) terms: RiskTerms,
}

/// Where a run computes.
enum Place {
    Fused,
    Candle(Device),
}

impl Run {
    fn place(&self) -> Result<Place> {
        let device = self.device.resolve()?;
        self.precision
            .check(self.engine, self.device, Some(&self.model))?;
        let fits_fused = self.module.is_none() && self.precision.is_f32();
        match (self.engine, device) {
            (Some(EngineChoice::Fused), Some(_)) => Err(Error::FusedElsewhere {
                device: self.device,
            }),
            (None, None) if fits_fused => Ok(Place::Fused),
            (Some(EngineChoice::Fused), None) => Ok(Place::Fused),
            (_, device) => Ok(Place::Candle(device.unwrap_or(Device::Cpu))),
        }
    }

    fn network(&self, params: &Params, device: &Device, precision: Precision) -> Result<Network> {
        let module = self.module.as_ref();
        let dtype = precision.dtype();
        Ok(Network::in_precision(module, params, device, dtype)?)
    }

    /// The engine of the run, at the given state.
    pub(crate) fn engine<'a>(
        &'a self,
        problem: &'a Problem,
        state: &State,
    ) -> Result<Box<dyn Engine + 'a>> {
        let place = self.place()?;
        let on_cpu = matches!(&place, Place::Fused | Place::Candle(Device::Cpu));
        if on_cpu && self.device == DeviceChoice::Auto {
            tracing::warn!(
                "device auto: there is no CUDA or Metal device here, or none was built in; the CPU is used"
            );
        }
        Ok(match place {
            Place::Fused => Box::new(Fused::new(self, problem, state)?),
            Place::Candle(device) => Box::new(Candle::new(self, problem, state, &device)?),
        })
    }

    /// Scores of rows in evaluation mode, `k` to a row.
    pub fn predict(&self, params: &Params, rows: &[f32]) -> Result<Vec<f32>> {
        match self.place()? {
            Place::Fused => fused::predict(self, params, rows),
            // Parameters are kept in f32, and their answers are given in it.
            Place::Candle(device) => {
                candle::predict(&self.network(params, &device, Precision::F32)?, rows)
            }
        }
    }
}

fn tensor(operation: &'static str) -> impl Fn(candle_core::Error) -> Error {
    move |source| mpu_risk::Error::Tensor { operation, source }.into()
}
