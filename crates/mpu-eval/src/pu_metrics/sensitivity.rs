//! The same judgement under other priors.

use mpu_data::{MpuLabel, Priors, bad_setting};
use serde::{Deserialize, Serialize};

use super::{Counts, PuJudgement};
use crate::error::Result;

/// The factors by which priors are tried: 10, 20 and 30 % less and more.
pub const FACTORS: [f64; 6] = [0.7, 0.8, 0.9, 1.1, 1.2, 1.3];

/// Which priors are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Varied {
    /// Those of all observed classes.
    All,
    /// That of one observed class.
    Class(usize),
}

impl Varied {
    /// The priors with some multiplied by `factor`; the negative class takes the rest.
    ///
    /// ```text
    /// π'_i = c_i π_i / max(1, Σ c_j π_j),   π'_k = 1 - Σ π'_i
    /// ```
    #[doc(alias = "eq:varied-priors")]
    pub fn priors(self, priors: &Priors, factor: f64) -> Result<Priors> {
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(bad_setting(
                "factor of priors",
                factor,
                "finite and not negative",
            ));
        }
        if let Self::Class(class) = self {
            priors.classes().label(class)?;
        }
        let mut observed = priors.observed().to_vec();
        for (class, pi) in observed.iter_mut().enumerate() {
            if self == Self::All || self == Self::Class(class) {
                *pi *= factor;
            }
        }
        let sum: f64 = observed.iter().sum();
        if sum > 1.0 {
            for pi in &mut observed {
                *pi /= sum;
            }
        }
        Ok(Priors::from_observed(&observed)?)
    }
}

/// What would have been judged under other priors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Which priors were multiplied.
    pub varied: Varied,
    /// By what.
    pub factor: f64,
    /// The priors that gave.
    pub priors: Priors,
    /// The judgement under them.
    pub judgement: PuJudgement,
}

/// The judgement with all observed priors, and with each alone, multiplied by each of [`FACTORS`].
pub fn sensitivity(
    priors: &Priors,
    labels: &[MpuLabel],
    answers: &[usize],
) -> Result<Vec<Sensitivity>> {
    let counts = Counts::new(priors, labels, answers)?;
    let mut found = Vec::new();
    let each = (0..priors.observed().len()).map(Varied::Class);
    for varied in std::iter::once(Varied::All).chain(each) {
        for factor in FACTORS {
            let priors = varied.priors(priors, factor)?;
            found.push(Sensitivity {
                varied,
                factor,
                judgement: counts.judge(&priors),
                priors,
            });
        }
    }
    Ok(found)
}
