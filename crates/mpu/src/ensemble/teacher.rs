//! The teacher: which group a row is from, by trees that have not seen it.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpu_data::table::{ColumnKind, FeatureSchema};
use mpu_data::{ClassCount, Features, MpuLabel, Seed};
use mpu_models::forest::{BinnedRows, Bins, Column, Forest, ForestSpec, Layout, Targets};
use mpu_prior::{Margins, Rows};
use mpu_train::{Control, Event};

use crate::error::{Error, Result};
use crate::prepared::Watcher;

/// Rows that all trees of a forest would draw together, about, if 100 to 300 trees can give it and each drew up to 65 536.
const ALL_DRAWS: usize = 6_000_000;

/// The most rows that a tree draws where there are more.
pub(super) const TREE_ROWS: usize = 24_576;

/// What every class gets beside the votes of the trees, so that no probability is 0.
pub(crate) const HALF_A_VOTE: f64 = 0.5;

/// The rows of a table as forests take them.
#[derive(Debug, Clone)]
pub struct Ground {
    pub(super) bins: Bins,
    pub(super) rows: BinnedRows,
    pub(super) labels: Vec<MpuLabel>,
    pub(super) classes: ClassCount,
}

/// A forest that was grown to tell the groups of a table apart, and what it answered.
///
/// Kept are the binned rows, which the student needs, and the answers; the trees are not.
#[derive(Debug, Clone)]
pub struct Teacher {
    pub(super) ground: Ground,
    /// `P(s | x)` of each row by trees that have not seen it: the observed classes, then the pool.
    pub(super) answers: Vec<f32>,
}

impl Teacher {
    /// Grows the forest.
    pub fn fit(
        ground: Ground,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Self> {
        let _span = tracing::info_span!("teacher").entered();
        let answers = ground.teach(|_| true, spec, seed, observer)?;
        Ok(Self { ground, answers })
    }

    /// The log odds of each group against the pool, as estimators of priors take them.
    pub fn margins(&self) -> Result<Margins> {
        let classes = self.ground.classes;
        let k = classes.get();
        let mut groups = vec![Rows::default(); k];
        for (answer, &label) in self.answers.chunks_exact(k).zip(&self.ground.labels) {
            let group = &mut groups[classes.group(label)?];
            // No two rows share the trees that answer for them: there are no folds to speak of.
            group.folds.push(0);
            let pool = f64::from(answer[k - 1]).ln();
            let odds = answer[..k - 1].iter().map(|&p| f64::from(p).ln() - pool);
            group.values.extend(odds);
        }
        let pool = groups.pop().unwrap_or_default();
        Ok(Margins::new(groups, pool)?)
    }
}

impl Ground {
    /// Takes encoded rows, in which NaN is a missing value.
    pub fn new(
        schema: &FeatureSchema,
        features: &Features,
        labels: &[MpuLabel],
        classes: ClassCount,
    ) -> Result<Self> {
        let bins = Bins::learn(layout(schema)?, features.values())?;
        Ok(Self {
            rows: bins.encode(features.values())?,
            bins,
            labels: labels.to_vec(),
            classes,
        })
    }

    /// `P(s | x)` of each row, by trees that were grown from the rows that may be seen and have not seen this one.
    pub(super) fn teach(
        &self,
        seen: impl Fn(usize) -> bool,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Vec<f32>> {
        let k = self.classes.get();
        let mut shares = vec![0.0; self.labels.len() * k];
        for (row, &label) in shares.chunks_exact_mut(k).zip(&self.labels) {
            row[self.classes.group(label)?] = 1.0;
        }
        let weights = self.weights(seen);
        let targets = Targets::soft(&shares, &weights, k)?;
        drop((shares, weights));
        let forest = self.forest(&targets, spec, seed, observer)?;
        let answers = forest.out_of_bag(&self.rows, &targets)?.probabilities;
        Ok(smoothed(&answers, k, spec.trees)
            .map(|p| p as f32)
            .collect())
    }

    /// A forest grown from shares of the classes, `k` to a row, of the rows that may be seen.
    pub(super) fn grow(
        &self,
        shares: &[f32],
        seen: impl Fn(usize) -> bool,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Forest> {
        let targets = Targets::soft(shares, &self.weights(seen), self.classes.get())?;
        self.forest(&targets, spec, seed, observer)
    }

    /// 1 for rows that may be seen, 0 for the others.
    fn weights(&self, seen: impl Fn(usize) -> bool) -> Vec<f32> {
        let weights = (0..self.labels.len()).map(|row| f32::from(u8::from(seen(row))));
        weights.collect()
    }

    fn forest(
        &self,
        targets: &Targets,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Forest> {
        let done = AtomicUsize::new(0);
        let watched = Mutex::new((observer, None));
        let step = || {
            let (step, steps) = (done.fetch_add(1, Ordering::Relaxed) + 1, spec.trees);
            let Ok(mut watched) = watched.lock() else {
                return ControlFlow::Break(());
            };
            let (observer, fault) = &mut *watched;
            match observer.on(&Event::Detector { step, steps }) {
                Ok(Control::Continue) => ControlFlow::Continue(()),
                Ok(Control::Stop) => ControlFlow::Break(()),
                Err(error) => {
                    fault.get_or_insert(error);
                    ControlFlow::Break(())
                }
            }
        };
        let forest = Forest::fit(spec, self.bins.clone(), &self.rows, targets, seed, &step)?;
        if let Ok((_, Some(fault))) = watched.into_inner() {
            return Err(Error::Observer(fault.into()));
        }
        let stopped = || Error::Stopped("while a forest was grown".to_owned());
        forest.ok_or_else(stopped)
    }
}

/// How many trees suit so many rows.
pub(crate) fn spec_for(n_rows: usize) -> ForestSpec {
    let spec = ForestSpec::default();
    let draws = n_rows.clamp(1, spec.rows_per_tree);
    ForestSpec {
        trees: (ALL_DRAWS / draws).clamp(100, 300),
        rows_per_tree: if n_rows > TREE_ROWS {
            TREE_ROWS
        } else {
            spec.rows_per_tree
        },
        ..spec
    }
}

/// Which features of an encoded row make one column.
fn layout(schema: &FeatureSchema) -> Result<Layout> {
    if schema.is_images() {
        return Ok(Layout::numeric(schema.width())?);
    }
    let columns = schema.columns().iter().map(|column| match &column.kind {
        ColumnKind::Numeric { .. } => Column::Numeric,
        ColumnKind::Categorical { categories, .. } => Column::Categorical(categories.len()),
    });
    Ok(Layout::new(columns.collect())?)
}

/// Shares that trees voted for, with half a vote for each class, so that none is 0.
pub(super) fn smoothed(shares: &[f32], k: usize, trees: usize) -> impl Iterator<Item = f64> {
    let (votes, half) = (trees as f64, HALF_A_VOTE);
    let all = votes + half * k as f64;
    shares
        .iter()
        .map(move |&p| (f64::from(p) * votes + half) / all)
}
