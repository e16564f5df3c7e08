//! Training rows that are kept with a model.

use mpu_data::{Features, Shape};
use serde::{Deserialize, Serialize};

use crate::error::{Result, ensure};

/// The version of the file.
const VERSION: u32 = 1;

/// The most rows, and the most numbers of all of them: of very wide rows there are fewer.
const MOST_ROWS: usize = 64;
const MOST_NUMBERS: usize = 200_000;
const LEAST_ROWS: usize = 8;

/// A few rows trained on, encoded but not scaled; NaN is a missing value.
#[derive(Debug, Clone)]
pub struct Background {
    rows: Features,
}

/// As it is written: a missing value is `null`.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    width: usize,
    values: Vec<Option<f32>>,
}

impl Background {
    /// How many rows of so many features are kept.
    pub(super) fn n_rows_for(width: usize) -> usize {
        (MOST_NUMBERS / width.max(1)).clamp(LEAST_ROWS, MOST_ROWS)
    }

    pub(super) fn new(rows: Features) -> Self {
        Self { rows }
    }

    /// The rows.
    pub fn rows(&self) -> &Features {
        &self.rows
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        let values = self.rows.values().iter();
        let stored = Stored {
            version: VERSION,
            width: self.rows.shape().len(),
            values: values.map(|&x| (!x.is_nan()).then_some(x)).collect(),
        };
        Ok(serde_json::to_vec(&stored)?)
    }

    pub(crate) fn from_json(bytes: &[u8], shape: Shape) -> Result<Self> {
        let stored: Stored = serde_json::from_slice(bytes)?;
        ensure!(
            stored.version <= VERSION,
            "it is of version {}, but this program reads up to {VERSION}\nhint: use a newer mpu-cli",
            stored.version
        );
        ensure!(
            stored.width == shape.len() && !stored.values.is_empty(),
            "it has rows of {} numbers where rows of {} are needed\nhint: copy the whole folder of the run",
            stored.width,
            shape.len()
        );
        let values = stored.values.into_iter();
        let values = values.map(|value| value.unwrap_or(f32::NAN)).collect();
        Ok(Self::new(Features::new(values, shape)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_with_their_gaps() {
        let shape = Shape::Vector(2);
        let values = vec![1.5, f32::NAN, 0.1, -3.0];
        let kept = Background::new(Features::new(values.clone(), shape).unwrap());
        let back = Background::from_json(&kept.to_json().unwrap(), shape).unwrap();
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(back.rows().values()), bits(&values));
        let other = Background::from_json(&kept.to_json().unwrap(), Shape::Vector(4));
        assert!(other.unwrap_err().to_string().contains("2 numbers"));
        let newer = b"{\"version\":9,\"width\":2,\"values\":[0,0]}";
        assert!(Background::from_json(newer, shape).is_err());
        assert_eq!(Background::n_rows_for(10), 64);
        assert_eq!(Background::n_rows_for(10_000), 20);
        assert_eq!(Background::n_rows_for(1_000_000), 8);
    }
}
