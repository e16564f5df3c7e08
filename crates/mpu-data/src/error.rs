//! What can be wrong with data, with the value found and what is allowed.

use crate::features::Shape;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong with the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than two classes.
    #[error(
        "{found} classes: at least 2 are needed, the observed ones and the negative class last"
    )]
    TooFewClasses {
        /// The number of classes given.
        found: usize,
    },

    /// A class index that no observed class has.
    #[error(
        "label {found} is out of range: with {n_classes} classes the observed ones are 0 to {}, and class {} is negative and never labelled",
        n_classes - 2,
        n_classes - 1
    )]
    LabelOutOfRange {
        /// The label given.
        found: usize,
        /// The number of classes.
        n_classes: usize,
    },

    /// A class prior that is not a probability.
    #[error("prior of class {class} is {value}: it must be a number from 0 to 1")]
    PriorOutOfRange {
        /// The class, counted from 0.
        class: usize,
        /// The prior given.
        value: f64,
    },

    /// Class priors that do not sum to one.
    #[error(
        "priors sum to {sum}: they must sum to 1 within {tolerance}\n\
         hint: the last prior belongs to the negative class; `Priors::from_observed` fills it in"
    )]
    PriorSum {
        /// The sum found.
        sum: f64,
        /// How far from 1 it may be.
        tolerance: f64,
    },

    /// A block of values that is not a whole number of rows.
    #[error("{n_values} values are not a whole number of rows of shape {shape}")]
    FeatureBlock {
        /// How many values were given.
        n_values: usize,
        /// The shape of one row.
        shape: Shape,
    },
}
