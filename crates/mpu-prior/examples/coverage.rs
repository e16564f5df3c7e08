//! How often 95 % intervals of class priors hold the truth, on Gaussian mixtures with known priors:
//!
//! ```text
//! cargo run --release -p mpu-prior --example coverage [-- ESTIMATOR [REPETITIONS]]
//! ```
//!
//! Classes are unit Gaussians on the axes of a space of `k` dimensions, a distance apart; margins are the true log
//! odds. 500 labelled rows a class, a pool of 4000. Prints a Markdown table. Minutes for `moments`.

#![allow(clippy::print_stdout, reason = "this is a program")]

use mpu_data::{Seed, Stream};
use mpu_prior::{BootstrapOptions, EstimateOptions, EstimatorKind, Margins, Rows, estimate};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

const N_LABELED: usize = 500;
const N_POOL: usize = 4000;
const REPLICATES: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let kind: EstimatorKind = args
        .next()
        .map_or(Ok(EstimatorKind::default()), |slug| slug.parse())?;
    let repetitions: u64 = args.next().map_or(Ok(200), |n| n.parse())?;
    println!(
        "Estimator `{kind}`, {repetitions} repetitions, {REPLICATES} replicates, intervals at 95 %.\n"
    );
    println!(
        "| distance | k | priors of observed classes | mean error | bias | interval holds | its width | upper bound holds | printed lower bound holds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mixtures: [&[f64]; 8] = [
        &[0.05],
        &[0.3],
        &[0.8],
        &[0.1, 0.3],
        &[0.05, 0.15, 0.3],
        &[0.2, 0.2, 0.2, 0.2],
        &[0.05, 0.1, 0.1, 0.1, 0.15],
        &[0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.15],
    ];
    for distance in [8.0, 3.0, 1.0] {
        for priors in mixtures {
            let mut tally = Tally::default();
            for repetition in 0..repetitions {
                let seed = Seed(repetition);
                let margins = draw(distance, priors, seed)?;
                let options = EstimateOptions {
                    bootstrap: BootstrapOptions {
                        replicates: REPLICATES,
                        ..BootstrapOptions::default()
                    },
                    ..EstimateOptions::default()
                };
                let report = estimate(&margins, kind.build().as_ref(), &options, seed)?;
                for (class, &truth) in report.classes.iter().zip(priors) {
                    let error = class.estimate - truth;
                    let inside = class.interval.low <= truth && truth <= class.interval.high;
                    tally.n += 1.0;
                    tally.error += error.abs();
                    tally.bias += error;
                    tally.inside += f64::from(u8::from(inside));
                    tally.width += class.interval.high - class.interval.low;
                    tally.below += f64::from(u8::from(truth <= class.upper));
                    let lower = class.lower_if_acceptance_below_alpha;
                    tally.above += f64::from(u8::from(truth >= lower));
                }
            }
            let of = |sum: f64| sum / tally.n;
            let shares: Vec<String> = priors.iter().map(ToString::to_string).collect();
            println!(
                "| {distance} | {} | {} | {:.4} | {:+.4} | {:.0} % | {:.3} | {:.0} % | {:.0} % |",
                priors.len() + 1,
                shares.join(", "),
                of(tally.error),
                of(tally.bias),
                100.0 * of(tally.inside),
                of(tally.width),
                100.0 * of(tally.below),
                100.0 * of(tally.above),
            );
        }
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    n: f64,
    error: f64,
    bias: f64,
    inside: f64,
    width: f64,
    below: f64,
    above: f64,
}

/// Margins of one draw of the mixture; class `i` has its mean on axis `i`, so that all are equally far apart.
fn draw(distance: f64, priors: &[f64], seed: Seed) -> mpu_prior::Result<Margins> {
    let mut rng = seed.stream(Stream::Generate);
    let (n, k) = (priors.len(), priors.len() + 1);
    let radius = distance / 2.0_f64.sqrt();
    let negative = 1.0 - priors.iter().sum::<f64>();
    let all: Vec<f64> = priors.iter().copied().chain([negative]).collect();
    let row = |class: usize, rng: &mut ChaCha8Rng| {
        let mut x: Vec<f64> = (0..k).map(|_| normal(rng)).collect();
        x[class] += radius;
        // log p_i(x), up to what all classes share.
        let logs: Vec<f64> = x.iter().map(|x| radius * x).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts = logs
            .iter()
            .zip(&all)
            .map(|(log, prior)| prior * (log - most).exp());
        let pool = most + parts.sum::<f64>().ln();
        let odds = (N_LABELED as f64 / N_POOL as f64).ln();
        (0..n).map(|i| odds + logs[i] - pool).collect::<Vec<f64>>()
    };
    let folds = |rows: usize| (0..rows as u32).map(|row| row % 3).collect();
    let mut labeled = Vec::with_capacity(n);
    for class in 0..n {
        labeled.push(Rows {
            values: (0..N_LABELED).flat_map(|_| row(class, &mut rng)).collect(),
            folds: folds(N_LABELED),
        });
    }
    let mut values = Vec::with_capacity(N_POOL * n);
    for _ in 0..N_POOL {
        let mut left = uniform(&mut rng);
        let class = priors.iter().position(|prior| {
            left -= prior;
            left < 0.0
        });
        values.extend(row(class.unwrap_or(n), &mut rng));
    }
    let pool = Rows {
        values,
        folds: folds(N_POOL),
    };
    Margins::new(labeled, pool)
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b) = (uniform(rng), uniform(rng));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
