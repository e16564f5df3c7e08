//! What ONNX Runtime makes of a forest, and how accurate ours is beside scikit-learn's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;

use libtest_mimic::Trial;
use mpu_data::Seed;
use mpu_models::forest::{Bins, Column, Forest, ForestSpec, Layout, Sample, Splits, Targets};
use mpu_models::onnx::{Calibration, Model, Options, Votes, to_bytes};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use serde::Deserialize;

use crate::need::{Need, python};
use crate::onnx::ask;

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Onnx => onnx_runtime_answers_as_ours_does,
        Need::ScikitLearn => ours_is_as_accurate_as_scikit_learns,
    }
}

fn grow(spec: ForestSpec, layout: &Layout, rows: &[f32], targets: &Targets, seed: u64) -> Forest {
    let bins = Bins::learn(layout.clone(), rows).unwrap();
    let binned = bins.encode(rows).unwrap();
    let go_on = || ControlFlow::Continue(());
    let forest = Forest::fit(spec, bins, &binned, targets, Seed(seed), &go_on);
    forest.unwrap().unwrap()
}

fn answer<T: PartialOrd>(shares: &[T]) -> usize {
    let mut best = 0;
    for class in 1..shares.len() {
        if shares[class] > shares[best] {
            best = class;
        }
    }
    best
}

/// Rows of these columns, some values missing and some categories unknown, and soft targets that depend on all.
fn table(columns: &[Column], n_rows: usize, k: usize, rng: &mut ChaCha8Rng) -> (Vec<f32>, Targets) {
    let mut unit = || (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
    let (mut rows, mut shares) = (Vec::new(), Vec::new());
    for _ in 0..n_rows {
        let mut sum = 0.0;
        for &column in columns {
            let missing = unit() < 0.1;
            let value = unit();
            sum += if missing { 0.3 } else { value };
            match column {
                Column::Numeric if missing => rows.push(f32::NAN),
                Column::Numeric => rows.push(1e3 * value),
                Column::Categorical(n) => {
                    let start = rows.len();
                    rows.resize(start + n, 0.0);
                    let category = (value * n as f32) as usize;
                    match (missing, unit() < 0.5) {
                        (true, true) => rows[start] = f32::NAN,
                        (true, false) => {}
                        (false, _) => rows[start + category * 7 % n] = 1.0,
                    }
                }
            }
        }
        let class = (sum * 2.0) as usize % k;
        shares.extend((0..k).map(|other| if other == class { 0.8 } else { 0.2 * unit() }));
    }
    let targets = Targets::soft(&shares, &vec![1.0; n_rows], k).unwrap();
    (rows, targets)
}

fn onnx_runtime_answers_as_ours_does() {
    let numeric = vec![Column::Numeric; 6];
    let mixed = vec![
        Column::Categorical(12),
        Column::Numeric,
        Column::Categorical(1),
        Column::Numeric,
        Column::Categorical(40),
    ];
    for (seed, (columns, k)) in [(numeric, 2), (mixed.clone(), 2), (mixed, 5)]
        .into_iter()
        .enumerate()
    {
        for splits in Splits::ALL {
            let rng = &mut ChaCha8Rng::seed_from_u64(seed as u64);
            let (rows, targets) = table(&columns, 500, k, rng);
            let layout = Layout::new(columns.clone()).unwrap();
            let spec = ForestSpec {
                trees: 30,
                splits,
                ..ForestSpec::default()
            };
            let forest = grow(spec, &layout, &rows, &targets, 1);
            let options = Options {
                calibration: Some(Calibration {
                    a: 1.0,
                    b: vec![0.0; k],
                }),
                metadata: BTreeMap::from([("classes".to_owned(), "α,β".to_owned())]),
                ..Options::default()
            };
            let votes = Votes {
                forest: &forest,
                extra: 0.5,
            };
            // New rows, some with values that were not there.
            let (mut rows, _) = table(&columns, 300, k, rng);
            if columns[0] == Column::Numeric {
                let odd = [f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30];
                for (row, odd) in rows.chunks_mut(layout.width()).zip(odd) {
                    row[0] = odd;
                }
            }
            let found = ask(
                &to_bytes(Model::Forest(votes), &options).unwrap(),
                &rows,
                layout.width(),
            );
            assert_eq!(found.metadata, options.metadata);
            let shapes = [layout.width(), k, k].map(|width| ("N".to_owned(), width));
            assert_eq!(found.shapes, shapes);
            let ours = forest.probabilities(&rows).unwrap();
            let smooth = |share: f32| (share * 30.0 + 0.5) / (30.0 + 0.5 * k as f32);
            let ours: Vec<f32> = ours.into_iter().map(smooth).collect();
            assert_eq!(found.probabilities.len(), ours.len());
            for (score, ours) in found.scores.iter().zip(&ours) {
                assert!(
                    (score - f64::from(ours.ln())).abs() < 1e-5,
                    "{score} {ours}"
                );
            }
            let mut worst = 0.0_f64;
            for (theirs, ours) in found.probabilities.chunks(k).zip(ours.chunks(k)) {
                for (theirs, &ours) in theirs.iter().zip(ours) {
                    let gap = (theirs - f64::from(ours)).abs();
                    assert!(gap < 1e-5, "{theirs} {ours}");
                    worst = worst.max(gap);
                }
                assert_eq!(answer(theirs), answer(ours));
            }
            println!(
                "{splits}, {k} classes: gap {worst:.1e}, checked {}",
                found.checked
            );
        }
    }
}

/// Five tables, each split in halves ten times, with the accuracies of both of scikit-learn's forests.
const SCRIPT: &str = "
import json, warnings
import numpy as np
from sklearn import datasets
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
warnings.simplefilter('ignore')
def generated():
    rng = np.random.default_rng(7)
    n, sizes = 1200, [12, 30]
    numbers = rng.normal(size=(n, 4))
    codes = [rng.integers(0, size, n) for size in sizes]
    effects = [rng.normal(size=(size, 3)) * 1.5 for size in sizes]
    scores = numbers[:, :3] + sum(e[c] for e, c in zip(effects, codes)) + rng.gumbel(size=(n, 3)) * 0.4
    blocks = [numbers] + [np.eye(size)[c] for size, c in zip(sizes, codes)]
    return np.hstack(blocks), scores.argmax(1), [0] * 4 + sizes
def tables():
    for name in ['digits', 'wine', 'breast_cancer', 'iris']:
        X, y = getattr(datasets, 'load_' + name)(return_X_y=True)
        yield name, X, y, [0] * X.shape[1]
    yield ('generated', *generated())
found = []
for name, X, y, columns in tables():
    X = X.astype('float32')
    splits = []
    for seed in range(10):
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
        models = [RandomForestClassifier(100, random_state=seed), ExtraTreesClassifier(100, random_state=seed)]
        right = [float((m.fit(X[train], y[train]).predict(X[test]) == y[test]).mean()) for m in models]
        splits.append({'train': train.tolist(), 'test': test.tolist(), 'best': right[0], 'random': right[1]})
    found.append({'name': name, 'features': X.ravel().tolist(), 'classes': y.tolist(), 'columns': columns, 'splits': splits})
print(json.dumps(found))
";

#[derive(Deserialize)]
struct Table {
    name: String,
    features: Vec<f32>,
    classes: Vec<usize>,
    /// How many categories each column has; 0 for numbers.
    columns: Vec<usize>,
    splits: Vec<Halves>,
}

#[derive(Deserialize)]
struct Halves {
    train: Vec<usize>,
    test: Vec<usize>,
    /// The accuracy of the random forest.
    best: f64,
    /// The accuracy of extremely randomised trees.
    random: f64,
}

fn ours_is_as_accurate_as_scikit_learns() {
    let output = Command::new(python())
        .args(["-c", SCRIPT])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let tables: Vec<Table> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tables.len(), 5);
    let mut behind = Vec::new();
    for table in &tables {
        // As scikit-learn does: random forests see a bootstrap, extremely randomised trees every row.
        for (splits, sample) in [
            (Splits::Best, Sample::Bootstrap),
            (Splits::Random, Sample::Every),
        ] {
            let pairs: Vec<[f64; 2]> = table
                .splits
                .iter()
                .enumerate()
                .map(|(seed, halves)| {
                    let theirs = match splits {
                        Splits::Best => halves.best,
                        Splits::Random => halves.random,
                    };
                    [table.accuracy(halves, splits, sample, seed as u64), theirs]
                })
                .collect();
            let n = pairs.len() as f64;
            let mean = |of: &dyn Fn(&[f64; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / n;
            let (ours, theirs) = (mean(&|pair| pair[0]), mean(&|pair| pair[1]));
            let gap = ours - theirs;
            let variance = mean(&|pair| (pair[0] - pair[1] - gap).powi(2)) * n / (n - 1.0);
            let error = (variance / n).sqrt();
            let line = format!(
                "{} {splits}: ours {ours:.4}, scikit-learn {theirs:.4}, gap {gap:+.4} ± {error:.4}",
                table.name
            );
            println!("{line}");
            // Ten splits tell the error itself only roughly, so a small gap is allowed whatever it says.
            if gap < -(3.0 * error).max(0.004) {
                behind.push(line);
            }
        }
    }
    assert!(behind.is_empty(), "{behind:#?}");
}

impl Table {
    fn accuracy(&self, halves: &Halves, splits: Splits, sample: Sample, seed: u64) -> f64 {
        let column = |&n: &usize| match n {
            0 => Column::Numeric,
            n => Column::Categorical(n),
        };
        let layout = Layout::new(self.columns.iter().map(column).collect()).unwrap();
        let width = layout.width();
        let rows = |chosen: &[usize]| -> Vec<f32> {
            let row = |&row: &usize| &self.features[row * width..][..width];
            chosen.iter().flat_map(row).copied().collect()
        };
        let classes = |chosen: &[usize]| -> Vec<usize> {
            chosen.iter().map(|&row| self.classes[row]).collect()
        };
        let k = self.classes.iter().max().unwrap() + 1;
        let spec = ForestSpec {
            trees: 100,
            min_leaf: 1.0,
            splits,
            sample,
            ..ForestSpec::default()
        };
        let targets = Targets::hard(&classes(&halves.train), k).unwrap();
        let forest = grow(spec, &layout, &rows(&halves.train), &targets, seed);
        let shares = forest.probabilities(&rows(&halves.test)).unwrap();
        let answers = shares.chunks(k).map(answer);
        let right = answers.zip(classes(&halves.test)).filter(|(a, b)| a == b);
        right.count() as f64 / halves.test.len() as f64
    }
}
