//! From an encoded row to its scores: a network, a forest, or both.

use std::sync::Arc;

use mpu_data::source::content::sha256_of;
use mpu_data::table::FeatureSchema;
use mpu_data::{Features, Scaler};
use mpu_models::Params;
use mpu_models::forest::Forest;
use mpu_train::{Predictor, model_to_bytes};

use crate::ensemble::{log_probabilities, mean};
use crate::error::{Result, ensure};

/// Rows that go through a forest at once.
const FOREST_ROWS: usize = 256;

/// What scores rows: a network, a forest, or both.
#[derive(Debug)]
pub(crate) struct Scorer {
    network: Option<Arc<Predictor>>,
    forest: Option<Arc<Forest>>,
}

impl Scorer {
    /// Takes a network, a forest, or both.
    pub(crate) fn new(
        network: Option<Arc<Predictor>>,
        forest: Option<Arc<Forest>>,
    ) -> Result<Self> {
        ensure!(
            network.is_some() || forest.is_some(),
            "the model is damaged: it has neither a network nor a forest\nhint: train again, or copy the whole folder of the run"
        );
        Ok(Self { network, forest })
    }

    /// The network's weights.
    pub(crate) fn network(&self) -> Option<&Params> {
        self.network.as_ref().map(|network| network.params())
    }

    /// The network.
    pub(crate) fn predictor(&self) -> Option<&Arc<Predictor>> {
        self.network.as_ref()
    }

    /// The forest.
    pub(crate) fn forest(&self) -> Option<&Forest> {
        self.forest.as_deref()
    }

    /// The bytes of the network's weights.
    pub(crate) fn network_bytes(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.network().map(model_to_bytes).transpose()?)
    }

    /// The bytes of the forest.
    pub(crate) fn forest_bytes(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.forest().map(Forest::to_bytes).transpose()?)
    }

    /// The digest of the bytes of the network, of the forest, or of the one after the other.
    pub(crate) fn digest(&self) -> Result<String> {
        let parts = [self.network_bytes()?, self.forest_bytes()?];
        Ok(sha256_of(parts.iter().flatten()))
    }

    /// How many features a row has, and how many scores.
    pub(crate) fn widths(&self) -> Vec<(usize, usize)> {
        let network = self.network().map(Params::spec);
        let network = network.map(|spec| (spec.inputs(), spec.outputs()));
        let forest = self.forest.as_ref();
        let forest = forest.map(|f| (f.bins().layout().width(), f.n_classes()));
        network.into_iter().chain(forest).collect()
    }

    /// How many rows go through at once: parts of a multiple of it waste nothing.
    pub(crate) fn batch_rows(&self) -> usize {
        let network = self.network.as_ref();
        network.map_or(FOREST_ROWS, |network| network.batch_rows())
    }

    /// The scores of encoded rows, in which NaN is a missing value, on this thread.
    pub(crate) fn scores(
        &self,
        schema: Option<&FeatureSchema>,
        scaler: &Scaler,
        rows: &Features,
    ) -> Result<Vec<f32>> {
        let forest = match &self.forest {
            None => None,
            Some(forest) => {
                let shares = forest.probabilities(rows.values())?;
                let (k, trees) = (forest.n_classes(), forest.spec().trees);
                Some(log_probabilities(&shares, k, trees))
            }
        };
        let network = match &self.network {
            None => None,
            Some(predictor) => {
                let mut scaled = rows.clone();
                if let Some(schema) = schema {
                    schema.fill(scaled.values_mut());
                }
                scaler.apply(&mut scaled)?;
                Some(predictor.scores(scaled.values())?)
            }
        };
        Ok(match (forest, network) {
            (Some(forest), Some(network)) => {
                let k = self.forest().map_or(1, Forest::n_classes);
                mean(&forest, &network, k)
            }
            (scores, None) | (None, scores) => scores.unwrap_or_default(),
        })
    }
}
