//! Scaling of features: fitted on training rows only, stored with the model.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::Features;
use crate::named;

/// How features are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scaling {
    /// Not at all.
    #[default]
    Raw,
    /// Divided by 255, for pixels stored as bytes.
    Div255,
    /// Each column to `[0, 1]` over the training rows.
    MinMax,
    /// Each column to mean 0 and standard deviation 1 over the training rows.
    Standardize,
}

named!(Scaling, "scaling", { Raw => "raw", Div255 => "div255", MinMax => "min-max", Standardize => "standardize" });

impl Scaling {
    /// Fits the scaling to the given rows, and to no other. Panics if one does not exist.
    ///
    /// ```text
    /// min-max:      x' = (x - min) / (max - min)
    /// standardize:  x' = (x - mean) / sd,   sd² = Σ (x - mean)² / n
    /// ```
    ///
    /// A column that is constant over these rows is only shifted: it becomes 0 and nothing is
    /// divided by zero.
    pub fn fit(self, features: &Features, rows: &[usize]) -> Result<Scaler> {
        let width = features.shape().len();
        let (shift, divisor) = match self {
            Self::Raw | Self::Div255 => (vec![], vec![]),
            Self::MinMax => min_max(features, rows, width)?,
            Self::Standardize => moments(features, rows, width)?,
        };
        Ok(Scaler {
            scaling: self,
            width,
            shift,
            divisor,
        })
    }
}

fn min_max(features: &Features, rows: &[usize], width: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut low = vec![f64::INFINITY; width];
    let mut high = vec![f64::NEG_INFINITY; width];
    for &row in rows {
        for (column, value) in finite(features, row).enumerate() {
            let value = value?;
            low[column] = low[column].min(value);
            high[column] = high[column].max(value);
        }
    }
    let range = |(low, high): (&f64, &f64)| high - low;
    let divisor = low.iter().zip(&high).map(range).collect();
    let shift = low
        .iter()
        .map(|&v| if v.is_finite() { v } else { 0.0 })
        .collect();
    Ok((shift, without_zeros(divisor)))
}

fn moments(features: &Features, rows: &[usize], width: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = rows.len().max(1) as f64;
    let mut mean = vec![0.0_f64; width];
    for &row in rows {
        for (column, value) in finite(features, row).enumerate() {
            mean[column] += value?;
        }
    }
    for sum in &mut mean {
        *sum /= n;
    }
    let mut variance = vec![0.0_f64; width];
    let first = rows.first().map(|&row| features.row(row));
    let mut constant = vec![true; width];
    for &row in rows {
        for (column, &value) in features.row(row).iter().enumerate() {
            variance[column] += (f64::from(value) - mean[column]).powi(2);
            constant[column] &= first.is_some_and(|first| first[column] == value);
        }
    }
    let deviation = |(sum, constant): (&f64, &bool)| {
        // The mean of equal numbers may miss them by a rounding: that is no spread.
        if *constant { 0.0 } else { (sum / n).sqrt() }
    };
    let divisor = variance.iter().zip(&constant).map(deviation).collect();
    Ok((mean, without_zeros(divisor)))
}

fn finite(features: &Features, row: usize) -> impl Iterator<Item = Result<f64>> + '_ {
    let values = features.row(row).iter().enumerate();
    values.map(move |(column, &value)| {
        if value.is_finite() {
            Ok(f64::from(value))
        } else {
            Err(Error::Refused(format!(
                "row {row}, column {column} is {value}: scaling needs finite numbers"
            )))
        }
    })
}

/// Divisors of zero (a constant column) or nothing (no row) become one.
fn without_zeros(mut divisors: Vec<f64>) -> Vec<f64> {
    for divisor in &mut divisors {
        if !(*divisor > 0.0 && divisor.is_finite()) {
            *divisor = 1.0;
        }
    }
    divisors
}

/// A fitted scaling: stored with the model, applied when training and when predicting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Scaler {
    scaling: Scaling,
    width: usize,
    shift: Vec<f64>,
    divisor: Vec<f64>,
}

/// A scaling as stored; checked when it is read.
#[derive(Deserialize)]
struct Stored {
    scaling: Scaling,
    width: usize,
    shift: Vec<f64>,
    divisor: Vec<f64>,
}

fn check_width(fitted: usize, found: usize) -> Result<()> {
    if fitted != found {
        return Err(Error::Refused(format!(
            "the scaling was fitted to {fitted} columns, and these rows have {found}"
        )));
    }
    Ok(())
}

impl TryFrom<Stored> for Scaler {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let Stored {
            scaling,
            width,
            shift,
            divisor,
        } = stored;
        if matches!(scaling, Scaling::MinMax | Scaling::Standardize) {
            for fitted in [shift.len(), divisor.len()] {
                check_width(fitted, width)?;
            }
        }
        let wrong = |name: &str, value: f64, allowed: &str| {
            Err(crate::error::bad_setting(name, value, allowed))
        };
        if let Some(&value) = shift.iter().find(|value| !value.is_finite()) {
            return wrong("a shift of the scaling", value, "finite");
        }
        if let Some(&value) = divisor.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return wrong("a divisor of the scaling", value, "above 0 and finite");
        }
        Ok(Self {
            scaling,
            width,
            shift,
            divisor,
        })
    }
}

impl Scaler {
    /// Which scaling it is.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// The number of columns it was fitted to.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The scaling as a shift and a factor of every column; `None` if it changes nothing.
    ///
    /// ```text
    /// x' = (x - shift) · factor
    /// ```
    pub fn affine(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        match self.scaling {
            Scaling::Raw => None,
            Scaling::Div255 => Some((vec![0.0; self.width], vec![1.0 / 255.0; self.width])),
            Scaling::MinMax | Scaling::Standardize => {
                let factors = self.divisor.iter().map(|divisor| 1.0 / divisor);
                Some((self.shift.clone(), factors.collect()))
            }
        }
    }

    /// Scales all rows in place.
    pub fn apply(&self, features: &mut Features) -> Result<()> {
        let found = features.shape().len();
        check_width(self.width, found)?;
        match self.scaling {
            Scaling::Raw => {}
            Scaling::Div255 => features.values_mut().iter_mut().for_each(|v| *v /= 255.0),
            Scaling::MinMax | Scaling::Standardize => {
                // A stored scaler may have been edited: check before indexing.
                check_width(self.shift.len().min(self.divisor.len()), self.width)?;
                for row in features.values_mut().chunks_exact_mut(self.width) {
                    for ((value, shift), divisor) in
                        row.iter_mut().zip(&self.shift).zip(&self.divisor)
                    {
                        *value = ((f64::from(*value) - shift) / divisor) as f32;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;
    use crate::features::Shape;

    fn table(values: &[f32]) -> Features {
        Features::new(values.to_vec(), Shape::Vector(2)).unwrap()
    }

    fn check(scaling: Scaling, values: &[f32], rows: &[usize], expected: &[f32]) {
        let mut features = table(values);
        let scaler = scaling.fit(&features, rows).unwrap();
        scaler.apply(&mut features).unwrap();
        assert_eq!(features.values(), expected, "{scaling:?}");
        let (shift, factor) = scaler.affine().unwrap_or((vec![0.0; 2], vec![1.0; 2]));
        for (at, (&x, &scaled)) in values.iter().zip(expected).enumerate() {
            let moved = (f64::from(x) - shift[at % 2]) * factor[at % 2];
            assert!((moved - f64::from(scaled)).abs() < 1e-6, "{scaling:?}");
        }
        let stored = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&stored).unwrap(), scaler);
    }

    #[test]
    fn each_scaling_does_what_it_says() {
        let values = [0.0, 5.0, 10.0, 5.0, 20.0, 7.0];
        check(Scaling::Raw, &values, &[0, 1], &values);
        check(Scaling::Div255, &[255.0, 51.0], &[0], &[1.0, 0.2]);
        // The third row is not fitted to, and the second column is constant over the first two.
        check(
            Scaling::MinMax,
            &values,
            &[0, 1],
            &[0.0, 0.0, 1.0, 0.0, 2.0, 2.0],
        );
        check(
            Scaling::Standardize,
            &values,
            &[0, 1],
            &[-1.0, 0.0, 1.0, 0.0, 3.0, 2.0],
        );
    }

    #[test]
    fn constant_and_extreme_columns_stay_finite() {
        for scaling in Scaling::ALL {
            for values in [[0.1, 3e38, 0.1, -3e38], [0.0, 0.0, 0.0, 0.0]] {
                let mut features = table(&values);
                let scaler = scaling.fit(&features, &[0, 1]).unwrap();
                scaler.apply(&mut features).unwrap();
                assert!(
                    features.values().iter().all(|v| v.is_finite()),
                    "{scaling:?} {features:?}"
                );
            }
            let mut features = table(&[1.0, 2.0]);
            scaling
                .fit(&features, &[])
                .unwrap()
                .apply(&mut features)
                .unwrap();
            assert!(features.values().iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn a_stored_scaling_is_checked() {
        let scaler = Scaling::MinMax
            .fit(&table(&[1.0, 2.0, 3.0, 5.0]), &[0, 1])
            .unwrap();
        let stored = serde_json::to_value(&scaler).unwrap();
        for (key, value) in [
            ("divisor", serde_json::json!([-2.0, 3.0])),
            ("divisor", serde_json::json!([0.0, 3.0])),
            ("divisor", serde_json::json!([2.0])),
            ("shift", serde_json::json!([1.0, 2.0, 3.0])),
            ("width", serde_json::json!(3)),
        ] {
            let mut tampered = stored.clone();
            tampered[key] = value;
            assert!(serde_json::from_value::<Scaler>(tampered).is_err(), "{key}");
        }
    }

    #[test]
    fn wrong_widths_and_missing_numbers_are_refused() {
        let scaler = Scaling::MinMax.fit(&table(&[1.0, 2.0]), &[0]).unwrap();
        let mut wide = Features::new(vec![0.0; 3], Shape::Vector(3)).unwrap();
        check_message(
            scaler.apply(&mut wide),
            "fitted to 2 columns, and these rows have 3",
        );
        check_message(
            Scaling::MinMax.fit(&table(&[0.0, f32::NAN]), &[0]),
            "row 0, column 1 is NaN: scaling needs finite numbers",
        );
    }
}
