//! What can be wrong while training, with the value and what is allowed.

use crate::device::DeviceChoice;
use crate::precision::Precision;
use crate::procedure::Method;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bad data, priors, scaling or settings, or parts that do not fit together.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// A name that is not in the list.
    #[error(transparent)]
    UnknownName(#[from] mpu_data::UnknownName),

    /// Bad input to a judge or a decision.
    #[error(transparent)]
    Eval(#[from] mpu_eval::Error),

    /// Bad architecture, parameters or optimiser.
    #[error(transparent)]
    Model(#[from] mpu_models::Error),

    /// Priors that cannot be estimated.
    #[error(transparent)]
    Prior(#[from] mpu_prior::Error),

    /// Bad sample, method or loss.
    #[error(transparent)]
    Risk(#[from] mpu_risk::Error),

    /// Settings of a procedure that the method does not go through.
    #[error("{name} goes with method {needed}, but the method is {found}")]
    SettingOfOther {
        /// The settings.
        name: &'static str,
        /// The method that reads them.
        needed: Method,
        /// The method chosen.
        found: Method,
    },

    /// The supervised limit without true labels.
    #[error("supervised needs the true class of every training row, which these data do not have")]
    NoOracle,

    /// Training that left the finite numbers.
    #[error(
        "training diverged in epoch {epoch}, batch {batch}: {what}\n\
         hint: try a lower learning rate (now {lr}), scaled features, or a bounded loss such as sigmoid_prob"
    )]
    Diverged {
        /// The epoch, counted from 1.
        epoch: usize,
        /// The batch, counted from 1.
        batch: usize,
        /// What was not finite.
        what: &'static str,
        /// The learning rate in force.
        lr: f64,
    },

    /// A checkpoint that cannot be read or belongs to another run.
    #[error("checkpoint: {what}")]
    Checkpoint {
        /// What is wrong with it.
        what: String,
    },

    /// The fused engine somewhere else than on the CPU.
    #[error(
        "engine fused computes on the CPU, but the device is {device}\nhint: use `--engine candle`, or `--device cpu`"
    )]
    FusedElsewhere {
        /// The device asked for.
        device: DeviceChoice,
    },

    /// Numbers that the engine or the device does not compute with.
    #[error("precision {precision}: {why}\nhint: use `--precision f32`, or {instead}")]
    Precision {
        /// The precision asked for.
        precision: Precision,
        /// Why it cannot be had.
        why: String,
        /// Where it can be had.
        instead: &'static str,
    },

    /// A device that is not there or was not built in.
    #[error("device {name}: {why}")]
    Device {
        /// The device asked for.
        name: String,
        /// Why it cannot be used.
        why: String,
    },
}

/// Names the part of a checkpoint that cannot be read.
pub(crate) fn checkpoint(what: impl std::fmt::Display) -> Error {
    Error::Checkpoint {
        what: what.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    /// The message of what must be refused.
    #[track_caller]
    pub(crate) fn check_message<T>(result: Result<T, impl std::fmt::Display>, told: &str) {
        let message = result.err().expect("it must be refused").to_string();
        assert!(message.contains(told), "{message}");
    }
}
