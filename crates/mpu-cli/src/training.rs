//! From a configuration to a trained outcome: what `train` and the runner of many runs share.

use anyhow::Context as _;
use mpu_data::dataset::TrainTest;
use mpu_data::source::load::{LoadOptions, load};
use mpu_data::source::resolve::Locations;
use mpu_data::{Priors, Scaler, Seed, Split};
use mpu_models::Threads;
use mpu_risk::Estimator;
use mpu_train::{EpochMetrics, Observer, Outcome, Problem, Run, RunError, State};

use crate::config::{RunConfig, SweepConfig};
use crate::console::Downloads;

/// The rows a configuration trains on.
pub(crate) struct Prepared {
    pub(crate) problem: Problem,
    pub(crate) scaler: Scaler,
    pub(crate) split: Split,
}

/// The dataset of a configuration, downloaded if need be.
pub(crate) fn dataset(config: &RunConfig, locations: &Locations) -> anyhow::Result<TrainTest> {
    let options = LoadOptions {
        seed: Seed(config.data.split_seed),
        generated_rows: config.data.generated_rows,
        ..LoadOptions::default()
    };
    let data = load(
        config.data.dataset,
        locations,
        &options,
        &Downloads::default(),
    )?;
    Ok(match config.data.max_rows {
        Some(n_rows) => data.first_of_each_class(n_rows)?,
        None => data,
    })
}

impl Prepared {
    pub(crate) fn load(config: &RunConfig, locations: &Locations) -> anyhow::Result<Self> {
        Self::of(config, &dataset(config, locations)?)
    }

    pub(crate) fn of(config: &RunConfig, data: &TrainTest) -> anyhow::Result<Self> {
        let split = Split::of(data, &config.split_spec())?;
        let scaling = config.data.scaling.unwrap_or_default();
        let (problem, scaler) = Problem::of(data, &split, scaling)?;
        Ok(Self {
            problem,
            scaler,
            split,
        })
    }

    /// The priors that the estimator is told: the pool's, or wrong ones on purpose.
    pub(crate) fn priors(&self, config: &RunConfig) -> anyhow::Result<Priors> {
        let priors = self.problem.priors();
        let Some(shift) = &config.data.prior_shift else {
            return Ok(priors.clone());
        };
        let moved = priors
            .as_slice()
            .iter()
            .zip(shift)
            .map(|(pi, delta)| pi + delta);
        // A prior that a shift takes away in full may end below zero by rounding.
        let moved = moved.map(|pi| if pi.abs() < 1e-9 { 0.0 } else { pi });
        Priors::new(moved.collect()).context("data.prior-shift")
    }

    /// The run of a configuration at one learning rate.
    pub(crate) fn run(&self, config: &RunConfig, lr: f64, threads: usize) -> anyhow::Result<Run> {
        let mut estimator = Estimator::new(config.method, config.loss, self.priors(config)?);
        if let Some(placement) = config.placement {
            estimator = estimator.with_placement(placement);
        }
        let mut settings = config.train.clone();
        settings.lr = lr;
        Ok(Run {
            model: config.model_spec()?,
            estimator,
            settings,
            seed: Seed(config.seed),
            device: config.device,
            threads: Threads::new(threads),
        })
    }

    /// Trains at one learning rate, from a state that was kept if there is one.
    pub(crate) fn train<O: Observer<Error = anyhow::Error>>(
        &self,
        config: &RunConfig,
        lr: f64,
        threads: usize,
        resume: Option<State>,
        observer: &mut O,
    ) -> anyhow::Result<Outcome> {
        self.run(config, lr, threads)?
            .train(&self.problem, resume, observer)
            .map_err(|error| match error {
                RunError::Run(error) => anyhow::Error::from(error),
                RunError::Observer(error) => error,
            })
    }
}

/// Which outcome of a sweep is chosen, and the last epoch of each.
pub(crate) fn chosen(
    sweep: &SweepConfig,
    outcomes: &[Outcome],
) -> anyhow::Result<(usize, Vec<EpochMetrics>)> {
    let last: Vec<EpochMetrics> = outcomes
        .iter()
        .filter_map(|outcome| outcome.reported().cloned())
        .collect();
    let best = sweep.select.best(&last);
    let best = best.context("no run of the sweep can be judged")?;
    Ok((best, last))
}
