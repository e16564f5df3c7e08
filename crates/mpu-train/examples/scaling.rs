//! Trains on made-up rows and tells how long each epoch took, for `cargo xtask bench train`.
//!
//! ```text
//! cargo run --release -p mpu-train --example scaling -- ROWS FEATURES EPOCHS
//! ```
//!
//! Prints `epoch SECONDS RESIDENT_MB` after every epoch; the memory only where the system tells it.

#![allow(clippy::print_stdout, reason = "an example that reports to the reader")]

use std::convert::Infallible;
use std::time::Instant;

use mpu_data::{Features, MpuLabel, Priors, Seed, Shape};
use mpu_models::ModelSpec;
use mpu_train::{Control, Event, Observer, Problem, Run, Sample, TrainSettings};

/// Prints a line for each epoch.
struct Clock(Instant);

impl Observer for Clock {
    type Error = Infallible;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Infallible> {
        if let Event::Epoch(_) = event {
            println!(
                "epoch {} {}",
                self.0.elapsed().as_secs_f64(),
                resident_mb().unwrap_or(f64::NAN)
            );
            self.0 = Instant::now();
        }
        Ok(Control::Continue)
    }
}

fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = std::env::args().skip(1).map(|word| word.parse());
    let numbers: Vec<usize> = numbers.collect::<Result<_, _>>()?;
    let [n_rows, n_features, epochs] = numbers[..] else {
        return Err("usage: scaling ROWS FEATURES EPOCHS".into());
    };
    // Four classes in as many directions; the first three are observed in half of their rows.
    let value = |i: usize| {
        let (row, column) = (i / n_features, i % n_features);
        let noise = (i as f64 * 0.618_033_988_749_894_9).fract() as f32 * 2.0 - 1.0;
        noise + if column % 4 == row % 4 { 0.3 } else { 0.0 }
    };
    let values: Vec<f32> = (0..n_rows * n_features).map(value).collect();
    let label = |row: usize| match (row % 4, row / 4 % 2) {
        (class @ 0..3, 0) => MpuLabel::Labeled(class),
        _ => MpuLabel::Unlabeled,
    };
    let train = Sample {
        features: Features::new(values, Shape::Vector(n_features))?,
        labels: (0..n_rows).map(label).collect(),
    };
    let priors = Priors::from_observed(&[0.2; 3])?;
    let model = ModelSpec::mlp5(n_features, 4);
    let run = Run {
        settings: TrainSettings {
            epochs,
            checkpoint_every: 0,
            ..TrainSettings::default()
        },
        seed: Seed(1),
        ..Run::new(model, "csmpu-abs".parse()?, priors.clone())
    };
    let problem = Problem::new(priors.classes(), train)?;
    run.train(&problem, None, &mut Clock(Instant::now()))?;
    Ok(())
}
