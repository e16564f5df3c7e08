//! The fused CPU path: whole training steps in reused buffers.
//!
//! A [`Workspace`] computes what [`Network`](crate::Network) and candle's gradients compute, to
//! the last few bits, several times as fast. The caller computes the loss and its gradient with
//! respect to the scores.

mod crew;
mod filter;
mod mlp;
mod moments;
mod products;
mod resnet;

pub use self::products::{Products, fma_chains};

use self::mlp::MlpWorkspace;
use self::moments::Statistics;
use self::resnet::ResNetWorkspace;
use crate::error::{Error, Result, check_length, own_network};
use crate::kernels::isa::Isa;
use crate::params::Params;
use crate::spec::{Mode, ModelSpec};
use crate::threads::Threads;

/// The buffers of one network's training steps.
///
/// A step is: fill [`Workspace::batch_mut`] or [`Workspace::gather`] rows, [`Workspace::forward`] with [`Mode::Train`], loss and
/// its gradient by the caller, [`Workspace::backward`]. On one processor and build the outcome is
/// the same to the bit whatever the number of threads.
///
/// Batch normalisation is PyTorch's. A batch with one value per channel (one row) has no variance:
/// it is normalised with the running statistics also in training, and does not move them.
///
/// ```
/// use mpu_models::fused::Workspace;
/// use mpu_models::{Mode, ModelSpec, Params, Threads};
///
/// let spec = ModelSpec::mlp5(2, 3);
/// let mut params = Params::zeros(&spec)?;
/// let mut workspace = Workspace::new(&spec, 8, Threads::ONE)?;
/// workspace.batch_mut(2)?.copy_from_slice(&[0.0, 1.0, 2.0, 3.0]);
/// let logits = workspace.forward(&mut params, Mode::Train)?;
/// assert_eq!(logits.len(), 2 * 3);
/// let gradient = workspace.backward(&params, &[0.5; 6])?;
/// assert_eq!(gradient.len(), params.trainable().len());
/// # Ok::<(), mpu_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    spec: ModelSpec,
    max_rows: usize,
    /// Rows of the batch at hand.
    n_rows: usize,
    /// Whether the buffers hold a training-mode forward pass of the batch at hand.
    ready: bool,
    /// Whether the network's own buffers have the batch at hand, not `batch`.
    gathered: bool,
    batch: Vec<f32>,
    logits: Vec<f32>,
    gradient: Vec<f32>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Mlp(MlpWorkspace),
    ResNet(ResNetWorkspace),
}

impl Workspace {
    /// Buffers for batches of at most `max_rows` rows.
    pub fn new(spec: &ModelSpec, max_rows: usize, threads: Threads) -> Result<Self> {
        Self::with_isa(spec, max_rows, threads, Isa::detect())
    }

    fn with_isa(spec: &ModelSpec, max_rows: usize, threads: Threads, isa: Isa) -> Result<Self> {
        spec.check()?;
        if max_rows == 0 {
            return Err(Error::BatchSize { found: 0, max: 0 });
        }
        let n_trainable = Params::zeros(spec)?.trainable().len();
        let body = match spec {
            ModelSpec::Mlp(mlp) => Body::Mlp(MlpWorkspace::new(mlp, max_rows, isa, threads)),
            ModelSpec::ResNet(net) => {
                Body::ResNet(ResNetWorkspace::new(net, max_rows, isa, threads))
            }
            ModelSpec::Module(_) => return Err(own_network("the fused path")),
        };
        Ok(Self {
            spec: spec.clone(),
            max_rows,
            n_rows: 0,
            ready: false,
            gathered: false,
            batch: vec![0.0; max_rows * spec.inputs()],
            logits: vec![0.0; max_rows * spec.outputs()],
            gradient: vec![0.0; n_trainable],
            body,
        })
    }

    /// The architecture the buffers are for.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The most rows a batch may have.
    pub fn max_rows(&self) -> usize {
        self.max_rows
    }

    /// The place for the next batch: `n_rows × inputs` numbers, row by row, to be filled in. An
    /// image model takes rows in the order channel, row, column.
    pub fn batch_mut(&mut self, n_rows: usize) -> Result<&mut [f32]> {
        if n_rows == 0 || n_rows > self.max_rows {
            return Err(Error::BatchSize {
                found: n_rows,
                max: self.max_rows,
            });
        }
        self.n_rows = n_rows;
        (self.ready, self.gathered) = (false, false);
        Ok(&mut self.batch[..n_rows * self.spec.inputs()])
    }

    /// Takes the next batch from where its rows are, without a copy in between: `row` tells the place of each of
    /// `n_rows`, in the order of [`Workspace::batch_mut`].
    pub fn gather<'a>(
        &mut self,
        n_rows: usize,
        row: impl Fn(usize) -> &'a [f32] + Sync,
    ) -> Result<()> {
        let inputs = self.spec.inputs();
        for index in 0..n_rows {
            check_length("a row", row(index).len(), inputs)?;
        }
        self.batch_mut(n_rows)?;
        match &mut self.body {
            Body::Mlp(body) => {
                body.gather(n_rows, row);
                self.gathered = true;
            }
            Body::ResNet(_) => {
                for (index, place) in self.batch.chunks_exact_mut(inputs).take(n_rows).enumerate() {
                    place.copy_from_slice(row(index));
                }
            }
        }
        Ok(())
    }

    /// The scores of the batch, `n_rows × outputs`, row by row.
    ///
    /// In training the running statistics in `params` move.
    pub fn forward(&mut self, params: &mut Params, mode: Mode) -> Result<&[f32]> {
        self.check(params)?;
        if self.n_rows == 0 {
            return Err(Error::BatchSize {
                found: 0,
                max: self.max_rows,
            });
        }
        let dropout = match (mode, &self.body) {
            (Mode::Drop(_), Body::ResNet(_)) => return Err(Error::NoDropout),
            (Mode::Drop(dropout), Body::Mlp(_)) => Some(dropout),
            _ => None,
        };
        self.ready = mode != Mode::Eval;
        let (trainable, buffers) = params.split_mut();
        let statistics = match mode {
            Mode::Train | Mode::Drop(_) => Statistics::Batch(buffers),
            Mode::Eval => Statistics::Running(buffers),
        };
        let x = &self.batch[..self.n_rows * self.spec.inputs()];
        let logits = &mut self.logits[..self.n_rows * self.spec.outputs()];
        match &mut self.body {
            Body::Mlp(body) => {
                let x = (!self.gathered).then_some(x);
                body.forward(trainable, statistics, dropout, x, logits);
            }
            Body::ResNet(body) => body.forward(trainable, statistics, x, logits),
        }
        Ok(logits)
    }

    /// The gradient of the loss with respect to every trainable value, in the order of
    /// [`Params::trainable`], from its gradient with respect to the scores of the last
    /// [`Workspace::forward`] in training. `params` must be as they were then.
    pub fn backward(&mut self, params: &Params, dlogits: &[f32]) -> Result<&[f32]> {
        self.check(params)?;
        if !self.ready {
            return Err(Error::NoForward);
        }
        let needed = self.n_rows * self.spec.outputs();
        check_length("the gradient of the scores", dlogits.len(), needed)?;
        let (trainable, gradient) = (params.trainable(), &mut self.gradient);
        match &mut self.body {
            Body::Mlp(body) => body.backward(trainable, dlogits, gradient),
            Body::ResNet(body) => body.backward(trainable, dlogits, gradient),
        }
        // The pass back overwrites what it goes through.
        self.ready = false;
        Ok(&self.gradient)
    }

    /// The scores of any number of rows in evaluation mode, in batches that suit the caches:
    /// `logits` takes `outputs` numbers for every row of `rows`. The batch at hand is lost.
    pub fn predict(&mut self, params: &Params, rows: &[f32], logits: &mut [f32]) -> Result<()> {
        self.check(params)?;
        let (inputs, outputs) = (self.spec.inputs(), self.spec.outputs());
        if !rows.len().is_multiple_of(inputs) {
            return Err(Error::Rows {
                what: "the input",
                found: rows.len(),
                width: inputs,
            });
        }
        let needed = rows.len() / inputs * outputs;
        check_length("the place for scores", logits.len(), needed)?;
        self.ready = false;
        let step = self.max_rows.min(match self.body {
            Body::Mlp(_) => usize::MAX,
            Body::ResNet(_) => resnet::PREDICT_IMAGES,
        });
        let trainable = params.trainable();
        for (x, logits) in rows
            .chunks(step * inputs)
            .zip(logits.chunks_mut(step * outputs))
        {
            let statistics = Statistics::Running(params.buffers());
            match &mut self.body {
                Body::Mlp(body) => body.forward(trainable, statistics, None, Some(x), logits),
                Body::ResNet(body) => body.forward(trainable, statistics, x, logits),
            }
        }
        Ok(())
    }

    fn check(&self, params: &Params) -> Result<()> {
        if *params.spec() == self.spec {
            Ok(())
        } else {
            Err(Error::OtherModel { what: "workspace" })
        }
    }
}
