//! From a configuration to a trained outcome: what `train` and the runner of many runs share.

use anyhow::Context as _;
use mpu_data::dataset::TrainTest;
use mpu_data::source::load::{LoadOptions, load};
use mpu_data::source::resolve::Locations;
use mpu_data::table::{DataCheck, FeatureSchema};
use mpu_data::{Priors, Scaler, Seed, Split};
use mpu_eval::reliability::Reliability;
use mpu_eval::shift::{estimate_priors, reweighted};
use mpu_eval::{Calibration, Confusion, Decision, TrainingRange};
use mpu_models::{ModelSpec, Threads};
use mpu_prior::PriorReport;
use mpu_risk::Estimator;
use mpu_risk::Method;
use mpu_train::{EpochMetrics, Judged, Observer, Outcome, Problem, Run, RunError, State};

use crate::config::{Auto, RunConfig, SweepConfig};
use crate::console::Downloads;
use crate::priors;

/// What the negative class is called.
pub(crate) const NEGATIVE: &str = "negative";

/// The rows a run trains on, wherever they come from, and what it must be told of them.
pub(crate) struct Prepared {
    pub(crate) problem: Problem,
    pub(crate) scaler: Scaler,
    /// The priors that the estimator is told.
    pub(crate) priors: Priors,
    pub(crate) model: ModelSpec,
    pub(crate) facts: Facts,
}

/// What is said of the data in summaries and model cards.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The dataset, or the user's file.
    pub(crate) dataset: String,
    /// Names of the observed classes, then of the negative one.
    pub(crate) class_names: Vec<String>,
    /// The digest of the split.
    pub(crate) split_digest: String,
    /// How the data differ from the published ones, if they do.
    pub(crate) mark: Option<String>,
    /// How columns become features, for the user's own tables.
    pub(crate) schema: Option<FeatureSchema>,
    /// What was understood of the user's own table.
    pub(crate) check: Option<DataCheck>,
    /// The range of every feature over the user's training rows, before scaling.
    pub(crate) range: Option<TrainingRange>,
    /// How the priors were estimated, if they were.
    pub(crate) estimated: Option<PriorReport>,
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
        let card = config.data.dataset.card();
        let observed = card.class_names.iter().take(split.priors.observed().len());
        let names = observed.map(|&name| name.to_owned());
        let estimated = match config.data.priors {
            None => None,
            Some(Auto::Auto) => Some(priors::estimate(&problem, Seed(config.seed))?),
        };
        let priors = match &estimated {
            Some(report) => report.priors()?,
            None => shifted(problem.priors(), config.data.prior_shift.as_deref())?,
        };
        Ok(Self {
            model: config.model_spec()?,
            facts: Facts {
                dataset: config.data.dataset.slug().to_owned(),
                class_names: names.chain([NEGATIVE.to_owned()]).collect(),
                split_digest: split.digest(),
                mark: split.data_mark.clone(),
                schema: None,
                check: None,
                range: None,
                estimated,
            },
            problem,
            scaler,
            priors,
        })
    }

    /// The run of a configuration at one learning rate.
    pub(crate) fn run<D>(&self, config: &RunConfig<D>, lr: f64, threads: usize) -> Run {
        let mut estimator = Estimator::new(config.method, config.loss, self.priors.clone());
        if let Some(placement) = config.placement {
            estimator = estimator.with_placement(placement);
        }
        let mut settings = config.train.clone();
        settings.lr = lr;
        Run {
            model: self.model.clone(),
            estimator,
            settings,
            seed: Seed(config.seed),
            device: config.device,
            threads: Threads::new(threads),
        }
    }

    /// Trains at one learning rate, from a state that was kept if there is one.
    pub(crate) fn train<D, O: Observer<Error = anyhow::Error>>(
        &self,
        config: &RunConfig<D>,
        lr: f64,
        threads: usize,
        resume: Option<State>,
        observer: &mut O,
    ) -> anyhow::Result<Outcome> {
        self.run(config, lr, threads)
            .train(&self.problem, resume, observer)
            .map_err(|error| match error {
                RunError::Run(error) => anyhow::Error::from(error),
                RunError::Observer(error) => error,
            })
    }
}

/// The pool's priors, or wrong ones on purpose.
fn shifted(priors: &Priors, shift: Option<&[f64]>) -> anyhow::Result<Priors> {
    let Some(shift) = shift else {
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

/// What the probabilities of test rows are worth.
pub(crate) struct Probabilities {
    /// Answers after the class proportions of the test rows were estimated from their features alone.
    pub(crate) shifted: Confusion,
    /// Of the answers' probabilities, under the pool's priors.
    pub(crate) calibration_error: f64,
}

impl Probabilities {
    /// Bins of the calibration error.
    const BINS: usize = 15;

    /// Judges scores of test rows; none where scores are no log-probabilities under the pool's priors.
    pub(crate) fn of(
        method: Method,
        priors: &Priors,
        test: &Judged,
        scores: &[f32],
    ) -> anyhow::Result<Option<Self>> {
        if !method.scores_are_log_probabilities() || method.uses_hidden_labels() {
            return Ok(None);
        }
        let classes = priors.classes();
        let k = classes.get();
        let identity = Calibration::new(1.0, vec![Some(0.0); k])?;
        let probabilities = identity.probabilities(scores)?;
        let now = estimate_priors(priors, &probabilities)?.priors;
        let moved = reweighted(priors, &now, &probabilities)?;
        let answers = Decision::Argmax.answers(classes, &moved)?;
        let reliability = Reliability::new(classes, &test.classes, &probabilities, Self::BINS)?;
        Ok(Some(Self {
            shifted: Confusion::new(classes, &test.classes, &answers)?,
            calibration_error: reliability.top_error,
        }))
    }
}
