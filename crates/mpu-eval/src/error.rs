//! What can be wrong while judging or deciding, with the value and what is allowed.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bad classes, priors, costs or settings, or parts that do not fit together.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// Two lists that should be equally long.
    #[error("{truths} true classes but {predictions} predictions: as many are needed")]
    LengthMismatch {
        /// How many true classes were given.
        truths: usize,
        /// How many predictions were given.
        predictions: usize,
    },

    /// Nothing to estimate from.
    #[error("{what} needs {needed}, but there are none\n{hint}")]
    NoRows {
        /// What was to be estimated.
        what: &'static str,
        /// The rows it needs.
        needed: &'static str,
        /// A `hint:` line.
        hint: &'static str,
    },

    /// A class that one set of priors lacks and another has.
    #[error(
        "class {class} has prior 0 where its probabilities were fitted, but {value} here\n\
         hint: what was never in the pool cannot be weighted up; fit again with a prior above 0"
    )]
    NewClass {
        /// The class, counted from 0.
        class: usize,
        /// Its prior now.
        value: f64,
    },
}
