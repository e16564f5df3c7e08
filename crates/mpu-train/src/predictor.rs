//! Scores of rows without a run: buffers that are built once, and any number of threads that ask.
//!
//! ```
//! use mpu_data::{Seed, Stream};
//! use mpu_models::{Init, ModelSpec, Params};
//! use mpu_train::Predictor;
//!
//! let mut rng = Seed(1).stream(Stream::Init);
//! let params = Params::init(&ModelSpec::mlp5(2, 3), Init::KaimingNormal, &mut rng)?;
//! let predictor = Predictor::new(params)?;
//! let scores = predictor.scores(&[0.5, -1.0, 2.0, 0.0])?;
//! assert_eq!(scores.len(), 2 * 3);
//! // A row has the same scores whoever stands beside it.
//! assert_eq!(predictor.scores(&[2.0, 0.0])?, scores[3..]);
//! # Ok::<(), mpu_train::Error>(())
//! ```

use mpu_data::mismatch;
use std::sync::{Mutex, PoisonError};

use candle_core::Device;
use mpu_models::fused::Workspace;
use mpu_models::{ModelSpec, Module, Network, Params, Threads};

use crate::engine::candle::predict;
use crate::error::Result;

/// A trained network on the CPU, ready to score rows from many threads at once.
///
/// Every call works on the caller's thread; to use several, share the predictor and cut the rows into parts.
/// The scores of a row do not depend on the rows beside it nor on where parts begin, to the last bit:
/// rows go through the network in batches of one size, the last one filled up.
#[derive(Debug)]
pub struct Predictor {
    params: Params,
    batch_rows: usize,
    /// The network, if it is one of the user's own.
    network: Option<Network>,
    /// Buffers that nobody uses at present.
    idle: Mutex<Vec<Buffers>>,
}

#[derive(Debug)]
struct Buffers {
    workspace: Workspace,
    /// The last, incomplete batch and its scores.
    rows: Vec<f32>,
    scores: Vec<f32>,
}

impl Predictor {
    /// Takes the parameters of a network.
    pub fn new(params: Params) -> Result<Self> {
        params.spec().check()?;
        let batch_rows = match params.spec() {
            ModelSpec::Mlp(_) => 256,
            ModelSpec::ResNet(_) => 16,
            ModelSpec::Module(_) => {
                let (what, hint) = ("a predictor", "`Predictor::of` takes its module");
                return Err(mpu_models::Error::OwnNetwork { what, hint }.into());
            }
        };
        Ok(Self {
            params,
            batch_rows,
            network: None,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Takes the parameters of a network of the user's own and the module that builds it.
    pub fn of(module: &Module, params: Params) -> Result<Self> {
        let network = Network::of(module, &params, &Device::Cpu)?;
        Ok(Self {
            params,
            batch_rows: 64,
            network: Some(network),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The network's parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How many rows go through the network at once: parts of a multiple of it waste nothing.
    pub fn batch_rows(&self) -> usize {
        self.batch_rows
    }

    /// The scores of scaled rows in evaluation mode, `k` to a row.
    pub fn scores(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let (inputs, outputs) = (self.params.spec().inputs(), self.params.spec().outputs());
        if !rows.len().is_multiple_of(inputs) {
            return Err(mismatch(
                "length of a block of rows",
                rows.len(),
                format!("a multiple of the model's {inputs} inputs is needed"),
            ));
        }
        if let Some(network) = &self.network {
            return self.scores_of(network, rows);
        }
        let mut scores = vec![0.0; rows.len() / inputs * outputs];
        let n_whole = rows.len() / inputs / self.batch_rows * self.batch_rows;
        let (whole, rest) = rows.split_at(n_whole * inputs);
        let (whole_scores, rest_scores) = scores.split_at_mut(n_whole * outputs);
        let mut buffers = self.take()?;
        let Buffers {
            workspace,
            rows: last,
            scores: last_scores,
        } = &mut buffers;
        workspace.predict(&self.params, whole, whole_scores)?;
        if !rest.is_empty() {
            last[..rest.len()].copy_from_slice(rest);
            last[rest.len()..].fill(0.0);
            workspace.predict(&self.params, last, last_scores)?;
            rest_scores.copy_from_slice(&last_scores[..rest_scores.len()]);
        }
        self.idle().push(buffers);
        Ok(scores)
    }

    fn scores_of(&self, network: &Network, rows: &[f32]) -> Result<Vec<f32>> {
        let (inputs, n) = (self.params.spec().inputs(), self.batch_rows);
        let mut scores = Vec::with_capacity(rows.len() / inputs * self.params.spec().outputs());
        for part in rows.chunks(n * inputs) {
            let mut batch = part.to_vec();
            batch.resize(n * inputs, 0.0);
            scores.extend(predict(network, &batch)?);
        }
        scores.truncate(rows.len() / inputs * self.params.spec().outputs());
        Ok(scores)
    }

    fn take(&self) -> Result<Buffers> {
        if let Some(buffers) = self.idle().pop() {
            return Ok(buffers);
        }
        let (spec, n) = (self.params.spec(), self.batch_rows);
        Ok(Buffers {
            workspace: Workspace::new(spec, n, Threads::ONE)?,
            rows: vec![0.0; n * spec.inputs()],
            scores: vec![0.0; n * spec.outputs()],
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Buffers>> {
        // A list of buffers is whole whenever it can be locked.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::{Seed, Stream};
    use mpu_models::Init;
    use rayon::prelude::*;

    use super::*;

    fn predictor(spec: &ModelSpec) -> Predictor {
        let mut rng = Seed(3).stream(Stream::Init);
        Predictor::new(Params::init(spec, Init::KaimingNormal, &mut rng).unwrap()).unwrap()
    }

    fn rows(n: usize) -> Vec<f32> {
        (0..n).map(|i| 2.0 * (i as f32 * 1.7).sin()).collect()
    }

    #[test]
    fn scores_are_those_of_the_engine() {
        let spec = ModelSpec::mlp5(7, 4);
        let (predictor, rows) = (predictor(&spec), rows(300 * 7));
        let params = predictor.params();
        let mut workspace = Workspace::new(&spec, 300, Threads::ONE).unwrap();
        let mut wanted = vec![0.0; 300 * 4];
        workspace.predict(params, &rows, &mut wanted).unwrap();
        let found = predictor.scores(&rows).unwrap();
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
        }
    }

    #[test]
    fn a_row_scores_the_same_bits_in_any_company_and_thread() {
        let spec = ModelSpec::mlp5(7, 4);
        let (predictor, rows) = (predictor(&spec), rows(520 * 7));
        let whole = predictor.scores(&rows).unwrap();
        for part in [33, 255, 256, 500] {
            let parts: Vec<Vec<f32>> = rows
                .par_chunks(part * 7)
                .map(|rows| predictor.scores(rows).unwrap())
                .collect();
            assert_eq!(parts.concat(), whole, "parts of {part}");
        }
        assert_eq!(predictor.scores(&rows[..7]).unwrap(), whole[..4]);
        assert!(predictor.scores(&[]).unwrap().is_empty());
        assert!(predictor.scores(&rows[..8]).is_err());
    }
}
