//! Rates of right and wrong answers, all from one count of (true, predicted) pairs.

use mpu_data::{ClassCount, CostMatrix};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::held_out::check_truths;

/// How often each true class was given each answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    classes: ClassCount,
    /// Row-major: truth `y`, answer `j` at `y·k + j`.
    counts: Vec<u64>,
}

/// Precision, recall and F1 of one class, or their plain means over classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Of the rows given this class, the share that is of it; 0 if none was.
    pub precision: f64,
    /// Of the rows of this class, the share that was given it; 0 if there is none.
    pub recall: f64,
    /// The harmonic mean of the two; 0 if both are.
    pub f1: f64,
}

impl Confusion {
    /// Counts pairs of true and predicted classes.
    pub fn new(classes: ClassCount, truths: &[usize], predictions: &[usize]) -> Result<Self> {
        check_truths(classes, truths, predictions.len())?;
        classes.check(predictions)?;
        let k = classes.get();
        let mut counts = vec![0; k * k];
        for (y, j) in truths.iter().zip(predictions) {
            counts[y * k + j] += 1;
        }
        Ok(Self { classes, counts })
    }

    /// Takes counts by true class (outer) and answer (inner).
    pub fn of_counts(counts: &[Vec<u64>]) -> Result<Self> {
        let classes = ClassCount::new(counts.len())?;
        if let Some(row) = counts.iter().find(|row| row.len() != counts.len()) {
            return Err(Error::LengthMismatch {
                truths: counts.len(),
                predictions: row.len(),
            });
        }
        let counts = counts.concat();
        Ok(Self { classes, counts })
    }

    /// Counts by true class (outer) and answer (inner).
    pub fn rows(&self) -> Vec<Vec<u64>> {
        let rows = self.counts.chunks(self.classes.get());
        rows.map(<[u64]>::to_vec).collect()
    }

    /// How often truth `truth` was answered by `answer`; 0 beyond the classes.
    pub fn count(&self, truth: usize, answer: usize) -> u64 {
        let row = self.counts.chunks(self.classes.get()).nth(truth);
        row.and_then(|row| row.get(answer)).copied().unwrap_or(0)
    }

    /// The number of rows.
    pub fn n_rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The share of right answers; 0 if there is no row.
    pub fn accuracy(&self) -> f64 {
        let right = (0..self.classes.get()).map(|y| self.count(y, y)).sum();
        share(right, self.n_rows())
    }

    /// The share of rows answered by the negative class; 0 if there is no row.
    pub fn predicted_negative(&self) -> f64 {
        let negative = self.classes.negative();
        let answers = (0..self.classes.get()).map(|y| self.count(y, negative));
        share(answers.sum(), self.n_rows())
    }

    /// The mean cost of an answer.
    ///
    /// ```text
    /// 1/n Σ_yj N_yj C_yj
    /// ```
    ///
    /// `N_yj` is how many rows of class `y` were answered `j`, `C` the costs, `n` the number of rows.
    #[doc(alias = "eq:mean-cost")]
    pub fn mean_cost(&self, costs: &CostMatrix) -> Result<f64> {
        costs.check_classes(self.classes.get())?;
        let all = self.counts.iter().zip(costs.as_slice());
        let sum: f64 = all.map(|(&n, c)| n as f64 * c).sum();
        Ok(sum / self.n_rows().max(1) as f64)
    }

    /// The rates of one class.
    pub fn rates(&self, class: usize) -> Rates {
        let k = self.classes.get();
        let right = self.count(class, class);
        let answered: u64 = (0..k).map(|y| self.count(y, class)).sum();
        let present: u64 = (0..k).map(|j| self.count(class, j)).sum();
        let (precision, recall) = (share(right, answered), share(right, present));
        // 2PR/(P+R) without its 0/0.
        Rates {
            precision,
            recall,
            f1: share(2 * right, answered + present),
        }
    }

    /// The plain means of the rates over all classes, the negative one included.
    pub fn macro_rates(&self) -> Rates {
        let k = self.classes.get();
        let all: Vec<Rates> = (0..k).map(|class| self.rates(class)).collect();
        let mean = |rate: fn(&Rates) -> f64| all.iter().map(rate).sum::<f64>() / k as f64;
        Rates {
            precision: mean(|r| r.precision),
            recall: mean(|r| r.recall),
            f1: mean(|r| r.f1),
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: ClassCount = ClassCount::THREE;

    #[test]
    fn the_mean_cost_by_hand() {
        let judged = Confusion::new(THREE, &[0, 0, 1, 2], &[0, 2, 0, 1]).unwrap();
        let rows = [
            vec![0.0, 2.0, 10.0],
            vec![3.0, 0.0, 1.0],
            vec![1.0, 4.0, 0.0],
        ];
        let costs = CostMatrix::new(&rows).unwrap();
        assert_eq!(judged.mean_cost(&costs).unwrap(), (10.0 + 3.0 + 4.0) / 4.0);
        assert!(judged.mean_cost(&CostMatrix::uniform(2).unwrap()).is_err());
    }

    #[test]
    fn rates_by_hand() {
        let confusion = Confusion::new(THREE, &[0, 0, 0, 1, 1, 2], &[0, 0, 1, 1, 2, 2]).unwrap();
        assert_eq!(confusion.n_rows(), 6);
        assert!((confusion.accuracy() - 4.0 / 6.0).abs() < 1e-15);
        assert!((confusion.predicted_negative() - 2.0 / 6.0).abs() < 1e-15);
        let zero = confusion.rates(0);
        assert_eq!(zero.precision, 1.0);
        assert!((zero.recall - 2.0 / 3.0).abs() < 1e-15 && (zero.f1 - 0.8).abs() < 1e-15);
        // scikit-learn 1.5: precision_recall_fscore_support(..., average="macro")
        let all = confusion.macro_rates();
        assert!((all.precision - 2.0 / 3.0).abs() < 1e-15);
        assert!((all.recall - 0.722_222_222_222_222_2).abs() < 1e-15);
        assert!((all.f1 - 0.655_555_555_555_555_5).abs() < 1e-15);
    }

    #[test]
    fn a_class_that_never_occurs_counts_zero() {
        let confusion = Confusion::new(THREE, &[0, 1], &[0, 1]).unwrap();
        assert_eq!(
            confusion.rates(2),
            Rates {
                precision: 0.0,
                recall: 0.0,
                f1: 0.0
            }
        );
        assert!((confusion.macro_rates().f1 - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(Confusion::new(THREE, &[], &[]).unwrap().accuracy(), 0.0);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(matches!(
            Confusion::new(THREE, &[0], &[0, 1]),
            Err(Error::LengthMismatch {
                truths: 1,
                predictions: 2
            })
        ));
        assert!(matches!(
            Confusion::new(THREE, &[0], &[3]),
            Err(Error::Data(mpu_data::Error::ClassBeyond {
                found: 3,
                n_classes: 3
            }))
        ));
    }
}
