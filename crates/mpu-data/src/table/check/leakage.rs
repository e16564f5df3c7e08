//! Leakage: a column that tells almost alone whether a row is labelled.
//!
//! Such a column is often a trace of how the rows were gathered (a serial number, a date, the name
//! of a source), and a model that learns it learns nothing else.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::encoder::Gaps;
use super::super::schema::ColumnKind;
use super::super::stats::ColumnStats;
use super::CheckInput;
use crate::MpuLabel;

/// From which area under the curve a column is suspected.
pub const LEAKAGE_AUC: f64 = 0.98;

/// How many rows of each kind there must be for chance to be ruled out.
const FEWEST_ROWS: u64 = 10;

/// A column that is suspected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Leakage {
    /// The column.
    pub column: String,
    /// What of it tells labelled from unlabelled rows.
    pub kind: LeakageKind,
    /// The area under the curve: 0.5 tells nothing, 1 tells all.
    pub auc: f64,
}

/// What of a column tells labelled from unlabelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakageKind {
    /// Its size.
    Value,
    /// Its category.
    Category,
    /// Whether it is missing.
    Missing,
}

/// Looks at every column.
pub(super) fn find(input: &CheckInput<'_>, stats: &[ColumnStats]) -> Vec<Leakage> {
    let labeled: Vec<bool> = input
        .labels
        .iter()
        .map(|label| *label != MpuLabel::Unlabeled)
        .collect();
    let n_labeled = labeled.iter().filter(|labeled| **labeled).count() as u64;
    let n_pool = labeled.len() as u64 - n_labeled;
    if n_labeled < FEWEST_ROWS || n_pool < FEWEST_ROWS {
        return Vec::new();
    }
    let width = input.schema.width();
    let values = input.features.values();
    let columns: Vec<_> = input.schema.placed().collect();
    columns
        .into_par_iter()
        .enumerate()
        .map(|(i, (at, column))| {
            let suspect = |kind, auc: f64| Leakage {
                column: column.name.clone(),
                kind,
                auc,
            };
            let gaps = input.gaps.get(i).copied().unwrap_or_default();
            let missing = missing_auc(gaps, n_labeled, n_pool);
            if missing >= LEAKAGE_AUC {
                return Some(suspect(LeakageKind::Missing, missing));
            }
            let (kind, auc) = match &column.kind {
                ColumnKind::Numeric { .. } if stats[at].is_constant() => return None,
                ColumnKind::Numeric { .. } => {
                    let column = values.iter().skip(at).step_by(width).copied();
                    let histogram = Histogram::new(column.clone().zip(labeled.iter().copied()));
                    // The cheap bound rules most columns out; only the others are sorted.
                    if histogram.most() < LEAKAGE_AUC {
                        return None;
                    }
                    (LeakageKind::Value, auc(column.zip(labeled.iter().copied())))
                }
                ColumnKind::Categorical { .. } => {
                    let mut counts = vec![(0u64, 0u64); column.width() + 1];
                    for (row, labeled) in values.chunks_exact(width).zip(&labeled) {
                        let code = &row[at..at + column.width()];
                        let category = code.iter().position(|v| *v != 0.0);
                        let count = &mut counts[category.unwrap_or(column.width())];
                        if *labeled {
                            count.0 += 1;
                        } else {
                            count.1 += 1;
                        }
                    }
                    (LeakageKind::Category, category_auc(counts))
                }
            };
            (auc >= LEAKAGE_AUC).then(|| suspect(kind, auc))
        })
        .collect::<Vec<_>>()
        .into_iter()
        .flatten()
        .collect()
}

/// The area under the curve of "is missing".
fn missing_auc(gaps: Gaps, n_labeled: u64, n_pool: u64) -> f64 {
    let labeled = gaps.labeled_rows as f64 / n_labeled as f64;
    let pool = (gaps.rows - gaps.labeled_rows) as f64 / n_pool as f64;
    0.5 + 0.5 * (labeled - pool).abs()
}

/// The area under the curve of the best order of categories: by their share of labelled rows.
fn category_auc(mut counts: Vec<(u64, u64)>) -> f64 {
    counts.retain(|(labeled, pool)| labeled + pool > 0);
    counts.sort_by(|a, b| {
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    });
    area(counts.into_iter())
}

/// The area under the curve of a number, whichever way it points; exact, ties count half.
fn auc(rows: impl Iterator<Item = (f32, bool)>) -> f64 {
    let mut keys: Vec<u64> = rows
        .map(|(value, labeled)| u64::from(order(value)) << 1 | u64::from(labeled))
        .collect();
    keys.sort_unstable();
    let groups = keys.chunk_by(|a, b| a >> 1 == b >> 1).map(|group| {
        let labeled = group.iter().map(|key| key & 1).sum();
        (labeled, group.len() as u64 - labeled)
    });
    let area = area(groups);
    area.max(1.0 - area)
}

/// The probability that a labelled row comes after one of the pool, ties counted half, from the
/// counts of labelled and pool rows at each value in order.
fn area(groups: impl Iterator<Item = (u64, u64)>) -> f64 {
    let (mut before, mut n_labeled, mut pairs) = (0u64, 0u64, 0.0);
    for (labeled, pool) in groups {
        pairs += labeled as f64 * (before as f64 + 0.5 * pool as f64);
        before += pool;
        n_labeled += labeled;
    }
    pairs / (n_labeled as f64 * before as f64)
}

/// Maps numbers to integers in the same order; -0 counts as 0.
fn order(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    }
}

/// Counts of labelled and pool rows by the leading bits of the number.
struct Histogram(Vec<(u32, u32)>);

impl Histogram {
    /// Sign, exponent and four bits of the fraction.
    const SHIFT: u32 = 19;

    fn new(rows: impl Iterator<Item = (f32, bool)>) -> Self {
        let mut counts = vec![(0, 0); 1 << (32 - Self::SHIFT)];
        for (value, labeled) in rows {
            let count: &mut (u32, u32) = &mut counts[(order(value) >> Self::SHIFT) as usize];
            if labeled {
                count.0 += 1;
            } else {
                count.1 += 1;
            }
        }
        Self(counts)
    }

    /// The most that the area under the curve can be, whatever the order within a bin.
    fn most(&self) -> f64 {
        let groups = || self.0.iter().map(|(l, p)| (u64::from(*l), u64::from(*p)));
        let (labeled, pool) = groups().fold((0, 0), |sum, g| (sum.0 + g.0, sum.1 + g.1));
        let tied: f64 = groups().map(|(l, p)| l as f64 * p as f64).sum();
        let area = area(groups());
        area.max(1.0 - area) + 0.5 * tied / (labeled as f64 * pool as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_pairs(rows: &[(f32, bool)]) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (a, _) in rows.iter().filter(|row| row.1) {
            for (b, _) in rows.iter().filter(|row| !row.1) {
                sum += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
                pairs += 1.0;
            }
        }
        let area: f64 = sum / pairs;
        area.max(1.0 - area)
    }

    proptest! {
        #[test]
        fn the_area_is_the_share_of_ordered_pairs(
            rows in prop::collection::vec((-3i8..4, any::<bool>()), 2..40),
        ) {
            let rows: Vec<(f32, bool)> = rows.iter().map(|(v, l)| (f32::from(*v) / 8.0, *l)).collect();
            prop_assume!(rows.iter().any(|row| row.1) && rows.iter().any(|row| !row.1));
            let expected = by_pairs(&rows);
            prop_assert!((auc(rows.iter().copied()) - expected).abs() < 1e-12);
            prop_assert!(Histogram::new(rows.iter().copied()).most() >= expected - 1e-12);
        }
    }

    #[test]
    fn categories_are_put_in_their_best_order() {
        assert_eq!(category_auc(vec![(10, 0), (0, 10)]), 1.0);
        assert_eq!(category_auc(vec![(0, 10), (10, 0), (0, 5)]), 1.0);
        assert_eq!(category_auc(vec![(5, 5), (5, 5)]), 0.5);
        assert_eq!(
            missing_auc(
                Gaps {
                    rows: 10,
                    labeled_rows: 0
                },
                10,
                10
            ),
            1.0
        );
    }
}
