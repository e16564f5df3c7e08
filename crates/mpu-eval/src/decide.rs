//! Answers from probabilities: the likeliest class, the cheapest, or only what is sure enough.
//!
//! ```
//! use mpu_data::{ClassCount, CostMatrix};
//! use mpu_eval::decide::{Decision, Thresholds};
//!
//! let three = ClassCount::new(3)?;
//! let p = [0.45, 0.15, 0.40];
//! assert_eq!(Decision::Argmax.answers(three, &p)?, [0]);
//!
//! // Saying class 0 wrongly is three times as bad as any other mistake.
//! let costs = CostMatrix::new(&[vec![0.0, 1.0, 1.0], vec![3.0, 0.0, 1.0], vec![3.0, 1.0, 0.0]])?;
//! assert_eq!(Decision::Costs(costs).answers(three, &p)?, [2]);
//!
//! // Class 0 only when at least 60 % sure, otherwise unknown.
//! let sure = Thresholds::new(vec![Some(0.6), Some(0.5)])?;
//! assert_eq!(Decision::Thresholds(sure).answers(three, &p)?, [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use mpu_data::{ClassCount, CostMatrix, bad_setting, mismatch, top_class};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::held_out::Block;

/// How probabilities become an answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The likeliest class; the lowest on a tie.
    #[default]
    Argmax,
    /// The class of the lowest expected cost ([`CostMatrix::decide`]); the lowest class on a tie.
    Costs(CostMatrix),
    /// The likeliest observed class if it is likely enough, otherwise the negative class.
    Thresholds(Thresholds),
    /// What another decision says, if an observed class is likely enough for it; otherwise the negative class. No
    /// class is answered more often than by that decision.
    Guarded {
        /// The other decision.
        by: Box<Decision>,
        /// How likely each observed class must be.
        thresholds: Thresholds,
    },
}

impl Decision {
    /// The one name used in files, flags and tables.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Argmax => "argmax",
            Self::Costs(_) => "costs",
            Self::Thresholds(_) => "thresholds",
            Self::Guarded { .. } => "guarded",
        }
    }

    /// The costs it decides by, if it does.
    pub fn costs(&self) -> Option<&CostMatrix> {
        match self {
            Self::Costs(costs) => Some(costs),
            Self::Guarded { by, .. } => by.costs(),
            Self::Argmax | Self::Thresholds(_) => None,
        }
    }

    /// The answer to every row of probabilities.
    pub fn answers(&self, classes: ClassCount, probabilities: &[f64]) -> Result<Vec<usize>> {
        Block::Probability.rows(classes, probabilities)?;
        let needed = match self {
            Self::Argmax => classes.get(),
            Self::Costs(costs) => costs.n_classes(),
            Self::Thresholds(thresholds) | Self::Guarded { thresholds, .. } => {
                thresholds.0.len() + 1
            }
        };
        if needed != classes.get() {
            return Err(mismatch(
                "number of classes",
                classes.get(),
                format!("the decision is made for {needed}"),
            ));
        }
        let rows = probabilities.chunks(classes.get());
        Ok(match self {
            Self::Argmax => rows.map(top_class).collect(),
            Self::Costs(costs) => rows.map(|p| Ok(costs.decide(p)?)).collect::<Result<_>>()?,
            Self::Thresholds(thresholds) => rows.map(|p| thresholds.answer(p)).collect(),
            Self::Guarded { by, thresholds } => {
                let answers = by.answers(classes, probabilities)?;
                let rows = rows.zip(answers);
                rows.map(|(p, class)| thresholds.accept(class, p)).collect()
            }
        })
    }
}

/// The [`top_class`] of every row of `n_classes` numbers.
pub fn top_classes<T: PartialOrd>(scores: &[T], n_classes: usize) -> Vec<usize> {
    scores.chunks(n_classes).map(top_class).collect()
}

/// How likely each observed class must be to be the answer; `None` for one that never is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Option<f64>>", into = "Vec<Option<f64>>")]
pub struct Thresholds(Vec<Option<f64>>);

impl Thresholds {
    /// Takes one threshold in `[0, 1]` for each observed class.
    pub fn new(thresholds: Vec<Option<f64>>) -> Result<Self> {
        ClassCount::new(thresholds.len() + 1)?;
        let mut given = thresholds.iter().flatten();
        if let Some(t) = given.find(|t| !(0.0..=1.0).contains(*t)) {
            return Err(bad_setting("threshold", t, "between 0 and 1, or absent"));
        }
        Ok(Self(thresholds))
    }

    /// The thresholds, one for each observed class.
    pub fn as_slice(&self) -> &[Option<f64>] {
        &self.0
    }

    /// The likeliest observed class `i` if `p_i ≥ t_i`, otherwise the negative class.
    #[doc(alias = "eq:threshold-decision")]
    fn answer(&self, p: &[f64]) -> usize {
        self.accept(top_class(&p[..self.0.len()]), p)
    }

    /// A class if it is likely enough, otherwise the negative class.
    fn accept(&self, class: usize, p: &[f64]) -> usize {
        match self.0.get(class) {
            Some(Some(t)) if p[class] >= *t => class,
            _ => self.0.len(),
        }
    }
}

impl TryFrom<Vec<Option<f64>>> for Thresholds {
    type Error = Error;

    fn try_from(thresholds: Vec<Option<f64>>) -> Result<Self> {
        Self::new(thresholds)
    }
}

impl From<Thresholds> for Vec<Option<f64>> {
    fn from(thresholds: Thresholds) -> Self {
        thresholds.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Draws;

    #[test]
    fn costs_decide_row_by_row() {
        let rows = vec![
            vec![0.0, 2.0, 1.0],
            vec![0.5, 0.0, 4.0],
            vec![3.0, 1.0, 0.0],
        ];
        let costs = CostMatrix::new(&rows).unwrap();
        let rule = Decision::Costs(costs);
        let mut draws = Draws(1);
        let mut seen = [false; 3];
        for _ in 0..200 {
            let raw: Vec<f64> = (0..3).map(|_| draws.uniform()).collect();
            let p: Vec<f64> = raw.iter().map(|r| r / raw.iter().sum::<f64>()).collect();
            let answer = rule.answers(ClassCount::THREE, &p).unwrap()[0];
            let cost = |j: usize| (0..3).map(|y| p[y] * rows[y][j]).sum::<f64>();
            assert!((0..3).all(|j| cost(answer) <= cost(j)));
            seen[answer] = true;
        }
        assert_eq!(seen, [true; 3]);
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), rule);
    }

    #[test]
    fn thresholds_by_hand() {
        let rule = Decision::Thresholds(Thresholds::new(vec![Some(0.3), None]).unwrap());
        let p = [0.3, 0.2, 0.5, 0.29, 0.2, 0.51, 0.1, 0.8, 0.1, 0.4, 0.4, 0.2];
        // The last is a tie: the lowest class.
        assert_eq!(rule.answers(ClassCount::THREE, &p).unwrap(), [0, 2, 2, 0]);
    }

    #[test]
    fn bad_rules_do_not_exist() {
        assert!(Thresholds::new(vec![Some(1.5)]).is_err() && Thresholds::new(vec![]).is_err());
        assert!(Thresholds::new(vec![Some(f64::NAN)]).is_err());
        assert!(serde_json::from_str::<Thresholds>("[2.0]").is_err());
        let two = ClassCount::new(2).unwrap();
        let rule = Decision::Thresholds(Thresholds::new(vec![None, None]).unwrap());
        assert!(rule.answers(two, &[0.5, 0.5]).is_err());
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), rule);
        assert_eq!(rule.slug(), "thresholds");
    }
}
