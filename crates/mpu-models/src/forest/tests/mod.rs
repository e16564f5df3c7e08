//! Tests of the whole forest; what a file computes is tested in the file.

mod answers;
mod columns;
mod growing;
mod stored;

use std::ops::ControlFlow;

use mpu_data::split::draw::below;
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::bins::MISSING;
use super::tree::{LEAF, Node};
use super::*;

/// A forest and what it was grown from.
struct Grown {
    forest: Forest,
    binned: BinnedRows,
}

fn grow(spec: ForestSpec, layout: &Layout, features: &[f32], targets: &Targets) -> Grown {
    let bins = Bins::learn(layout.clone(), features).unwrap();
    let binned = bins.encode(features).unwrap();
    let step = || ControlFlow::Continue(());
    let forest = Forest::fit(spec, bins, &binned, targets, Seed(5), &step).unwrap();
    Grown {
        forest: forest.unwrap(),
        binned,
    }
}

/// One tree that sees everything: nothing in it is random, unless categories tie.
fn exact(min_leaf: f32) -> ForestSpec {
    ForestSpec {
        trees: 1,
        min_leaf,
        splits: Splits::Best,
        columns: Columns::All,
        sample: Sample::Every,
        ..ForestSpec::default()
    }
}

fn small(trees: usize) -> ForestSpec {
    ForestSpec {
        trees,
        ..ForestSpec::default()
    }
}

fn uniform(rng: &mut ChaCha8Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 / (1 << 24) as f32
}

/// Numbers of few values, a tenth of them missing.
fn table(n_rows: usize, n_columns: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let value = |_| match below(10, rng) {
        0 => f32::NAN,
        _ => below(7, rng) as f32,
    };
    (0..n_rows * n_columns).map(value).collect()
}

fn soft_targets(n_rows: usize, k: usize, rng: &mut ChaCha8Rng) -> Targets {
    let shares: Vec<f32> = (0..n_rows * k).map(|_| uniform(rng)).collect();
    let weights: Vec<f32> = (0..n_rows).map(|_| 3.0 * uniform(rng)).collect();
    Targets::soft(&shares, &weights, k).unwrap()
}

fn answer(shares: &[f32]) -> usize {
    let best = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    best.unwrap()
}

fn accuracy(shares: &[f32], classes: &[usize], k: usize) -> f64 {
    let rows = shares.chunks(k).zip(classes);
    let right = rows.filter(|&(row, &class)| answer(row) == class).count();
    right as f64 / classes.len() as f64
}

/// One-hot rows of a column with so many categories, beside a number that says nothing.
fn categories(n: usize, n_rows: usize, rng: &mut ChaCha8Rng) -> (Layout, Vec<f32>, Vec<usize>) {
    let layout = Layout::new(vec![Column::Categorical(n), Column::Numeric]).unwrap();
    let mut features = Vec::new();
    let mut drawn = Vec::new();
    for _ in 0..n_rows {
        let category = below(n as u64, rng) as usize;
        features.extend((0..n).map(|c| f32::from(u8::from(c == category))));
        features.push(uniform(rng));
        drawn.push(category);
    }
    (layout, features, drawn)
}
