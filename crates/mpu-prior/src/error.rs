//! What can be wrong with a prior estimate's input, with the value and what is allowed.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A lower bound that is not a probability.
    #[error("lower bound of class {class} is {value}: it must be a number from 0 to 1")]
    LowerBound {
        /// The class, counted from 0.
        class: usize,
        /// The bound given.
        value: f64,
    },

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

    /// A shift of priors that is negative or larger than there is room for.
    #[error("a shift of size {size}: it must be a number from 0 to at most {largest}")]
    ShiftSize {
        /// The size asked for.
        size: f64,
        /// The largest that leaves every prior between 0 and 1.
        largest: f64,
    },
}
