//! The folder of a run: its configuration, checkpoint, model, figures and summary.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mpu_data::source::content::sha256;
use mpu_data::table::{DataCheck, FeatureSchema};
use mpu_data::{MpuLabel, Priors, Scaler, Shape};
use mpu_eval::{Calibration, TrainingRange};
use mpu_loss::Loss;
use mpu_models::{ModelSpec, Params};
use mpu_prior::PriorReport;
use mpu_risk::Method;
use mpu_train::{EpochMetrics, State, model_from_bytes, model_to_bytes};
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
    /// The range of every feature over the training rows, before scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) range: Option<TrainingRange>,
    /// How the priors were estimated, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) estimated_priors: Option<PriorReport>,
    /// From scores to probabilities, fitted on held-out rows if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calibration: Option<Calibration>,
    /// What was understood of the user's own table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<DataCheck>,
}

impl ModelCard {
    pub(crate) fn new<D>(
        config: &RunConfig<D>,
        prepared: &Prepared,
        calibration: Option<Calibration>,
    ) -> Self {
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
            range: facts.range.clone(),
            estimated_priors: facts.estimated.clone(),
            calibration,
            check: facts.check.clone(),
        }
    }
}

/// Rows that were held out of training, with the scores of the finished model: what thresholds and judgement
/// without negatives are made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeldOutScores {
    /// What is known of each row.
    pub(crate) labels: Vec<MpuLabel>,
    /// `k` scores a row.
    pub(crate) scores: Vec<f32>,
}

/// A finished model, ready to be used.
pub(crate) struct Model {
    pub(crate) folder: RunFolder,
    pub(crate) card: ModelCard,
    pub(crate) params: Params,
}

impl Model {
    /// Opens the folder of a finished run.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let folder = RunFolder::open(path)?;
        let file = folder.file("model.json");
        anyhow::ensure!(
            file.is_file(),
            "{} has no model.json: the run is not finished\nhint: continue with `mpu-cli train --resume {}`",
            path.display(),
            path.display()
        );
        let bytes = files::read(&file)?;
        let version = serde_json::from_slice::<Versioned>(&bytes)
            .with_context(|| format!("{} is damaged", file.display()))?
            .version;
        anyhow::ensure!(
            version <= VERSION,
            "{} has version {version}, but this program reads versions up to {VERSION}\nhint: use a newer mpu-cli",
            file.display()
        );
        let card: ModelCard = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is damaged", file.display()))?;
        let weights = folder.file("model.safetensors");
        let params = model_from_bytes(&card.model, &files::read(&weights)?).with_context(|| {
            format!(
                "{} is damaged or belongs to another model\nhint: train again, or copy the whole folder of the run",
                weights.display()
            )
        })?;
        Ok(Self {
            folder,
            card,
            params,
        })
    }

    /// The held-out rows of the run, if there were any.
    pub(crate) fn held_out(&self) -> anyhow::Result<Option<HeldOutScores>> {
        self.folder.held_out(&self.card.class_names)
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
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

    /// Writes `held-out.csv`: the class of a labelled row (blank in the pool), and its scores.
    pub(crate) fn write_held_out(
        &self,
        held: &HeldOutScores,
        class_names: &[String],
    ) -> anyhow::Result<()> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let columns = class_names.iter().map(|name| format!("score:{name}"));
        writer.write_record(["label".to_owned()].into_iter().chain(columns))?;
        for (label, scores) in held
            .labels
            .iter()
            .zip(held.scores.chunks(class_names.len()))
        {
            let label = match *label {
                MpuLabel::Labeled(class) => class_names[class].clone(),
                MpuLabel::Unlabeled => String::new(),
            };
            let scores = scores.iter().map(ToString::to_string);
            writer.write_record([label].into_iter().chain(scores))?;
        }
        let bytes = writer.into_inner().context("writing held-out.csv")?;
        files::write_atomic(&self.file("held-out.csv"), &bytes)
    }

    fn held_out(&self, class_names: &[String]) -> anyhow::Result<Option<HeldOutScores>> {
        let path = self.file("held-out.csv");
        if !path.exists() {
            return Ok(None);
        }
        let damaged = || format!("{} is damaged", path.display());
        let mut reader = csv::Reader::from_path(&path).with_context(damaged)?;
        let mut held = HeldOutScores {
            labels: Vec::new(),
            scores: Vec::new(),
        };
        for row in reader.records() {
            let row = row.with_context(damaged)?;
            anyhow::ensure!(row.len() == class_names.len() + 1, damaged());
            held.labels.push(match &row[0] {
                "" => MpuLabel::Unlabeled,
                name => {
                    let class = class_names.iter().position(|class| class == name);
                    MpuLabel::Labeled(class.with_context(damaged)?)
                }
            });
            for score in row.iter().skip(1) {
                held.scores.push(score.parse().with_context(damaged)?);
            }
        }
        Ok(Some(held))
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
