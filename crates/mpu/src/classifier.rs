//! A trained classifier: everything between a row of the user's table and its answer.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mpu_data::table::{EncodeOptions, FeatureSchema, TableInput};
use mpu_data::{ClassCount, Features, Priors, Seed};
use mpu_eval::margins::top_margins;
use mpu_eval::pu_metrics::{Evidence, Target, UncertainPriors};
use mpu_eval::shift::reweighted;
use mpu_eval::thresholds::{PrecisionThreshold, precision_thresholds};
use mpu_eval::training_range::MARGIN;
use mpu_eval::{Anchor, Calibration, Decision};
use mpu_models::forest::Forest;
use mpu_models::{Module, Params};
use mpu_report::Record;
use mpu_train::{EpochMetrics, Predictor};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::RunConfig;
use crate::ensemble::{Choice, Kind, mean};
use crate::error::{Context as _, Result, bail, ensure};
use crate::explain::{Background, importances};
use crate::fit::Trained;
use crate::folder::{Contents, HeldOutScores, ModelCard, ModelFiles, RunFolder};
use crate::params::ClassifierParams;
use crate::predictions::{Decided, Place, Predictions, Rule};
use crate::prepared::{Grown, Prepared};
use crate::record::judged;
use crate::scorer::Scorer;
use crate::target_sample::{TargetEstimate, TargetSample};

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
        for (found, needed, what) in widths.into_iter().chain(others) {
            ensure!(
                found == needed,
                "{place} is damaged: it has {found} {what} where {needed} are needed\nhint: train again, or copy the whole folder of the run"
            );
        }
        let refused = |what: &str| {
            crate::Error::Refused(format!(
                "{place} is damaged: {what}\nhint: train again, or copy the whole folder of the run"
            ))
        };
        if card
            .schema
            .as_ref()
            .is_some_and(|schema| schema.shape() != card.shape)
        {
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
        let (card, scorer) = folder.model(module)?;
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

    /// Scores rows and answers them.
    pub fn predict(&self, rows: &Features) -> Result<Predictions> {
        self.predict_by(&self.rule(), rows)
    }

    /// Scores rows and answers them by another rule.
    pub fn predict_by(&self, rule: &Rule, rows: &Features) -> Result<Predictions> {
        self.check_shape(rows)?;
        let width = self.card.shape.len();
        let parts: Vec<Predictions> = rows
            .values()
            .par_chunks(self.part_rows() * width)
            .enumerate()
            .map(|(part, values)| {
                let first = part * self.part_rows();
                let number = |row: usize| (first + row) as u64 + 1;
                let place = Place {
                    file: None,
                    number: &number,
                };
                self.predict_part(rule, values, &place)
            })
            .collect::<Result<_>>()?;
        let mut all = Predictions::default();
        for part in parts {
            all.extend(part);
        }
        Ok(all)
    }

    /// The names of the answers to rows, in their order.
    pub fn answers(&self, rows: &Features) -> Result<Vec<&str>> {
        let answers = self.predict(rows)?.answers;
        let name = |class: usize| self.names[class].as_str();
        Ok(answers.into_iter().map(name).collect())
    }

    /// The scores of rows, not scaled yet: `k` a row.
    pub fn scores(&self, rows: &Features) -> Result<Vec<f32>> {
        self.check_shape(rows)?;
        let parts: Vec<Vec<f32>> = rows
            .values()
            .par_chunks(self.part_rows() * self.card.shape.len())
            .map(|rows| self.scores_here(rows))
            .collect::<Result<_>>()?;
        Ok(parts.concat())
    }

    /// The scores of rows that are scaled already; only a network can give them.
    pub fn scaled_scores(&self, rows: &Features) -> Result<Vec<f32>> {
        self.check_shape(rows)?;
        let predictor = self.scorer.predictor();
        let predictor = predictor.context("a forest takes rows as they are, not scaled ones")?;
        parallel(predictor, rows.values())
    }

    /// The scores of rows, not scaled yet, on this thread.
    pub(crate) fn scores_here(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let features = Features::new(rows.to_vec(), self.card.shape)?;
        let schema = self.card.schema.as_ref();
        self.scorer.scores(schema, &self.card.scaler, &features)
    }

    fn check_shape(&self, rows: &Features) -> Result<()> {
        let (found, needed) = (rows.shape().len(), self.card.shape.len());
        if found != needed {
            bail!("rows of {found} numbers, but the model takes rows of {needed}");
        }
        Ok(())
    }

    /// Rows of a part that one thread works on at a time.
    pub fn part_rows(&self) -> usize {
        4 * self.scorer.batch_rows()
    }

    /// The scores of some encoded rows, not scaled yet, on this thread.
    pub fn part_scores(&self, rows: &[f32], place: &Place<'_>) -> Result<Vec<f32>> {
        let scores = self.scores_here(rows)?;
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let (row, width) = (at / self.names.len(), self.card.shape.len());
            let outside = self.outside(&rows[row * width..][..width])?;
            let names = self.card.schema.as_ref().map(FeatureSchema::feature_names);
            let cause = outside.zip(names).map(|(feature, names)| {
                format!(
                    "\nhint: look at `{}`, which is far outside the range of the training rows",
                    names[feature]
                )
            });
            bail!(
                "{}: the score for `{}` is not finite{}",
                place.of(row),
                self.names[at % self.names.len()],
                cause.unwrap_or_default()
            );
        }
        Ok(scores)
    }

    /// Scores some encoded rows, not scaled yet, on this thread, and answers them by a rule.
    pub fn predict_part(
        &self,
        rule: &Rule,
        rows: &[f32],
        place: &Place<'_>,
    ) -> Result<Predictions> {
        let scores = self.part_scores(rows, place)?;
        let decided = self.decide(rule, &scores)?;
        let probabilities: Vec<f32> = decided.probabilities.iter().map(|&p| p as f32).collect();
        let margins = top_margins(self.classes(), &probabilities)?;
        let width = self.card.shape.len();
        let outside = rows.chunks(width).map(|row| self.outside(row));
        Ok(Predictions {
            answers: decided.answers,
            margins: margins.into_iter().map(|margin| margin as f32).collect(),
            outside: outside.collect::<Result<_>>()?,
            scores,
            probabilities,
        })
    }

    /// Probabilities and answers that go with scores: what every command and judgement decides by.
    pub fn decide(&self, rule: &Rule, scores: &[f32]) -> Result<Decided> {
        let mut probabilities = self.probabilities(scores)?;
        if let Some(target) = &rule.target {
            probabilities = reweighted(self.priors(), target, &probabilities)
                .map_err(|error| crate::Error::from(error).naming(&self.names))?;
        }
        let answers = rule
            .decision
            .answers(self.classes(), &written(&probabilities))?;
        Ok(Decided {
            probabilities,
            answers,
        })
    }

    /// Probabilities of scores under the pool's priors.
    pub fn probabilities(&self, scores: &[f32]) -> Result<Vec<f64>> {
        Ok(self.calibration.probabilities(scores)?)
    }

    /// The pool's priors and how far off they may be: by their intervals if they were estimated.
    pub fn uncertain_priors(&self) -> Result<UncertainPriors> {
        let priors = self.priors().clone();
        let Some(report) = &self.card.estimated_priors else {
            return Ok(UncertainPriors::exact(priors));
        };
        let intervals = report.classes.iter();
        let intervals: Vec<(f64, f64)> = intervals
            .map(|class| (class.interval.low, class.interval.high))
            .collect();
        Ok(UncertainPriors::with_intervals(priors, &intervals)?)
    }

    /// The population that a rule is about.
    pub fn target(&self, rule: &Rule) -> Target {
        match &rule.target {
            None => Target::Pool,
            Some(target) if Some(target) == self.card.population.as_ref() => {
                Target::Population(target.clone())
            }
            Some(target) => Target::Shares(target.clone()),
        }
    }

    /// The class shares of rows that may be unlike the population, for a [`Rule`] about them: those that make
    /// the rows likeliest, if they moved by more than chance.
    pub fn estimate_target(&self, rows: &Features) -> Result<TargetEstimate> {
        let mut sample = TargetSample::new(self.classes());
        sample.add_scores(self, 0, &self.scores(rows)?)?;
        sample.estimate(self, || Ok(()))
    }

    /// For each observed class, the probability from which on its answers are right as often as asked, by the
    /// held-out rows and with confidence; `targets` has a precision for every observed class. They make
    /// the rule stricter, never more generous.
    pub fn precision_thresholds(
        &self,
        rule: &Rule,
        targets: &[f64],
    ) -> Result<Vec<PrecisionThreshold>> {
        let held = self.held_out().with_context(|| {
            format!(
                "{} has no held-out.csv: a precision needs held-out rows\nhint: give --threshold, or train again",
                self.title()
            )
        })?;
        let decided = self.decide(rule, &held.scores)?;
        let evidence = Evidence {
            priors: &self.uncertain_priors()?,
            target: &self.target(rule),
            labels: &held.labels,
            probabilities: Some(&self.probabilities(&held.scores)?),
        };
        let written = written(&decided.probabilities);
        let found = precision_thresholds(&evidence, &decided.answers, &written, targets)?;
        Ok(found)
    }

    /// The feature by which an encoded row is farthest outside the range of the training rows, if it is. A missing
    /// value is not outside.
    pub(crate) fn outside(&self, row: &[f32]) -> Result<Option<usize>> {
        let Some(range) = &self.card.range else {
            return Ok(None);
        };
        let mut row = Cow::Borrowed(row);
        if let Some(schema) = &self.card.schema
            && row.iter().any(|value| value.is_nan())
        {
            schema.fill(row.to_mut());
        }
        Ok(range.outside(&row, MARGIN)?.map(|outside| outside.feature))
    }
}

/// Probabilities as they are written and decided on: `f32`.
fn written(exact: &[f64]) -> Vec<f64> {
    exact.iter().map(|&p| f64::from(p as f32)).collect()
}

/// What scores rows, how it was chosen, and its scores of rows that it has not seen.
fn chosen(
    prepared: &Prepared,
    trained: &Trained,
) -> Result<(Scorer, Option<Choice>, Option<HeldOutScores>)> {
    let network = match &trained.outcome {
        None => None,
        Some(outcome) => {
            let predictor = predictor(prepared.module.as_ref(), outcome.params().clone())?;
            let held = match prepared.problem.validation() {
                None => None,
                Some(held) => Some(HeldOutScores {
                    labels: held.labels.clone(),
                    scores: parallel(&predictor, held.features.values())?,
                }),
            };
            Some((predictor, held))
        }
    };
    let Some(Grown { student, held, .. }) = &prepared.grown else {
        let (network, held) = network.context("neither a network nor a forest was trained")?;
        return Ok((Scorer::new(Some(network), None)?, None, held));
    };
    let forest = Some(student.forest.clone());
    let grown = HeldOutScores {
        labels: student.labels.clone(),
        scores: student.scores.clone(),
    };
    let Some((network, Some(scored))) = network else {
        return Ok((Scorer::new(None, forest)?, None, Some(grown)));
    };
    let k = prepared.priors.classes().get();
    let place = |row: &usize| student.scored.partition_point(|scored| scored < row);
    let held = held
        .iter()
        .map(|row| &student.scores[place(row) * k..][..k]);
    let by_forest = held.collect::<Vec<_>>().concat();
    let labels = scored.labels;
    let choice = Choice::new(&prepared.priors, &labels, &by_forest, &scored.scores)?;
    let (scorer, held) = match choice.kind {
        Kind::Forest => (Scorer::new(None, forest)?, grown),
        Kind::Network => (
            Scorer::new(Some(network), None)?,
            HeldOutScores {
                labels,
                scores: scored.scores,
            },
        ),
        Kind::Both => (
            Scorer::new(Some(network), forest)?,
            HeldOutScores {
                labels,
                scores: mean(&by_forest, &scored.scores, k),
            },
        ),
    };
    Ok((scorer, Some(choice), Some(held)))
}

/// A network ready to score rows: ours, or the one that a module builds.
pub(crate) fn predictor(module: Option<&Module>, params: Params) -> Result<Arc<Predictor>> {
    Ok(Arc::new(match module {
        Some(module) => Predictor::of(module, params)?,
        None => Predictor::new(params)?,
    }))
}

/// Scores of scaled rows on all threads; the same bits whatever their number.
fn parallel(predictor: &Predictor, rows: &[f32]) -> Result<Vec<f32>> {
    let width = predictor.params().spec().inputs();
    let parts: Vec<Vec<f32>> = rows
        .par_chunks(4 * predictor.batch_rows() * width)
        .map(|rows| Ok(predictor.scores(rows)?))
        .collect::<Result<_>>()?;
    Ok(parts.concat())
}
