//! The search for a node's split.
//!
//! A split is worth the more the purer its sides are. Let `S_c` be the weight of class `c` on a side, and `W` that of
//! all classes. The split with the greatest
//!
//! ```text
//! Σ_sides Σ_c S_c² / W
//! ```
//!
//! has the least Gini impurity.

use mpu_data::split::draw::below;
use rand::Rng;

use super::bins::{Bins, Cut, MAX_BINS, MISSING};
use super::sample::Item;
use super::sweep::Sweep;
use super::targets::Targets;
use super::tree::Node;

/// Columns that are looked at together: their bins are gathered once, and sums run over all of them at a time.
pub(crate) const LANES: usize = 8;

/// A split and its worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    pub(crate) score: f64,
    /// The node, without its children.
    pub(crate) node: Node,
}

impl Split {
    /// A split by this threshold; without missing values in the node, they are sent to the heavier side.
    fn new(column: u32, threshold: u8, missing: Option<bool>, [left, right]: [Side; 2]) -> Self {
        Self {
            score: left.worth() + right.worth(),
            node: Node {
                column,
                child: 0,
                threshold,
                missing_left: u8::from(missing.unwrap_or(left.weight > right.weight)),
            },
        }
    }
}

/// One side of a split: its weight, and the sum of the squared weights of its classes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    pub(super) weight: f64,
    pub(super) squares: f64,
}

impl Side {
    fn worth(self) -> f64 {
        self.squares / self.weight
    }
}

/// The weight of each class in a node.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    by_class: Vec<f32>,
    /// The classes that have any, in ascending order.
    present: Vec<u16>,
}

impl Totals {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self {
            by_class: vec![0.0; n_classes],
            present: Vec::new(),
        }
    }

    /// Counts a node's rows; the weight of all.
    pub(crate) fn count(&mut self, items: &[Item], targets: &Targets) -> f64 {
        for &class in &self.present {
            self.by_class[class as usize] = 0.0;
        }
        self.present.clear();
        let (by_class, present) = (&mut self.by_class, &mut self.present);
        for item in items {
            item.each(targets, |class, weight| {
                if by_class[class] == 0.0 {
                    present.push(class as u16);
                }
                by_class[class] += weight;
            });
        }
        present.sort_unstable();
        self.iter().map(|(_, weight)| f64::from(weight)).sum()
    }

    /// Whether all rows are of one class.
    pub(crate) fn is_pure(&self) -> bool {
        self.present.len() < 2
    }

    /// The classes that are there and their weights.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, f32)> {
        self.present
            .iter()
            .map(|&class| (class, self.by_class[class as usize]))
    }
}

/// What the search writes into, used again and again.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The bins of a node's rows in the columns looked at.
    pub(crate) panel: Vec<[u8; LANES]>,
    /// By class, the weight on the left of each column's split.
    left: Vec<[f32; LANES]>,
    sweep: Sweep,
}

impl Scratch {
    pub(crate) fn new(n_classes: usize) -> Self {
        Self {
            panel: Vec::new(),
            left: vec![[0.0; LANES]; n_classes],
            sweep: Sweep::new(n_classes),
        }
    }
}

/// A node whose bins stand in the panel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) bins: &'a Bins,
    pub(crate) items: &'a [Item],
    pub(crate) targets: &'a Targets,
    pub(crate) totals: &'a Totals,
    pub(crate) min_leaf: f32,
    /// The columns in the panel, at most [`LANES`].
    pub(crate) columns: &'a [u32],
}

/// What columns had to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Found {
    /// All were constant in the node.
    Constant,
    /// None could be split into large enough sides.
    Nothing,
    /// The best split.
    Split(Split),
}

/// The least bin, the greatest, and whether values are missing; `None` if the column is constant in the node.
#[derive(Debug, Clone, Copy)]
struct Span {
    least: u8,
    most: u8,
    missing: bool,
}

/// The threshold that parts missing values from all others.
const APART: u8 = MAX_BINS as u8 - 1;

impl Span {
    /// A threshold at random. Numbers have a uniform one between the outermost edges that part the node, and it is moved
    /// to the nearest edge; ranks have a uniform rank. Where values are missing, one draw in four parts them from
    /// the rest.
    fn draw(self, cut: &Cut, rng: &mut impl Rng) -> u8 {
        if self.missing && (self.least == self.most || below(4, rng) == 0) {
            return APART;
        }
        let n = self.most - self.least;
        let Cut::Edges(edges) = cut else {
            return self.least + below(u64::from(n), rng) as u8;
        };
        let edges = &edges[self.least as usize..self.most as usize];
        let [first, .., last] = *edges else {
            return self.least;
        };
        let edge = |i: usize| f64::from(edges[i]);
        // Half a gap beyond the outermost edges, so that they are drawn as often as others.
        let low = f64::from(first) - (edge(1) - f64::from(first)) / 2.0;
        let high = f64::from(last) + (f64::from(last) - edge(edges.len() - 2)) / 2.0;
        let share = f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let drawn = low + share * (high - low);
        let above = edges.partition_point(|&edge| f64::from(edge) < drawn);
        let nearest = match above {
            0 => 0,
            above if above == edges.len() => above - 1,
            above if edge(above) - drawn < drawn - edge(above - 1) => above,
            above => above - 1,
        };
        self.least + nearest as u8
    }
}

fn spans(panel: &[[u8; LANES]]) -> [Option<Span>; LANES] {
    let (mut least, mut most, mut raw) = ([MISSING; LANES], [0; LANES], [0; LANES]);
    for codes in panel {
        for j in 0..LANES {
            least[j] = least[j].min(codes[j]);
            // One more than the bin, and 0 for missing values.
            most[j] = most[j].max(codes[j].wrapping_add(1));
            raw[j] = raw[j].max(codes[j]);
        }
    }
    std::array::from_fn(|j| {
        let span = Span {
            least: least[j],
            most: most[j].checked_sub(1)?,
            missing: raw[j] == MISSING,
        };
        (span.least < span.most || span.missing).then_some(span)
    })
}

impl Search<'_> {
    /// A random threshold for each column; the best of them.
    pub(crate) fn random(&self, scratch: &mut Scratch, rng: &mut impl Rng) -> Found {
        let spans = spans(&scratch.panel);
        let (mut limits, mut shifts) = ([0; LANES], [0; LANES]);
        let mut any = false;
        for j in 0..self.columns.len() {
            let Some(span) = spans[j] else { continue };
            any = true;
            let threshold = span.draw(&self.bins.cuts()[self.columns[j] as usize], rng);
            let may_go_left = span.missing && threshold != APART;
            shifts[j] = u8::from(may_go_left && below(2, rng) == 1);
            limits[j] = threshold + shifts[j];
        }
        if !any {
            return Found::Constant;
        }
        let left = &mut scratch.left;
        for (item, codes) in self.items.iter().zip(&scratch.panel) {
            let goes: [f32; LANES] = std::array::from_fn(|j| {
                f32::from(u8::from(codes[j].wrapping_add(shifts[j]) <= limits[j]))
            });
            item.each(self.targets, |class, weight| {
                for (sum, goes) in left[class].iter_mut().zip(goes) {
                    *sum += goes * weight;
                }
            });
        }
        let sides = self.sides(left);
        let mut best = Found::Nothing;
        for (j, &column) in self.columns.iter().enumerate() {
            if let Some(span) = spans[j] {
                let missing = span.missing.then_some(shifts[j] == 1);
                self.offer(&mut best, column, limits[j] - shifts[j], missing, sides[j]);
            }
        }
        best
    }

    /// The two sides of every column, from the weights on the left, which are set back to zero.
    fn sides(&self, left: &mut [[f32; LANES]]) -> [[Side; 2]; LANES] {
        let mut sides = [[Side::default(); 2]; LANES];
        for (class, total) in self.totals.iter() {
            let lefts = std::mem::take(&mut left[class as usize]);
            for (side, left) in sides.iter_mut().zip(lefts) {
                for (side, weight) in side.iter_mut().zip([left, total - left]) {
                    let weight = f64::from(weight.max(0.0));
                    side.weight += weight;
                    side.squares += weight * weight;
                }
            }
        }
        sides
    }

    /// Takes a split if its sides are large enough and it is better.
    #[inline]
    fn offer(
        &self,
        best: &mut Found,
        column: u32,
        threshold: u8,
        missing: Option<bool>,
        sides: [Side; 2],
    ) {
        let enough = f64::from(self.min_leaf);
        if sides.iter().any(|side| side.weight < enough) {
            return;
        }
        let split = Split::new(column, threshold, missing, sides);
        if !matches!(best, Found::Split(best) if best.score >= split.score) {
            *best = Found::Split(split);
        }
    }

    /// The best of all thresholds of all columns, missing values on either side.
    pub(crate) fn best(&self, scratch: &mut Scratch) -> Found {
        let spans = spans(&scratch.panel);
        let mut best = Found::Constant;
        for (j, &column) in self.columns.iter().enumerate() {
            let Some(span) = spans[j] else { continue };
            if best == Found::Constant {
                best = Found::Nothing;
            }
            let sides = if span.missing && span.least < span.most {
                0..=1
            } else {
                0..=0
            };
            for shift in sides {
                scratch.sweep.sort(&scratch.panel, j, shift);
                let missing = span.missing.then_some(shift == 1);
                scratch.sweep.run(self, |[low, high], sides| {
                    // The threshold stands halfway. Missing values alone on the left are the rest alone on the
                    // left, turned round.
                    let threshold = match (low.checked_sub(shift), high) {
                        (None, _) => return,
                        (_, MISSING) if shift == 0 => APART,
                        (Some(low), high) => low.midpoint(high - shift - 1),
                    };
                    self.offer(&mut best, column, threshold, missing, sides);
                });
            }
        }
        best
    }
}
