//! Rows ready to be trained on, wherever they come from.

use mpu_data::dataset::TrainTest;
use mpu_data::source::load::{LoadOptions, load};
use mpu_data::source::progress::Progress;
use mpu_data::source::resolve::Locations;
use mpu_data::split::Scenario;
use mpu_data::table::{DataCheck, FeatureSchema};
use mpu_data::{CostMatrix, Priors, Scaler, Seed, Split};
use mpu_eval::TrainingRange;
use mpu_models::{ModelSpec, Module, Threads};
use mpu_prior::PriorReport;
use mpu_train::{Judged, Observer, Outcome, Problem, Run, RunError, State};

use crate::config::{Auto, RunConfig};
use crate::ensemble::Student;
use crate::error::{Context as _, Error, Result};
use crate::explain::KeptRows;
use crate::prior_estimate::estimate_priors;

/// An [`Observer`] that can watch a whole fit: its errors find their way through
/// [`Error::Observer`].
pub trait Watcher:
    Observer<Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send> + Send
{
}

impl<O> Watcher for O where
    O: Observer<Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send> + Send
{
}

/// What the negative class is called.
pub const NEGATIVE: &str = "negative";

/// The rows a run trains on, wherever they come from, and what it must be told of them.
pub struct Prepared {
    /// The rows.
    pub problem: Problem,
    /// How they were scaled.
    pub scaler: Scaler,
    /// Rows of a table to judge by, as they are: not scaled, with NaN where a value is missing.
    pub test: Option<Judged>,
    /// The priors that training is told.
    pub priors: Priors,
    /// The pool's own priors, where they are known.
    pub true_priors: Option<Priors>,
    /// What mistakes cost, if they are not all alike.
    pub costs: Option<CostMatrix>,
    /// The network, if one is trained.
    pub model: Option<ModelSpec>,
    /// How to build it, if it is one of the user's own.
    pub module: Option<Module>,
    /// The forest, if one is grown.
    pub grown: Option<Grown>,
    /// Rows that the model is explained by, for the user's own tables.
    pub kept: Option<KeptRows>,
    /// What is said of the data.
    pub facts: DataFacts,
}

/// A forest that is grown from all rows, before a network is trained on those that are not held out.
pub struct Grown {
    /// The forest.
    pub student: Student,
    /// The rows, among all, that no network sees.
    pub held: Vec<usize>,
    /// How long it took to grow it and the forests before it.
    pub seconds: f64,
}

/// What is said of the data in records and model cards.
#[derive(Debug, Clone)]
pub struct DataFacts {
    /// The dataset, or the user's file.
    pub dataset: String,
    /// The split protocol, or [`Record::TABLE`](mpu_report::Record::TABLE).
    pub protocol: &'static str,
    /// The share of negatives in the pool: of a benchmark as asked for, else as training is told.
    pub prior: f64,
    /// Names of the observed classes, then of the negative one.
    pub class_names: Vec<String>,
    /// The digest of the split.
    pub split_digest: String,
    /// How the data differ from the published ones, if they do.
    pub mark: Option<String>,
    /// How columns become features, for the user's own tables.
    pub schema: Option<FeatureSchema>,
    /// What was understood of the user's own table.
    pub check: Option<DataCheck>,
    /// The range of every feature over the user's training rows, before scaling.
    pub range: Option<TrainingRange>,
    /// How the priors were estimated, if they were.
    pub estimated: Option<PriorReport>,
    /// How labelled rows and pool came about.
    pub scenario: Scenario,
    /// The class shares of the population that new rows come from, where they are not the pool's.
    pub population: Option<Priors>,
}

/// The dataset of a configuration, downloaded if need be.
pub fn dataset(
    config: &RunConfig,
    locations: &Locations,
    progress: &dyn Progress,
) -> Result<TrainTest> {
    let _span = tracing::info_span!("load").entered();
    let options = LoadOptions {
        seed: Seed(config.data.split_seed),
        generated_rows: config.data.generated_rows,
        ..LoadOptions::default()
    };
    let data = load(config.data.dataset, locations, &options, progress)?;
    Ok(match config.data.max_rows {
        Some(n_rows) => data.first_of_each_class(n_rows)?,
        None => data,
    })
}

impl Prepared {
    /// Makes labelled rows and a pool of a benchmark.
    pub fn of(config: &RunConfig, data: &TrainTest, observer: &mut impl Watcher) -> Result<Self> {
        let _span = tracing::info_span!("split").entered();
        let split = Split::of(data, &config.split_spec())?;
        let scaling = config.data.scaling.unwrap_or_default();
        let (problem, scaler) = Problem::of(data, &split, scaling)?;
        let names = config.class_names();
        let estimated = config.data.priors.map(|Auto::Auto| {
            let (train, classes) = (problem.train(), problem.classes());
            estimate_priors(train, classes, Seed(config.seed), observer)
        });
        let estimated = estimated.transpose()?;
        let priors = match &estimated {
            Some(report) => report.priors()?,
            None => shifted(&split.priors, config.data.prior_shift.as_deref())?,
        };
        Ok(Self {
            model: Some(config.model_spec()?),
            module: None,
            grown: None,
            test: None,
            kept: None,
            costs: config.cost_matrix(&names)?,
            true_priors: Some(split.priors.clone()),
            facts: DataFacts {
                dataset: config.data.dataset.slug().to_owned(),
                protocol: config.data.protocol.slug(),
                prior: config.data.prior,
                class_names: names,
                split_digest: split.digest(),
                mark: split.data_mark.clone(),
                schema: None,
                check: None,
                range: None,
                estimated,
                scenario: config.data.scenario,
                population: None,
            },
            problem,
            scaler,
            priors,
        })
    }

    /// The same with a network of the user's own in place of the configuration's.
    pub fn with_module(mut self, module: Module) -> Result<Self> {
        let shape = self.problem.train().features.shape();
        self.model = Some(module.spec(shape, self.problem.classes().get())?);
        self.module = Some(module);
        Ok(self)
    }

    /// The run of a configuration at one learning rate; none if no network is trained.
    pub fn run<D>(&self, config: &RunConfig<D>, lr: f64, threads: Threads) -> Option<Run> {
        let mut settings = config.train.clone();
        settings.lr = lr;
        Some(Run {
            model: self.model.clone()?,
            module: self.module.clone(),
            method: config.method,
            loss: config.loss,
            placement: config.placement,
            priors: self.priors.clone(),
            costs: self.costs.clone(),
            settings,
            seed: Seed(config.seed),
            device: config.device,
            engine: config.engine,
            precision: config.precision,
            threads,
        })
    }

    /// Trains the network at one learning rate, from a state that was kept if there is one.
    pub fn train<D>(
        &self,
        config: &RunConfig<D>,
        lr: f64,
        threads: Threads,
        resume: Option<State>,
        observer: &mut impl Watcher,
    ) -> Result<Outcome> {
        let _span = tracing::info_span!("train", lr).entered();
        self.run(config, lr, threads)
            .context("no network is to be trained")?
            .train(&self.problem, resume, observer)
            .map_err(|error| match error {
                RunError::Run(error) => error.into(),
                RunError::Observer(error) => Error::Observer(error.into()),
            })
    }
}

/// The pool's priors, or wrong ones on purpose.
fn shifted(priors: &Priors, shift: Option<&[f64]>) -> Result<Priors> {
    let Some(shift) = shift else {
        return Ok(priors.clone());
    };
    let pairs = priors.as_slice().iter().zip(shift);
    let moved = pairs.map(|(pi, delta)| pi + delta);
    // A prior that a shift takes away in full may end below zero by rounding.
    let moved = moved.map(|pi| if pi.abs() < 1e-9 { 0.0 } else { pi });
    Priors::new(moved.collect()).context("data.prior-shift")
}
