//! One tree: nodes that ask for a bin, and leaves with shares of the classes.

use super::bins::{Bins, Cut, MISSING};

/// A node that splits its rows, or a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    /// The column asked for, or [`LEAF`].
    pub(crate) column: u32,
    /// The left child, the right one standing behind it; of a leaf, its number.
    pub(crate) child: u32,
    /// Bins up to here go left.
    pub(crate) threshold: u8,
    /// 1 if missing values go left, 0 if right.
    pub(crate) missing_left: u8,
}

/// The column of a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

impl Node {
    /// A leaf of this number.
    pub(crate) fn leaf(number: usize) -> Self {
        Self {
            column: LEAF,
            child: number as u32,
            threshold: 0,
            missing_left: 0,
        }
    }

    /// Whether a row with this bin goes left. Adding 1 makes the code of missing values 0, the least of all.
    #[inline]
    pub(crate) fn goes_left(&self, code: u8) -> bool {
        let shift = self.missing_left;
        code.wrapping_add(shift) <= self.threshold.wrapping_add(shift)
    }
}

/// A grown tree. The children of a node stand behind it, so that every walk ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Where the classes of each leaf start, and where the last ones end.
    pub(crate) leaf_starts: Vec<u32>,
    pub(crate) leaf_classes: Vec<u16>,
    /// The share of each of these classes in its leaf.
    pub(crate) leaf_shares: Vec<f32>,
    /// This tree's order of the categories, for one categorical column after the other: the rank of each bin.
    pub(crate) ranks: Vec<u8>,
}

impl Tree {
    /// The classes of the leaf that a row falls into, and their shares.
    #[inline]
    pub(crate) fn leaf(&self, ranking: &Ranking, codes: &[u8]) -> (&[u16], &[f32]) {
        let mut node = self.nodes[0];
        while node.column != LEAF {
            let column = node.column as usize;
            let code = ranking.ranked(&self.ranks, column, codes[column]);
            node = self.nodes[node.child as usize + usize::from(!node.goes_left(code))];
        }
        let leaf = node.child as usize;
        let range = self.leaf_starts[leaf] as usize..self.leaf_starts[leaf + 1] as usize;
        (&self.leaf_classes[range.clone()], &self.leaf_shares[range])
    }
}

/// Where each categorical column's ranks stand among those of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranking {
    /// By column; [`NUMERIC`] where the bins have an order of their own.
    starts: Vec<usize>,
    len: usize,
}

/// The start of a column that needs no ranks.
const NUMERIC: usize = usize::MAX;

impl Ranking {
    /// The places of these columns' ranks.
    pub(crate) fn new(bins: &Bins) -> Self {
        let mut len = 0;
        let place = |cut: &Cut| match cut {
            Cut::Edges(_) => NUMERIC,
            Cut::Codes(_) => {
                len += cut.n_bins();
                len - cut.n_bins()
            }
        };
        let starts = bins.cuts().iter().map(place).collect();
        Self { starts, len }
    }

    /// How many ranks a tree has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where the ranks of a column stand, if it has any.
    pub(crate) fn start(&self, column: usize) -> Option<usize> {
        Some(self.starts[column]).filter(|&start| start != NUMERIC)
    }

    /// What a tree with these ranks compares a bin by.
    #[inline]
    pub(crate) fn ranked(&self, ranks: &[u8], column: usize, code: u8) -> u8 {
        match self.starts[column] {
            NUMERIC => code,
            _ if code == MISSING => MISSING,
            start => ranks[start + code as usize],
        }
    }
}
