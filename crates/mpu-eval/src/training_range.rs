//! Does a row look like those trained on? The range of every feature, and who leaves it.
//!
//! A model answers any row, also one unlike everything it has seen. This check is coarse: inside the box
//! of ranges there may still be nothing familiar. It catches wrong units, missing scaling, swapped
//! columns.
//!
//! ```
//! use mpu_data::{Features, Shape};
//! use mpu_eval::training_range::{MARGIN, TrainingRange};
//!
//! let train = Features::new(vec![0.0, 10.0, 1.0, 20.0], Shape::Vector(2))?;
//! let range = TrainingRange::new(&train)?;
//! assert_eq!(range.outside(&[1.04, 15.0], MARGIN)?, None);
//! let outside = range.outside(&[1.5, 50.0], MARGIN)?.ok_or("inside")?;
//! assert_eq!((outside.feature, outside.excess, outside.n_features), (1, 3.0, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use mpu_data::{Features, bad_setting, mismatch};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// By what share of its width a feature may leave its range and still count as inside.
pub const MARGIN: f64 = 0.05;

/// The lowest and highest value of every feature over the training rows.
///
/// Both are finite, there is one feature at least, and no lowest is above its highest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct TrainingRange {
    low: Vec<f32>,
    high: Vec<f32>,
}

/// A row that left the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outside {
    /// The feature that is furthest outside, counted from 0.
    pub feature: usize,
    /// Its value.
    pub value: f32,
    /// How far it is outside, in widths of its range; infinite if that has none or the value is not
    /// a number.
    pub excess: f64,
    /// How many features are outside.
    pub n_features: usize,
}

impl TrainingRange {
    /// The range of training rows, which must not be empty.
    ///
    /// Give the features as the model sees them, or as the user does; only be sure to check the same.
    pub fn new(train: &Features) -> Result<Self> {
        let width = train.shape().len();
        let mut low = vec![f32::INFINITY; width];
        let mut high = vec![f32::NEG_INFINITY; width];
        for row in train.values().chunks(width) {
            for (feature, &value) in row.iter().enumerate() {
                low[feature] = low[feature].min(value);
                high[feature] = high[feature].max(value);
            }
        }
        if train.n_rows() == 0 {
            return Err(Error::NoRows {
                what: "a training range",
                needed: "training rows",
                hint: "hint: give the rows the model was trained on",
            });
        }
        Self::from_limits(low, high)
    }

    /// Takes the lowest and highest value of every feature.
    pub fn from_limits(low: Vec<f32>, high: Vec<f32>) -> Result<Self> {
        if low.len() != high.len() || low.is_empty() {
            return Err(mismatch(
                "limits of features",
                format!("{} lower and {} upper ones", low.len(), high.len()),
                "as many of both are needed, and one at least",
            ));
        }
        for (column, (&low, &high)) in low.iter().zip(&high).enumerate() {
            if !(low.is_finite() && high.is_finite() && low <= high) {
                let name = format!("lower limit of row 0, column {column}");
                let allowed = "finite and not above the upper limit";
                return Err(bad_setting(name, f64::from(low), allowed));
            }
        }
        Ok(Self { low, high })
    }

    /// The lowest values.
    pub fn low(&self) -> &[f32] {
        &self.low
    }

    /// The highest values.
    pub fn high(&self) -> &[f32] {
        &self.high
    }

    /// Whether a row leaves the range, and by which feature most.
    ///
    /// ```text
    /// inside: low - w (high - low) ≤ x ≤ high + w (high - low) for every feature
    /// ```
    ///
    /// `margin` is `w`, at least 0, usually [`MARGIN`]. A feature that was constant in training is left by
    /// any other value.
    #[doc(alias = "eq:training-range")]
    pub fn outside(&self, row: &[f32], margin: f64) -> Result<Option<Outside>> {
        if row.len() != self.low.len() {
            return Err(mismatch(
                "length of a row",
                row.len(),
                format!("the model was trained on {} features", self.low.len()),
            ));
        }
        if !(margin.is_finite() && margin >= 0.0) {
            return Err(bad_setting(
                "margin of the training range",
                margin,
                "finite and not negative",
            ));
        }
        let mut worst: Option<Outside> = None;
        for (feature, &value) in row.iter().enumerate() {
            let (low, high) = (f64::from(self.low[feature]), f64::from(self.high[feature]));
            let x = f64::from(value);
            let width = high - low;
            let beyond = (low - x).max(x - high);
            // Written so that what is not a number is outside.
            if beyond <= margin * width {
                continue;
            }
            let excess = if x.is_nan() || width == 0.0 {
                f64::INFINITY
            } else {
                beyond / width
            };
            let n_features = worst.map_or(1, |worst| worst.n_features + 1);
            let this = Outside {
                feature,
                value,
                excess,
                n_features,
            };
            let most = worst.filter(|worst| worst.excess >= excess).unwrap_or(this);
            worst = Some(Outside { n_features, ..most });
        }
        Ok(worst)
    }
}

#[derive(Deserialize)]
struct Stored {
    low: Vec<f32>,
    high: Vec<f32>,
}

impl TryFrom<Stored> for TrainingRange {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::from_limits(stored.low, stored.high)
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::Shape;

    use super::*;

    fn range() -> TrainingRange {
        TrainingRange::from_limits(vec![0.0, -1.0, 5.0], vec![10.0, 1.0, 5.0]).unwrap()
    }

    #[test]
    fn the_edge_is_inside_and_beyond_is_outside() {
        let range = range();
        assert_eq!(range.outside(&[10.5, -1.09, 5.0], MARGIN).unwrap(), None);
        let outside = range.outside(&[10.6, 0.0, 5.0], MARGIN).unwrap().unwrap();
        assert_eq!(outside.feature, 0);
        assert!((outside.excess - 0.06).abs() < 1e-6);
        let outside = range.outside(&[-10.0, 4.0, 5.0], MARGIN).unwrap().unwrap();
        assert_eq!(
            (outside.feature, outside.value, outside.n_features),
            (1, 4.0, 2)
        );
        assert_eq!(range.outside(&[-10.0, 1.0, 5.0], 1.0).unwrap(), None);
    }

    #[test]
    fn constants_and_what_is_no_number() {
        for row in [
            [1.0, 0.0, 5.1],
            [f32::NAN, 0.0, 5.0],
            [f32::INFINITY, 0.0, 5.0],
        ] {
            let outside = range().outside(&row, MARGIN).unwrap().unwrap();
            assert!(outside.excess.is_infinite() && outside.n_features == 1);
        }
    }

    #[test]
    fn bad_ranges_do_not_exist() {
        assert!(range().outside(&[0.0], MARGIN).is_err());
        assert!(range().outside(&[0.0; 3], -0.1).is_err());
        assert!(TrainingRange::from_limits(vec![1.0], vec![0.0]).is_err());
        assert!(TrainingRange::from_limits(vec![f32::NAN], vec![0.0]).is_err());
        assert!(TrainingRange::from_limits(vec![], vec![]).is_err());
        let empty = Features::new(vec![], Shape::Vector(2)).unwrap();
        assert!(matches!(
            TrainingRange::new(&empty),
            Err(Error::NoRows { .. })
        ));
        let text = serde_json::to_string(&range()).unwrap();
        assert_eq!(
            serde_json::from_str::<TrainingRange>(&text).unwrap(),
            range()
        );
        assert!(serde_json::from_str::<TrainingRange>(r#"{"low":[1.0],"high":[0.0]}"#).is_err());
    }
}
