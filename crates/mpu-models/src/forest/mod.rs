//! Forests: many trees that are grown from soft targets and answer together.
//!
//! It is written here because no kept crate has all of what tables with soft targets need: binned columns, categories
//! and missing values as they are, weights, out-of-bag answers, and the same bits on any number of threads.
//!
//! | step | what it does |
//! |---|---|
//! | [`Layout`] | says which features of an encoded row make one column |
//! | [`Bins`] | cuts every column into at most 254 bins and one for missing values |
//! | [`Targets`] | gives every row some classes with weights |
//! | [`Forest::fit`] | grows the trees, as [`ForestSpec`] says |
//! | [`Forest::out_of_bag`] | answers for each training row by the trees that have not seen it |
//! | [`Forest::probabilities`] | answers for new rows |
//! | [`Forest::to_bytes`] | keeps it, and [`Forest::from_bytes`] reads it back |
//!
//! A tree splits a categorical column by an order of its categories. Each tree has its own: by how frequent one class,
//! drawn for this tree and column, is among the tree's rows. A missing value goes to the side that the node has chosen.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use mpu_data::Seed;
//! use mpu_models::forest::{Bins, Column, Forest, ForestSpec, Layout, Targets};
//!
//! // A number, and one of two colours: class 1 is what is red or above 10.
//! let layout = Layout::new(vec![Column::Numeric, Column::Categorical(2)])?;
//! let rows: Vec<[f32; 3]> = (0..200)
//!     .map(|i| [(i % 20) as f32, (i / 20 % 2) as f32, (1 - i / 20 % 2) as f32])
//!     .collect();
//! let classes: Vec<usize> = rows.iter().map(|r| usize::from(r[0] > 10.0 || r[1] > 0.0)).collect();
//! let bins = Bins::learn(layout, rows.as_flattened())?;
//! let binned = bins.encode(rows.as_flattened())?;
//! let targets = Targets::hard(&classes, 2)?;
//!
//! let spec = ForestSpec { trees: 50, ..ForestSpec::default() };
//! let go_on = || ControlFlow::Continue(());
//! let forest = Forest::fit(spec, bins, &binned, &targets, Seed(1), &go_on)?.unwrap();
//! let p = forest.probabilities(&[3.0, 1.0, 0.0, 3.0, 0.0, 1.0])?;
//! assert!(p[1] > 0.8 && p[3] < 0.2);
//! # Ok::<(), mpu_models::Error>(())
//! ```

mod bins;
mod grow;
mod layout;
mod predict;
mod sample;
mod spec;
mod split;
mod stored;
mod sweep;
mod targets;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use mpu_data::{Seed, Stream};
use rayon::prelude::*;

use self::grow::{Ground, Grower};
use self::sample::Bags;
use self::tree::Ranking;
use crate::error::{Result, check_length, setting};

pub(crate) use self::bins::Cut;
pub use self::bins::{BinnedRows, Bins};
pub use self::layout::{Column, Layout};
pub use self::predict::OutOfBag;
pub use self::spec::{Columns, ForestSpec, Sample, Splits};
pub use self::targets::Targets;
pub(crate) use self::tree::{LEAF, Tree};

/// A grown forest.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    spec: ForestSpec,
    seed: Seed,
    n_classes: usize,
    bins: Bins,
    ranking: Ranking,
    trees: Vec<Tree>,
}

impl Forest {
    /// Grows a forest from rows that `bins` has encoded, on rayon's threads. `step` is called after every tree, from
    /// any thread; when it breaks, the result is `None`. The result does not depend on the number of threads.
    pub fn fit(
        spec: ForestSpec,
        bins: Bins,
        rows: &BinnedRows,
        targets: &Targets,
        seed: Seed,
        step: &(dyn Fn() -> ControlFlow<()> + Sync),
    ) -> Result<Option<Self>> {
        spec.check()?;
        let n_rows = rows.n_rows();
        check_length("a binned row", rows.n_columns(), bins.cuts().len())?;
        check_length("the list of targets", targets.n_rows(), n_rows)?;
        if u32::try_from(n_rows).is_err() {
            return Err(setting("rows of the table", n_rows as f64, "below 2^32"));
        }
        let used = targets.used();
        if used.is_empty() {
            return Err(setting("rows with a weight", 0.0, "at least 1"));
        }
        let ranking = Ranking::new(&bins);
        let ground = Ground {
            spec: &spec,
            bins: &bins,
            ranking: &ranking,
            rows,
            targets,
            used: &used,
            bags: &Bags::new(&spec, targets, &used),
        };
        let stopped = AtomicBool::new(false);
        let trees: Option<Vec<Tree>> = (0..spec.trees)
            .into_par_iter()
            .map_init(
                || Grower::new(ground),
                |grower, tree| {
                    if stopped.load(Ordering::Relaxed) {
                        return None;
                    }
                    let grown = grower.grow(&mut seed.stream_at(Stream::Forest, tree as u64));
                    if step().is_break() {
                        stopped.store(true, Ordering::Relaxed);
                        return None;
                    }
                    Some(grown)
                },
            )
            .collect();
        Ok(trees.map(|trees| Self {
            spec,
            seed,
            n_classes: targets.n_classes(),
            bins,
            ranking,
            trees,
        }))
    }

    /// What it was grown by.
    pub fn spec(&self) -> &ForestSpec {
        &self.spec
    }

    /// The seed it was grown from.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// How many classes it answers with.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The bins of its columns.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// The trees.
    pub(crate) fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Where the ranks of categories stand.
    pub(crate) fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// Nodes of all trees together, leaves included.
    pub fn n_nodes(&self) -> usize {
        self.trees.iter().map(|tree| tree.nodes.len()).sum()
    }
}
