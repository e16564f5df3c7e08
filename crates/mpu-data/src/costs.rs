//! Costs of mistakes: a checked matrix, and the decision it implies.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, bad_setting};

/// A `k × k` matrix of costs `C_yj`: what it costs to answer `j` where the truth is `y`.
///
/// Costs are finite and non-negative and the diagonal is zero; no other value of this type exists.
///
/// ```
/// use mpu_data::CostMatrix;
///
/// // Overlooking the defect (class 0) is nine times as bad as a false alarm.
/// let costs = CostMatrix::new(&[vec![0.0, 9.0], vec![1.0, 0.0]])?;
/// assert_eq!(costs.decide(&[0.2, 0.8])?, 0);
/// # Ok::<(), mpu_data::Error>(())
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
        let not_square = |row, found| {
            Err(Error::Refused(format!(
                "cost matrix row {row} has {found} entries in a matrix of {n_classes} rows: it must be k x k with k >= 2"
            )))
        };
        if n_classes < 2 {
            return not_square(0, rows.first().map_or(0, Vec::len));
        }
        for (row, costs) in rows.iter().enumerate() {
            if costs.len() != n_classes {
                return not_square(row, costs.len());
            }
            for (column, &value) in costs.iter().enumerate() {
                if !(value.is_finite() && value >= 0.0) {
                    return Err(Error::Refused(format!(
                        "cost[{row}][{column}] is {value}: costs must be finite and at least 0"
                    )));
                }
                if row == column && value != 0.0 {
                    return Err(Error::Refused(format!(
                        "cost[{row}][{row}] is {value}: a right answer costs 0"
                    )));
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
    /// `mpu_loss::SampleLoss::Csmpu`, which no fixed matrix can express.
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

    /// All costs, row by row: entry `(y, j)` at `y·k + j`.
    pub fn as_slice(&self) -> &[f64] {
        &self.costs
    }

    /// The costs of all answers where the truth is `class`.
    pub fn row(&self, class: usize) -> Result<&[f64]> {
        if class >= self.n_classes {
            return Err(Error::ClassBeyond {
                found: class,
                n_classes: self.n_classes,
            });
        }
        Ok(&self.costs[class * self.n_classes..(class + 1) * self.n_classes])
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

    /// Checks that the matrix is made for so many classes.
    pub fn check_classes(&self, found: usize) -> Result<()> {
        if found == self.n_classes {
            return Ok(());
        }
        Err(Error::CostCount {
            found,
            n_classes: self.n_classes,
        })
    }

    fn check_posterior(&self, posterior: &[f64]) -> Result<()> {
        self.check_classes(posterior.len())?;
        match posterior.iter().position(|p| !(p.is_finite() && *p >= 0.0)) {
            Some(class) => {
                let name = format!("posterior of class {class}");
                Err(bad_setting(name, posterior[class], "finite and at least 0"))
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn decisions_minimise_the_expected_cost() {
        let costs = CostMatrix::new(&[vec![0.0, 9.0], vec![1.0, 0.0]]).unwrap();
        // Answer 0 costs p_1, answer 1 costs 9 p_0: the switch is at p_0 = 0.1.
        assert_eq!(costs.decide(&[0.11, 0.89]).unwrap(), 0);
        assert_eq!(costs.decide(&[0.09, 0.91]).unwrap(), 1);
        let equal = CostMatrix::uniform(3).unwrap();
        assert_eq!(
            equal.decide(&[0.2, 0.5, 0.3]).unwrap(),
            1,
            "equal costs: the most likely class"
        );
        assert_eq!(
            equal.decide(&[0.4, 0.4, 0.2]).unwrap(),
            0,
            "the lowest class on a tie"
        );
    }

    #[test]
    fn bad_cost_matrices_are_refused_with_the_place() {
        let refused = |rows: &[&[f64]], told| {
            let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
            check_message(CostMatrix::new(&rows), told);
        };
        refused(&[], "a matrix of 0 rows: it must be k x k with k >= 2");
        refused(&[&[0.0]], "a matrix of 1 rows");
        refused(
            &[&[0.0, 1.0], &[1.0]],
            "cost matrix row 1 has 1 entries in a matrix of 2 rows",
        );
        refused(&[&[0.0, -1.0], &[1.0, 0.0]], "cost[0][1] is -1");
        refused(&[&[0.0, f64::NAN], &[1.0, 0.0]], "cost[0][1] is NaN");
        refused(
            &[&[0.0, 1.0], &[1.0, 0.5]],
            "cost[1][1] is 0.5: a right answer costs 0",
        );
        assert!(CostMatrix::degenerate(1).is_err() && CostMatrix::uniform(1).is_err());
        assert!(serde_json::from_str::<CostMatrix>("[[0, 1], [1, 1]]").is_err());
    }
}
