//! Small dense symmetric problems: eigenvalues and linear systems of a few classes.

/// A square matrix, row by row.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// The eigenvalues of a symmetric matrix in ascending order (cyclic Jacobi rotations).
pub(crate) fn eigenvalues(matrix: &Matrix) -> Vec<f64> {
    let mut m = matrix.clone();
    let n = m.len();
    for _ in 0..60 {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| m[i][j] * m[i][j])
            .sum();
        let size: f64 = (0..n).map(|i| m[i][i] * m[i][i]).sum();
        if off <= 1e-30 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut m, p, q);
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| m[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn rotate(m: &mut Matrix, p: usize, q: usize) {
    if m[p][q] == 0.0 {
        return;
    }
    let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in m.iter_mut() {
        let (a, b) = (row[p], row[q]);
        row[p] = c * a - s * b;
        row[q] = s * a + c * b;
    }
    for i in 0..m.len() {
        let (a, b) = (m[p][i], m[q][i]);
        m[p][i] = c * a - s * b;
        m[q][i] = s * a + c * b;
    }
}

/// The solution of `M x = y` by elimination with pivots; none when a pivot is lost in rounding.
pub(crate) fn solve(matrix: &Matrix, target: &[f64]) -> Option<Vec<f64>> {
    let n = target.len();
    let mut m = matrix.clone();
    let mut y = target.to_vec();
    let entries = m.iter().flatten();
    let size = entries.fold(0.0_f64, |most, v| most.max(v.abs()));
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| m[a][column].abs().total_cmp(&m[b][column].abs()))?;
        if m[pivot][column].abs() <= 1e-13 * size {
            return None;
        }
        m.swap(column, pivot);
        y.swap(column, pivot);
        for row in column + 1..n {
            let factor = m[row][column] / m[column][column];
            for k in column..n {
                m[row][k] -= factor * m[column][k];
            }
            y[row] -= factor * y[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| m[row][k] * y[k]).sum();
        y[row] = (y[row] - known) / m[row][row];
    }
    Some(y)
}

/// The point ahead of an accelerated gradient step from `at` to `next`, and the pace that follows: both start anew where
/// the step turns back.
pub(crate) fn accelerated(at: &[f64], ahead: &[f64], next: &[f64], pace: f64) -> (Vec<f64>, f64) {
    let n = at.len();
    let turned = (0..n).map(|i| (ahead[i] - next[i]) * (next[i] - at[i]));
    if turned.sum::<f64>() > 0.0 {
        return (next.to_vec(), 1.0);
    }
    let faster = f64::midpoint(1.0, (1.0 + 4.0 * pace * pace).sqrt());
    let momentum = (pace - 1.0) / faster;
    let ahead = (0..n).map(|i| next[i] + momentum * (next[i] - at[i]));
    (ahead.collect(), faster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_by_hand() {
        let found = eigenvalues(&vec![vec![2.0, 1.0], vec![1.0, 2.0]]);
        assert!((found[0] - 1.0).abs() < 1e-14 && (found[1] - 3.0).abs() < 1e-14);
        // Second differences: 2 - 2 cos(iπ/4).
        let third = eigenvalues(&vec![
            vec![2.0, -1.0, 0.0],
            vec![-1.0, 2.0, -1.0],
            vec![0.0, -1.0, 2.0],
        ]);
        let root = 2.0_f64.sqrt();
        for (found, want) in third.iter().zip([2.0 - root, 2.0, 2.0 + root]) {
            assert!((found - want).abs() < 1e-13, "{third:?}");
        }
    }

    #[test]
    fn systems_by_hand() {
        let matrix = vec![vec![0.0, 2.0], vec![1.0, 1.0]];
        assert_eq!(solve(&matrix, &[4.0, 5.0]), Some(vec![3.0, 2.0]));
        let singular = vec![vec![1.0, 1.0], vec![1.0, 1.0]];
        assert_eq!(solve(&singular, &[1.0, 2.0]), None);
    }
}
