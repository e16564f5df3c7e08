//! Rows that are alike.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Features, MpuLabel};

/// How many examples are kept.
const EXAMPLES: usize = 5;

/// Rows with the same features, counted from 1 over all files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Duplicates {
    /// Rows that are like an earlier row.
    pub rows: u64,
    /// Some of them, each with the earlier row.
    pub examples: Vec<(u64, u64)>,
    /// Labelled rows that are like a row of the pool.
    pub labeled_in_pool: u64,
    /// Some of them, each with the row of the pool.
    pub labeled_in_pool_examples: Vec<(u64, u64)>,
    /// Labelled rows that are like a labelled row of another class.
    pub contradictory: u64,
    /// Some of them, each with the row of another class.
    pub contradictory_examples: Vec<(u64, u64)>,
}

/// Finds rows that are alike: equal hashes first, then compared number by number.
pub(super) fn find(features: &Features, labels: &[MpuLabel]) -> Duplicates {
    let width = features.shape().len();
    let mut keys: Vec<(u64, u64)> = features
        .values()
        .par_chunks_exact(width)
        .enumerate()
        .map(|(row, values)| (hash(values), row as u64))
        .collect();
    keys.par_sort_unstable();
    let mut found = Duplicates::default();
    for same_hash in keys
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
    {
        let mut rows: Vec<usize> = same_hash.iter().map(|(_, row)| *row as usize).collect();
        while let Some(&first) = rows.first() {
            let (group, others): (Vec<usize>, Vec<usize>) = rows
                .into_iter()
                .partition(|row| features.row(*row) == features.row(first));
            count(&mut found, &group, labels);
            // NaN is unlike itself; rows have none, but the loop must end all the same.
            rows = if group.is_empty() { Vec::new() } else { others };
        }
    }
    // Groups come in the order of their hashes: keep the first examples of the file instead.
    for examples in [
        &mut found.examples,
        &mut found.labeled_in_pool_examples,
        &mut found.contradictory_examples,
    ] {
        examples.sort_unstable();
        examples.truncate(EXAMPLES);
    }
    found
}

fn count(found: &mut Duplicates, group: &[usize], labels: &[MpuLabel]) {
    if group.len() < 2 {
        return;
    }
    let number = |row: usize| row as u64 + 1;
    found.rows += group.len() as u64 - 1;
    note(&mut found.examples, number(group[1]), number(group[0]));
    let in_pool = group
        .iter()
        .find(|row| labels[**row] == MpuLabel::Unlabeled);
    let first_labeled = group
        .iter()
        .find(|row| labels[**row] != MpuLabel::Unlabeled);
    let Some(&first_labeled) = first_labeled else {
        return;
    };
    for &row in group
        .iter()
        .filter(|row| labels[**row] != MpuLabel::Unlabeled)
    {
        if let Some(&pool) = in_pool {
            found.labeled_in_pool += 1;
            note(
                &mut found.labeled_in_pool_examples,
                number(row),
                number(pool),
            );
        }
        if labels[row] != labels[first_labeled] {
            found.contradictory += 1;
            note(
                &mut found.contradictory_examples,
                number(row),
                number(first_labeled),
            );
        }
    }
}

/// Keeps an example; the list is cut now and then, so that it stays short.
fn note(examples: &mut Vec<(u64, u64)>, row: u64, other: u64) {
    examples.push((row, other));
    if examples.len() >= 1024 {
        examples.sort_unstable();
        examples.truncate(EXAMPLES);
    }
}

/// A hash of a row, the same on every machine; -0 counts as 0.
fn hash(values: &[f32]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for value in values {
        let bits = u64::from((value + 0.0).to_bits());
        state = (state ^ bits).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^= state >> 32;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MpuLabel::{Labeled, Unlabeled};
    use crate::Shape;

    #[test]
    fn each_kind_of_likeness_is_counted() {
        let features = Features::new(
            vec![1., 2., 3., 4., 1., 2., 1., 2., 5., 6., -0., 0., 0., 0.],
            Shape::Vector(2),
        )
        .unwrap();
        let labels = [
            Labeled(0),
            Unlabeled,
            Unlabeled,
            Labeled(1),
            Unlabeled,
            Unlabeled,
            Unlabeled,
        ];
        let found = find(&features, &labels);
        assert_eq!(
            found,
            Duplicates {
                rows: 3,
                examples: vec![(3, 1), (7, 6)],
                labeled_in_pool: 2,
                labeled_in_pool_examples: vec![(1, 3), (4, 3)],
                contradictory: 1,
                contradictory_examples: vec![(4, 1)],
            }
        );
    }
}
