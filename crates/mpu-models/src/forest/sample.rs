//! The rows of a tree, and its order of the categories.

use mpu_data::split::draw::below;
use rand::Rng;

use super::bins::{BinnedRows, Bins, MISSING};
use super::spec::{ForestSpec, Sample};
use super::targets::Targets;
use super::tree::Ranking;

/// How the rows of trees are drawn.
#[derive(Debug)]
pub(crate) struct Bags {
    n_used: usize,
    /// Places in the list of used rows, and how many of them a tree draws.
    groups: Vec<(Vec<u32>, usize)>,
}

impl Bags {
    pub(crate) fn new(spec: &ForestSpec, targets: &Targets, used: &[u32]) -> Self {
        let n_used = used.len();
        let mut groups = match spec.sample {
            Sample::Every => Vec::new(),
            Sample::Bootstrap => vec![((0..n_used as u32).collect(), n_used)],
            Sample::Balanced => by_class(targets, used),
        };
        let all: usize = groups.iter().map(|(_, drawn)| drawn).sum();
        for (_, drawn) in &mut groups {
            if all > spec.rows_per_tree {
                let share = spec.rows_per_tree as f64 / all as f64;
                *drawn = ((*drawn as f64 * share).round() as usize).max(1);
            }
        }
        Self { n_used, groups }
    }

    /// How often each of the used rows is in the bag of a tree. It is the first that a tree draws, so that it can be
    /// drawn again.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Vec<u32> {
        if self.groups.is_empty() {
            return vec![1; self.n_used];
        }
        let mut counts = vec![0; self.n_used];
        for (places, drawn) in &self.groups {
            for _ in 0..*drawn {
                counts[places[below(places.len() as u64, rng) as usize] as usize] += 1;
            }
        }
        counts
    }
}

/// The rows of each class, all of which are drawn, but for the most frequent class.
fn by_class(targets: &Targets, used: &[u32]) -> Vec<(Vec<u32>, usize)> {
    let mut classes = vec![Vec::new(); targets.n_classes()];
    for (place, &row) in used.iter().enumerate() {
        let (own, weights) = targets.row(row as usize);
        let pairs = own.iter().zip(weights);
        if let Some((&class, _)) = pairs.max_by(|a, b| a.1.total_cmp(b.1)) {
            classes[class as usize].push(place as u32);
        }
    }
    classes.retain(|rows| !rows.is_empty());
    let most = classes.iter().map(Vec::len).max().unwrap_or_default();
    // Of a single class there are no others to balance it with.
    let others = match used.len() - most {
        0 => most,
        others => others,
    };
    let drawn = |rows: Vec<u32>| {
        let drawn = rows.len().min(others);
        (rows, drawn)
    };
    classes.into_iter().map(drawn).collect()
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
