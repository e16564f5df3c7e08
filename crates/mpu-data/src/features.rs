//! Features: rows of `f32` in one block, with the shape of a row.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The shape of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A vector of this many numbers.
    Vector(usize),
    /// An image, stored channel by channel, each in row-major order.
    Image {
        /// 1 for grey, 3 for colour.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
    },
}

impl Shape {
    /// An image of so many channels, rows and columns of pixels.
    pub const fn image(channels: usize, height: usize, width: usize) -> Self {
        Self::Image {
            channels,
            height,
            width,
        }
    }

    /// How many numbers make one row.
    pub fn len(self) -> usize {
        match self {
            Self::Vector(n) => n,
            Self::Image {
                channels,
                height,
                width,
            } => channels.saturating_mul(height).saturating_mul(width),
        }
    }

    /// Whether a row holds no number at all.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vector(n) => write!(f, "{n}"),
            Self::Image {
                channels,
                height,
                width,
            } => write!(f, "{channels}x{height}x{width}"),
        }
    }
}

/// Rows of features, row-major in one block of `f32`.
#[derive(Debug, Clone)]
pub struct Features {
    values: Values,
    shape: Shape,
}

/// A block of numbers that somebody else owns, such as an array of another language.
pub type LentBlock = Arc<dyn AsRef<[f32]> + Send + Sync>;

/// Whose the block is.
#[derive(Clone)]
enum Values {
    Own(Vec<f32>),
    Lent(LentBlock),
}

impl Values {
    fn as_slice(&self) -> &[f32] {
        match self {
            Self::Own(values) => values,
            Self::Lent(block) => (**block).as_ref(),
        }
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.values() == other.values()
    }
}

pub(crate) fn not_whole_rows(n_values: usize, shape: Shape) -> Error {
    Error::Refused(format!(
        "{n_values} values are not a whole number of rows of shape {shape}"
    ))
}

impl Features {
    /// Takes a row-major block whose length is a multiple of the row length.
    pub fn new(values: Vec<f32>, shape: Shape) -> Result<Self> {
        Self::of(Values::Own(values), shape)
    }

    /// Takes a block on loan: it is copied only if it is to be changed.
    pub fn lent(block: LentBlock, shape: Shape) -> Result<Self> {
        Self::of(Values::Lent(block), shape)
    }

    fn of(values: Values, shape: Shape) -> Result<Self> {
        let n_values = values.as_slice().len();
        if shape.is_empty() || !n_values.is_multiple_of(shape.len()) {
            return Err(not_whole_rows(n_values, shape));
        }
        Ok(Self { values, shape })
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.values().len() / self.shape.len()
    }

    /// The shape of one row.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        self.values.as_slice()
    }

    /// All values, to be changed in place; a block on loan is copied first.
    pub fn values_mut(&mut self) -> &mut [f32] {
        if let Values::Lent(block) = &self.values {
            self.values = Values::Own((**block).as_ref().to_vec());
        }
        match &mut self.values {
            Values::Own(values) => values,
            Values::Lent(_) => &mut [],
        }
    }

    /// The block itself; a copy of one on loan.
    pub fn into_values(self) -> Vec<f32> {
        match self.values {
            Values::Own(values) => values,
            Values::Lent(block) => (*block).as_ref().to_vec(),
        }
    }

    /// One row. Panics if there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        let len = self.shape.len();
        &self.values()[row * len..(row + 1) * len]
    }

    /// The given rows, in the given order. Panics if one does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.shape.len());
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Self {
            values: Values::Own(values),
            shape: self.shape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn rows_are_cut_out_of_the_block() {
        let features = Features::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Shape::Vector(2)).unwrap();
        assert_eq!(features.n_rows(), 3);
        assert_eq!(features.row(1), [3.0, 4.0]);
        assert_eq!(features.select(&[2, 0]).values(), [5.0, 6.0, 1.0, 2.0]);
    }

    #[test]
    fn a_block_on_loan_is_copied_only_to_be_changed() {
        let block: LentBlock = Arc::new(vec![1.0, 2.0, 3.0, 4.0]);
        let lent = Features::lent(Arc::clone(&block), Shape::Vector(2)).unwrap();
        assert_eq!(lent.values().as_ptr(), (*block).as_ref().as_ptr());
        let mut changed = lent.clone();
        assert_eq!(changed.values().as_ptr(), lent.values().as_ptr());
        changed.values_mut()[0] = 9.0;
        assert_eq!(
            (changed.row(0), lent.row(0)),
            (&[9.0, 2.0][..], &[1.0, 2.0][..])
        );
        assert_ne!(changed, lent);
        assert_eq!(lent.clone().into_values(), [1.0, 2.0, 3.0, 4.0]);
        assert!(Features::lent(block, Shape::Vector(3)).is_err());
    }

    #[test]
    fn a_block_that_does_not_fit_is_refused() {
        let shape = Shape::image(1, 2, 2);
        let told = "6 values are not a whole number of rows of shape 1x2x2";
        check_message(Features::new(vec![0.0; 6], shape), told);
        assert!(Features::new(vec![], Shape::Vector(0)).is_err());
    }
}
