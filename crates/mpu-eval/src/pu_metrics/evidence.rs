//! Rates in a target population from two kinds of evidence: counts of labelled rows and pool, and probabilities.

use mpu_data::{MpuLabel, Priors, mismatch};
use serde::{Deserialize, Serialize};

use super::interval::{Estimate, State, Z};
use super::{Counts, joint_shares, over, rest_factor};
use crate::error::Result;
use crate::held_out::Block;

/// What probabilities are off by even where calibration went well: the standard deviation of a rate of one half. Near
/// 0 and 1 it is less, as that of a share is.
const CALIBRATION: f64 = 0.04;

/// How far a rate of one half moves with the draw of the labelled rows: twice the standard deviation, if there were
/// only one.
const ANOTHER_DRAW: f64 = 0.6;

/// The priors of the pool and how far off they may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UncertainPriors {
    priors: Priors,
    deviations: Vec<f64>,
}

impl UncertainPriors {
    /// Priors that are known.
    pub fn exact(priors: Priors) -> Self {
        let deviations = vec![0.0; priors.observed().len()];
        Self { priors, deviations }
    }

    /// Priors with a 95 % interval of each observed class: its width is taken as that of a normal distribution.
    pub fn with_intervals(priors: Priors, intervals: &[(f64, f64)]) -> Result<Self> {
        let n = priors.observed().len();
        if intervals.len() != n {
            return Err(mismatch(
                "number of intervals of priors",
                intervals.len(),
                format!("there are {n} observed classes"),
            ));
        }
        // An interval that does not hold the estimate is stretched to it.
        let pairs = intervals.iter().zip(priors.observed());
        let deviation = |(&(low, high), &pi): (&(f64, f64), &f64)| {
            let width = high.max(pi) - low.min(pi);
            if width.is_finite() {
                width / (2.0 * Z)
            } else {
                0.0
            }
        };
        Ok(Self {
            deviations: pairs.map(deviation).collect(),
            priors,
        })
    }

    /// The same with one more observed class, of which there is no row.
    pub(crate) fn with_none(&self) -> Result<Self> {
        let mut deviations = self.deviations.clone();
        deviations.push(0.0);
        let priors = with_none(&self.priors)?;
        Ok(Self { priors, deviations })
    }

    /// The priors.
    pub fn priors(&self) -> &Priors {
        &self.priors
    }

    /// The standard deviation of each observed class's prior.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }
}

/// The population that rates are about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The pool's.
    #[default]
    Pool,
    /// Labelled rows and pool together: if the pool's priors are off, these shares are off with them.
    Population(Priors),
    /// Any other, with known shares.
    Shares(Priors),
}

impl Target {
    /// The shares if the pool's priors are `pi` where they were told to be `told`.
    ///
    /// ```text
    /// population:  τ_i + ρ (π_i - π⁰_i),   ρ = τ_k/π⁰_k the pool's part of all rows
    /// ```
    #[doc(alias = "eq:moved-population")]
    pub(super) fn shares(&self, told: &[f64], pi: &[f64]) -> Vec<f64> {
        match self {
            Self::Pool => pi.to_vec(),
            Self::Shares(target) => target.as_slice().to_vec(),
            Self::Population(target) => {
                let target = target.as_slice();
                let negative = pi.len() - 1;
                let pool = if told[negative] > 0.0 {
                    target[negative] / told[negative]
                } else {
                    1.0
                };
                let moves = pi.iter().zip(told).map(|(pi, told)| pool * (pi - told));
                target.iter().zip(moves).map(|(t, m)| t + m).collect()
            }
        }
    }
}

/// Shares with one more observed class, of which there is no row.
fn with_none(priors: &Priors) -> Result<Priors> {
    let mut shares = priors.observed().to_vec();
    shares.extend([0.0, priors.negative()]);
    Ok(Priors::new(shares)?)
}

impl Target {
    /// The same with one more observed class, of which there is no row.
    pub(crate) fn with_none(&self) -> Result<Self> {
        Ok(match self {
            Self::Pool => Self::Pool,
            Self::Population(shares) => Self::Population(with_none(shares)?),
            Self::Shares(shares) => Self::Shares(with_none(shares)?),
        })
    }

    /// The same population if the pool's priors are others than told.
    pub fn moved(&self, told: &Priors, priors: &Priors) -> Result<Self> {
        Ok(match self {
            Self::Pool | Self::Shares(_) => self.clone(),
            Self::Population(_) => {
                let shares = self.shares(told.as_slice(), priors.as_slice());
                let shares: Vec<f64> = shares.iter().map(|share| share.max(0.0)).collect();
                let sum: f64 = shares.iter().sum();
                Self::Population(Priors::new(shares.iter().map(|s| s / sum).collect())?)
            }
        })
    }
}

/// What is known of answers to rows that were not trained on.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The pool's priors.
    pub priors: &'a UncertainPriors,
    /// The population that rates are about.
    pub target: &'a Target,
    /// Which rows are labelled, and with what.
    pub labels: &'a [MpuLabel],
    /// Calibrated probabilities under the pool's priors, `k` to a row, if there are any.
    pub probabilities: Option<&'a [f64]>,
}

/// A rate by both kinds of evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Combined {
    pub(crate) value: f64,
    /// By counts alone, not cut.
    pub(crate) raw: f64,
    pub(crate) variance: f64,
    pub(crate) state: State,
}

/// A rate by one kind of evidence.
struct Found {
    value: f64,
    /// What it would be with known priors.
    variance: f64,
    /// By the prior of each observed class.
    slopes: Vec<f64>,
}

impl Found {
    /// Two independent findings, weighted.
    fn mixed(&self, a: f64, other: &Self, b: f64) -> Self {
        let slopes = self.slopes.iter().zip(&other.slopes);
        Self {
            value: a * self.value + b * other.value,
            variance: a * a * self.variance + b * b * other.variance,
            slopes: slopes.map(|(s, t)| a * s + b * t).collect(),
        }
    }
}

/// Counts and probabilities of answers.
pub(crate) struct Tally<'a> {
    priors: &'a UncertainPriors,
    target: &'a Target,
    pub(super) counts: Counts,
    /// The mean over the pool of the probability of each class (outer), where each answer (inner) is given.
    modelled: Option<Vec<Vec<f64>>>,
}

impl<'a> Tally<'a> {
    /// Takes `n_answers` kinds of answers: the classes, or any other.
    pub(crate) fn new(
        evidence: &Evidence<'a>,
        answers: &[usize],
        n_answers: usize,
    ) -> Result<Self> {
        let classes = evidence.priors.priors.classes();
        let k = classes.get();
        let counts = Counts::of(classes, evidence.labels, answers, n_answers)?;
        let modelled = match evidence.probabilities {
            None => None,
            Some(p) => {
                Block::Probability.labeled_rows(classes, evidence.labels, p)?;
                let n = counts.n(k - 1) as f64;
                let mut modelled = vec![vec![0.0; n_answers]; k];
                let rows = evidence.labels.iter().zip(answers).zip(p.chunks(k));
                for ((label, &answer), p) in rows {
                    if *label == MpuLabel::Unlabeled {
                        for (class, p) in modelled.iter_mut().zip(p) {
                            class[answer] += p / n;
                        }
                    }
                }
                Some(modelled)
            }
        };
        Ok(Self {
            priors: evidence.priors,
            target: evidence.target,
            counts,
            modelled,
        })
    }

    /// Takes rows that are given one class: how many of each group, and the sums of the probabilities of every class
    /// over those of the pool.
    pub(crate) fn of_class(
        evidence: &Evidence<'a>,
        class: usize,
        sizes: &[u64],
        given: &[u64],
        probabilities: Option<&[f64]>,
    ) -> Self {
        let k = sizes.len();
        let n_pool = sizes[k - 1].max(1) as f64;
        // All other rows have one other answer, which no rate of this class looks at.
        let other = if class == 0 { k - 1 } else { 0 };
        let row = |(&n, &given): (&u64, &u64)| {
            let mut row = vec![0; k];
            row[class] = given;
            row[other] = n - given;
            row
        };
        let column = |(y, &sum): (usize, &f64)| {
            let mut row = vec![0.0; k];
            row[class] = sum / n_pool;
            row[other] = evidence.priors.priors.as_slice()[y] - sum / n_pool;
            row
        };
        Self {
            priors: evidence.priors,
            target: evidence.target,
            counts: Counts {
                groups: sizes.iter().zip(given).map(row).collect(),
            },
            modelled: probabilities.map(|sums| sums.iter().enumerate().map(column).collect()),
        }
    }

    /// The joint shares of class (outer) and answer (inner) in the target population, by counts.
    pub(super) fn joint(&self) -> Vec<Vec<f64>> {
        let pi = self.priors.priors.as_slice();
        joint_shares(pi, &self.target.shares(pi, pi), &self.counts.shares())
    }

    /// A rate, or the sum of a rate over several answers times `scale`, in the target population.
    ///
    /// ```text
    /// counts:         x = F(joint shares),  v₀ = Var_rows,  s_i = ∂F/∂π_i
    /// probabilities:  m = F(mean_u[p_y 1(ŷ=j)] τ_y/π_y),  w₀ = m(1-m)(4c² + 1/n_j) + Σ_i (∂F/∂b_i)² (1/n_i + 1/(n_u π_i)),  t_i = ∂F/∂b_i / π_i
    /// x' = x cut to [0, 1],  v = v₀ + (Σ_i |s_i| σ_i)² + (x - x')²,  w = w₀ + (Σ_i |t_i| σ_i)²
    /// value = (x'/v' + m/w) / (1/v' + 1/w),  v' = v + max(0, (x'-m)² - v - w)
    /// variance = max(1, (x'-m)²/(v+w)) (α² (v₀ + (x - x')²) + β² w₀ + (Σ_i |α s_i + β t_i| σ_i)²),  α = w/(v+w),  β = v/(v+w)
    /// ```
    ///
    /// `σ_i` is the deviation of a prior, `b_i` a shift of the log-odds of class `i`, `n_j` the rows of the pool
    /// that are given the answers, `c` what calibration is off by at best. The variance of counts is found at shares
    /// with one more row, spread over all answers, so that it is never 0. Counts and probabilities rest on the same
    /// priors, and where one prior is off the others often are too, so these errors are added up before they are
    /// squared. Where counts and probabilities disagree by more than chance, the interval is widened, and the priors
    /// are doubted rather than the probabilities.
    #[doc(alias = "eq:pu-combined")]
    pub(crate) fn combined(&self, rate: Rate, answers: &[usize], scale: f64) -> Combined {
        let mut counts = self.counted(rate, answers, scale);
        let raw = counts.value;
        counts.value = raw.clamp(0.0, 1.0);
        counts.variance += (raw - counts.value).powi(2);
        let v = self.variance(&counts).max(1e-12);
        let mut state = State::of(raw);
        let Some(model) = self.modelled(rate, answers, scale) else {
            return Combined {
                value: counts.value,
                raw,
                variance: v,
                state,
            };
        };
        let w = self.variance(&model);
        if state == State::NotIdentified {
            state = State::ByProbabilities;
        }
        let apart = (counts.value - model.value).powi(2);
        let excess = (apart - v - w).max(0.0);
        let (a, b) = (1.0 / (v + excess), 1.0 / w);
        let value = (a * counts.value + b * model.value) / (a + b);
        let both = counts.mixed(w / (v + w), &model, v / (v + w));
        Combined {
            value,
            raw,
            variance: (apart / (v + w)).max(1.0) * self.variance(&both).max(1e-12),
            state,
        }
    }

    /// The variance of a rate, that of the priors included.
    fn variance(&self, found: &Found) -> f64 {
        let pairs = found.slopes.iter().zip(&self.priors.deviations);
        let off: f64 = pairs
            .map(|(slope, deviation)| (slope * deviation).abs())
            .sum();
        found.variance + off * off
    }

    /// The same with its 95 % interval, which also allows for another draw of the labelled rows: the model that they
    /// make would not be as good, or better.
    ///
    /// ```text
    /// value ± 1.96 √(variance + x (1-x) 0.6² / n_L),   x = value, n_L labelled rows
    /// ```
    #[doc(alias = "eq:pu-interval")]
    pub(super) fn estimate(&self, rate: Rate, answers: &[usize], scale: f64) -> Estimate {
        let found = self.combined(rate, answers, scale);
        let negative = self.priors.priors.classes().negative();
        let labeled: u64 = (0..negative).map(|class| self.counts.n(class)).sum();
        let drawn = ANOTHER_DRAW * ANOTHER_DRAW / (labeled as f64).max(1.0);
        let variance = found.variance + found.value * (1.0 - found.value) * drawn;
        Estimate::normal(found.value, found.raw, variance, found.state)
    }

    /// The rate by counts.
    fn counted(&self, rate: Rate, answers: &[usize], scale: f64) -> Found {
        const STEP: f64 = 1e-4;
        let told = self.priors.priors.as_slice();
        let negative = told.len() - 1;
        let shares = self.counts.shares();
        let at = |pi: &[f64]| {
            let view = View::new(pi, self.target.shares(told, pi));
            scale * view.sum(rate, answers, &shares)
        };
        let view = View::new(told, self.target.shares(told, told));
        let smoothed = self.counts.smoothed();
        let slopes = view.slopes(rate, answers, &smoothed);
        let slope = |class: usize| {
            let moved = |step: f64| {
                let mut pi = told.to_vec();
                pi[class] += step;
                pi[negative] -= step;
                at(&pi)
            };
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
        };
        Found {
            value: at(told),
            variance: scale * scale * self.counts.variance(&smoothed, answers, &slopes),
            slopes: (0..negative).map(slope).collect(),
        }
    }

    /// The rate by probabilities.
    fn modelled(&self, rate: Rate, answers: &[usize], scale: f64) -> Option<Found> {
        const STEP: f64 = 1e-3;
        let modelled = self.modelled.as_ref()?;
        let pi = self.priors.priors.as_slice();
        let (k, negative) = (pi.len(), pi.len() - 1);
        let target = self.target.shares(pi, pi);
        let ratio = |class: usize| over(target[class], pi[class]);
        let sums: Vec<f64> = modelled
            .iter()
            .enumerate()
            .map(|(class, row)| ratio(class) * row.iter().sum::<f64>())
            .collect();
        let all: f64 = sums.iter().sum();
        if all <= 0.0 {
            return None;
        }
        // Where the odds of a class move by a factor, its share of an answer moves by at most p̄ (1-p̄) times that,
        // p̄ being its mean probability there.
        let at = |moved: Option<(usize, f64)>| -> f64 {
            let term = |&answer: &usize| {
                let column = |y: usize| ratio(y) * modelled[y][answer] / all;
                let given: f64 = (0..k).map(column).sum();
                let mut right = column(answer);
                if let Some((class, step)) = moved
                    && given > 0.0
                {
                    let whole = 1.0 + column(class) / given * (step.exp() - 1.0);
                    right *= if class == answer { step.exp() } else { 1.0 } / whole;
                }
                rate.of(right, given, sums[answer] / all)
            };
            scale * answers.iter().map(term).sum::<f64>()
        };
        let in_pool = |&answer: &usize| self.counts.groups[negative][answer] as f64;
        let support: f64 = answers.iter().map(in_pool).sum();
        // Half a row on either side: from few rows nothing is certain, however sure a model is.
        let value = (at(None).clamp(0.0, 1.0) * support + 0.5) / (support + 1.0);
        let off = 4.0 * CALIBRATION * CALIBRATION;
        let mut variance = value * (1.0 - value) * (off + 1.0 / support.max(1.0));
        let n_pool = self.counts.n(negative) as f64;
        let mut slopes = vec![0.0; negative];
        for class in (0..negative).filter(|&class| pi[class] > 0.0) {
            let slope = (at(Some((class, STEP))) - at(Some((class, -STEP)))) / (2.0 * STEP);
            let n = (self.counts.n(class) as f64).max(1.0);
            variance += slope * slope * (1.0 / n + 1.0 / (n_pool * pi[class]).max(1.0));
            slopes[class] = slope / pi[class];
        }
        Some(Found {
            value,
            variance,
            slopes,
        })
    }
}

/// A rate of one answer, by the shares of rows that are rightly given it, given it, and of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Rows of the class that are given it, of all rows.
    Right,
    Recall,
    Precision,
    F1,
}

impl Rate {
    /// The rate; 0 where there is none.
    fn of(self, right: f64, given: f64, there: f64) -> f64 {
        match self {
            Self::Right => right,
            Self::Recall => over(right, there),
            Self::Precision => over(right, given),
            Self::F1 => over(2.0 * right, there + given),
        }
    }
}

/// A population seen through the pool's priors: class shares `τ`, and what the groups' answers count in it.
pub(super) struct View<'p> {
    pi: &'p [f64],
    target: Vec<f64>,
    /// `τ_k/π_k`.
    rest: f64,
}

impl<'p> View<'p> {
    pub(super) fn new(pi: &'p [f64], target: Vec<f64>) -> Self {
        let rest = rest_factor(pi, &target);
        Self { pi, target, rest }
    }

    /// The sum of a rate over answers; the class of an answer has its number.
    pub(super) fn sum(&self, rate: Rate, answers: &[usize], shares: &[Vec<f64>]) -> f64 {
        let term = |&answer: &usize| {
            let (right, given) = self.column(answer, shares);
            rate.of(right, given, self.target[answer])
        };
        answers.iter().map(term).sum()
    }

    /// Rows rightly given an answer, and rows given it.
    fn column(&self, answer: usize, shares: &[Vec<f64>]) -> (f64, f64) {
        let negative = self.pi.len() - 1;
        let share = |group: usize| shares[group][answer];
        let observed: f64 = (0..negative).map(|g| self.pi[g] * share(g)).sum();
        let rest = self.rest * (share(negative) - observed);
        let given: f64 = (0..negative).map(|g| self.target[g] * share(g)).sum();
        let right = if answer == negative {
            rest
        } else {
            self.target[answer] * share(answer)
        };
        (right, given + rest)
    }

    /// The slope of that sum in the share of each answer (inner) among the rows of each group (outer).
    pub(super) fn slopes(
        &self,
        rate: Rate,
        answers: &[usize],
        shares: &[Vec<f64>],
    ) -> Vec<Vec<f64>> {
        const STEP: f64 = 1e-6;
        let negative = self.pi.len() - 1;
        let mut slopes = vec![vec![0.0; answers.len()]; self.pi.len()];
        for (place, &answer) in answers.iter().enumerate() {
            let (right, given) = self.column(answer, shares);
            for (group, slopes) in slopes.iter_mut().enumerate() {
                let rest = if group == negative {
                    self.rest
                } else {
                    -self.rest * self.pi[group]
                };
                let own = if group == negative {
                    0.0
                } else {
                    self.target[group]
                };
                let moves_right = match answer {
                    _ if answer == negative => rest,
                    _ if answer == group => own,
                    _ => 0.0,
                };
                let at = |step: f64| {
                    let (right, given) = (right + step * moves_right, given + step * (own + rest));
                    rate.of(right, given, self.target[answer])
                };
                slopes[place] = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            }
        }
        slopes
    }
}
