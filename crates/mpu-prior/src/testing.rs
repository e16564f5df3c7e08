//! Margins of mixtures with known priors, for tests.

use mpu_data::{Seed, Stream};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use crate::margins::{Margins, Rows};
use crate::{BootstrapOptions, EstimateOptions};

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b) = (uniform(rng), uniform(rng));
    (-2.0 * libm::log(a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
}

/// Unit Gaussians on a line, one per class, the last negative; margins are true log odds, three folds in turn.
pub(crate) fn gaussian(
    means: &[f64],
    priors: &[f64],
    n_labeled: usize,
    n_pool: usize,
    seed: Seed,
) -> Margins {
    gaussian_counts(means, priors, &vec![n_labeled; priors.len()], n_pool, seed)
}

/// The same with as many labelled rows for each class as given.
pub(crate) fn gaussian_counts(
    means: &[f64],
    priors: &[f64],
    n_labeled: &[usize],
    n_pool: usize,
    seed: Seed,
) -> Margins {
    let mut rng = seed.stream(Stream::Generate);
    let n = priors.len();
    let negative = 1.0 - priors.iter().sum::<f64>();
    let all: Vec<f64> = priors.iter().copied().chain([negative]).collect();
    let density = |x: f64, class: usize| libm::exp(-0.5 * (x - means[class]) * (x - means[class]));
    let margins = |x: f64| -> Vec<f64> {
        let pool: f64 = (0..=n).map(|class| all[class] * density(x, class)).sum();
        (0..n)
            .map(|class| {
                let odds = n_labeled[class] as f64 / n_pool as f64;
                libm::log(odds) + libm::log(density(x, class).max(1e-300))
                    - libm::log(pool.max(1e-300))
            })
            .collect()
    };
    let mut rows = |classes: Vec<usize>| Rows {
        folds: (0..classes.len() as u32).map(|row| row % 3).collect(),
        values: classes
            .iter()
            .flat_map(|&class| margins(means[class] + normal(&mut rng)))
            .collect(),
    };
    let labeled = (0..n)
        .map(|class| rows(vec![class; n_labeled[class]]))
        .collect();
    let mut pool = Vec::new();
    for (class, prior) in all.iter().enumerate().take(n) {
        pool.extend(vec![class; (prior * n_pool as f64).round() as usize]);
    }
    pool.resize(n_pool, n);
    Margins::new(labeled, rows(pool)).unwrap()
}

/// How estimates are made, with so many replicates.
pub(crate) fn options(replicates: usize) -> EstimateOptions {
    let bootstrap = BootstrapOptions {
        replicates,
        ..BootstrapOptions::default()
    };
    EstimateOptions {
        bootstrap,
        ..EstimateOptions::default()
    }
}

/// Classes 12 standard deviations apart.
pub(crate) fn separable(priors: &[f64], n_labeled: usize, n_pool: usize, seed: Seed) -> Margins {
    let means: Vec<f64> = (0..=priors.len())
        .map(|class| 12.0 * class as f64)
        .collect();
    gaussian(&means, priors, n_labeled, n_pool, seed)
}
