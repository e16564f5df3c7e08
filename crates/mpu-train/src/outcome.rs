//! What comes out of a run, as plain values.

use mpu_models::Params;
use serde::{Deserialize, Serialize};

use crate::checkpoint::State;

/// The figures of one epoch. Columns that use hidden labels have `oracle` in their name; test columns
/// use the labels of the test rows, which no part of training sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// The learning rate in force.
    pub lr: f64,
    /// Mean of what was minimised, over the steps.
    pub loss: f64,
    /// Mean of the risk without correction, over the steps.
    pub raw_risk: f64,
    /// Mean of the risk with correction, over the steps.
    pub corrected_risk: f64,
    /// Share of the steps in which the correction was active.
    pub corrected_steps: f64,
    /// Mean of the paper's unbiasedness gap on the labelled rows, over the steps.
    pub unbiasedness_gap: f64,
    /// Share of the labelled rows answered rightly, while training.
    pub labeled_accuracy: f64,
    /// Share of all training rows answered rightly, while training, by their hidden labels.
    pub oracle_train_accuracy: Option<f64>,
    /// Estimated risk of the validation rows.
    pub validation_risk: Option<f64>,
    /// Estimated accuracy on the validation rows, from labelled rows and the pool alone.
    pub validation_accuracy: Option<f64>,
    /// Mean loss of the test rows by their true classes.
    pub test_loss: Option<f64>,
    /// Accuracy on the test rows.
    pub test_accuracy: Option<f64>,
    /// Macro precision on the test rows.
    pub test_precision: Option<f64>,
    /// Macro recall on the test rows.
    pub test_recall: Option<f64>,
    /// Macro F1 on the test rows.
    pub test_f1: Option<f64>,
    /// Share of the test rows answered by the negative class.
    pub test_predicted_negative: Option<f64>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The state after the last whole epoch: parameters, optimiser, figures of every epoch.
    pub state: State,
    /// Whether every epoch was trained; false if an observer stopped the run.
    pub finished: bool,
}

impl Outcome {
    /// The model of the run: of its last epoch, unless an earlier one took its place.
    pub fn params(&self) -> &Params {
        match &self.state.kept {
            Some(kept) if kept.in_force => &kept.params,
            _ => &self.state.params,
        }
    }

    /// The figures of the epoch whose model is the run's, which is what is reported.
    pub fn reported(&self) -> Option<&EpochMetrics> {
        match &self.state.kept {
            Some(kept) if kept.in_force => self.state.figures(kept.epoch),
            _ => self.state.history.last(),
        }
    }
}
