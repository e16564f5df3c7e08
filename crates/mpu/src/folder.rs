//! The folder of a run: its configuration, checkpoint, model, figures and record.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mpu_data::split::Scenario;
use mpu_data::table::{DataCheck, FeatureSchema};
use mpu_data::{CostMatrix, MpuLabel, Priors, Scaler, Shape};
use mpu_eval::{Calibration, TrainingRange};
use mpu_loss::Loss;
use mpu_models::forest::{Forest, ForestSpec};
use mpu_models::{ModelSpec, Module};
use mpu_prior::PriorReport;
use mpu_report::Record;
use mpu_report::store::{record_from_json, record_to_json};
use mpu_train::{EpochMetrics, Method, State, model_from_bytes};
use serde::{Deserialize, Serialize};

use crate::classifier::predictor;
use crate::config::RunConfig;
use crate::ensemble::{Choice, Leaves};
use crate::error::{Context as _, Error, Result, bail, ensure};
use crate::explain::{Background, Importances};
use crate::files;
use crate::prepared::Prepared;
use crate::scorer::Scorer;

/// The version of `model.json`.
const VERSION: u32 = 2;

// The files of a run.
const NETWORK: &str = "model.safetensors";
const FOREST: &str = "forest.safetensors";
/// The training rows that answers are explained by.
const BACKGROUND: &str = "background.json";
const RECORD: &str = "record.json";
const CONFIG: &str = "config.toml";
const CARD: &str = "model.json";
const HELD_OUT: &str = "held-out.csv";
/// The state to resume from.
const CHECKPOINT: &str = "checkpoint.safetensors";
/// The figures of every epoch.
const METRICS: &str = "metrics.csv";

/// The files of a model by name, each with its bytes, in the order in which they are written.
pub type ModelFiles = Vec<(String, Vec<u8>)>;

/// What is needed to use a model besides its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// The version of this form.
    pub version: u32,
    /// The version of the program that trained it.
    pub mpu_version: String,
    /// The network, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSpec>,
    /// The forest, if it has one: what it was grown by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<ForestSpec>,
    /// How small its leaves are and why, if that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<Leaves>,
    /// How it was chosen between network and forest, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// The shape of a row.
    pub shape: Shape,
    /// How rows are scaled.
    pub scaler: Scaler,
    /// Names of the observed classes, then of the negative one.
    pub class_names: Vec<String>,
    /// The class priors it was trained with.
    pub priors: Priors,
    /// How labelled rows and pool came about; collected separately if a card of before does not say.
    #[serde(default)]
    pub scenario: Scenario,
    /// The class shares of the population that new rows come from, where they are not those of the pool:
    /// probabilities and answers refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Priors>,
    /// The method.
    pub method: Method,
    /// The binary loss, for methods that use one.
    pub loss: Loss,
    /// What mistakes cost, if they are not all alike: answers are then those of least expected cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostMatrix>,
    /// The dataset, or the user's file.
    pub dataset: String,
    /// How the data differ from the published ones, if they do.
    pub data_mark: Option<String>,
    /// How columns of the user's own tables become features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<FeatureSchema>,
    /// The range of every feature over the training rows, before scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TrainingRange>,
    /// How the priors were estimated, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_priors: Option<PriorReport>,
    /// From scores to probabilities, fitted on held-out rows if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What was understood of the user's own table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<DataCheck>,
    /// Which columns matter, for the user's own tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importances: Option<Importances>,
}

impl ModelCard {
    pub(crate) fn new<D>(
        config: &RunConfig<D>,
        prepared: &Prepared,
        scorer: &Scorer,
        choice: Option<Choice>,
        calibration: Option<Calibration>,
    ) -> Self {
        let facts = &prepared.facts;
        let grown = prepared.grown.as_ref();
        let grown = grown.filter(|_| scorer.forest().is_some());
        Self {
            version: VERSION,
            mpu_version: env!("CARGO_PKG_VERSION").to_owned(),
            model: scorer.network().map(|params| params.spec().clone()),
            forest: scorer.forest().map(|forest| *forest.spec()),
            leaves: grown.and_then(|grown| grown.student.leaves),
            choice,
            shape: prepared.problem.train().features.shape(),
            scaler: prepared.scaler.clone(),
            class_names: facts.class_names.clone(),
            priors: prepared.priors.clone(),
            scenario: facts.scenario,
            population: facts.population.clone(),
            method: config.method,
            loss: config.loss,
            costs: prepared.costs.clone(),
            dataset: facts.dataset.clone(),
            data_mark: facts.mark.clone(),
            schema: facts.schema.clone(),
            range: facts.range.clone(),
            estimated_priors: facts.estimated.clone(),
            calibration,
            check: facts.check.clone(),
            importances: None,
        }
    }
}

/// Rows that were held out of training, with the scores of the finished model: what thresholds and judgement
/// without negatives are made from.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutScores {
    /// What is known of each row.
    pub labels: Vec<MpuLabel>,
    /// `k` scores a row.
    pub scores: Vec<f32>,
}

impl ModelCard {
    /// Reads the card and the weights of a finished run.
    pub(crate) fn read(folder: &RunFolder, module: Option<&Module>) -> Result<(Self, Scorer)> {
        let path = folder.path().display();
        let file = folder.file(CARD);
        let bytes = folder.read(CARD)?.with_context(|| format!(
            "{path} has no model.json: the run is not finished\nhint: continue it with `mpu-cli train --resume {path}`"
        ))?;
        let damaged = || format!("{} is damaged", file.display());
        let found = serde_json::from_slice::<Versioned>(&bytes).with_context(damaged)?;
        ensure!(
            found.version <= VERSION,
            "{} is of version {}, but this program reads up to {VERSION}\nhint: use a newer mpu-cli",
            file.display(),
            found.version
        );
        let card: Self = serde_json::from_slice(&bytes).with_context(damaged)?;
        let damaged = |name: &str, error: &dyn std::fmt::Display| {
            Error::Refused(format!(
                "{} is damaged or of another model: {error}\nhint: train again, or copy the whole folder of the run",
                folder.file(name).display()
            ))
        };
        let network = card.model.as_ref().map(|spec| -> Result<_> {
            check_module(&path, spec, module)?;
            let params = model_from_bytes(spec, &folder.needed(NETWORK)?);
            predictor(module, params.map_err(|error| damaged(NETWORK, &error))?)
        });
        let network = network.transpose()?;
        let forest = card.forest.map(|_| -> Result<_> {
            let forest = Forest::from_bytes(&folder.needed(FOREST)?);
            Ok(Arc::new(forest.map_err(|error| damaged(FOREST, &error))?))
        });
        let scorer = Scorer::new(network, forest.transpose()?)?;
        Ok((card, scorer))
    }
}

/// Whether a module is given exactly where one is needed, and builds what was trained.
fn check_module(path: &dyn Display, spec: &ModelSpec, module: Option<&Module>) -> Result<()> {
    match (spec, module) {
        (ModelSpec::Module(_), None) => bail!(
            "{path} holds a network that somebody wrote for candle: its weights are here, its code is not\nhint: the program that trained it reads it with `Classifier::load_with`"
        ),
        (ModelSpec::Module(kept), Some(module)) => {
            let built = module.spec(kept.shape, kept.outputs)?;
            ensure!(
                built == *spec,
                "{path} was trained with another network than the module builds: names or shapes of its variables differ\nhint: give the module that it was trained with"
            );
            Ok(())
        }
        (_, Some(_)) => {
            bail!("{path} holds a network of this library\nhint: read it with `Classifier::load`")
        }
        (_, None) => Ok(()),
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// A run's folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    /// Its files, if they are in memory.
    files: Option<BTreeMap<String, Vec<u8>>>,
    /// What keeps other processes from training in it.
    lock: Option<Arc<File>>,
}

impl RunFolder {
    /// The names of the files of a run.
    pub const FILES: [&str; 9] = [
        CONFIG, CARD, NETWORK, FOREST, BACKGROUND, RECORD, HELD_OUT, METRICS, CHECKPOINT,
    ];

    /// Refuses a path at which [`create`](Self::create) would fail, before any work is done.
    pub fn check_new(path: &Path) -> Result<()> {
        files::check_new_folder(path)
    }

    /// A folder for a new run; it must be empty, but for what a killed process left half-written. While the value
    /// lives, no other process can train in it.
    pub fn create(path: &Path, config_toml: &str) -> Result<Self> {
        let lock = files::new_folder(path)?;
        let folder = Self {
            path: path.to_owned(),
            files: None,
            lock: lock.map(Arc::new),
        };
        let written = files::write_atomic(&folder.file(CONFIG), config_toml.as_bytes());
        if written.is_err() {
            // An empty folder would only be in the way.
            let _ = std::fs::remove_dir(path);
        }
        written.map(|()| folder)
    }

    /// The folder of a run that was begun.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self {
            path: path.to_owned(),
            files: None,
            lock: None,
        };
        ensure!(
            folder.file(CONFIG).is_file(),
            "{} is not the folder of a run: it has no config.toml\nhint: if training was stopped before it was written, begin again with --out",
            path.display()
        );
        Ok(folder)
    }

    /// The folder of a run to go on with: what was left half-written is cleared, and while the value lives no other
    /// process can train in it.
    pub fn resume(path: &Path) -> Result<Self> {
        let mut folder = Self::open(path)?;
        folder.lock = files::lock_folder(path)?.map(Arc::new);
        files::sweep(path)?;
        Ok(folder)
    }

    /// The files of a folder that is not on disk.
    pub(crate) fn in_memory(files: ModelFiles) -> Self {
        Self {
            path: PathBuf::from("the model"),
            files: Some(files.into_iter().collect()),
            lock: None,
        }
    }

    /// The bytes of a file, if it is there.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match &self.files {
            Some(files) => Ok(files.get(name).cloned()),
            None if self.file(name).is_file() => files::read(&self.file(name)).map(Some),
            None => Ok(None),
        }
    }

    /// The bytes of a file that must be there.
    fn needed(&self, name: &str) -> Result<Vec<u8>> {
        self.read(name)?.with_context(|| {
            let path = self.path.display();
            format!("{path} has no {name}\nhint: train again, or copy the whole folder of the run")
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The state to resume from, if a checkpoint was written.
    pub fn checkpoint(&self) -> Result<Option<State>> {
        read_state(&self.file(CHECKPOINT))
    }

    /// Writes the state and the figures so far.
    pub fn write_checkpoint(&self, state: &State) -> Result<()> {
        write_state(&self.file(CHECKPOINT), state)?;
        files::write_atomic(&self.file(METRICS), &metrics_csv(&state.history)?)
    }

    /// Writes files, the last one last of all.
    pub(crate) fn write(&self, files: &ModelFiles) -> Result<()> {
        let mut files = files.iter();
        files.try_for_each(|(name, bytes)| files::write_atomic(&self.file(name), bytes))
    }

    pub(crate) fn background(&self, shape: Shape) -> Result<Option<Background>> {
        let Some(bytes) = self.read(BACKGROUND)? else {
            return Ok(None);
        };
        let kept = Background::from_json(&bytes, shape);
        kept.map(Some)
            .with_context(|| format!("{} cannot be used", self.file(BACKGROUND).display()))
    }

    pub(crate) fn held_out(&self, class_names: &[String]) -> Result<Option<HeldOutScores>> {
        let Some(bytes) = self.read(HELD_OUT)? else {
            return Ok(None);
        };
        let damaged = || format!("{} is damaged", self.file(HELD_OUT).display());
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let mut held = HeldOutScores {
            labels: Vec::new(),
            scores: Vec::new(),
        };
        for row in reader.records() {
            let row = row.with_context(damaged)?;
            ensure!(row.len() == class_names.len() + 1, "{}", damaged());
            held.labels.push(match &row[0] {
                "" => MpuLabel::Unlabeled,
                name => {
                    let class = class_names.iter().position(|class| class == name);
                    MpuLabel::Labeled(class.with_context(damaged)?)
                }
            });
            for score in row.iter().skip(1) {
                let score: f32 = score.parse().with_context(damaged)?;
                ensure!(score.is_finite(), "{}: a score is {score}", damaged());
                held.scores.push(score);
            }
        }
        Ok(Some(held))
    }

    /// The configuration.
    pub fn config(&self) -> Result<String> {
        let bytes = self.needed(CONFIG)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The figures of every epoch, if they were written.
    pub(crate) fn history(&self) -> Result<Vec<EpochMetrics>> {
        let Some(bytes) = self.read(METRICS)? else {
            return Ok(Vec::new());
        };
        let damaged = || format!("{} is damaged", self.file(METRICS).display());
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let history = reader.deserialize().collect::<Result<_, csv::Error>>();
        history.with_context(damaged)
    }

    /// The record of a finished run.
    pub fn finished(&self) -> Result<Record> {
        let path = self.path.display();
        self.record()?.with_context(|| {
            format!("{path} has no {RECORD}: the run is not finished, or an earlier version made it\nhint: `mpu-cli train --resume {path}` finishes it and writes the record")
        })
    }

    /// The record, if there is one.
    pub fn record(&self) -> Result<Option<Record>> {
        let Some(bytes) = self.read(RECORD)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(record_from_json(&self.file(RECORD), &text)?))
    }
}

/// What the folder of a model holds.
pub(crate) struct Contents<'a> {
    pub(crate) config: &'a str,
    pub(crate) held_out: Option<&'a HeldOutScores>,
    pub(crate) background: Option<&'a Background>,
    pub(crate) history: &'a [EpochMetrics],
    pub(crate) scorer: &'a Scorer,
    pub(crate) card: &'a ModelCard,
    pub(crate) record: Option<&'a Record>,
}

impl Contents<'_> {
    /// The files, the configuration first and the record last of all: where it is, the run is complete.
    pub(crate) fn files(&self) -> Result<ModelFiles> {
        let mut files = vec![(CONFIG, self.config.as_bytes().to_vec())];
        if let Some(held) = self.held_out {
            files.push((HELD_OUT, held_out_csv(held, &self.card.class_names)?));
        }
        if let Some(background) = self.background {
            files.push((BACKGROUND, background.to_json()?));
        }
        files.push((METRICS, metrics_csv(self.history)?));
        let network = self.scorer.network_bytes()?;
        files.extend(network.map(|bytes| (NETWORK, bytes)));
        let forest = self.scorer.forest_bytes()?;
        files.extend(forest.map(|bytes| (FOREST, bytes)));
        let card = serde_json::to_vec_pretty(self.card).context("writing model.json")?;
        files.push((CARD, card));
        if let Some(record) = self.record {
            let text = record_to_json(Path::new(RECORD), record)?;
            files.push((RECORD, text.into_bytes()));
        }
        let named = |(name, bytes): (&str, Vec<u8>)| (name.to_owned(), bytes);
        Ok(files.into_iter().map(named).collect())
    }
}

/// `metrics.csv`: one line per epoch.
fn metrics_csv(history: &[EpochMetrics]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for metrics in history {
        writer.serialize(metrics).context("writing metrics.csv")?;
    }
    written(writer, METRICS)
}

/// `held-out.csv`: the class of a labelled row (blank in the pool), and its scores.
fn held_out_csv(held: &HeldOutScores, class_names: &[String]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = class_names.iter().map(|name| format!("score:{name}"));
    writer.write_record(["label".to_owned()].into_iter().chain(columns))?;
    let rows = held.labels.iter();
    for (label, scores) in rows.zip(held.scores.chunks(class_names.len())) {
        let label = match *label {
            MpuLabel::Labeled(class) => class_names[class].clone(),
            MpuLabel::Unlabeled => String::new(),
        };
        let scores = scores.iter().map(ToString::to_string);
        writer.write_record([label].into_iter().chain(scores))?;
    }
    written(writer, HELD_OUT)
}

/// What was written for a file.
fn written(writer: csv::Writer<Vec<u8>>, name: &str) -> Result<Vec<u8>> {
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error);
    bytes.with_context(|| format!("writing {name}"))
}

/// Reads the state of a run, if it was kept.
pub fn read_state(path: &Path) -> Result<Option<State>> {
    if !path.exists() {
        return Ok(None);
    }
    let state = State::from_bytes(&files::read(path)?);
    state.map(Some).with_context(|| path.display())
}

/// Keeps the state of a run in a file.
pub fn write_state(path: &Path, state: &State) -> Result<()> {
    files::write_atomic(path, &state.to_bytes()?)
}
