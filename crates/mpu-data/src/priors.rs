//! Class priors π, checked when they are built.

use serde::{Deserialize, Serialize};

use crate::class::ClassCount;
use crate::error::{Error, Result, bad_setting};

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
            return Err(Error::PriorSum {
                sum,
                tolerance: SUM_TOLERANCE,
            });
        }
        Ok(Self(values))
    }

    /// Takes the priors of the observed classes; the negative class gets what is left of one.
    pub fn from_observed(observed: &[f64]) -> Result<Self> {
        check_range(observed)?;
        let sum: f64 = observed.iter().sum();
        if sum > 1.0 + SUM_TOLERANCE {
            return Err(Error::PriorSum {
                sum,
                tolerance: SUM_TOLERANCE,
            });
        }
        let mut values = observed.to_vec();
        values.push((1.0 - sum).max(0.0));
        Self::new(values)
    }

    /// `k` equal priors.
    pub fn uniform(classes: ClassCount) -> Self {
        Self(vec![1.0 / classes.get() as f64; classes.get()])
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

    #[test]
    fn the_negative_prior_is_last() {
        let priors = Priors::new(vec![0.1, 0.2, 0.7]).unwrap();
        assert_eq!(priors.observed(), [0.1, 0.2]);
        assert_eq!(priors.negative(), 0.7);
        assert_eq!(priors.classes().get(), 3);
    }

    #[test]
    fn invalid_priors_do_not_exist() {
        assert_eq!(Priors::new(vec![]), Err(Error::TooFewClasses { found: 0 }));
        assert_eq!(
            Priors::new(vec![1.0]),
            Err(Error::TooFewClasses { found: 1 })
        );
        for (values, said) in [
            (vec![0.5, f64::NAN], "prior of class 1 is NaN: it must be"),
            (vec![-0.1, 1.1], "prior of class 0 is -0.1: it must be"),
        ] {
            let error = Priors::new(values).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        assert!(matches!(
            Priors::new(vec![0.5, 0.4]),
            Err(Error::PriorSum { .. })
        ));
        assert!(matches!(
            Priors::from_observed(&[0.6, 0.6]),
            Err(Error::PriorSum { .. })
        ));
        assert!(matches!(
            Priors::from_observed(&[f64::INFINITY]),
            Err(Error::Setting { name, .. }) if name == "prior of class 0"
        ));
        assert!(Priors::from_observed(&[]).is_err());
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
