//! From prepared rows to a trained classifier: one run, or one for each rate of a sweep.

use std::time::Instant;

use mpu_models::Threads;
use mpu_report::RateResult;
use mpu_train::{EpochMetrics, Event, Outcome, State};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::classifier::Classifier;
use crate::config::{RunConfig, SweepConfig};
use crate::error::{Context as _, Error, Result};
use crate::prepared::{Prepared, Watcher};

/// A finished run, or the chosen one of a sweep.
#[derive(Debug, Clone)]
pub struct Trained {
    /// How the network's training ended; none if only a forest was grown.
    pub outcome: Option<Outcome>,
    /// Its learning rate.
    pub lr: f64,
    /// Every rate of a sweep with the figures it was chosen by.
    pub rates: Vec<RateResult>,
    /// How many threads it used.
    pub threads: Threads,
    /// How long it took, the growing of forests included.
    pub seconds: f64,
}

impl Trained {
    /// Trains a run, or one for each rate of its sweep, by `train`, which gets the rate. None if that gives none:
    /// it was stopped. Nothing is trained if there is no network to train.
    pub fn by<D>(
        config: &RunConfig<D>,
        prepared: &Prepared,
        threads: Threads,
        mut train: impl FnMut(f64) -> Result<Option<Outcome>>,
    ) -> Result<Option<Self>> {
        let started = Instant::now();
        let growing = prepared.grown.as_ref().map_or(0.0, |grown| grown.seconds);
        if prepared.model.is_none() {
            return Ok(Some(Self {
                outcome: None,
                lr: config.train.lr,
                rates: Vec::new(),
                threads,
                seconds: growing,
            }));
        }
        let rates = match &config.sweep {
            None => vec![config.train.lr],
            Some(sweep) => sweep.lrs.clone(),
        };
        let mut outcomes = Vec::new();
        for &lr in &rates {
            let Some(outcome) = train(lr)? else {
                return Ok(None);
            };
            outcomes.push(outcome);
        }
        let (best, results) = match &config.sweep {
            None => (0, Vec::new()),
            Some(sweep) => chosen(sweep, &outcomes)?,
        };
        Ok(Some(Self {
            outcome: Some(outcomes.swap_remove(best)),
            lr: rates[best],
            rates: results,
            threads,
            seconds: growing + started.elapsed().as_secs_f64(),
        }))
    }

    /// The classifier, calibrated on the rows that were held out.
    pub fn classifier<D>(&self, config: &RunConfig<D>, prepared: &Prepared) -> Result<Classifier>
    where
        D: Clone + Default + Serialize + DeserializeOwned,
    {
        Classifier::new(config, prepared, self)
    }
}

/// Trains in memory, from a state that was kept if there is one. What stops it is told by the error; the state
/// to resume from went to the observer as a checkpoint.
pub(crate) fn in_memory<D, O: Watcher>(
    config: &RunConfig<D>,
    prepared: &Prepared,
    threads: Threads,
    resume: Option<State>,
    observer: &mut O,
) -> Result<Trained> {
    let (mut resume, mut epoch) = (resume, 0);
    let trained = Trained::by(config, prepared, threads, |lr| {
        let state = resume.take();
        let outcome = prepared.train(config, lr, threads, state, observer)?;
        if outcome.finished {
            return Ok(Some(outcome));
        }
        epoch = outcome.state.epochs_done();
        let kept = observer.on(&Event::Checkpoint(&outcome.state));
        kept.map_err(|error| Error::Observer(error.into()))?;
        Ok(None)
    })?;
    trained.ok_or_else(|| Error::Stopped(format!("after epoch {epoch}")))
}

/// Which outcome of a sweep is taken, and the figures of each.
fn chosen(sweep: &SweepConfig, outcomes: &[Outcome]) -> Result<(usize, Vec<RateResult>)> {
    let last: Vec<EpochMetrics> = outcomes
        .iter()
        .filter_map(|outcome| outcome.reported().cloned())
        .collect();
    let best = sweep.select.best(&last);
    let best = best.context("no run of the sweep can be judged")?;
    let result = |(index, metrics): (usize, &EpochMetrics)| RateResult {
        lr: sweep.lrs[index],
        validation_accuracy: metrics.validation_accuracy,
        validation_risk: metrics.validation_risk,
        test_accuracy: metrics.test_accuracy,
        chosen: index == best,
    };
    Ok((best, last.iter().enumerate().map(result).collect()))
}
