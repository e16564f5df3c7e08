//! Kernel mean embedding, the variant KM2 (Ramaswamy, Scott, Tewari, "Mixture proportion estimation via kernel
//! embedding of distributions", ICML 2016).

use mpu_data::bad_setting;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator, one_by_one};
use crate::linear::accelerated;
use crate::margins::{Counts, Group, Margins};
use crate::simplex;

mpu_data::defaults! {
    /// The estimator `km2`, on vectors of margins.
    ///
    /// Its cost grows with the square of the rows, so it uses at most [`n_rows`](Self::n_rows) of the class and as many
    /// of the pool, evenly spaced in the order given, and few bootstrap replicates. With `k` observed classes, more than
    /// ten, it uses `√(10/k)` times as many rows, 20 at least: all classes together then take as long as ten do.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct KernelMean {
        /// Rows of the class, and of the pool, that are used.
        pub n_rows: usize = 200,
        /// How finely `λ = 1/(1-π)` is searched, up to [`most_lambda`](Self::most_lambda).
        pub epsilon: f64 = 0.04,
        /// The largest `λ`.
        pub most_lambda: f64 = 8.0,
        /// Steps of each quadratic problem.
        pub iterations: usize = 200,
        /// The most bootstrap replicates.
        pub most_replicates: usize = 20,
    }
}

impl KernelMean {
    /// The rows that are used where there are so many observed classes.
    fn rows_of(&self, n_classes: usize) -> usize {
        let share = (10.0 / n_classes as f64).min(1.0).sqrt();
        ((self.n_rows as f64 * share) as usize).max(self.n_rows.min(20))
    }
}

impl PriorEstimator for KernelMean {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::Km2
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        if self.n_rows < 2 {
            return Err(bad_setting("n-rows", self.n_rows, "at least 2"));
        }
        if !(self.epsilon > 0.0
            && self.most_lambda > 1.0 + self.epsilon
            && self.most_lambda.is_finite())
        {
            let allowed = "larger than 1 + epsilon, and epsilon positive";
            return Err(bad_setting("most-lambda", self.most_lambda, allowed));
        }
        Ok(one_by_one(margins, |class| {
            let embedding = Embedding::new(self, margins, class);
            move |counts: &Counts| embedding.point(counts)
        }))
    }

    fn most_replicates(&self) -> usize {
        self.most_replicates
    }
}

/// The kernel between the chosen rows of the pool and of a class.
struct Embedding {
    settings: KernelMean,
    /// The chosen rows: of the pool, then of the class.
    pool: Vec<usize>,
    class: Vec<usize>,
    pool_index: usize,
    class_index: usize,
    /// Row-major, pool first.
    kernel: Vec<f64>,
    /// An upper bound of its largest eigenvalue.
    largest: f64,
}

impl Embedding {
    fn new(settings: &KernelMean, margins: &Margins, class: usize) -> Self {
        let width = margins.n_observed();
        let n_rows = settings.rows_of(width);
        let pool = evenly(margins.n_rows(Group::Pool), n_rows);
        let chosen = evenly(margins.n_rows(Group::Class(class)), n_rows);
        let of = |group: Group, row: usize| &margins.rows(group).values[row * width..][..width];
        let of_pool = pool.iter().map(|&row| of(Group::Pool, row));
        let of_class = chosen.iter().map(|&row| of(Group::Class(class), row));
        let points: Vec<&[f64]> = of_pool.chain(of_class).collect();
        let n = points.len();
        let mut squares = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let pairs = points[i].iter().zip(points[j]);
                squares[i * n + j] = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
            }
        }
        let mut sorted = squares.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2].max(1e-12);
        // As the authors do: of several widths around the median distance, the one that sets the two samples
        // furthest apart.
        let difference = mixture(n, pool.len(), -1.0);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for factor in [0.01, 0.1, 1.0, 10.0, 100.0] {
            let weight = |square: &f64| libm::exp(-square / (2.0 * factor * median));
            let kernel: Vec<f64> = squares.iter().map(weight).collect();
            let apart = quadratic(&kernel, &difference);
            if best.as_ref().is_none_or(|(most, _)| apart > *most) {
                best = Some((apart, kernel));
            }
        }
        let kernel = best.map(|(_, kernel)| kernel).unwrap_or_default();
        let sums = kernel.chunks_exact(n).map(|row| row.iter().sum::<f64>());
        Self {
            settings: *settings,
            largest: sums.fold(0.0, f64::max),
            pool_index: margins.index(Group::Pool),
            class_index: class,
            pool,
            class: chosen,
            kernel,
        }
    }

    /// `κ = 1 - 1/λ*`: how much of the class can be taken out of the pool before what is left is no distribution.
    ///
    /// ```text
    /// d(λ) = min_{v ∈ simplex} ‖λ μ_U + (1-λ) μ_j - Σ v_i φ(x_i)‖
    /// λ*   = where the slope of d exceeds 0.8 d'(1) + 0.2 ‖μ_U - μ_j‖
    /// ```
    ///
    /// `μ` are the mean embeddings of pool and class; the last term is the slope for large `λ`.
    #[doc(alias = "eq:kernel-mean")]
    fn point(&self, counts: &Counts) -> f64 {
        let share = |rows: &[usize], counts: &[u16]| {
            let total: f64 = rows.iter().map(|&row| f64::from(counts[row])).sum();
            let each = |&row: &usize| f64::from(counts[row]) / total.max(1.0);
            rows.iter().map(each).collect::<Vec<f64>>()
        };
        let pool = share(&self.pool, counts.at(self.pool_index));
        let class = share(&self.class, counts.at(self.class_index));
        if pool.iter().sum::<f64>() == 0.0 || class.iter().sum::<f64>() == 0.0 {
            return 0.0;
        }
        let at = |lambda: f64| -> Vec<f64> {
            let pool = pool.iter().map(|share| lambda * share);
            pool.chain(class.iter().map(|share| (1.0 - lambda) * share))
                .collect()
        };
        let minus = class.iter().map(|share| -share);
        let difference: Vec<f64> = pool.iter().copied().chain(minus).collect();
        let apart = quadratic(&self.kernel, &difference).max(0.0).sqrt();
        let mut start = at(1.0);
        let mut slope = |lambda: f64, step: f64| {
            let (near, v) = self.distance(&at(lambda), &start);
            let (far, v) = self.distance(&at(lambda + step), &v);
            start = v;
            (far - near) / step
        };
        let limit = 0.8 * slope(1.0, 0.05) + 0.2 * apart;
        let (mut low, mut high) = (1.0, self.settings.most_lambda);
        while high - low > self.settings.epsilon {
            let middle = f64::midpoint(low, high);
            if slope(middle, 0.5 * self.settings.epsilon) > limit {
                high = middle;
            } else {
                low = middle;
            }
        }
        1.0 - 1.0 / f64::midpoint(low, high)
    }

    /// The distance of a signed measure to the nearest distribution on the same points, and that distribution.
    fn distance(&self, target: &[f64], start: &[f64]) -> (f64, Vec<f64>) {
        let n = target.len();
        let mut at = simplex(start);
        let (mut ahead, mut pace) = (at.clone(), 1.0_f64);
        for _ in 0..self.settings.iterations {
            let gap: Vec<f64> = ahead.iter().zip(target).map(|(v, u)| v - u).collect();
            let moved: Vec<f64> = (0..n)
                .map(|i| ahead[i] - dot(&self.kernel[i * n..][..n], &gap) / self.largest)
                .collect();
            let next = simplex(&moved);
            (ahead, pace) = accelerated(&at, &ahead, &next, pace);
            at = next;
        }
        let gap: Vec<f64> = at.iter().zip(target).map(|(v, u)| v - u).collect();
        (quadratic(&self.kernel, &gap).max(0.0).sqrt(), at)
    }
}

/// `n` of `all` rows, evenly spaced; all of them if there are no more.
fn evenly(all: usize, n: usize) -> Vec<usize> {
    let n = n.min(all);
    (0..n).map(|i| i * all / n).collect()
}

/// Equal weights: 1 in sum on the first `n_pool` of `n` points, `rest` in sum on the others.
fn mixture(n: usize, n_pool: usize, rest: f64) -> Vec<f64> {
    let weight = |i| {
        if i < n_pool {
            1.0 / n_pool as f64
        } else {
            rest / (n - n_pool) as f64
        }
    };
    (0..n).map(weight).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn quadratic(kernel: &[f64], v: &[f64]) -> f64 {
    let rows = kernel.chunks_exact(v.len()).zip(v);
    rows.map(|(row, weight)| weight * dot(row, v)).sum()
}

/// The nearest point with entries that are not negative and sum to one.
fn simplex(point: &[f64]) -> Vec<f64> {
    let tau = simplex::threshold(point, 1.0);
    point.iter().map(|value| (value - tau).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margins::Rows;

    #[test]
    fn many_classes_take_fewer_rows() {
        let settings = KernelMean::default();
        let rows = [1, 10, 40, 80, 1000].map(|n| settings.rows_of(n));
        assert_eq!(rows, [200, 200, 100, 70, 20]);
    }

    #[test]
    fn the_simplex_by_hand() {
        assert_eq!(simplex(&[0.5, 0.5]), [0.5, 0.5]);
        assert_eq!(simplex(&[0.25, 0.25]), [0.5, 0.5]);
        assert_eq!(simplex(&[2.0, 0.5]), [1.0, 0.0]);
        assert_eq!(evenly(10, 3), [0, 3, 6]);
        assert_eq!(evenly(2, 3), [0, 1]);
    }

    #[test]
    fn two_far_points_have_a_known_kink() {
        // The class sits at one point, the rest of the pool at another: d(λ) = 0 up to λ* = 1/(1-π), then it grows
        // with slope ‖μ_U - μ_j‖.
        let n = 40;
        for n_class in [10, 20, 30] {
            let pool = (0..n).map(|i| if i < n_class { 5.0 } else { -5.0 });
            let pool = Rows::of_one_fold(pool.collect::<Vec<_>>());
            let margins = Margins::new(vec![Rows::of_one_fold(vec![5.0; n])], pool).unwrap();
            let found = KernelMean::default().estimate(&margins).unwrap()[0];
            let want = n_class as f64 / n as f64;
            assert!((found - want).abs() < 0.02, "{found} {want}");
        }
    }
}
