//! The moments to match: `A` of the observed classes and `b` of the pool.

use crate::error::{Error, Result};
use crate::linear::{self, Matrix};

/// Moments of the observed classes (the columns of `A`) and of the pool (`b`).
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    n_classes: usize,
    matrix: Vec<f64>,
    target: Vec<f64>,
}

impl System {
    /// Takes `A` row by row and `b`. All entries are finite and no column of `A` is zero.
    pub fn new(n_classes: usize, matrix: Vec<f64>, target: Vec<f64>) -> Result<Self> {
        let finite = |values: &[f64]| values.iter().filter(|v| v.is_finite()).count();
        let rows = target.len();
        let fits = finite(&matrix) == rows * n_classes && finite(&target) == rows;
        if rows == 0 || n_classes == 0 || matrix.len() != rows * n_classes || !fits {
            return Err(Error::Refused(format!(
                "a matching problem of {rows} rows has {} matrix and {} target entries that are finite: {rows} x {n_classes} and {rows} are needed, and at least one row",
                finite(&matrix),
                finite(&target)
            )));
        }
        let system = Self {
            n_classes,
            matrix,
            target,
        };
        match (0..n_classes).find(|&class| system.rows().all(|(row, _)| row[class] == 0.0)) {
            Some(class) => Err(Error::Degenerate { class }),
            None => Ok(system),
        }
    }

    /// The rows of `A` with their entries of `b`.
    pub fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        let rows = self.matrix.chunks_exact(self.n_classes);
        rows.zip(self.target.iter().copied())
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// `‖Aπ - b‖²`.
    pub fn squared_residual(&self, priors: &[f64]) -> f64 {
        let squares = self.rows().map(|(row, b)| {
            let fit: f64 = row.iter().zip(priors).map(|(a, p)| a * p).sum();
            (fit - b) * (fit - b)
        });
        squares.sum()
    }

    /// `AᵀA` and `Aᵀb`.
    pub(crate) fn normal(&self) -> (Matrix, Vec<f64>) {
        let n = self.n_classes;
        let (mut gram, mut side) = (vec![vec![0.0; n]; n], vec![0.0; n]);
        for (row, b) in self.rows() {
            for i in 0..n {
                side[i] += row[i] * b;
                for j in 0..n {
                    gram[i][j] += row[i] * row[j];
                }
            }
        }
        (gram, side)
    }

    /// The condition number of `A` (infinite when its columns are dependent) and the pairs of classes whose
    /// columns point almost the same way (cosine above 0.99): the pool cannot tell their shares apart.
    pub fn conditioning(&self) -> Conditioning {
        let (gram, _) = self.normal();
        let values = linear::eigenvalues(&gram);
        let (least, most) = (values[0], values[values.len() - 1]);
        let number = if least > 1e-14 * most {
            (most / least).sqrt()
        } else {
            f64::INFINITY
        };
        let pairs = (0..self.n_classes).flat_map(|i| (i + 1..self.n_classes).map(move |j| (i, j)));
        let collinear = pairs
            .filter(|&(i, j)| gram[i][j] > 0.99 * (gram[i][i] * gram[j][j]).sqrt())
            .collect();
        Conditioning { number, collinear }
    }
}

/// How well the classes can be told apart by a [`System`].
#[derive(Debug, Clone, PartialEq)]
pub struct Conditioning {
    /// The condition number of `A`.
    pub number: f64,
    /// Classes with almost the same moments.
    pub collinear: Vec<(usize, usize)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degenerate_moments_are_refused() {
        let zero = System::new(2, vec![0.5, 0.0, 0.2, 0.0], vec![0.1, 0.1]);
        assert_eq!(zero, Err(Error::Degenerate { class: 1 }));
        let text = zero.unwrap_err().to_string();
        assert!(text.contains("no moment sees class 1") && text.contains("hint:"));
        assert!(System::new(2, vec![f64::NAN, 1.0], vec![0.1]).is_err());
        assert!(System::new(2, vec![1.0], vec![0.1]).is_err());
        assert!(System::new(1, vec![], vec![]).is_err());
    }

    #[test]
    fn conditioning_by_hand() {
        let same = System::new(2, vec![0.5, 0.5, 0.2, 0.2], vec![0.3, 0.1]).unwrap();
        let Conditioning { number, collinear } = same.conditioning();
        assert!(number.is_infinite() && collinear == [(0, 1)]);
        let good = System::new(2, vec![2.0, 0.0, 0.0, 1.0], vec![0.3, 0.1]).unwrap();
        assert!((good.conditioning().number - 2.0).abs() < 1e-12);
    }
}
