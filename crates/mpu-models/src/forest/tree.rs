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

/// Rows that walk down a tree together: while one waits for memory, the others go on.
const TOGETHER: usize = 8;

impl Tree {
    /// Calls `each` with every one of these rows, the classes of its leaf and their shares. `codes` holds the bins of
    /// all rows, `n_columns` to a row.
    pub(crate) fn leaves(
        &self,
        ranking: &Ranking,
        (codes, n_columns): (&[u8], usize),
        rows: &[u32],
        each: impl FnMut(usize, &[u16], &[f32]),
    ) {
        let code = |row: u32, column: usize| codes[row as usize * n_columns + column];
        if self.ranks.is_empty() {
            self.walk(rows, code, each);
        } else {
            let ranked = |row, column| ranking.ranked(&self.ranks, column, code(row, column));
            self.walk(rows, ranked, each);
        }
    }

    #[inline]
    fn walk(
        &self,
        rows: &[u32],
        code: impl Fn(u32, usize) -> u8,
        mut each: impl FnMut(usize, &[u16], &[f32]),
    ) {
        for rows in rows.chunks(TOGETHER) {
            // Of fewer rows, the last one walks several times.
            let walkers: [u32; TOGETHER] = std::array::from_fn(|i| rows[i.min(rows.len() - 1)]);
            let mut nodes = [self.nodes[0]; TOGETHER];
            let mut walking = true;
            while walking {
                walking = false;
                for (node, &row) in nodes.iter_mut().zip(&walkers) {
                    if node.column != LEAF {
                        let right = !node.goes_left(code(row, node.column as usize));
                        *node = self.nodes[node.child as usize + usize::from(right)];
                        walking = true;
                    }
                }
            }
            for (&row, node) in rows.iter().zip(nodes) {
                let leaf = node.child as usize;
                let range = self.leaf_starts[leaf] as usize..self.leaf_starts[leaf + 1] as usize;
                each(
                    row as usize,
                    &self.leaf_classes[range.clone()],
                    &self.leaf_shares[range],
                );
            }
        }
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
