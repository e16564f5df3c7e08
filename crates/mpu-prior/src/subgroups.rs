//! Labelled rows of one class in sub-groups of rows that are alike: k-means.

use mpu_data::bad_setting;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use crate::error::Result;

mpu_data::defaults! {
    /// How many sub-groups a class is split into.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct SubgroupOptions {
        /// The most sub-groups.
        pub most: usize = 4,
        /// The fewest rows of a sub-group.
        pub least_rows: usize = 15,
    }
}

/// Starts of k-means, of which the best is kept, and the most steps of each.
const STARTS: usize = 8;
const STEPS: usize = 50;

/// The sub-group of each row, counted from 0. Rows that do not fall into groups with enough rows are one group.
///
/// `values` are features of one size, row by row. k-means with the starts of k-means++ (Arthur and Vassilvitskii, 2007):
///
/// ```text
/// W = min Σ_rows ‖x - c_{g(x)}‖²
/// ```
///
/// Of the numbers of groups `m` that leave each enough rows, the one with the largest `((T - W)/(m - 1)) / (W/(n - m))` is
/// taken (Caliński and Harabasz, 1974), where `T` is `W` of a single group.
#[doc(alias = "eq:k-means")]
pub fn subgroups(
    values: &[f32],
    width: usize,
    options: &SubgroupOptions,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<usize>> {
    if width == 0 || !values.len().is_multiple_of(width) {
        let allowed = "a divisor of the number of values";
        return Err(bad_setting("the width of a row", width, allowed));
    }
    let n_rows = values.len() / width;
    let most = options.most.min(n_rows / options.least_rows.max(1));
    let mut chosen = (0.0, vec![0; n_rows]);
    if most < 2 {
        return Ok(chosen.1);
    }
    let total = k_means(values, width, 1, rng).0;
    for n_groups in 2..=most {
        let mut best = (f64::INFINITY, Vec::new());
        for _ in 0..STARTS {
            let found = k_means(values, width, n_groups, rng);
            if found.0 < best.0 {
                best = found;
            }
        }
        let (within, groups) = best;
        let size = |group: usize| groups.iter().filter(|&&g| g == group).count();
        if (0..n_groups).any(|group| size(group) < options.least_rows) {
            continue;
        }
        let between = (total - within) / (n_groups - 1) as f64;
        // Rows that lie exactly on their centres could not be apart more clearly.
        let score = between * (n_rows - n_groups) as f64 / within.max(f64::MIN_POSITIVE);
        if score > chosen.0 {
            chosen = (score, groups);
        }
    }
    Ok(chosen.1)
}

/// One start: the sum of squared distances, and the group of each row.
fn k_means(
    values: &[f32],
    width: usize,
    n_groups: usize,
    rng: &mut ChaCha8Rng,
) -> (f64, Vec<usize>) {
    let rows: Vec<&[f32]> = values.chunks_exact(width).collect();
    let mut centers = first_centers(&rows, n_groups, rng);
    let mut groups = vec![usize::MAX; rows.len()];
    let mut total = f64::INFINITY;
    for _ in 0..STEPS {
        let nearest: Vec<(usize, f64)> = rows.iter().map(|row| nearest(row, &centers)).collect();
        total = nearest.iter().map(|(_, far)| far).sum();
        let before = groups;
        groups = nearest.iter().map(|(near, _)| *near).collect();
        if groups == before {
            break;
        }
        for (group, center) in centers.iter_mut().enumerate() {
            let own = rows.iter().zip(&groups).filter(|(_, g)| **g == group);
            let own: Vec<&&[f32]> = own.map(|(row, _)| row).collect();
            if own.is_empty() {
                continue;
            }
            for (column, value) in center.iter_mut().enumerate() {
                let sum: f64 = own.iter().map(|row| f64::from(row[column])).sum();
                *value = sum / own.len() as f64;
            }
        }
    }
    (total, groups)
}

/// Rows drawn in turn, each with a chance that grows with its squared distance from those drawn before.
fn first_centers(rows: &[&[f32]], n_groups: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let as_center = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let first = (uniform() * rows.len() as f64) as usize;
    let mut centers = vec![as_center(rows[first])];
    while centers.len() < n_groups {
        let far: Vec<f64> = rows.iter().map(|row| nearest(row, &centers).1).collect();
        let mut left = uniform() * far.iter().sum::<f64>();
        let drawn = far.iter().position(|far| {
            left -= far;
            left < 0.0
        });
        centers.push(as_center(rows[drawn.unwrap_or(rows.len() - 1)]));
    }
    centers
}

/// The nearest centre, and its squared distance.
fn nearest(row: &[f32], centers: &[Vec<f64>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (group, center) in centers.iter().enumerate() {
        let pairs = row.iter().zip(center);
        let far: f64 = pairs
            .map(|(&x, c)| (f64::from(x) - c) * (f64::from(x) - c))
            .sum();
        if far < best.1 {
            best = (group, far);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use mpu_data::{Seed, Stream};

    use super::*;

    fn try_split(values: &[f32], options: SubgroupOptions, seed: u64) -> Result<Vec<usize>> {
        let mut stream = Seed(seed).stream(Stream::Subgroups);
        subgroups(values, 2, &options, &mut stream)
    }

    fn split(values: &[f32], options: SubgroupOptions, seed: u64) -> Vec<usize> {
        try_split(values, options, seed).unwrap()
    }

    /// Three clouds of 20, 30 and 40 rows around (0, 0), (9, 0) and (0, 9).
    fn clouds() -> Vec<f32> {
        let mut values = Vec::new();
        for i in 0..90_u8 {
            let (x, y) = match i {
                0..20 => (0.0, 0.0),
                20..50 => (9.0, 0.0),
                _ => (0.0, 9.0),
            };
            values.push(x + f32::from(i % 7) / 10.0);
            values.push(y + f32::from(i % 5) / 10.0);
        }
        values
    }

    #[test]
    fn clouds_are_found_whatever_the_seed() {
        for seed in 0..20 {
            let three = SubgroupOptions {
                most: 3,
                least_rows: 15,
            };
            let groups = split(&clouds(), three, seed);
            for cloud in [0..20, 20..50, 50..90] {
                assert!(cloud.clone().all(|row| groups[row] == groups[cloud.start]));
            }
            assert!(groups[0] != groups[20] && groups[20] != groups[50] && groups[0] != groups[50]);
            let again = split(&clouds(), three, seed);
            assert_eq!(groups, again, "the same seed, the same groups");
        }
    }

    #[test]
    fn groups_have_enough_rows_or_there_is_one() {
        let options = |least_rows| SubgroupOptions {
            most: 4,
            least_rows,
        };
        for least_rows in [1, 15, 25, 40, 45] {
            let groups = split(&clouds(), options(least_rows), 1);
            let n_groups = groups.iter().max().unwrap() + 1;
            let size = |group| groups.iter().filter(|&&g| g == group).count();
            assert!((0..n_groups).all(|group| size(group) >= least_rows));
        }
        assert_eq!(split(&clouds(), options(46), 1), vec![0; 90]);
        let equal = split(&[1.0; 80], options(15), 1);
        assert_eq!(equal, vec![0; 40], "equal rows are one group");
        assert!(split(&[], options(15), 1).is_empty());
        assert!(try_split(&[1.0], options(1), 1).is_err());
    }
}
