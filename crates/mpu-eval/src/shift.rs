//! Other priors than those fitted: probabilities moved to them, and their estimation from scored rows.
//!
//! What is assumed is that only the classes' frequencies change: each class looks as it did
//! (`p(x | y)` stays). New kinds of negatives break that.
//!
//! ```
//! use mpu_data::Priors;
//! use mpu_eval::shift::{Shift, estimate_priors, reweighted};
//!
//! let fitted = Priors::new(vec![0.5, 0.5])?;
//! let now = Priors::new(vec![0.1, 0.9])?;
//! let p = reweighted(&fitted, &now, &[0.5, 0.5])?;
//! assert!((p[0] - 0.1).abs() < 1e-12, "a row that says nothing has the priors");
//!
//! // Nine rows in ten look negative.
//! let rows: Vec<f64> = (0..10).flat_map(|i| if i == 0 { [0.99, 0.01] } else { [0.01, 0.99] }).collect();
//! let found = estimate_priors(&fitted, &rows)?;
//! assert!((found.priors.negative() - 0.9).abs() < 0.02);
//!
//! // The same in chunks, for rows that do not fit into memory.
//! let mut shift = Shift::new(fitted);
//! while shift.stop().is_none() {
//!     for chunk in rows.chunks(4) {
//!         shift.add(chunk)?;
//!     }
//!     shift.step()?;
//! }
//! assert_eq!(shift.estimate().iterations, found.iterations);
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::{Priors, mismatch};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::held_out::Block;

/// Steps after which [`Shift`] gives up.
pub const MAX_ITERATIONS: usize = 10_000;
/// The largest change of a prior in one step that counts as none.
pub const TOLERANCE: f64 = 1e-8;

/// Probabilities under priors `from`, moved to priors `to`.
///
/// ```text
/// p'(y | x) ∝ p(y | x) π'_y / π_y
/// ```
///
/// A class with `π_y = 0` keeps probability 0; it is an error if `to` has it. A row that is impossible
/// under `to` (all its probability is on classes with `π'_y = 0`) gets the priors `to` themselves.
#[doc(alias = "eq:prior-shift")]
pub fn reweighted(from: &Priors, to: &Priors, probabilities: &[f64]) -> Result<Vec<f64>> {
    Block::Probability.rows(from.classes(), probabilities)?;
    let ratios = ratios(from, to)?;
    let mut moved = probabilities.to_vec();
    for row in moved.chunks_mut(ratios.len()) {
        if reweigh(row, &ratios) <= 0.0 {
            row.copy_from_slice(to.as_slice());
        }
    }
    Ok(moved)
}

/// Why an estimate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// No prior changed by more than [`TOLERANCE`].
    Converged,
    /// [`MAX_ITERATIONS`] were made.
    Limit,
}

mpu_data::named!(Stop, "reason to stop", { Converged => "converged", Limit => "limit" });

/// Estimated priors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShiftEstimate {
    /// The priors found.
    pub priors: Priors,
    /// How many steps were made.
    pub iterations: usize,
    /// Why it ended; `None` if it has not.
    pub stop: Option<Stop>,
    /// The largest change of a prior in the last step.
    pub change: f64,
    /// How much more likely the rows were before the last step than under the fitted priors: the mean of
    /// `log Σ_y p(y | x) π'_y / π_y`. It never falls.
    pub gain: f64,
}

/// The expectation-maximisation of Saerens, Latinne and Decaestecker (2002), one pass over the rows a step.
///
/// Feed all rows with [`add`](Self::add), end the pass with [`step`](Self::step), and again until
/// [`stop`](Self::stop) says why it ended.
#[derive(Debug, Clone)]
pub struct Shift {
    from: Priors,
    found: ShiftEstimate,
    ratios: Vec<f64>,
    sums: Vec<f64>,
    gain: f64,
    rows: u64,
}

impl Shift {
    /// Starts at the priors under which the probabilities were fitted.
    pub fn new(from: Priors) -> Self {
        let ratio = |&pi: &f64| if pi > 0.0 { 1.0 } else { 0.0 };
        let ratios: Vec<f64> = from.as_slice().iter().map(ratio).collect();
        Self {
            found: ShiftEstimate {
                priors: from.clone(),
                iterations: 0,
                stop: None,
                change: 0.0,
                gain: 0.0,
            },
            sums: vec![0.0; ratios.len()],
            gain: 0.0,
            rows: 0,
            ratios,
            from,
        }
    }

    /// Adds rows of probabilities to the present pass.
    ///
    /// A row that is impossible under the present priors counts for nothing.
    pub fn add(&mut self, probabilities: &[f64]) -> Result<()> {
        Block::Probability.rows(self.from.classes(), probabilities)?;
        let k = self.ratios.len();
        let mut row = vec![0.0; k];
        for p in probabilities.chunks(k) {
            row.copy_from_slice(p);
            let sum = reweigh(&mut row, &self.ratios);
            if sum > 0.0 {
                for (sum, p) in self.sums.iter_mut().zip(&row) {
                    *sum += p;
                }
                self.gain += sum.ln();
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Ends a pass: the new priors are the mean probabilities under the present ones.
    ///
    /// ```text
    /// π'_y ← (1/n) Σ_x  p(y|x) π'_y/π_y / Σ_j p(j|x) π'_j/π_j
    /// ```
    #[doc(alias = "eq:prior-shift-em")]
    pub fn step(&mut self) -> Result<&ShiftEstimate> {
        if self.rows == 0 {
            return Err(Error::NoRows {
                what: "an estimate of priors",
                needed: "scored rows",
                hint: "hint: add rows before each step",
            });
        }
        let total: f64 = self.sums.iter().sum();
        let next = Priors::new(self.sums.iter().map(|sum| sum / total).collect())?;
        let pairs = self.found.priors.as_slice().iter().zip(next.as_slice());
        let changes = pairs.map(|(old, new)| (old - new).abs());
        let change = changes.fold(0.0, f64::max);
        self.ratios = ratios(&self.from, &next)?;
        self.found.priors = next;
        self.found.change = change;
        self.found.gain = self.gain / self.rows as f64;
        self.found.iterations += 1;
        self.found.stop = if change <= TOLERANCE {
            Some(Stop::Converged)
        } else if self.found.iterations >= MAX_ITERATIONS {
            Some(Stop::Limit)
        } else {
            None
        };
        self.sums.fill(0.0);
        self.gain = 0.0;
        self.rows = 0;
        Ok(&self.found)
    }

    /// Why it ended; `None` while it has not.
    pub fn stop(&self) -> Option<Stop> {
        self.found.stop
    }

    /// What has been found so far.
    pub fn estimate(&self) -> &ShiftEstimate {
        &self.found
    }
}

/// The priors of scored rows whose probabilities were fitted under `from`.
pub fn estimate_priors(from: &Priors, probabilities: &[f64]) -> Result<ShiftEstimate> {
    let mut shift = Shift::new(from.clone());
    while shift.stop().is_none() {
        shift.add(probabilities)?;
        shift.step()?;
    }
    Ok(shift.found)
}

/// Whether rows have other class shares than the rows of the population that a model was calibrated on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The shares to use: those found if they moved, else the population's.
    pub priors: Priors,
    /// Whether the shares moved by more than chance.
    pub moved: bool,
    /// How much more likely the rows are under their own shares than under those found the same way on rows of the
    /// population.
    pub statistic: f64,
    /// What the statistic must exceed: one in a thousand samples of an unchanged population does.
    pub limit: f64,
}

impl Moved {
    /// Compares the shares `found` on new rows with those found on rows of the `population`, both from probabilities
    /// under the population's shares.
    ///
    /// ```text
    /// S = 2 Σ_x log (Σ_y p(y|x) τ̂_y/τ_y) / (Σ_y p(y|x) τ̃_y/τ_y),   moved if S > (1 + n/ñ) χ²_{k-1, 0.999}
    /// ```
    ///
    /// `τ̂` are the shares found on the `n` new rows, `τ̃` those on the `ñ` known ones. Probabilities that are a little off
    /// move both alike, and few rows move `τ̂` by chance: neither is taken for other shares.
    #[doc(alias = "eq:shift-test")]
    pub fn new(population: &Priors, found: &Priors, rows: &[f64], known: &[f64]) -> Result<Self> {
        let expected = estimate_priors(population, known)?.priors;
        let statistic =
            log_likelihood(population, found, rows)? - log_likelihood(population, &expected, rows)?;
        let statistic = (2.0 * statistic).max(0.0);
        let more = 1.0 + rows.len() as f64 / known.len().max(1) as f64;
        let classes = population.as_slice().iter().filter(|&&pi| pi > 0.0).count();
        let limit = more * chi_squared_999(classes.saturating_sub(1).max(1) as f64);
        let moved = statistic > limit;
        Ok(Self {
            priors: if moved { found } else { population }.clone(),
            moved,
            statistic,
            limit,
        })
    }
}

/// The sum of `log Σ_y p(y|x) π'_y/π_y` over rows, which is held above the smallest number there is.
fn log_likelihood(from: &Priors, to: &Priors, probabilities: &[f64]) -> Result<f64> {
    Block::Probability.rows(from.classes(), probabilities)?;
    let ratios = ratios(from, to)?;
    let row = |p: &[f64]| -> f64 {
        let sum: f64 = p.iter().zip(&ratios).map(|(p, r)| p * r).sum();
        sum.max(f64::MIN_POSITIVE).ln()
    };
    Ok(probabilities.chunks(ratios.len()).map(row).sum())
}

/// The 99.9 % point of the chi-squared distribution (Wilson and Hilferty 1931).
fn chi_squared_999(degrees: f64) -> f64 {
    const Z: f64 = 3.090_232_306_167_813;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + Z * part.sqrt()).powi(3)
}

/// `π'_y / π_y`, 0 where both are.
fn ratios(from: &Priors, to: &Priors) -> Result<Vec<f64>> {
    if from.classes() != to.classes() {
        return Err(mismatch(
            "number of classes of the new priors",
            to.classes().get(),
            format!("the fitted ones have {}", from.classes().get()),
        ));
    }
    let ratio = |(class, (&from, &to)): (usize, (&f64, &f64))| match (from > 0.0, to > 0.0) {
        (true, _) => Ok(to / from),
        (false, true) => Err(Error::NewClass { class, value: to }),
        (false, false) => Ok(0.0),
    };
    let pairs = from.as_slice().iter().zip(to.as_slice());
    pairs.enumerate().map(ratio).collect()
}

/// Multiplies a row by ratios and makes it sum to one, if it can; the sum before that.
fn reweigh(row: &mut [f64], ratios: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (p, ratio) in row.iter_mut().zip(ratios) {
        *p = p.max(0.0) * ratio;
        sum += *p;
    }
    if sum > 0.0 {
        for p in row {
            *p /= sum;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn priors(pi: &[f64]) -> Priors {
        Priors::new(pi.to_vec()).unwrap()
    }

    /// SciPy 1.14: `chi2.ppf(0.999, d)`.
    #[test]
    fn chi_squared_is_near_scipys() {
        for (degrees, point) in [(1.0, 10.827_566), (2.0, 13.815_511), (9.0, 27.877_165)] {
            let found = chi_squared_999(degrees);
            assert!((found / point - 1.0).abs() < 0.04, "{degrees}: {found}");
        }
    }

    /// Shares from few rows of the same population are left alone, which keeps probabilities as good as they were;
    /// shares that did move are found.
    #[test]
    fn only_shares_that_moved_are_changed() {
        use crate::pu_metrics::trust::Told;
        use crate::testing::{Draws, Plane};
        let mut draws = Draws(5);
        let (mut kept, mut found, mut plain, mut guarded, mut always) = (0, 0, 0.0, 0.0, 0.0);
        let runs = 40;
        for _ in 0..runs {
            let plane = Plane::new(&[0.2, 0.15, 0.65], 1.6);
            let told = Told::new(plane, (30, 300), 0.05, 1.7, &mut draws);
            let (_, known, _) = told.answers(&told.scores);
            let population = &told.population;
            let loss = |p: &[f64], classes: &[usize]| {
                let rows = p.chunks(3).zip(classes);
                rows.map(|(p, &y)| -p[y].max(1e-9).ln()).sum::<f64>() / classes.len() as f64
            };
            let (classes, scores) = told.truth(280, &mut draws);
            let (_, p, _) = told.answers(&scores);
            let em = estimate_priors(population, &p).unwrap().priors;
            let moved = Moved::new(population, &em, &p, &known).unwrap();
            kept += i32::from(!moved.moved);
            let under = |to: &Priors| loss(&reweighted(population, to, &p).unwrap(), &classes);
            plain += under(population);
            guarded += under(&moved.priors);
            always += under(&em);
            // Three quarters of the rows are of the first class.
            let shifted = told.rows(&priors(&[0.75, 0.05, 0.2]), 280, &mut draws);
            let (_, p, _) = told.answers(&shifted);
            let em = estimate_priors(population, &p).unwrap().priors;
            let moved = Moved::new(population, &em, &p, &known).unwrap();
            found += i32::from(moved.moved && (moved.priors.as_slice()[0] - 0.75).abs() < 0.2);
        }
        println!(
            "kept {kept}, found {found} of {runs}; log-loss {plain:.2} {guarded:.2} {always:.2}"
        );
        assert!(kept >= 39 && found >= 39, "{kept} {found}");
        assert!(
            guarded <= always && guarded <= 1.005 * plain,
            "{plain} {guarded} {always}"
        );
    }

    #[test]
    fn reweighting_by_hand_and_back() {
        let (from, to) = (priors(&[0.2, 0.3, 0.5]), priors(&[0.4, 0.0, 0.6]));
        let p = reweighted(&from, &to, &[0.5, 0.25, 0.25]).unwrap();
        // 0.5·2 : 0 : 0.25·1.2
        assert!((p[0] - 1.0 / 1.3).abs() < 1e-12 && p[1] == 0.0);
        let impossible = reweighted(&from, &to, &[0.0, 1.0, 0.0]).unwrap();
        assert_eq!(impossible, to.as_slice());
        assert!(matches!(
            reweighted(&to, &from, &p),
            Err(Error::NewClass { class: 1, .. })
        ));
        let other = priors(&[0.1, 0.2, 0.7]);
        let there = reweighted(&from, &other, &[0.5, 0.25, 0.25]).unwrap();
        let back = reweighted(&other, &from, &there).unwrap();
        assert!((back[0] - 0.5).abs() < 1e-12 && (back[2] - 0.25).abs() < 1e-12);
        assert!(reweighted(&from, &priors(&[0.5, 0.5]), &p).is_err());
    }

    #[test]
    fn no_rows_and_absent_classes() {
        let from = priors(&[0.5, 0.0, 0.5]);
        assert!(matches!(
            estimate_priors(&from, &[]),
            Err(Error::NoRows { .. })
        ));
        let found = estimate_priors(&from, &[0.9, 0.0, 0.1, 0.1, 0.0, 0.9]).unwrap();
        assert_eq!(found.priors.as_slice()[1], 0.0);
        assert_eq!(found.stop, Some(Stop::Converged));
        assert_eq!(Stop::ALL.map(Stop::slug), ["converged", "limit"]);
    }

    #[test]
    fn the_likelihood_never_falls() {
        let rows = [0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.6, 0.1, 0.3];
        let mut shift = Shift::new(priors(&[0.2, 0.3, 0.5]));
        let mut last = f64::NEG_INFINITY;
        while shift.stop().is_none() {
            shift.add(&rows).unwrap();
            let gain = shift.step().unwrap().gain;
            assert!(gain >= last - 1e-12, "{gain} after {last}");
            last = gain;
        }
        assert!(last > 0.0);
    }

    proptest! {
        /// Members of a finite population, each class repeated a whole number of times: the true shares
        /// of the new population are found from the old one's probabilities.
        #[test]
        fn the_shares_of_a_shifted_population_are_found(
            counts in prop::collection::vec(0u64..4, 12),
            times in prop::collection::vec(1u64..5, 3),
        ) {
            // Four kinds of rows, three classes; three kinds mostly belong to one class each.
            let count = |x: usize, y: usize| {
                counts[x * 3 + y] as f64 + if x == y { 12.0 } else { 0.0 }
            };
            let shares = |times: &[u64]| {
                let of: Vec<f64> = (0..3)
                    .map(|y| (0..4).map(|x| count(x, y) * times[y] as f64).sum())
                    .collect();
                let n: f64 = of.iter().sum();
                Priors::new(of.iter().map(|c| c / n).collect()).unwrap()
            };
            let (from, truth) = (shares(&[1, 1, 1]), shares(&times));
            let mut rows = Vec::new();
            for x in 0..4 {
                let n: f64 = (0..3).map(|y| count(x, y)).sum();
                let now: f64 = (0..3).map(|y| count(x, y) * times[y] as f64).sum();
                for _ in 0..now as usize {
                    rows.extend((0..3).map(|y| if n > 0.0 { count(x, y) / n } else { 0.0 }));
                }
            }
            let found = estimate_priors(&from, &rows).unwrap();
            prop_assert_eq!(found.stop, Some(Stop::Converged));
            for (found, truth) in found.priors.as_slice().iter().zip(truth.as_slice()) {
                prop_assert!((found - truth).abs() < 1e-5);
            }
        }
    }
}
