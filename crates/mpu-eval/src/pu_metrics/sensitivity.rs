//! The same judgement under other priors.

use mpu_data::{Priors, bad_setting};
use serde::{Deserialize, Serialize};

use super::{Evidence, PuJudgement, UncertainPriors};
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
            let allowed = "finite and not negative";
            return Err(bad_setting("factor of priors", factor, allowed));
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

/// Up to so many classes each prior is varied alone, too.
const FEW_CLASSES: usize = 20;

/// The judgement by counts with all observed priors, and if there are few with each alone, multiplied by each of
/// [`FACTORS`]. Shares of a population move with the priors.
pub fn sensitivity(evidence: &Evidence<'_>, answers: &[usize]) -> Result<Vec<Sensitivity>> {
    let told = evidence.priors.priors();
    let n = told.observed().len();
    let each = (0..if n <= FEW_CLASSES { n } else { 0 }).map(Varied::Class);
    let mut found = Vec::new();
    for varied in std::iter::once(Varied::All).chain(each) {
        for factor in FACTORS {
            let priors = varied.priors(told, factor)?;
            let exact = UncertainPriors::exact(priors.clone());
            let target = evidence.target.moved(told, &priors)?;
            let changed = Evidence {
                priors: &exact,
                target: &target,
                probabilities: None,
                ..*evidence
            };
            found.push(Sensitivity {
                varied,
                factor,
                judgement: PuJudgement::of(&changed, answers)?,
                priors,
            });
        }
    }
    Ok(found)
}
