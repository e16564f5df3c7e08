//! The teacher: which group a row is from, by trees that have not seen it.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpu_data::table::{ColumnKind, FeatureSchema};
use mpu_data::{ClassCount, Features, MpuLabel, Seed};
use mpu_models::forest::{Bins, BinnedRows, Column, Forest, ForestSpec, Layout, Targets};
use mpu_prior::{Margins, Rows};
use mpu_train::{Control, Event};

use crate::error::{Error, Result};
use crate::prepared::Watcher;

/// Rows that all trees of a forest draw together, about, if 100 to 300 trees can give it.
const ALL_DRAWS: usize = 6_000_000;

/// The least probability of a group: half a vote of the trees.
const HALF_A_VOTE: f64 = 0.5;

/// A forest that was grown to tell the groups of a table apart, and what it answered.
///
/// Kept are the binned rows, which the student needs, and the answers; the trees are not.
#[derive(Debug, Clone)]
pub struct Teacher {
    pub(super) bins: Bins,
    pub(super) rows: BinnedRows,
    pub(super) labels: Vec<MpuLabel>,
    pub(super) classes: ClassCount,
    /// `P(s | x)` of each row by trees that have not seen it: the observed classes, then the pool.
    pub(super) answers: Vec<f32>,
}

impl Teacher {
    /// Grows the forest from encoded rows, in which NaN is a missing value.
    pub fn fit(
        schema: &FeatureSchema,
        features: &Features,
        labels: &[MpuLabel],
        classes: ClassCount,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Self> {
        let _span = tracing::info_span!("teacher").entered();
        let bins = Bins::learn(layout(schema)?, features.values())?;
        let rows = bins.encode(features.values())?;
        let groups = labels.iter().map(|&label| classes.group(label));
        let groups = groups.collect::<mpu_data::Result<Vec<usize>>>()?;
        let targets = Targets::hard(&groups, classes.get())?;
        let forest = grow(spec, bins.clone(), &rows, &targets, seed, observer)?;
        let answers = forest.out_of_bag(&rows, &targets)?.probabilities;
        Ok(Self {
            bins,
            rows,
            labels: labels.to_vec(),
            classes,
            answers: smooth(&answers, classes.get(), spec.trees),
        })
    }

    /// The log odds of each group against the pool, as estimators of priors take them.
    pub fn margins(&self) -> Result<Margins> {
        let k = self.classes.get();
        let mut groups = vec![Rows::default(); k];
        for (answer, &label) in self.answers.chunks_exact(k).zip(&self.labels) {
            let group = &mut groups[self.classes.group(label)?];
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

/// How many trees suit so many rows.
pub(crate) fn spec_for(n_rows: usize) -> ForestSpec {
    let spec = ForestSpec::default();
    let draws = n_rows.clamp(1, spec.rows_per_tree);
    ForestSpec {
        trees: (ALL_DRAWS / draws).clamp(100, 300),
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

/// Keeps every probability away from 0 and 1, as far as so many trees can tell.
fn smooth(answers: &[f32], k: usize, trees: usize) -> Vec<f32> {
    let (votes, floor) = (trees as f64, HALF_A_VOTE);
    let smoothed = answers
        .iter()
        .map(|&p| ((f64::from(p) * votes + floor) / (votes + floor * k as f64)) as f32);
    smoothed.collect()
}

/// Grows a forest while the observer is told of each tree.
pub(super) fn grow(
    spec: ForestSpec,
    bins: Bins,
    rows: &BinnedRows,
    targets: &Targets,
    seed: Seed,
    observer: &mut impl Watcher,
) -> Result<Forest> {
    let done = AtomicUsize::new(0);
    let watched = Mutex::new((observer, None));
    let step = || {
        let step = done.fetch_add(1, Ordering::Relaxed) + 1;
        let steps = spec.trees;
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
    let forest = Forest::fit(spec, bins, rows, targets, seed, &step)?;
    if let Ok((_, Some(fault))) = watched.into_inner() {
        return Err(Error::Observer(fault.into()));
    }
    forest.ok_or_else(|| Error::Stopped("while a forest was grown".to_owned()))
}
