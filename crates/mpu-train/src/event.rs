//! What a run tells those who watch it.

use mpu_risk::RiskTerms;

use crate::checkpoint::State;
use crate::outcome::EpochMetrics;
use crate::procedure::Collapse;

/// Something that happened in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Before a run whose priors are estimated: a step of the detectors that tell labelled rows from the pool. And before
    /// the epochs of self-training that has a teacher: a step of the teacher.
    Detector {
        /// Steps made so far, those that a teacher was spared included.
        step: usize,
        /// Steps in all, at the most.
        steps: usize,
    },
    /// The run begins, or goes on from a checkpoint.
    Started {
        /// The first epoch to come, counted from 1.
        epoch: usize,
        /// Epochs in all.
        epochs: usize,
        /// Batches of an epoch.
        n_batches: usize,
        /// Training rows.
        n_rows: usize,
    },
    /// A step was made.
    Step {
        /// The epoch, counted from 1.
        epoch: usize,
        /// The batch, counted from 1.
        batch: usize,
        /// Batches of an epoch.
        n_batches: usize,
        /// The parts of the batch's risk; none where they stay on a device until the epoch is over.
        terms: Option<&'a RiskTerms>,
    },
    /// An epoch is over and was judged.
    Epoch(&'a EpochMetrics),
    /// The warm-up model is sure of more rows of the pool than the priors give to observed classes:
    /// self-training goes by what it found.
    PriorsRaised {
        /// The share of observed classes by the priors.
        given: f64,
        /// By the warm-up model.
        found: f64,
    },
    /// Self-training failed. The warm-up model is the result.
    FellBack {
        /// The epoch after which that was seen, counted from 1.
        epoch: usize,
        /// What was seen.
        sign: Collapse,
    },
    /// A state to resume from: write it down.
    Checkpoint(&'a State),
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop now; the state after the last whole epoch is returned.
    Stop,
}

/// Somebody who watches a run. What an observer cannot do (write a file, say) it returns as an
/// error, which ends the run.
pub trait Observer {
    /// The error of an observer.
    type Error;

    /// Takes note of an event.
    fn on(&mut self, event: &Event<'_>) -> std::result::Result<Control, Self::Error>;
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    type Error = std::convert::Infallible;

    fn on(&mut self, _: &Event<'_>) -> std::result::Result<Control, Self::Error> {
        Ok(Control::Continue)
    }
}
