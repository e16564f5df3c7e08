//! Answers: of all trees for new rows, and of some trees for the rows they have not seen.

use mpu_data::Stream;
use rayon::prelude::*;

use super::Forest;
use super::bins::BinnedRows;
use super::sample::Bags;
use super::spec::Sample;
use super::targets::Targets;
use crate::error::{Error, Result, check_length, setting};

/// Rows that go through one tree before the next: enough for a tree that is in the cache to be used often, few enough
/// for their bins and sums to be there as well.
const BLOCK: usize = 2048;

/// What the trees that have not seen a row answer for it.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBag {
    /// Shares of the classes, row by row; the same for all classes where no tree could answer.
    pub probabilities: Vec<f32>,
    /// How many trees have answered for each row.
    pub trees: Vec<u16>,
}

impl Forest {
    /// Shares of the classes for encoded rows, `n_classes` to a row, on the caller's thread.
    pub fn probabilities(&self, features: &[f32]) -> Result<Vec<f32>> {
        let n_rows = self.bins.layout().rows(features)?;
        let mut shares = vec![0.0; n_rows * self.n_classes];
        let rows = features.chunks(BLOCK * self.bins.layout().width());
        for (rows, shares) in rows.zip(shares.chunks_mut(BLOCK * self.n_classes)) {
            self.block(rows, shares);
        }
        Ok(shares)
    }

    /// The same on rayon's threads; the same bits on any number of them.
    pub fn par_probabilities(&self, features: &[f32]) -> Result<Vec<f32>> {
        let n_rows = self.bins.layout().rows(features)?;
        let mut shares = vec![0.0; n_rows * self.n_classes];
        features
            .par_chunks(BLOCK * self.bins.layout().width())
            .zip(shares.par_chunks_mut(BLOCK * self.n_classes))
            .for_each(|(rows, shares)| self.block(rows, shares));
        Ok(shares)
    }

    /// Shares of the classes for some rows that `bins` has encoded, by all trees, on rayon's threads.
    pub fn probabilities_of(&self, rows: &BinnedRows, some: &[usize]) -> Result<Vec<f32>> {
        let n_columns = self.bins.cuts().len();
        check_length("a binned row", rows.n_columns(), n_columns)?;
        if let Some(&row) = some.iter().find(|&&row| row >= rows.n_rows()) {
            return Err(setting("a row", row as f64, "below the number of rows"));
        }
        let mut shares = vec![0.0; some.len() * self.n_classes];
        some.par_chunks(BLOCK)
            .zip(shares.par_chunks_mut(BLOCK * self.n_classes))
            .for_each(|(some, shares)| {
                let row = |&row: &usize| &rows.codes()[row * n_columns..][..n_columns];
                let codes: Vec<&[u8]> = some.iter().map(row).collect();
                self.answer(&codes.concat(), shares);
            });
        Ok(shares)
    }

    fn block(&self, features: &[f32], shares: &mut [f32]) {
        let n_columns = self.bins.cuts().len();
        let mut codes = vec![0; features.len() / self.bins.layout().width() * n_columns];
        self.bins.encode_into(features, &mut codes);
        self.answer(&codes, shares);
    }

    /// Adds up what all trees answer for rows of bins.
    fn answer(&self, codes: &[u8], shares: &mut [f32]) {
        let n_columns = self.bins.cuts().len();
        let rows: Vec<u32> = (0..(codes.len() / n_columns) as u32).collect();
        for tree in &self.trees {
            let codes = (codes, n_columns);
            tree.leaves(&self.ranking, codes, &rows, |row, classes, leaf| {
                add(&mut shares[row * self.n_classes..], classes, leaf);
            });
        }
        for share in shares {
            *share /= self.trees.len() as f32;
        }
    }

    /// Answers for the rows that the forest was grown from, each by the trees that have not seen it, on rayon's
    /// threads. `rows` and `targets` must be those of [`Forest::fit`].
    pub fn out_of_bag(&self, rows: &BinnedRows, targets: &Targets) -> Result<OutOfBag> {
        if self.spec.sample == Sample::Every {
            return Err(Error::NoneOutOfBag);
        }
        let (n_rows, n_columns, k) = (rows.n_rows(), self.bins.cuts().len(), self.n_classes);
        check_length("a binned row", rows.n_columns(), n_columns)?;
        check_length("the list of targets", targets.n_rows(), n_rows)?;
        check_length("a row's list of classes", targets.n_classes(), k)?;
        let used = targets.used();
        let drawn = Bags::new(&self.spec, targets, &used);
        let bags: Vec<Vec<u64>> = (0..self.trees.len())
            .into_par_iter()
            .map(|tree| {
                let mut rng = self.seed.stream_at(Stream::Forest, tree as u64);
                let counts = drawn.draw(&mut rng);
                let mut bag = vec![0_u64; n_rows.div_ceil(64)];
                for (&row, count) in used.iter().zip(counts) {
                    bag[row as usize / 64] |= u64::from(count > 0) << (row % 64);
                }
                bag
            })
            .collect();
        let mut found = OutOfBag {
            probabilities: vec![0.0; n_rows * k],
            trees: vec![0; n_rows],
        };
        found
            .probabilities
            .par_chunks_mut(BLOCK * k)
            .zip(found.trees.par_chunks_mut(BLOCK))
            .zip(rows.codes().par_chunks(BLOCK * n_columns))
            .enumerate()
            .for_each(|(block, ((shares, counts), codes))| {
                let first = block * BLOCK;
                let mut rows: Vec<u32> = Vec::with_capacity(counts.len());
                for (tree, bag) in self.trees.iter().zip(&bags) {
                    let out = |&row: &u32| {
                        let row = first + row as usize;
                        bag[row / 64] >> (row % 64) & 1 == 0
                    };
                    rows.clear();
                    rows.extend((0..counts.len() as u32).filter(out));
                    tree.leaves(
                        &self.ranking,
                        (codes, n_columns),
                        &rows,
                        |row, classes, leaf| {
                            add(&mut shares[row * k..], classes, leaf);
                            counts[row] += 1;
                        },
                    );
                }
                for (shares, &count) in shares.chunks_exact_mut(k).zip(counts.iter()) {
                    for share in shares {
                        *share = match count {
                            0 => 1.0 / k as f32,
                            _ => *share / f32::from(count),
                        };
                    }
                }
            });
        Ok(found)
    }
}

/// Adds a tree's answer to those before.
#[inline]
fn add(shares: &mut [f32], classes: &[u16], leaf: &[f32]) {
    for (&class, share) in classes.iter().zip(leaf) {
        shares[class as usize] += share;
    }
}
