//! A trained classifier: everything between a row of the user's table and its answer.

mod answering;
mod chosen;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mpu_data::table::{EncodeOptions, FeatureSchema, TableInput};
use mpu_data::{ClassCount, Features, Priors, Seed};
use mpu_eval::{Anchor, Calibration, Decision};
use mpu_models::forest::Forest;
use mpu_models::{Module, Params};
use mpu_report::Record;
use mpu_train::EpochMetrics;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::RunConfig;
use crate::error::{Context as _, Result};
use crate::explain::{Background, importances};
use crate::fit::Trained;
use crate::folder::{Contents, HeldOutScores, ModelCard, ModelFiles, RunFolder};
use crate::params::ClassifierParams;
use crate::predictions::Rule;
use crate::prepared::Prepared;
use crate::record::judged;
use crate::scorer::Scorer;

use chosen::chosen;
pub(crate) use chosen::predictor;

/// What the class that is none of the observed ones is called; the first that no observed class has.
const UNKNOWN: [&str; 3] = [crate::costs::UNKNOWN, "negative", "none of these"];

/// A trained classifier: how columns become features, their scaling, the network, calibrated probabilities,
/// the class priors and the range of the training rows.
///
/// Made by [`Classifier::params`] and [`fit`](ClassifierParams::fit), or read from the folder of a run with
/// [`Classifier::load`]; the command line reads and writes the same folders.
#[derive(Debug, Clone)]
pub struct Classifier {
    card: ModelCard,
    scorer: Arc<Scorer>,
    /// The card's, or the plain softmax.
    calibration: Calibration,
    /// The observed classes, then what is none of them.
    names: Vec<String>,
    held_out: Option<HeldOutScores>,
    background: Option<Background>,
    config: String,
    history: Vec<EpochMetrics>,
    record: Option<Record>,
    folder: Option<PathBuf>,
}

impl Classifier {
    /// Settings to fit a classifier with; every one has a default.
    pub fn params() -> ClassifierParams {
        ClassifierParams::default()
    }

    /// Calibrates the model of a finished run on its held-out rows.
    pub(crate) fn new<D>(
        config: &RunConfig<D>,
        prepared: &Prepared,
        trained: &Trained,
    ) -> Result<Self>
    where
        D: Clone + Default + Serialize + DeserializeOwned,
    {
        let _span = tracing::info_span!("calibrate").entered();
        let (scorer, choice, held_out) = chosen(prepared, trained)?;
        let calibration = held_out.as_ref().map(|held| {
            let anchor = Anchor::default();
            Calibration::fit(&prepared.priors, &held.labels, &held.scores, anchor)
                .context("fitting probabilities to the held-out rows")
        });
        let mut card = ModelCard::new(config, prepared, &scorer, choice, calibration.transpose()?);
        card.importances = importances(prepared, &scorer, Seed(config.seed))?;
        let mut model = Self::of(card, scorer, "the model")?;
        model.held_out = held_out;
        model.background = prepared.kept.as_ref().map(|kept| kept.background.clone());
        model.config = config.to_toml()?;
        if let Some(outcome) = &trained.outcome {
            model.history.clone_from(&outcome.state.history);
        }
        let mut record = trained.record(config, prepared)?;
        record.model_sha256 = model.scorer.digest()?;
        if let Some(test) = &prepared.test {
            let (scores, heat) = judged(&model, test)?;
            (record.scores, record.heat) = (Some(scores), Some(heat));
        }
        model.record = Some(record);
        Ok(model)
    }

    /// Puts the parts together, if they fit.
    fn of(card: ModelCard, scorer: Scorer, place: &str) -> Result<Self> {
        let k = card.priors.classes().get();
        let calibration = match &card.calibration {
            Some(calibration) => calibration.clone(),
            None => Calibration::new(1.0, vec![Some(0.0); k])?,
        };
        let width = card.shape.len();
        let widths = [
            (card.scaler.width(), width, "columns to scale"),
            (card.class_names.len(), k, "class names"),
            (calibration.n_classes(), k, "calibrated classes"),
        ];
        let schema = card.schema.iter().map(|s| (s.width(), width, "features"));
        let ranges = card.range.iter().map(|r| (r.low().len(), width, "ranges"));
        let costs = card.costs.iter().map(|c| (c.n_classes(), k, "cost rows"));
        let scored = scorer.widths().into_iter();
        let scored = scored.flat_map(|(i, o)| [(i, width, "inputs"), (o, k, "outputs")]);
        let population = card.population.iter();
        let population = population.map(|p| (p.classes().get(), k, "shares of the population"));
        let others = schema
            .chain(ranges)
            .chain(costs)
            .chain(population)
            .chain(scored);
        let refused = |what: &str| {
            crate::Error::Refused(format!(
                "{place} is damaged: {what}\nhint: train again, or copy the whole folder of the run"
            ))
        };
        let mut widths = widths.into_iter().chain(others);
        if let Some((found, needed, what)) = widths.find(|(found, needed, _)| found != needed) {
            let what = format!("it has {found} {what} where {needed} are needed");
            return Err(refused(&what));
        }
        let shape = card.schema.as_ref().map(FeatureSchema::shape);
        if shape.is_some_and(|shape| shape != card.shape) {
            return Err(refused("its columns make rows of another shape"));
        }
        let mut names = card.class_names.clone();
        names.pop();
        let distinct: BTreeSet<&String> = names.iter().collect();
        if distinct.len() < names.len() {
            return Err(refused("two classes have one name"));
        }
        if names.iter().any(String::is_empty) {
            return Err(refused("a class has no name"));
        }
        let free = |name: &&str| !names.iter().any(|class| class == name);
        let unknown = UNKNOWN.into_iter().find(free).unwrap_or("negative class");
        names.push(unknown.to_owned());
        Ok(Self {
            card,
            scorer: Arc::new(scorer),
            calibration,
            names,
            held_out: None,
            background: None,
            config: String::new(),
            history: Vec::new(),
            record: None,
            folder: None,
        })
    }

    /// Reads the classifier of a run's folder.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Self::read(folder.as_ref(), None)
    }

    /// Reads a classifier whose network is [one of your own](ClassifierParams::module), with the module that builds it:
    /// a folder holds its weights, not its code.
    pub fn load_with(folder: impl AsRef<Path>, module: &Module) -> Result<Self> {
        Self::read(folder.as_ref(), Some(module))
    }

    fn read(folder: &Path, module: Option<&Module>) -> Result<Self> {
        let folder = RunFolder::open(folder)?;
        let mut model = Self::of_folder(&folder, module)?;
        model.folder = Some(folder.path().to_owned());
        Ok(model)
    }

    /// Reads the files of such a folder from memory, by name.
    pub fn from_files(files: ModelFiles) -> Result<Self> {
        Self::of_folder(&RunFolder::in_memory(files), None)
    }

    fn of_folder(folder: &RunFolder, module: Option<&Module>) -> Result<Self> {
        let (card, scorer) = ModelCard::read(folder, module)?;
        let place = folder.file("model.json").display().to_string();
        let mut model = Self::of(card, scorer, &place)?;
        model.held_out = folder.held_out(&model.card.class_names)?;
        model.background = folder.background(model.card.shape)?;
        model.config = folder.config()?;
        model.history = folder.history()?;
        model.record = folder.record()?;
        Ok(model)
    }

    /// The files of the folder that [`save`](Self::save) would write: the model as bytes.
    pub fn to_files(&self) -> Result<ModelFiles> {
        Contents {
            config: &self.config,
            held_out: self.held_out.as_ref(),
            background: self.background.as_ref(),
            history: &self.history,
            scorer: &self.scorer,
            card: &self.card,
            record: self.record.as_ref(),
        }
        .files()
    }

    /// Writes a folder that [`load`](Self::load) and the command line read. It must be new or empty.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.save_into(&RunFolder::create(folder.as_ref(), &self.config)?)
    }

    /// Writes into the folder of its run, which was begun with its configuration; the record last of all.
    pub fn save_into(&self, folder: &RunFolder) -> Result<()> {
        // The folder has a configuration already: the one that the run was begun with.
        let mut files = self.to_files()?;
        files.remove(0);
        folder.write(&files)
    }

    /// What is needed to use the model besides its weights.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// The weights of the network, if it has one.
    pub fn weights(&self) -> Option<&Params> {
        self.scorer.network()
    }

    /// The forest, if it has one.
    pub fn forest(&self) -> Option<&Forest> {
        self.scorer.forest()
    }

    /// The record of the run that trained it; none if its folder has none.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// The figures of the epoch that the model is of; none without the record of its run.
    pub fn reported(&self) -> Option<&EpochMetrics> {
        match self.record.as_ref()?.kept_epoch {
            Some(kept) => self.history.iter().find(|metrics| metrics.epoch == kept),
            None => self.history.last(),
        }
    }

    /// The figures of every epoch.
    pub fn history(&self) -> &[EpochMetrics] {
        &self.history
    }

    /// The configuration it was trained with.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// Where it was loaded from, if it was.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What to call it in messages: its folder, or "the model".
    pub fn title(&self) -> String {
        match &self.folder {
            Some(folder) => folder.display().to_string(),
            None => "the model".to_owned(),
        }
    }

    /// The rows that were held out of its training, if there were any.
    pub fn held_out(&self) -> Option<&HeldOutScores> {
        self.held_out.as_ref()
    }

    /// The training rows that answers are explained by, if it kept any.
    pub fn background(&self) -> Option<&Background> {
        self.background.as_ref()
    }

    /// The number of classes, the negative one included.
    pub fn classes(&self) -> ClassCount {
        self.card.priors.classes()
    }

    /// The priors under which probabilities are calibrated: those of the pool it was trained on.
    pub fn priors(&self) -> &Priors {
        &self.card.priors
    }

    /// The observed classes, then what is none of them: what answers are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The observed classes.
    pub fn observed(&self) -> &[String] {
        &self.names[..self.names.len() - 1]
    }

    /// What rows are called that belong to none of the observed classes.
    pub fn unknown(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// How columns become features; an error for a model of a benchmark, which knows no columns.
    pub fn schema(&self) -> Result<&FeatureSchema> {
        self.card.schema.as_ref().with_context(|| {
            format!(
                "{} is a model of the benchmark `{}`: it does not know which columns of a table are its inputs\nhint: train on your own rows with `mpu-cli train --data FILE`",
                self.title(),
                self.card.dataset
            )
        })
    }

    /// Reads rows of a file as the model understands them.
    pub fn rows(&self, input: impl Into<TableInput>) -> Result<Features> {
        let encoded = self.schema()?.encode(input, &EncodeOptions::default())?;
        Ok(encoded.features)
    }

    /// The class shares of the population that new rows come from: those of labelled rows and pool together if
    /// both are one population, else the pool's.
    pub fn population(&self) -> &Priors {
        self.card.population.as_ref().unwrap_or(self.priors())
    }

    /// How it decides unless told otherwise: the likeliest class, or with costs the cheapest, among rows of
    /// its [population](Self::population).
    pub fn rule(&self) -> Rule {
        let costs = self.card.costs.clone();
        Rule {
            target: self.card.population.clone(),
            decision: costs.map_or(Decision::Argmax, Decision::Costs),
        }
    }
}
