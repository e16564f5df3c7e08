//! What can be wrong with a loss or its input, with the value found and what is allowed.

use candle_core::{DType, Shape};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scale γ that is not a positive number.
    #[error("gamma is {gamma}: it must be a finite number above 0")]
    Scale {
        /// The scale given.
        gamma: f64,
    },

    /// A scale γ for a surrogate that has none.
    #[error(
        "gamma is {gamma}, but {surrogate} has no scale: it must be 1\n\
         hint: sigmoid_prob, tanh_smooth and logistic take a scale"
    )]
    ScaleUnused {
        /// The surrogate.
        surrogate: crate::Surrogate,
        /// The scale given.
        gamma: f64,
    },

    /// Scores that are not an `(n, k)` matrix of floats with `n ≥ 1` and `k ≥ 2`.
    #[error(
        "scores have shape {shape:?} and type {dtype:?}: an (n, k) matrix of floats with n >= 1 and k >= 2 is needed"
    )]
    ScoreShape {
        /// The shape given.
        shape: Shape,
        /// The element type given.
        dtype: DType,
    },

    /// A row of scores of the wrong length.
    #[error("a row of {found} scores: {allowed} are needed")]
    ScoreCount {
        /// The length given.
        found: usize,
        /// What is allowed.
        allowed: String,
    },

    /// A score that is NaN or infinite.
    #[error(
        "score {value} in row {row}, column {column}: scores must be finite\nhint: a smaller learning rate or scaled features keep scores finite"
    )]
    NonFiniteScore {
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
        /// The score found.
        value: f64,
    },

    /// A list of classes whose length is not the number of rows.
    #[error("{found} classes for {n_rows} rows: each row needs one")]
    ClassListLength {
        /// How many classes were given.
        found: usize,
        /// The number of rows.
        n_rows: usize,
    },

    /// Bad costs, or a class out of range.
    #[error(transparent)]
    Data(#[from] mpu_data::Error),

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

/// Names the operation in which the tensor library failed.
pub(crate) trait During<T> {
    fn during(self, operation: &'static str) -> Result<T>;
}

impl<T> During<T> for candle_core::Result<T> {
    fn during(self, operation: &'static str) -> Result<T> {
        self.map_err(|source| Error::Tensor { operation, source })
    }
}
