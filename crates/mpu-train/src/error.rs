//! What can be wrong while training or judging, with the value and what is allowed.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A class beyond the number of classes.
    #[error("class {found} is out of range: with {n_classes} classes it must be 0 to {}", n_classes - 1)]
    ClassOutOfRange {
        /// The class given.
        found: usize,
        /// The number of classes.
        n_classes: usize,
    },

    /// Two lists that should be equally long.
    #[error("{truths} true classes but {predictions} predictions: as many are needed")]
    LengthMismatch {
        /// How many true classes were given.
        truths: usize,
        /// How many predictions were given.
        predictions: usize,
    },
}
