//! The folder of a run: its configuration, checkpoint, model, figures and summary.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mpu_data::source::content::sha256;
use mpu_data::table::FeatureSchema;
use mpu_data::{Priors, Scaler, Shape};
use mpu_loss::Loss;
use mpu_models::{ModelSpec, Params};
use mpu_prior::PriorReport;
use mpu_risk::Method;
use mpu_train::{EpochMetrics, State, model_to_bytes};
use serde::{Deserialize, Serialize};

use crate::config::RunConfig;
use crate::files;
use crate::training::Prepared;

/// The version of `model.json` and `summary.json`.
const VERSION: u32 = 1;

/// What is needed to use a model besides its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelCard {
    pub(crate) version: u32,
    pub(crate) mpu_version: String,
    pub(crate) model: ModelSpec,
    pub(crate) shape: Shape,
    pub(crate) scaler: Scaler,
    /// Names of the observed classes, then of the negative one.
    pub(crate) class_names: Vec<String>,
    pub(crate) priors: Priors,
    pub(crate) method: Method,
    pub(crate) loss: Loss,
    pub(crate) dataset: String,
    /// How the data differ from the published ones, if they do.
    pub(crate) data_mark: Option<String>,
    /// How columns of the user's own tables become features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<FeatureSchema>,
    /// How the priors were estimated, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) estimated_priors: Option<PriorReport>,
}

impl ModelCard {
    pub(crate) fn new<D>(config: &RunConfig<D>, prepared: &Prepared) -> Self {
        let facts = &prepared.facts;
        Self {
            version: VERSION,
            mpu_version: env!("CARGO_PKG_VERSION").to_owned(),
            model: prepared.model.clone(),
            shape: prepared.problem.train().features.shape(),
            scaler: prepared.scaler.clone(),
            class_names: facts.class_names.clone(),
            priors: prepared.priors.clone(),
            method: config.method,
            loss: config.loss,
            dataset: facts.dataset.clone(),
            data_mark: facts.mark.clone(),
            schema: facts.schema.clone(),
            estimated_priors: facts.estimated.clone(),
        }
    }
}

/// The figures of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) version: u32,
    pub(crate) mpu_version: String,
    pub(crate) method: Method,
    pub(crate) dataset: String,
    pub(crate) classes: usize,
    pub(crate) prior: f64,
    pub(crate) seed: u64,
    pub(crate) epochs: usize,
    /// The figures of the last epoch: what is reported.
    pub(crate) last: EpochMetrics,
    /// The mean test accuracy of the last ten epochs, beside it.
    pub(crate) test_accuracy_last_ten: Option<f64>,
    pub(crate) lr: f64,
    /// For a sweep: every rate with the figures it was chosen by.
    pub(crate) sweep: Vec<SweepRow>,
    pub(crate) split_digest: String,
    pub(crate) model_sha256: String,
    pub(crate) data_mark: Option<String>,
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
}

/// One learning rate of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepRow {
    pub(crate) lr: f64,
    pub(crate) validation_accuracy: Option<f64>,
    pub(crate) validation_risk: Option<f64>,
    pub(crate) test_accuracy: Option<f64>,
    pub(crate) chosen: bool,
}

/// A run's folder.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// A folder for a new run; it must be empty.
    pub(crate) fn create(path: &Path, config_toml: &str) -> anyhow::Result<Self> {
        files::new_folder(path)?;
        let folder = Self {
            path: path.to_owned(),
        };
        let written = files::write_atomic(&folder.file("config.toml"), config_toml.as_bytes());
        if written.is_err() {
            // An empty folder would only be in the way.
            let _ = std::fs::remove_dir(path);
        }
        written.map(|()| folder)
    }

    /// The folder of a run that was begun.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let folder = Self {
            path: path.to_owned(),
        };
        anyhow::ensure!(
            folder.file("config.toml").is_file(),
            "{} is not the folder of a run: it has no config.toml",
            path.display()
        );
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The state to resume from, if a checkpoint was written.
    pub(crate) fn checkpoint(&self) -> anyhow::Result<Option<State>> {
        let path = self.file("checkpoint.safetensors");
        if !path.exists() {
            return Ok(None);
        }
        let state = State::from_bytes(&files::read(&path)?)
            .with_context(|| format!("{}", path.display()))?;
        Ok(Some(state))
    }

    /// Writes the state and the figures so far.
    pub(crate) fn write_checkpoint(&self, state: &State) -> anyhow::Result<()> {
        files::write_atomic(&self.file("checkpoint.safetensors"), &state.to_bytes()?)?;
        self.write_metrics(&state.history)
    }

    /// Writes `metrics.csv`: a line an epoch.
    pub(crate) fn write_metrics(&self, history: &[EpochMetrics]) -> anyhow::Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for metrics in history {
            writer.serialize(metrics).context("writing metrics.csv")?;
        }
        let bytes = writer.into_inner().context("writing metrics.csv")?;
        files::write_atomic(&self.file("metrics.csv"), &bytes)
    }

    /// Writes the model and gives the SHA-256 of its weights.
    pub(crate) fn write_model(&self, params: &Params, card: &ModelCard) -> anyhow::Result<String> {
        let bytes = model_to_bytes(params)?;
        files::write_atomic(&self.file("model.safetensors"), &bytes)?;
        let card = serde_json::to_vec_pretty(card).context("writing model.json")?;
        files::write_atomic(&self.file("model.json"), &card)?;
        Ok(sha256(&bytes))
    }

    /// Writes the summary, last of all: where it is, the run is complete.
    pub(crate) fn write_summary(&self, summary: &Summary) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec_pretty(summary).context("writing summary.json")?;
        files::write_atomic(&self.file("summary.json"), &bytes)
    }
}

impl Summary {
    pub(crate) const VERSION: u32 = VERSION;

    /// The mean test accuracy of the last ten epochs.
    pub(crate) fn last_ten(history: &[EpochMetrics]) -> Option<f64> {
        let last = &history[history.len().saturating_sub(10)..];
        let sum: Option<f64> = last.iter().map(|metrics| metrics.test_accuracy).sum();
        sum.filter(|_| !last.is_empty())
            .map(|sum| sum / last.len() as f64)
    }
}
