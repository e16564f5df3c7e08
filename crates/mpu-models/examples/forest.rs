//! Grows a forest and prints CPU seconds and accuracy, for comparison with other programs:
//!
//! ```text
//! cargo run --release -p mpu-models --example forest -- TABLE COLUMNS CLASSES TRAIN TREES SPLITS SAMPLE SEED
//! ```
//!
//! TABLE holds numbers of 32 bits, little-endian: for each row its COLUMNS features, then its class. The first TRAIN
//! rows are learned from, and the others are answered. SPLITS is best or random, SAMPLE bootstrap or every.

#![allow(clippy::print_stdout, reason = "this is a program")]

use std::ops::ControlFlow;

use mpu_data::Seed;
use mpu_models::forest::{Bins, Forest, ForestSpec, Layout, Targets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, columns, classes, train, trees, splits, sample, seed] = args.as_slice() else {
        return Err("usage: forest TABLE COLUMNS CLASSES TRAIN TREES SPLITS SAMPLE SEED".into());
    };
    let (columns, n_classes): (usize, usize) = (columns.parse()?, classes.parse()?);
    let n_train: usize = train.parse()?;
    let bytes = std::fs::read(table)?;
    let numbers = bytes.as_chunks::<4>().0.iter();
    let numbers: Vec<f32> = numbers.map(|four| f32::from_le_bytes(*four)).collect();
    let (mut features, mut answers) = (Vec::new(), Vec::new());
    for row in numbers.chunks_exact(columns + 1) {
        features.extend(&row[..columns]);
        answers.push(row[columns] as usize);
    }
    let n_train = n_train.min(answers.len());
    let (seen, unseen) = features.split_at(n_train * columns);
    let spec = ForestSpec {
        trees: trees.parse()?,
        splits: splits.parse()?,
        sample: sample.parse()?,
        rows_per_tree: usize::MAX,
        ..ForestSpec::default()
    };
    let seed = Seed(seed.parse()?);

    // One thread: CPU seconds are what is compared.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let start = cpu_seconds()?;
    let forest = pool.install(|| {
        let bins = Bins::learn(Layout::numeric(columns)?, seen)?;
        let rows = bins.encode(seen)?;
        let targets = Targets::hard(&answers[..n_train], n_classes)?;
        let go_on = || ControlFlow::Continue(());
        Forest::fit(spec, bins, &rows, &targets, seed, &go_on)
    })?;
    let forest = forest.ok_or("it was stopped")?;
    println!("seconds {:.4}", cpu_seconds()? - start);
    println!("nodes {}", forest.n_nodes());

    let start = cpu_seconds()?;
    let shares = forest.probabilities(unseen)?;
    println!("predict-seconds {:.4}", cpu_seconds()? - start);
    let answer = |shares: &[f32]| (0..n_classes).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    let rows = shares.chunks_exact(n_classes).zip(&answers[n_train..]);
    let right = rows.filter(|&(shares, &class)| answer(shares) == Some(class));
    let accuracy = right.count() as f64 / (answers.len() - n_train) as f64;
    println!("accuracy {accuracy:.5}");
    Ok(())
}

/// User and system time of this process, in seconds.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    // In nanoseconds, of this thread's group leader and of the worker: both are tasks of this process.
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().ok_or("no schedstat")?;
        total += first.parse::<f64>()? / 1e9;
    }
    Ok(total)
}
