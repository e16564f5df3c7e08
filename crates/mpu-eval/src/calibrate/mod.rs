//! Probabilities from scores, fitted without a single true negative.
//!
//! Scores rank; they are not probabilities. A [`Calibration`] turns the `k` scores `f(x)` of a row into
//!
//! ```text
//! q(x) = softmax(a f(x) + b),   a > 0,  b_k = 0
//! ```
//!
//! which estimates `p(y | x)` **in the pool**. It is fitted on rows that were not trained on: labelled
//! ones and rows of the pool.
//!
//! # The likelihood
//!
//! Labelled rows were not drawn at random from the pool, so their share says nothing about the classes'
//! frequencies; the priors do. Put `n_i` rows of each `p_i` and `n_u` rows of the pool `p_u = Σ π_j p_j`
//! together and draw one, `x`, out of group `s`. By Bayes' rule
//!
//! ```text
//! P(s = i | x) ∝ n_i p_i(x) = n_i p(i | x) p_u(x) / π_i ,    P(s = u | x) ∝ n_u p_u(x) ,
//! ```
//!
//! and without the common factor `p_u(x)`
//!
//! ```text
//! P(s = i | x) ∝ (n_i / π_i) q_i(x) ,    P(s = u | x) ∝ n_u .
//! ```
//!
//! The fit minimises the mean of `-log P(s | x)` in `(log a, b)` by a damped Newton method from fixed
//! starting points, so that it is the same every time. A weak [`RIDGE`] towards `a = 1, b = 0` keeps
//! separable rows from driving `a` to infinity.
//!
//! # The anchor
//!
//! In the pool the mean of `p(i | x)` is `π_i`. [`Anchor::Matched`] moves `b` after the fit so that this holds
//! exactly in the held-out pool. [`Anchor::Likelihood`] leaves `b` to the likelihood and is the default:
//! a finite pool does not hold its classes in exactly the shares `π`, and where the truth is known
//! forcing it to made the probabilities worse, most of all where classes are easy to tell apart or the
//! priors are a little wrong (`the_likelihood_calibrates_better_than_a_matched_pool`). Both take the
//! priors as given: wrong priors give wrong probabilities.
//!
//! A class of prior 0 has probability 0. The offset of a class without held-out labelled rows comes from
//! its prior alone: it is matched under either anchor.
//!
//! ```
//! use mpu_data::{MpuLabel::{Labeled, Unlabeled}, Priors};
//! use mpu_eval::calibrate::{Anchor, Calibration};
//!
//! let priors = Priors::new(vec![0.5, 0.5])?;
//! let labels = [Labeled(0), Labeled(0), Labeled(0), Unlabeled, Unlabeled, Unlabeled, Unlabeled];
//! let scores = [
//!     2.0, -2.0, 1.0, -1.0, -0.5, 0.5, // labelled
//!     1.5, -1.5, 0.5, -0.5, -1.0, 1.0, -2.0, 2.0, // the pool
//! ];
//! let calibration = Calibration::fit(&priors, &labels, &scores, Anchor::Matched)?;
//! let pool = calibration.probabilities(&scores[6..])?;
//! let mean = (pool[0] + pool[2] + pool[4] + pool[6]) / 4.0;
//! assert!((mean - 0.5).abs() < 1e-6, "the pool's mean is its prior");
//! assert!((pool[0] + pool[1] - 1.0).abs() < 1e-12 && pool[0] > pool[6]);
//!
//! let stored = serde_json::to_string(&calibration)?;
//! let again: Calibration = serde_json::from_str(&stored)?;
//! assert_eq!(again.n_classes(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod likelihood;

use mpu_data::{ClassCount, MpuLabel, Priors, bad_setting};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::held_out::Block;
use crate::newton::{Smooth, minimise};
pub(crate) use likelihood::log_sum_exp;
use likelihood::{Likelihood, Matching, Rows, softmax};

/// The weight of the ridge `½ ρ ((log a)² + |b|²)` beside the sum over rows.
pub const RIDGE: f64 = 3.0;

/// What fixes the offsets `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    /// The likelihood alone.
    #[default]
    Likelihood,
    /// After the fit they are moved until the held-out pool's mean probabilities are the priors.
    Matched,
}

mpu_data::named!(Anchor, "anchor", { Likelihood => "likelihood", Matched => "matched" });

/// The map from scores to probabilities.
///
/// `a` is finite and above 0, offsets are finite, and at least one class has one; no other value of this
/// type exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Calibration {
    a: f64,
    b: Vec<Option<f64>>,
}

impl Calibration {
    /// Takes the scale `a` and the offsets `b`, `None` for a class that has probability 0.
    pub fn new(a: f64, b: Vec<Option<f64>>) -> Result<Self> {
        ClassCount::new(b.len())?;
        if !(a.is_finite() && a > 0.0) {
            return Err(bad_setting("a of a calibration", a, "finite and above 0"));
        }
        if let Some(b) = b.iter().flatten().find(|b| !b.is_finite()) {
            let allowed = "finite, or absent for a class of probability 0";
            return Err(bad_setting("b of a calibration", b, allowed));
        }
        if b.iter().all(Option::is_none) {
            let found = "absent for every class";
            return Err(bad_setting(
                "b of a calibration",
                found,
                "there for one class at least",
            ));
        }
        Ok(Self { a, b })
    }

    /// Fits to held-out rows: `scores` has `k` to a row, `labels` says which rows are labelled.
    ///
    /// The held-out pool must not be empty.
    pub fn fit(
        priors: &Priors,
        labels: &[MpuLabel],
        scores: &[f32],
        anchor: Anchor,
    ) -> Result<Self> {
        Block::Score.labeled_rows(priors.classes(), labels, scores)?;
        if !labels.contains(&MpuLabel::Unlabeled) {
            return Err(Error::NoRows {
                what: "a calibration",
                needed: "held-out rows of the pool",
                hint: "hint: keep a validation share of the pool",
            });
        }
        let rows = Rows::new(priors, labels, scores);
        let (a, mut free) = match rows.m() {
            1 => (1.0, vec![0.0; rows.n_free()]),
            _ => fit_likelihood(&rows, priors),
        };
        let moved: Vec<usize> = (0..rows.n_free())
            .filter(|&j| anchor == Anchor::Matched || !rows.has_rows(j))
            .collect();
        if rows.m() > 1 && !moved.is_empty() {
            free = matched(&rows, priors, a, &free, &moved);
        }
        let mut b = vec![None; priors.classes().get()];
        for (j, &class) in rows.classes.iter().enumerate() {
            b[class] = Some(free.get(j).copied().unwrap_or(0.0));
        }
        Self::new(a, b)
    }

    /// The scale `a`.
    pub fn a(&self) -> f64 {
        self.a
    }

    /// The offsets `b`, `None` for a class of probability 0.
    pub fn b(&self) -> &[Option<f64>] {
        &self.b
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.b.len()
    }

    /// The probabilities of every row: in `[0, 1]`, summing to 1 over a row.
    ///
    /// ```text
    /// q(x) = softmax(a f(x) + b)
    /// ```
    #[doc(alias = "eq:calibration")]
    pub fn probabilities(&self, scores: &[f32]) -> Result<Vec<f64>> {
        let classes = ClassCount::new(self.b.len())?;
        Block::Score.rows(classes, scores)?;
        let k = classes.get();
        let mut probabilities = vec![0.0; scores.len()];
        let mut z = vec![0.0; k];
        for (f, q) in scores.chunks(k).zip(probabilities.chunks_mut(k)) {
            for (j, z) in z.iter_mut().enumerate() {
                *z = match self.b[j] {
                    Some(b) => self.a * f64::from(f[j]) + b,
                    None => f64::NEG_INFINITY,
                };
            }
            softmax(&z, q);
        }
        Ok(probabilities)
    }

    /// `-log P(s | x)` of each row without its constants: how badly these probabilities tell which group it is from.
    /// Rows labelled with a class of prior 0 say nothing and have 0.
    pub fn losses(&self, priors: &Priors, labels: &[MpuLabel], scores: &[f32]) -> Result<Vec<f64>> {
        Block::Score.labeled_rows(priors.classes(), labels, scores)?;
        let rows = Rows::new(priors, labels, scores);
        let offsets = rows.classes.iter().map(|&class| self.b[class]);
        let mut x = vec![self.a.ln()];
        x.extend(offsets.map(Option::unwrap_or_default));
        let mut losses = Likelihood::new(&rows, priors, 0.0).losses(&x).into_iter();
        let pi = priors.as_slice();
        let known = labels.iter().map(|label| match *label {
            MpuLabel::Labeled(class) if pi[class] == 0.0 => 0.0,
            _ => losses.next().unwrap_or_default(),
        });
        Ok(known.collect())
    }
}

/// Fits `(a, b)` by the likelihood.
fn fit_likelihood(rows: &Rows, priors: &Priors) -> (f64, Vec<f64>) {
    let likelihood = Likelihood::new(rows, priors, RIDGE);
    // At this scale the scores are neither flat nor saturated.
    let middle = -rows.spread().ln();
    let zeros = vec![0.0; rows.n_free()];
    let all: Vec<usize> = (0..rows.n_free()).collect();
    let starts = [
        (middle, matched(rows, priors, middle.exp(), &zeros, &all)),
        (middle, zeros.clone()),
        (middle + 1.5, zeros.clone()),
        (0.0, zeros),
    ];
    // The likelihood is not convex: the best of a few starts is taken.
    let mut best = (f64::INFINITY, starts[3].clone());
    for (log_a, b) in starts {
        let mut x = vec![log_a];
        x.extend(b);
        let x = minimise(&likelihood, x);
        let value = likelihood.value(&x);
        if value < best.0 {
            best = (value, (x[0], x[1..].to_vec()));
        }
    }
    (best.1.0.exp(), best.1.1)
}

/// The offsets with those at `moved` moved so that the pool's mean probabilities are the priors.
fn matched(rows: &Rows, priors: &Priors, a: f64, b: &[f64], moved: &[usize]) -> Vec<f64> {
    let matching = Matching {
        rows,
        priors,
        a,
        b,
        moved,
    };
    matching.offsets(&minimise(&matching, vec![0.0; moved.len()]))
}

/// What is read: the same numbers, not yet checked.
#[derive(Deserialize)]
struct Stored {
    a: f64,
    b: Vec<Option<f64>>,
}

impl TryFrom<Stored> for Calibration {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::new(stored.a, stored.b)
    }
}

#[cfg(test)]
mod tests;
