//! What can be wrong with a prior estimate's input, with the value and what is allowed.

use mpu_data::bad_setting;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Lower bounds that leave no room.
    #[error(
        "lower bounds sum to {sum}: together they must not exceed 1\n\
         hint: a smaller acceptance level alpha lowers them"
    )]
    Infeasible {
        /// Their sum.
        sum: f64,
    },

    /// A point of the wrong length or with a value that is not finite.
    #[error("the point to project has {found} finite entries: {needed} are needed")]
    Point {
        /// How many finite entries it has.
        found: usize,
        /// How many classes there are.
        needed: usize,
    },

    /// No observed class.
    #[error("no observed class: at least one class must have labelled rows")]
    NoClasses,

    /// Margins, counts or sub-groups that do not fit together or are not finite, a shift that is too large, too many
    /// failed replicates: in words.
    #[error("{0}")]
    Refused(String),

    /// Moments that say nothing about a class.
    #[error(
        "no moment sees class {class}: its column of the matching problem is zero\n\
         hint: are its margins larger on its own labelled rows than elsewhere?"
    )]
    Degenerate {
        /// The class, counted from 0.
        class: usize,
    },

    /// Priors that are not priors, or a setting outside its range.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

    /// Replicates were asked for that were not kept.
    #[error(
        "the report holds no bootstrap replicates\n\
         hint: estimate again with `keep: Keep::Replicates`"
    )]
    NoReplicates,
}

/// Checks a share that is neither 0 nor 1.
pub(crate) fn check_open_share(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(bad_setting(name, value, "between 0 and 1, both excluded"))
}

/// Checks a finite number of at least 0.
pub(crate) fn check_not_negative(name: &str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(bad_setting(name, value, "a number that is not negative"))
}
