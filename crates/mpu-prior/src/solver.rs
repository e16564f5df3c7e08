//! The matching problem of step 2: least squares with a linear penalty on the feasible set of priors.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_not_negative};
use crate::linear::{self, Matrix};
use crate::simplex::FeasibleSet;
use crate::system::System;

/// How a step comes back into the feasible set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Projection {
    /// The nearest point, exact.
    #[default]
    Exact,
    /// "Clip, then renormalise", as printed; the result can violate the lower bounds, and the iteration need not
    /// reach the minimum.
    Printed,
}

mpu_data::defaults! {
    /// When the solver stops.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct SolverOptions {
        /// How steps are projected.
        pub projection: Projection = Projection::Exact,
        /// The largest optimality residual `‖π - P(π - ∇/L)‖_∞` that counts as solved.
        pub tolerance: f64 = 1e-12,
        /// The most steps.
        pub max_iterations: usize = 20_000,
    }
}

/// Why the solver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The optimality residual is below its tolerance.
    Converged,
    /// The steps were used up.
    IterationLimit,
}

/// Where the solver stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The priors of the observed classes.
    pub priors: Vec<f64>,
    /// `‖Aπ - b‖² + λ‖π - π̲‖₁`.
    pub value: f64,
    /// `‖Aπ - b‖`.
    pub residual: f64,
    /// The optimality (KKT) residual `‖π - P(π - ∇/L)‖_∞`.
    pub kkt: f64,
    /// Steps made.
    pub iterations: usize,
    /// Why it stopped.
    pub stop: Stop,
}

/// The minimum of equation 3 over the feasible set.
///
/// ```text
/// argmin_{π ≥ π̲, Σπ ≤ 1}  ‖Aπ - b‖² + λ‖π - π̲‖₁
/// ```
///
/// On that set `‖π - π̲‖₁ = Σ (π_i - π̲_i)` is linear, so this is a small convex quadratic problem. Accelerated
/// projected gradient steps of size `1/L`, `L = 2 λ_max(AᵀA)`, restarted when they turn back; every few steps the
/// problem is solved exactly on the constraints that bind at the moment, and that point is taken if it is better.
#[doc(alias = "eq:moment-matching")]
pub fn solve(
    system: &System,
    set: &FeasibleSet,
    lambda: f64,
    options: &SolverOptions,
) -> Result<Solution> {
    check_not_negative("lambda", lambda)?;
    let n = system.n_classes();
    if set.lower().len() != n {
        return Err(Error::Point {
            found: set.lower().len(),
            needed: n,
        });
    }
    let (gram, side) = system.normal();
    let quadratic = Quadratic {
        step: 1.0 / (2.0 * linear::eigenvalues(&gram)[n - 1]),
        gram,
        side,
        lambda,
        set,
        projection: options.projection,
    };
    let mut at = quadratic.project(set.lower())?;
    let (mut ahead, mut pace) = (at.clone(), 1.0_f64);
    let mut kkt = quadratic.kkt(&at)?;
    let mut iterations = 0;
    while kkt > options.tolerance && iterations < options.max_iterations {
        iterations += 1;
        let next = quadratic.step_from(&ahead)?;
        (ahead, pace) = linear::accelerated(&at, &ahead, &next, pace);
        at = next;
        kkt = quadratic.kkt(&at)?;
        if iterations % 10 == 0
            && let Some((better, residual)) = quadratic.polished(&at)?
            && residual < kkt
        {
            (ahead, at, pace, kkt) = (better.clone(), better, 1.0, residual);
        }
    }
    let squared = system.squared_residual(&at);
    let excess: f64 = at.iter().zip(set.lower()).map(|(p, l)| (p - l).abs()).sum();
    Ok(Solution {
        value: squared + lambda * excess,
        residual: squared.sqrt(),
        kkt,
        iterations,
        stop: if kkt <= options.tolerance {
            Stop::Converged
        } else {
            Stop::IterationLimit
        },
        priors: at,
    })
}

/// The problem in the form in which steps are made.
struct Quadratic<'a> {
    gram: Matrix,
    side: Vec<f64>,
    lambda: f64,
    step: f64,
    set: &'a FeasibleSet,
    projection: Projection,
}

impl Quadratic<'_> {
    fn project(&self, point: &[f64]) -> Result<Vec<f64>> {
        match self.projection {
            Projection::Exact => self.set.project(point),
            Projection::Printed => self.set.printed_rule(point),
        }
    }

    fn step_from(&self, point: &[f64]) -> Result<Vec<f64>> {
        let moved = (0..point.len()).map(|i| {
            let fit: f64 = self.gram[i].iter().zip(point).map(|(g, p)| g * p).sum();
            point[i] - self.step * (2.0 * (fit - self.side[i]) + self.lambda)
        });
        self.project(&moved.collect::<Vec<f64>>())
    }

    fn kkt(&self, point: &[f64]) -> Result<f64> {
        let next = self.step_from(point)?;
        let moves = next.iter().zip(point).map(|(a, b)| (a - b).abs());
        Ok(moves.fold(0.0, f64::max))
    }

    /// The minimum on the constraints that bind at a point, with its optimality residual, if there is one.
    fn polished(&self, point: &[f64]) -> Result<Option<(Vec<f64>, f64)>> {
        let lower = self.set.lower();
        let free: Vec<usize> = (0..point.len())
            .filter(|&i| point[i] > lower[i] + 1e-9)
            .collect();
        let full = point.iter().sum::<f64>() > 1.0 - 1e-9;
        if free.is_empty() {
            return Ok(None);
        }
        let n = free.len() + usize::from(full);
        let (mut matrix, mut target) = (vec![vec![0.0; n]; n], vec![0.0; n]);
        let bound: Vec<usize> = (0..point.len()).filter(|i| !free.contains(i)).collect();
        for (row, &i) in free.iter().enumerate() {
            let fixed: f64 = bound.iter().map(|&j| self.gram[i][j] * lower[j]).sum();
            target[row] = self.side[i] - 0.5 * self.lambda - fixed;
            for (column, &j) in free.iter().enumerate() {
                matrix[row][column] = self.gram[i][j];
            }
            if full {
                matrix[row][n - 1] = 1.0;
                matrix[n - 1][row] = 1.0;
            }
        }
        if full {
            target[n - 1] = 1.0 - bound.iter().map(|&j| lower[j]).sum::<f64>();
        }
        let Some(found) = linear::solve(&matrix, &target) else {
            return Ok(None);
        };
        let mut candidate = lower.to_vec();
        for (&i, value) in free.iter().zip(&found) {
            candidate[i] = *value;
        }
        if !self.set.contains(&candidate, 1e-12) {
            return Ok(None);
        }
        let candidate = self.set.project(&candidate)?;
        let kkt = self.kkt(&candidate)?;
        Ok(Some((candidate, kkt)))
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::{Seed, Stream};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::Rng;

    use super::*;

    fn uniform(rng: &mut ChaCha8Rng) -> f64 {
        (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn value(system: &System, lower: &[f64], lambda: f64, priors: &[f64]) -> f64 {
        let excess: f64 = priors.iter().zip(lower).map(|(p, l)| (p - l).abs()).sum();
        system.squared_residual(priors) + lambda * excess
    }

    /// The least value over every choice of binding constraints, each solved exactly; infeasible ones are left out.
    fn by_enumeration(system: &System, set: &FeasibleSet, lambda: f64) -> (Vec<f64>, f64) {
        let (lower, n) = (set.lower(), set.lower().len());
        let (gram, side) = system.normal();
        let mut best = (lower.to_vec(), value(system, lower, lambda, lower));
        for choice in 0..(1_usize << (n + 1)) {
            let free: Vec<usize> = (0..n).filter(|i| choice >> i & 1 == 1).collect();
            let full = choice >> n & 1;
            let size = n + full;
            // Bound entries have the equation π_i = π̲_i; the sum has a multiplier.
            let (mut m, mut y) = (vec![vec![0.0; size]; size], vec![0.0; size]);
            for i in 0..n {
                if free.contains(&i) {
                    m[i][..n].copy_from_slice(&gram[i]);
                    y[i] = side[i] - 0.5 * lambda;
                    if full == 1 {
                        m[i][n] = 1.0;
                    }
                } else {
                    m[i][i] = 1.0;
                    y[i] = lower[i];
                }
            }
            if full == 1 {
                m[n][..n].fill(1.0);
                y[n] = 1.0;
            }
            let Some(found) = linear::solve(&m, &y) else {
                continue;
            };
            let point = &found[..n];
            let inside = set.contains(point, 1e-12);
            let here = value(system, lower, lambda, point);
            if inside && here < best.1 {
                best = (point.to_vec(), here);
            }
        }
        best
    }

    #[test]
    fn solutions_are_those_of_exhaustive_search() {
        let mut rng = Seed(1).stream(Stream::Generate);
        let mut bound = 0;
        for problem in 0..1000 {
            let n = 1 + problem % 4;
            let rows = n + problem % 7;
            let matrix: Vec<f64> = (0..rows * n).map(|_| uniform(&mut rng)).collect();
            let target: Vec<f64> = (0..rows).map(|_| 1.5 * uniform(&mut rng) - 0.2).collect();
            let room = uniform(&mut rng);
            let lower: Vec<f64> = (0..n)
                .map(|_| room * uniform(&mut rng) / n as f64)
                .collect();
            let lambda = if problem % 2 == 0 {
                0.0
            } else {
                0.3 * uniform(&mut rng)
            };
            let system = System::new(n, matrix, target).unwrap();
            let set = FeasibleSet::new(lower).unwrap();
            let found = solve(&system, &set, lambda, &SolverOptions::default()).unwrap();
            let (best, least) = by_enumeration(&system, &set, lambda);
            assert_eq!(found.stop, Stop::Converged, "problem {problem}: {found:?}");
            assert!((found.value - least).abs() < 1e-9, "problem {problem}");
            let mut pairs = found.priors.iter().zip(&best);
            let close = pairs.all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(close, "problem {problem}: {found:?} {best:?}");
            bound += usize::from(found.priors.iter().sum::<f64>() > 1.0 - 1e-9);
        }
        let often = (100..900).contains(&bound);
        assert!(often, "the sum binds in {bound} of 1000");
    }

    #[test]
    fn a_penalty_by_hand() {
        // (π - 0.5)² + λ(π - 0.1): π = 0.5 - λ/2, not below 0.1.
        let system = System::new(1, vec![1.0], vec![0.5]).unwrap();
        let set = FeasibleSet::new(vec![0.1]).unwrap();
        for (lambda, want) in [(0.0, 0.5), (0.2, 0.4), (2.0, 0.1)] {
            let found = solve(&system, &set, lambda, &SolverOptions::default()).unwrap();
            assert!((found.priors[0] - want).abs() < 1e-12, "{found:?}");
            let value = (want - 0.5) * (want - 0.5) + lambda * (want - 0.1);
            assert!((found.value - value).abs() < 1e-12);
        }
    }

    #[test]
    fn the_printed_rule_is_an_option_and_can_break_the_bounds() {
        let system = System::new(2, vec![1.0, 0.0, 0.0, 1.0], vec![0.0, 2.0]).unwrap();
        let set = FeasibleSet::new(vec![0.5, 0.0]).unwrap();
        let with = |projection| {
            let options = SolverOptions {
                projection,
                max_iterations: 500,
                ..SolverOptions::default()
            };
            solve(&system, &set, 0.0, &options).unwrap()
        };
        let exact = with(Projection::Exact);
        assert!((exact.priors[0] - 0.5).abs() < 1e-9 && (exact.priors[1] - 0.5).abs() < 1e-9);
        assert!(!set.contains(&with(Projection::Printed).priors, 1e-6));
    }

    #[test]
    fn one_of_many_minima_is_found() {
        let same = System::new(2, vec![0.5, 0.5, 0.2, 0.2], vec![0.3, 0.1]).unwrap();
        let set = FeasibleSet::new(vec![0.0, 0.0]).unwrap();
        let found = solve(&same, &set, 0.0, &SolverOptions::default()).unwrap();
        let converged = found.stop == Stop::Converged;
        assert!(converged, "many minima: one of them is found");
        assert!(solve(&same, &set, -1.0, &SolverOptions::default()).is_err());
        let narrow = FeasibleSet::new(vec![0.0]).unwrap();
        assert!(solve(&same, &narrow, 0.0, &SolverOptions::default()).is_err());
    }
}
