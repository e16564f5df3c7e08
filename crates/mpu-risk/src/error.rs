//! What can be wrong with a sample, an estimator or a bound, with the value and what is allowed.

use mpu_data::Priors;

use crate::objective::Objective;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bad scores, classes or costs.
    #[error(transparent)]
    Loss(#[from] mpu_loss::Error),

    /// Bad priors or labels, or a number outside its range.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// No row at all.
    #[error("the sample has no row: at least 1 is needed")]
    EmptySample,

    /// No unlabelled row where the risk cannot be estimated without one.
    #[error(
        "the sample of {n_rows} rows has no unlabelled row: at least 1 is needed\n\
         hint: for a mini-batch, which may miss a group, use `Groups::batch`"
    )]
    NoUnlabeled {
        /// The number of rows.
        n_rows: usize,
    },

    /// Scores that do not fit the rows and classes of the sample.
    #[error(
        "scores are {n_rows} x {n_columns}, but the sample has {rows} rows and {classes} classes"
    )]
    ScoresMismatch {
        /// Rows of the scores.
        n_rows: usize,
        /// Columns of the scores.
        n_columns: usize,
        /// Rows of the sample.
        rows: usize,
        /// Classes of the sample.
        classes: usize,
    },

    /// Priors for another number of classes than the sample has.
    #[error("{priors} priors for {classes} classes: each class needs one, the negative one last")]
    PriorsMismatch {
        /// The number of priors.
        priors: usize,
        /// The number of classes.
        classes: usize,
    },

    /// True labels given to an objective that must not see them, or missing where it needs them.
    #[error("{objective} {}", if *.oracle { "must not see true labels: build the sample with `Groups::new` or `Groups::batch`" } else { "needs the true label of every row: build the sample with `Groups::oracle`" })]
    Labels {
        /// The objective.
        objective: Objective,
        /// Whether true labels were given.
        oracle: bool,
    },

    /// No soft targets for the objective that trains on them.
    #[error(
        "{objective} needs a soft target for every row of the pool\n\
         hint: add them with `Groups::with_targets`"
    )]
    NoTargets {
        /// The objective.
        objective: Objective,
    },

    /// The user's costs for an objective whose derivation fixes its own.
    #[error(
        "{objective} has costs of its own: a cost matrix goes with csmpu-exact-abs, csmpu-exact-nn or csmpu-exact-ure, which are unbiased for any costs\n\
         hint: the probabilities of mpu-ml and of csmpu-st take costs at the decision"
    )]
    CostsFixed {
        /// The objective.
        objective: Objective,
    },

    /// A list of the wrong length.
    #[error("{what} has {found} entries: {needed} are needed")]
    Length {
        /// What the list is.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        needed: usize,
    },

    /// A bound that needs a bounded non-negative surrogate.
    #[error(
        "{surrogate} in form {form} is not bounded in [0, C]: the bound does not hold for it\n\
         hint: its `sym` form, or sigmoid_prob, tanh_smooth or ramp, are bounded"
    )]
    Unbounded {
        /// The surrogate.
        surrogate: mpu_loss::Surrogate,
        /// Its form.
        form: mpu_loss::Form,
    },

    /// A failure of the tensor library.
    #[error("while computing {operation}: {source}")]
    Tensor {
        /// What was being computed.
        operation: &'static str,
        /// The tensor library's own words.
        #[source]
        source: candle_core::Error,
    },
}

/// Checks the length of a list.
pub(crate) fn check_len(what: &'static str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(Error::Length {
        what,
        found,
        needed,
    })
}

/// Checks that there is anything in a list.
pub(crate) fn check_not_empty<T>(what: &'static str, list: &[T]) -> Result<()> {
    check_len(what, list.len().min(1), 1)
}

/// Checks that there is a prior for each of so many classes.
pub(crate) fn check_priors(priors: &Priors, classes: usize) -> Result<()> {
    let priors = priors.classes().get();
    if priors == classes {
        return Ok(());
    }
    Err(Error::PriorsMismatch { priors, classes })
}

#[cfg(test)]
pub(crate) mod tests {
    /// The message of what must be refused.
    #[track_caller]
    pub(crate) fn check_message<T>(result: super::Result<T>, told: &str) {
        let message = result.err().expect("it must be refused").to_string();
        assert!(message.contains(told), "{message}");
    }
}
