//! The settings of a classifier.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mpu_data::Scaling;
use mpu_data::split::Scenario;
use mpu_data::table::MpuTable;
use mpu_models::{Module, Threads};
use mpu_train::{DeviceChoice, EngineChoice, Method, Precision, State, TrainSettings, Unobserved};

use crate::classifier::Classifier;
use crate::config::ModelConfig;
use crate::costs::NamedCosts;
use crate::error::Result;
use crate::fit::in_memory;
use crate::prepared::Watcher;
use crate::rows::{Given, TableConfig, TableRows};
use crate::table_data::{TablePriors, TableScenario};

/// How a [`Classifier`] is fitted. Every setting has a default that follows the rows.
///
/// | setting | default |
/// |---|---|
/// | [`method`](Self::method) | for tables what [`ensemble`](crate::ensemble) describes; for images `csmpu-st`, self-training |
/// | [`priors`](Self::priors) | estimated |
/// | [`scenario`](Self::scenario) | one population, unless the pool is a file of its own |
/// | [`seed`](Self::seed) | 42 |
/// | [`epochs`](Self::epochs) | 40 to 100, fewer the more rows there are |
/// | [`model`](Self::model) | for tables a forest, a network or both, by held-out rows; ResNet-20 for colour images |
/// | [`validation_share`](Self::validation_share) | 0.2 |
/// | [`scaling`](Self::scaling) | mean 0 and deviation 1; pixels by 255 |
/// | [`costs`](Self::costs) | every mistake costs the same |
/// | [`threads`](Self::threads) | one for every core |
/// | [`device`](Self::device) | the CPU |
/// | [`engine`](Self::engine) | fused on the CPU, else candle |
/// | [`precision`](Self::precision) | `f32` |
#[derive(Debug, Clone, Default)]
pub struct ClassifierParams {
    config: TableConfig,
    given: Given,
    module: Option<Module>,
    threads: Option<usize>,
    resume: Option<State>,
}

impl ClassifierParams {
    /// The way of training.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.config.method = method;
        self.given.method = true;
        self
    }

    /// The seed of everything random but [which rows are held out](Self::split_seed).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// The seed of which rows are held out.
    #[must_use]
    pub fn split_seed(mut self, seed: u64) -> Self {
        self.config.data.split_seed = seed;
        self
    }

    /// How often training goes over the rows.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.config.train.epochs = epochs;
        self.given.epochs = true;
        self
    }

    /// The learning rate.
    #[must_use]
    pub fn learning_rate(mut self, lr: f64) -> Self {
        self.config.train.lr = lr;
        self
    }

    /// All settings of the training loop; nothing of them then follows the rows.
    #[must_use]
    pub fn train(mut self, settings: TrainSettings) -> Self {
        self.config.train = settings;
        self.given = Given {
            method: self.given.method,
            ..Given::ALL
        };
        self
    }

    /// The model: forest, network, or the better of them. A method without a model means a network.
    #[must_use]
    pub fn model(mut self, model: ModelConfig) -> Self {
        self.config.model = Some(model);
        self.module = None;
        self
    }

    /// A network of your own, written for candle, in place of ours: anything that implements
    /// [`ModuleT`](mpu_models::candle_nn::ModuleT), built by a function of a
    /// [`VarBuilder`](mpu_models::candle_nn::VarBuilder). [`Module`] says what it is given and what it must give;
    /// [`Classifier::load_with`] reads it back.
    #[must_use]
    pub fn module(mut self, module: Module) -> Self {
        self.config.model = Some(ModelConfig::Module);
        self.module = Some(module);
        self
    }

    /// The share of each observed class in the pool, by name, where they are known.
    #[must_use]
    pub fn priors<N: Into<String>>(mut self, priors: impl IntoIterator<Item = (N, f64)>) -> Self {
        let named = priors.into_iter().map(|(name, prior)| (name.into(), prior));
        self.config.data.priors = TablePriors::Given(named.collect::<BTreeMap<_, _>>());
        self
    }

    /// Whether labelled rows and pool are one population or were collected separately, where that does not
    /// follow from how the table was given.
    #[must_use]
    pub fn scenario(mut self, scenario: Scenario) -> Self {
        self.config.data.scenario = TableScenario::Given(scenario);
        self
    }

    /// The share of every group of rows that is held out to calibrate probabilities and to judge by.
    #[must_use]
    pub fn validation_share(mut self, share: f64) -> Self {
        self.config.data.validation_share = share;
        self
    }

    /// How features are scaled.
    #[must_use]
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.config.data.scaling = Some(scaling);
        self
    }

    /// What mistakes cost.
    #[must_use]
    pub fn costs(mut self, costs: NamedCosts) -> Self {
        self.config.costs = Some(costs);
        self
    }

    /// How many threads train; the outcome does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Where it computes.
    #[must_use]
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.config.device = device;
        self
    }

    /// What makes the steps.
    #[must_use]
    pub fn engine(mut self, engine: EngineChoice) -> Self {
        self.config.engine = Some(engine);
        self
    }

    /// The numbers that the network computes with.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.config.precision = precision;
        self
    }

    /// Goes on from the state that an earlier fit of the same rows and settings left with its observer.
    #[must_use]
    pub fn resume(mut self, state: State) -> Self {
        self.resume = Some(state);
        self
    }

    /// The rows of a table with these settings: what priors are estimated from without a fit.
    pub fn rows<'a>(&self, table: &'a MpuTable) -> Result<TableRows<'a>> {
        let mut rows = TableRows::new(Cow::Borrowed(table), self.config.clone(), self.given)?;
        rows.module.clone_from(&self.module);
        Ok(rows)
    }

    /// Fits a classifier to a table.
    pub fn fit(&self, table: &MpuTable) -> Result<Classifier> {
        self.fit_with(table, &mut Unobserved)
    }

    /// Fits a classifier while an observer watches: it sees every step, can stop the fit, and gets states to
    /// [resume](Self::resume) from.
    pub fn fit_with(&self, table: &MpuTable, observer: &mut impl Watcher) -> Result<Classifier> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let threads = Threads::new(self.threads.unwrap_or(cores));
        let rows = self.rows(table)?;
        let config = &rows.config.clone();
        let prepared = rows.prepare(observer)?;
        let trained = in_memory(config, &prepared, threads, self.resume.clone(), observer)?;
        trained.classifier(config, &prepared)
    }
}
