//! The rows of a tree, and its order of the categories.

use mpu_data::split::draw::below;
use rand::Rng;

use super::bins::{BinnedRows, Bins, MISSING};
use super::spec::{ForestSpec, Sample};
use super::targets::Targets;
use super::tree::Ranking;

/// How often each of the used rows is in the bag of a tree. It is the first that a tree draws, so that it can be
/// drawn again.
pub(crate) fn draw(spec: &ForestSpec, n_used: usize, rng: &mut impl Rng) -> Vec<u32> {
    match spec.sample {
        Sample::Every => vec![1; n_used],
        Sample::Bootstrap => {
            let mut counts = vec![0; n_used];
            for _ in 0..n_used.min(spec.rows_per_tree) {
                counts[below(n_used as u64, rng) as usize] += 1;
            }
            counts
        }
    }
}

/// A row in the bag. Most rows have one class, which stands here with its weight. Others have [`MIXED`], and here is
/// how often they were drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Item {
    pub(crate) row: u32,
    pub(crate) class: u16,
    pub(crate) weight: f32,
}

/// Marks a row of several classes.
pub(crate) const MIXED: u16 = u16::MAX;

impl Item {
    pub(crate) fn new(row: u32, count: u32, targets: &Targets) -> Self {
        let (class, weight) = match targets.row(row as usize) {
            (&[class], &[weight]) => (class, weight),
            _ => (MIXED, 1.0),
        };
        Self {
            row,
            class,
            weight: weight * count as f32,
        }
    }

    /// Calls `add` with each class of the row and its weight.
    #[inline]
    pub(crate) fn each(self, targets: &Targets, mut add: impl FnMut(usize, f32)) {
        if self.class != MIXED {
            return add(self.class as usize, self.weight);
        }
        let (classes, weights) = targets.row(self.row as usize);
        for (&class, &weight) in classes.iter().zip(weights) {
            add(class as usize, weight * self.weight);
        }
    }
}

/// A tree's order of the categories of each categorical column: by the mean share of one class, drawn for this tree
/// and column, among the rows in the bag. Equal means are ordered at random, and a category without rows has
/// the mean of all.
pub(crate) fn ranks(
    bins: &Bins,
    ranking: &Ranking,
    rows: &BinnedRows,
    targets: &Targets,
    items: &[Item],
    rng: &mut impl Rng,
) -> Vec<u8> {
    let mut ranks = vec![0; ranking.len()];
    if ranks.is_empty() {
        return ranks;
    }
    let mut totals = vec![0.0_f64; targets.n_classes()];
    for item in items {
        item.each(targets, |class, weight| totals[class] += f64::from(weight));
    }
    let present: Vec<usize> = (0..totals.len()).filter(|&c| totals[c] > 0.0).collect();
    let weight: f64 = totals.iter().sum();
    for (column, cut) in bins.cuts().iter().enumerate() {
        let Some(start) = ranking.start(column) else {
            continue;
        };
        let chosen = present[below(present.len() as u64, rng) as usize];
        // Of each bin: the weight of the chosen class, and of all classes.
        let mut sums = vec![[0.0_f64; 2]; cut.n_bins()];
        for item in items {
            let code = rows.codes()[item.row as usize * rows.n_columns() + column];
            if code == MISSING {
                continue;
            }
            let [own, all] = &mut sums[code as usize];
            item.each(targets, |class, weight| {
                *own += if class == chosen {
                    f64::from(weight)
                } else {
                    0.0
                };
                *all += f64::from(weight);
            });
        }
        let mean = |&[own, all]: &[f64; 2]| {
            if all > 0.0 {
                own / all
            } else {
                totals[chosen] / weight
            }
        };
        let mut order: Vec<(f64, u64, usize)> = sums
            .iter()
            .enumerate()
            .map(|(bin, sums)| (mean(sums), rng.next_u64(), bin))
            .collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (rank, &(_, _, bin)) in order.iter().enumerate() {
            ranks[start + bin] = rank as u8;
        }
    }
    ranks
}
