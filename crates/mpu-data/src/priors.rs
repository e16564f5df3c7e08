//! Class priors π, checked when they are built.

use serde::{Deserialize, Serialize};

use crate::class::ClassCount;
use crate::error::{Error, Result, bad_setting, mismatch};

/// How far from one the sum of the priors may be.
pub const SUM_TOLERANCE: f64 = 1e-6;

/// The class priors `π_1, …, π_k` of the unlabelled pool; the last belongs to the negative class.
///
/// Each lies in `[0, 1]` and together they sum to one (within [`SUM_TOLERANCE`]); no other value of
/// this type exists. A prior may be zero: a class that cannot be detected in the pool is carried
/// with `π_i = 0` and then has no weight in the risk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Priors(Vec<f64>);

impl Priors {
    /// Takes the priors of all `k` classes, the negative one last.
    pub fn new(values: Vec<f64>) -> Result<Self> {
        ClassCount::new(values.len())?;
        check_range(&values)?;
        let sum: f64 = values.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(wrong_sum(sum));
        }
        Ok(Self(values))
    }

    /// Takes the priors of the observed classes; the negative class gets what is left of one.
    pub fn from_observed(observed: &[f64]) -> Result<Self> {
        check_range(observed)?;
        let sum: f64 = observed.iter().sum();
        if sum > 1.0 + SUM_TOLERANCE {
            return Err(wrong_sum(sum));
        }
        let mut values = observed.to_vec();
        values.push((1.0 - sum).max(0.0));
        Self::new(values)
    }

    /// `k` equal priors.
    pub fn uniform(classes: ClassCount) -> Self {
        Self(vec![1.0 / classes.get() as f64; classes.get()])
    }

    /// The class shares of labelled rows and pool together, these being the priors of the pool: what new rows
    /// of the same population have.
    ///
    /// ```text
    /// τ_i = (n_i + n_u π_i) / n,   τ_k = n_u π_k / n,   n = Σ n_i + n_u
    /// ```
    ///
    /// `labeled` has the labelled rows `n_i` of every observed class, `pool` is `n_u`. A class with a prior of 0
    /// has no share: a model that is told so never finds it.
    ///
    /// ```
    /// use mpu_data::Priors;
    ///
    /// let pool = Priors::new(vec![0.25, 0.75])?;
    /// assert_eq!(pool.of_population(&[20], 80)?.as_slice(), [0.4, 0.6]);
    /// # Ok::<(), mpu_data::Error>(())
    /// ```
    #[doc(alias = "eq:population-priors")]
    pub fn of_population(&self, labeled: &[u64], pool: u64) -> Result<Self> {
        if labeled.len() != self.observed().len() {
            return Err(mismatch(
                "number of labelled groups",
                labeled.len(),
                format!("there are {} observed classes", self.observed().len()),
            ));
        }
        let rows = labeled.iter().map(|&n| n as f64).chain([0.0]);
        let counts = rows.zip(&self.0).map(|(n, &pi)| match pi {
            0.0 => 0.0,
            pi => n + pool as f64 * pi,
        });
        let counts: Vec<f64> = counts.collect();
        let n: f64 = counts.iter().sum();
        if n <= 0.0 {
            return Ok(self.clone());
        }
        Self::new(counts.iter().map(|count| count / n).collect())
    }

    /// The number of classes.
    pub fn classes(&self) -> ClassCount {
        ClassCount(self.0.len())
    }

    /// All `k` priors, the negative class last.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// The priors of the observed classes `π_1, …, π_{k-1}`.
    pub fn observed(&self) -> &[f64] {
        &self.0[..self.0.len() - 1]
    }

    /// The prior of the negative class `π_k`.
    pub fn negative(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

fn check_range(values: &[f64]) -> Result<()> {
    for (class, &value) in values.iter().enumerate() {
        if !(0.0..=1.0).contains(&value) {
            let name = format!("prior of class {class}");
            return Err(bad_setting(name, value, "a number from 0 to 1"));
        }
    }
    Ok(())
}

fn wrong_sum(sum: f64) -> Error {
    Error::Refused(format!(
        "priors sum to {sum}: they must sum to 1 within {SUM_TOLERANCE}\n\
         hint: the last prior belongs to the negative class; `Priors::from_observed` fills it in"
    ))
}

impl TryFrom<Vec<f64>> for Priors {
    type Error = Error;

    fn try_from(values: Vec<f64>) -> Result<Self> {
        Self::new(values)
    }
}

impl From<Priors> for Vec<f64> {
    fn from(priors: Priors) -> Self {
        priors.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn the_negative_prior_is_last() {
        let priors = Priors::new(vec![0.1, 0.2, 0.7]).unwrap();
        assert_eq!(priors.observed(), [0.1, 0.2]);
        assert_eq!(priors.negative(), 0.7);
        assert_eq!(priors.classes().get(), 3);
    }

    /// By counting: each row of the pool belongs to its classes in shares, each labelled row to its own.
    #[test]
    fn the_population_is_labelled_rows_and_pool_together() {
        let pool = Priors::new(vec![0.2, 0.1, 0.7]).unwrap();
        let found = pool.of_population(&[30, 50], 400).unwrap();
        let mut members = [0.0; 3];
        members[0] += 30.0;
        members[1] += 50.0;
        for _ in 0..400 {
            for (member, pi) in members.iter_mut().zip(pool.as_slice()) {
                *member += pi;
            }
        }
        for (share, member) in found.as_slice().iter().zip(members) {
            assert!((share - member / 480.0).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(pool.of_population(&[0, 0], 0).unwrap(), pool);
        assert!(pool.of_population(&[1], 1).is_err());
        let absent = Priors::new(vec![0.0, 0.5, 0.5]).unwrap();
        assert_eq!(
            absent.of_population(&[9, 0], 10).unwrap().as_slice(),
            [0.0, 0.5, 0.5]
        );
    }

    #[test]
    fn invalid_priors_do_not_exist() {
        for (values, told) in [
            (&[][..], "0 classes: at least 2"),
            (&[1.0], "1 classes: at least 2"),
            (&[0.5, f64::NAN], "prior of class 1 is NaN: it must be"),
            (&[-0.1, 1.1], "prior of class 0 is -0.1: it must be"),
            (&[0.5, 0.4], "priors sum to 0.9: … within 0.000001\nhint:"),
        ] {
            check_message(Priors::new(values.to_vec()), told);
        }
        for (observed, told) in [
            (&[0.6, 0.6][..], "priors sum to 1.2: they must sum to 1"),
            (&[f64::INFINITY], "prior of class 0 is inf"),
            (&[], "1 classes: at least 2"),
        ] {
            check_message(Priors::from_observed(observed), told);
        }
    }

    #[test]
    fn stored_priors_are_checked_again() {
        assert!(serde_json::from_str::<Priors>("[0.5, 0.6]").is_err());
        let priors: Priors = serde_json::from_str("[0.25, 0.75]").unwrap();
        assert_eq!(serde_json::to_string(&priors).unwrap(), "[0.25,0.75]");
    }

    proptest! {
        #[test]
        fn observed_priors_are_completed(raw in prop::collection::vec(0.01f64..1.0, 1..8), rest in 0.0f64..1.0) {
            let total: f64 = raw.iter().sum::<f64>() + rest;
            let observed: Vec<f64> = raw.iter().map(|p| p / total).collect();
            let priors = Priors::from_observed(&observed).unwrap();
            prop_assert_eq!(priors.observed(), &observed[..]);
            prop_assert!((priors.as_slice().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
