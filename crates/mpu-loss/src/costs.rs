//! Costs of mistakes: a checked matrix, the losses it weights, and the decision it implies.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{During, Error, Result};
use crate::logits::Logits;
use crate::sample::class_indices;

/// A `k × k` matrix of costs `C_yj`: what it costs to answer `j` where the truth is `y`.
///
/// Costs are finite and non-negative and the diagonal is zero; no other value of this type exists.
///
/// ```
/// use mpu_loss::CostMatrix;
///
/// // Overlooking the defect (class 0) is nine times as bad as a false alarm.
/// let costs = CostMatrix::new(&[vec![0.0, 9.0], vec![1.0, 0.0]])?;
/// assert_eq!(costs.decide(&[0.2, 0.8])?, 0);
/// # Ok::<(), mpu_loss::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>", into = "Vec<Vec<f64>>")]
pub struct CostMatrix {
    n_classes: usize,
    /// Row-major: entry `(y, j)` at `y·k + j`.
    costs: Vec<f64>,
}

impl CostMatrix {
    /// Takes the rows of the matrix, true class by true class.
    pub fn new(rows: &[Vec<f64>]) -> Result<Self> {
        let n_classes = rows.len();
        if n_classes < 2 {
            let found = rows.first().map_or(0, Vec::len);
            return Err(Error::CostShape {
                row: 0,
                found,
                n_rows: n_classes,
            });
        }
        for (row, costs) in rows.iter().enumerate() {
            if costs.len() != n_classes {
                return Err(Error::CostShape {
                    row,
                    found: costs.len(),
                    n_rows: n_classes,
                });
            }
            for (column, &value) in costs.iter().enumerate() {
                if !(value.is_finite() && value >= 0.0) {
                    return Err(Error::CostValue { row, column, value });
                }
                if row == column && value != 0.0 {
                    return Err(Error::CostDiagonal { class: row, value });
                }
            }
        }
        Ok(Self {
            n_classes,
            costs: rows.concat(),
        })
    }

    /// The paper's degenerate scheme: only mistaking an observed class for the negative one costs.
    ///
    /// ```text
    /// C_yk = 1,   C_yj = 0 for all j ∉ {y, k}
    /// ```
    ///
    /// Its row for the negative class is zero; what stands there in the paper is the `i*` rule of
    /// [`SampleLoss::Csmpu`](crate::SampleLoss::Csmpu), which no fixed matrix can express.
    #[doc(alias = "eq:degenerate-costs")]
    pub fn degenerate(n_classes: usize) -> Result<Self> {
        Self::from_fn(n_classes, |y, j| {
            f64::from(u8::from(j + 1 == n_classes && y != j))
        })
    }

    /// Every mistake costs `1 / (k - 1)`: the one-versus-rest loss of the paper's baselines.
    pub fn uniform(n_classes: usize) -> Result<Self> {
        let cost = 1.0 / (n_classes as f64 - 1.0);
        Self::from_fn(n_classes, |y, j| if y == j { 0.0 } else { cost })
    }

    fn from_fn(n_classes: usize, cost: impl Fn(usize, usize) -> f64) -> Result<Self> {
        let rows: Vec<Vec<f64>> = (0..n_classes)
            .map(|y| (0..n_classes).map(|j| cost(y, j)).collect())
            .collect();
        Self::new(&rows)
    }

    /// The number of classes `k`.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The costs of all answers where the truth is `class`.
    pub fn row(&self, class: usize) -> Result<&[f64]> {
        if class >= self.n_classes {
            return Err(Error::ClassOutOfRange {
                found: class,
                n_classes: self.n_classes,
            });
        }
        Ok(&self.costs[class * self.n_classes..(class + 1) * self.n_classes])
    }

    /// The cost-sensitive squared error of outputs `o` where the truth is `y`, with `t` its one-hot
    /// code (section II of the paper).
    ///
    /// ```text
    /// L(o, t; C) = Σ_j C_yj (t_j - o_j)²
    /// ```
    ///
    /// Because `C_yy = 0`, the output of the true class itself does not enter: only posteriors that
    /// sum to one make this loss pull `o_y` up.
    #[doc(alias = "eq:cs-squared-error")]
    pub fn squared_error(&self, outputs: &[f64], class: usize) -> Result<f64> {
        let costs = self.row(class)?;
        self.check_len(outputs)?;
        let target = |j| f64::from(u8::from(j == class));
        Ok((0..self.n_classes)
            .map(|j| costs[j] * (target(j) - outputs[j]).powi(2))
            .sum())
    }

    /// [`squared_error`](Self::squared_error) of every row, with gradient: a tensor of length `n`.
    pub fn squared_error_tensor(&self, outputs: &Logits, classes: &[usize]) -> Result<Tensor> {
        let during = "the cost-sensitive squared error";
        let indices = class_indices(outputs, classes)?;
        let costs = self.rows_tensor(outputs, &indices)?;
        let error = || {
            // The one entry where t_j = 1 is where the cost is 0, so t may be left out.
            (outputs.tensor().sqr()? * costs)?.sum(1)
        };
        error().during(during)
    }

    /// The expected cost of answering by a posterior `o` where the truth is `y` (section II).
    ///
    /// ```text
    /// Σ_j C_yj o_j
    /// ```
    #[doc(alias = "eq:expected-cost")]
    pub fn expected_cost(&self, posterior: &[f64], class: usize) -> Result<f64> {
        let costs = self.row(class)?;
        self.check_posterior(posterior)?;
        Ok(costs.iter().zip(posterior).map(|(c, o)| c * o).sum())
    }

    /// [`expected_cost`](Self::expected_cost) of every row, with gradient: a tensor of length `n`.
    pub fn expected_cost_tensor(&self, posteriors: &Logits, classes: &[usize]) -> Result<Tensor> {
        let indices = class_indices(posteriors, classes)?;
        let costs = self.rows_tensor(posteriors, &indices)?;
        (posteriors.tensor() * costs)
            .and_then(|c| c.sum(1))
            .during("the expected cost")
    }

    /// The cheapest answer under a posterior `p`; the lowest class where several are equally cheap.
    ///
    /// ```text
    /// argmin_j Σ_y p_y C_yj
    /// ```
    #[doc(alias = "eq:expected-cost-decision")]
    pub fn decide(&self, posterior: &[f64]) -> Result<usize> {
        self.check_posterior(posterior)?;
        let k = self.n_classes;
        let cost = |j: usize| -> f64 { (0..k).map(|y| posterior[y] * self.costs[y * k + j]).sum() };
        let mut best = (0, cost(0));
        for j in 1..k {
            let candidate = cost(j);
            if candidate < best.1 {
                best = (j, candidate);
            }
        }
        Ok(best.0)
    }

    /// The cost rows of the given classes as an `(n, k)` tensor.
    pub(crate) fn rows_tensor(&self, like: &Logits, indices: &Tensor) -> Result<Tensor> {
        self.check_n_classes(like.n_classes())?;
        let scores = like.tensor();
        let rows = || {
            Tensor::from_slice(
                &self.costs,
                (self.n_classes, self.n_classes),
                scores.device(),
            )?
            .to_dtype(scores.dtype())?
            .index_select(indices, 0)
        };
        rows().during("the cost rows")
    }

    pub(crate) fn check_n_classes(&self, found: usize) -> Result<()> {
        if found != self.n_classes {
            let allowed = format!("{} as in the cost matrix", self.n_classes);
            return Err(Error::ScoreCount { found, allowed });
        }
        Ok(())
    }

    fn check_len(&self, outputs: &[f64]) -> Result<()> {
        self.check_n_classes(outputs.len())?;
        match outputs.iter().position(|o| !o.is_finite()) {
            Some(column) => Err(Error::NonFiniteScore {
                row: 0,
                column,
                value: outputs[column],
            }),
            None => Ok(()),
        }
    }

    fn check_posterior(&self, posterior: &[f64]) -> Result<()> {
        self.check_n_classes(posterior.len())?;
        match posterior.iter().position(|p| !(p.is_finite() && *p >= 0.0)) {
            Some(class) => Err(Error::Posterior {
                class,
                value: posterior[class],
            }),
            None => Ok(()),
        }
    }
}

impl TryFrom<Vec<Vec<f64>>> for CostMatrix {
    type Error = Error;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self> {
        Self::new(&rows)
    }
}

impl From<CostMatrix> for Vec<Vec<f64>> {
    fn from(matrix: CostMatrix) -> Self {
        matrix
            .costs
            .chunks(matrix.n_classes)
            .map(<[f64]>::to_vec)
            .collect()
    }
}
