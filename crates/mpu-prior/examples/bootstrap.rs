//! Bootstraps the moments of margins and prints CPU seconds, for comparison with other programs:
//!
//! ```text
//! cargo run --release -p mpu-prior --example bootstrap -- MARGINS CLASSES REPLICATES
//! ```
//!
//! MARGINS holds numbers of 64 bits, little-endian: for each row its group (0, 1, … for labelled classes, CLASSES
//! for the pool), then a margin per class.

#![allow(clippy::print_stdout, reason = "this is a program")]

use mpu_data::Seed;
use mpu_prior::{BootstrapOptions, Counts, EstimatorKind, Margins, Rows, bootstrap};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: bootstrap MARGINS CLASSES REPLICATES";
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or(usage)?;
    let classes: usize = args.next().ok_or(usage)?.parse()?;
    let replicates: usize = args.next().ok_or(usage)?.parse()?;
    let margins = read(&std::fs::read(path)?, classes)?;
    // One thread: CPU seconds are what is compared.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let start = cpu_seconds()?;
    let prepared = EstimatorKind::Moments.build().prepare(&margins)?;
    let point = prepared.point(&Counts::once(&margins))?;
    let options = BootstrapOptions {
        replicates,
        ..BootstrapOptions::default()
    };
    let drawn = pool.install(|| bootstrap(prepared.as_ref(), &margins, &options, Seed(1)))?;
    println!("seconds {:.4}", cpu_seconds()? - start);
    println!("estimate {:.6}", point[0]);
    let mean = drawn.priors.iter().map(|priors| priors[0]).sum::<f64>() / replicates as f64;
    println!("mean {mean:.6}");
    let square = |priors: &Vec<f64>| (priors[0] - mean) * (priors[0] - mean);
    let variance = drawn.priors.iter().map(square).sum::<f64>() / replicates as f64;
    println!("deviation {:.6}", variance.sqrt());
    Ok(())
}

fn read(bytes: &[u8], classes: usize) -> Result<Margins, Box<dyn std::error::Error>> {
    let numbers: Vec<f64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|chunk| f64::from_le_bytes(*chunk))
        .collect();
    let mut groups = vec![Rows::default(); classes + 1];
    for row in numbers.chunks_exact(classes + 1) {
        let group = groups
            .get_mut(row[0] as usize)
            .ok_or("a group beyond the pool")?;
        group.values.extend(&row[1..]);
        group.folds.push(group.folds.len() as u32 % 3);
    }
    let pool = groups.pop().ok_or("no pool")?;
    Ok(Margins::new(groups, pool)?)
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
