//! Precision, recall, F1, confusion and AUC without a single true negative.
//!
//! Labelled rows of class `i` show `P_i[ŷ = j]`, how rows of that class are answered; the pool shows `P_u[ŷ = j]`,
//! and with the priors `P_u = Σ π_i P_i + π_k P_k` gives what is missing. What comes out estimates rates **in the
//! pool's distribution**. Assumed is that labelled rows look like the pool's rows of their class and that the
//! priors are right; [`sensitivity`] shows what happens if they are not.
//!
//! | rate | estimate |
//! |---|---|
//! | recall of class `i` | `P_i[ŷ=i]` |
//! | precision of class `i` | `π_i P_i[ŷ=i] / P_u[ŷ=i]` |
//! | F1 of class `i` | `2 π_i P_i[ŷ=i] / (π_i + P_u[ŷ=i])` |
//! | recall of the negative class | `(P_u[ŷ=k] - Σ π_i P_i[ŷ=k]) / π_k` |
//!
//! Intervals are of 95 % and for samples that are independent: Wilson's for shares, Donner and Zou's for ratios
//! and sums of them, the delta method for means over classes and accuracy, DeLong's for AUC. They know nothing
//! of errors in the priors.
//!
//! ```
//! use mpu_data::{MpuLabel::{Labeled, Unlabeled}, Priors};
//! use mpu_eval::pu_metrics::PuJudgement;
//!
//! let priors = Priors::new(vec![0.5, 0.5])?;
//! let labels = [Labeled(0), Labeled(0), Unlabeled, Unlabeled, Unlabeled, Unlabeled];
//! let answers = [0, 1, 0, 1, 1, 1];
//! let judgement = PuJudgement::new(&priors, &labels, &answers)?;
//! let class = judgement.classes[0].as_ref().ok_or("no labelled rows")?;
//! let precision = class.precision.ok_or("never answered")?;
//! assert_eq!(precision.value, 1.0, "half of class 0 is a quarter of the pool, and that was answered");
//! assert!(precision.low < 0.6, "from six rows little is known");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auc;
mod evidence;
mod interval;
mod sensitivity;

use mpu_data::{ClassCount, MpuLabel, Priors};
use serde::{Deserialize, Serialize};

pub use auc::pu_auc;
use evidence::View;
pub use evidence::{Evidence, Target, UncertainPriors};
pub(crate) use evidence::{Rate, Tally};
pub use interval::{Estimate, State};
pub use sensitivity::{FACTORS, Sensitivity, Varied, sensitivity};

use crate::error::{Error, Result};
use crate::held_out::check_labels;
use interval::Interval;

/// The estimated rates of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassJudgement {
    /// Of the rows of this class, the share that is given it; `None` for a negative class of prior 0.
    pub recall: Option<Estimate>,
    /// Of the rows given this class, the share that is of it; `None` if no row of the pool is.
    pub precision: Option<Estimate>,
    /// Their harmonic mean; `None` if the class has prior 0 and is never given.
    pub f1: Option<Estimate>,
    /// The share of the pool that is given this class.
    pub answered: f64,
}

/// Means over all classes, the negative one included; a rate that does not exist counts 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MacroJudgement {
    /// The mean recall.
    pub recall: Estimate,
    /// The mean precision.
    pub precision: Estimate,
    /// The mean F1.
    pub f1: Estimate,
}

/// What held-out rows say of answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PuJudgement {
    /// The rates of each class; `None` where they are not identified: an observed class without labelled
    /// rows, and the negative class if such a class has a prior above 0.
    pub classes: Vec<Option<ClassJudgement>>,
    /// The means over classes; `None` if one is not identified.
    pub mean: Option<MacroJudgement>,
    /// The share of right answers (the estimate of `pu_accuracy`); `None` as above.
    pub accuracy: Option<Estimate>,
    /// The share of the pool that is of class `y` (outer) and is answered by `j` (inner), not clipped; rows
    /// that are not identified are `None`.
    pub confusion: Vec<Option<Vec<f64>>>,
    /// The number of labelled rows of each observed class.
    pub n_labeled: Vec<u64>,
    /// The number of rows of the pool.
    pub n_pool: u64,
}

impl PuJudgement {
    /// Judges the answers to held-out rows, of which some must be of the pool, by counts and exact priors alone.
    pub fn new(priors: &Priors, labels: &[MpuLabel], answers: &[usize]) -> Result<Self> {
        let classes = priors.classes();
        classes.check(answers)?;
        Ok(Counts::of(classes, labels, answers, classes.get())?.judge(priors))
    }

    /// Judges answers by all that is known: counts, how sure the priors are, and probabilities.
    pub fn of(evidence: &Evidence<'_>, answers: &[usize]) -> Result<Self> {
        let priors = evidence.priors.priors();
        let (classes, pi) = (priors.classes(), priors.as_slice());
        let (k, negative) = (classes.get(), classes.negative());
        classes.check(answers)?;
        let tally = Tally::new(evidence, answers, k)?;
        let counts = &tally.counts;
        let known = |class: usize| counts.n(class) > 0;
        let complete = (0..negative).all(|class| known(class) || pi[class] == 0.0);
        let joint = tally.joint();
        let in_pool = |class: usize| counts.groups[negative][class] > 0;
        let all: Vec<usize> = (0..k).collect();
        let rate = |rate: Rate, class: usize| tally.estimate(rate, &[class], 1.0);
        let judged = |class: usize| {
            let given = in_pool(class);
            let there = class < negative || pi[negative] > 0.0;
            ClassJudgement {
                recall: if class == negative {
                    there.then(|| rate(Rate::Recall, class))
                } else {
                    Some(counts.share(class, class).rate())
                },
                precision: given.then(|| rate(Rate::Precision, class)),
                f1: (given || there).then(|| rate(Rate::F1, class)),
                answered: joint.iter().map(|row| row[class]).sum(),
            }
        };
        let is_known = |class: usize| match class {
            class if class == negative => complete,
            observed => known(observed),
        };
        let mean = |rate: Rate| tally.estimate(rate, &all, 1.0 / k as f64);
        let identified = complete && (0..negative).all(known);
        Ok(Self {
            classes: (0..k).map(|y| is_known(y).then(|| judged(y))).collect(),
            mean: identified.then(|| MacroJudgement {
                recall: mean(Rate::Recall),
                precision: mean(Rate::Precision),
                f1: mean(Rate::F1),
            }),
            accuracy: complete.then(|| tally.estimate(Rate::Right, &all, 1.0)),
            confusion: (0..k)
                .map(|y| is_known(y).then(|| joint[y].clone()))
                .collect(),
            n_labeled: (0..negative).map(|class| counts.n(class)).collect(),
            n_pool: counts.n(negative),
        })
    }
}

/// How often each group was given each answer: the observed classes, then the pool.
struct Counts {
    groups: Vec<Vec<u64>>,
}

impl Counts {
    /// Counts answers below `n_answers`.
    fn of(
        classes: ClassCount,
        labels: &[MpuLabel],
        answers: &[usize],
        n_answers: usize,
    ) -> Result<Self> {
        check_labels(classes, labels, answers.len())?;
        let mut groups = vec![vec![0; n_answers]; classes.get()];
        for (&label, &answer) in labels.iter().zip(answers) {
            groups[classes.group(label)?][answer] += 1;
        }
        let counts = Self { groups };
        if counts.n(classes.negative()) == 0 {
            return Err(Error::NoRows {
                what: "judging without negatives",
                needed: "held-out rows of the pool",
                hint: "hint: keep a validation share of the pool",
            });
        }
        Ok(counts)
    }

    fn n(&self, group: usize) -> u64 {
        self.groups[group].iter().sum()
    }

    /// The share of a group that is given an answer; the group is not empty.
    fn share(&self, group: usize, answer: usize) -> Interval {
        Interval::wilson(self.groups[group][answer], self.n(group))
    }

    fn judge(&self, priors: &Priors) -> PuJudgement {
        let k = self.groups.len();
        let negative = k - 1;
        let pi = priors.as_slice();
        let known = |class: usize| self.n(class) > 0;
        let complete = (0..negative).all(|class| known(class) || pi[class] == 0.0);
        let mut classes: Vec<Option<ClassJudgement>> = (0..negative)
            .map(|class| known(class).then(|| self.observed(class, pi[class])))
            .collect();
        classes.push(complete.then(|| self.negative(pi)));
        let shares = self.shares();
        let joint = joint_shares(pi, pi, &shares);
        let confusion = (0..k)
            .map(|y| (if y == negative { complete } else { known(y) }).then(|| joint[y].clone()))
            .collect();
        let identified = complete && (0..negative).all(known);
        PuJudgement {
            mean: identified.then(|| self.means(pi, &classes)),
            accuracy: complete.then(|| self.sum(pi, Rate::Right).rate()),
            classes,
            confusion,
            n_labeled: (0..negative).map(|class| self.n(class)).collect(),
            n_pool: self.n(negative),
        }
    }

    /// The rates of an observed class that has labelled rows.
    #[doc(alias = "eq:pu-precision")]
    fn observed(&self, class: usize, pi: f64) -> ClassJudgement {
        let recall = self.share(class, class);
        let answered = self.share(self.groups.len() - 1, class);
        let precision = || recall.ratio(answered).linear(pi, 0.0).rate();
        let f1 = || recall.ratio(answered.linear(1.0, pi)).linear(2.0 * pi, 0.0);
        ClassJudgement {
            recall: Some(recall.rate()),
            precision: (answered.value > 0.0).then(precision),
            f1: (pi + answered.value > 0.0).then(|| f1().rate()),
            answered: answered.value,
        }
    }

    /// The rates of the negative class, if every observed class of a prior above 0 has labelled rows.
    #[doc(alias = "eq:pu-negative")]
    fn negative(&self, pi: &[f64]) -> ClassJudgement {
        let negative = pi.len() - 1;
        let pi_k = pi[negative];
        let answered = self.share(negative, negative);
        let lost: Vec<Interval> = (0..negative)
            .filter(|&class| pi[class] > 0.0)
            .map(|class| self.share(class, negative).linear(pi[class], 0.0))
            .collect();
        let lost = Interval::sum(&lost);
        let recall = || Interval::sum(&[answered, lost.linear(-1.0, 0.0)]).linear(1.0 / pi_k, 0.0);
        let precision = || lost.ratio(answered).linear(-1.0, 1.0).rate();
        // 2 (s - T) / (π_k + s), with s in one place only.
        let shifted = |interval: Interval| interval.linear(1.0, pi_k);
        let f1 = || shifted(lost).ratio(shifted(answered)).linear(-2.0, 2.0);
        ClassJudgement {
            recall: (pi_k > 0.0).then(|| recall().rate()),
            precision: (answered.value > 0.0).then(precision),
            f1: (pi_k + answered.value > 0.0).then(|| f1().rate()),
            answered: answered.value,
        }
    }

    fn means(&self, pi: &[f64], classes: &[Option<ClassJudgement>]) -> MacroJudgement {
        let k = pi.len() as f64;
        let mean = |kind: Rate, rate: fn(&ClassJudgement) -> Option<Estimate>| {
            let clipped = classes.iter().flatten().filter_map(rate);
            Estimate {
                value: clipped.map(|rate| rate.value).sum::<f64>() / k,
                ..self.sum(pi, kind).linear(1.0 / k, 0.0).rate()
            }
        };
        MacroJudgement {
            recall: mean(Rate::Recall, |class| class.recall),
            precision: mean(Rate::Precision, |class| class.precision),
            f1: mean(Rate::F1, |class| class.f1),
        }
    }

    fn shares(&self) -> Vec<Vec<f64>> {
        let share = |group: &Vec<u64>| {
            let n: u64 = group.iter().sum();
            let share = |&count: &u64| count as f64 / n.max(1) as f64;
            group.iter().map(share).collect()
        };
        self.groups.iter().map(share).collect()
    }

    /// The sum of a rate over all classes in the pool, with its normal interval.
    fn sum(&self, pi: &[f64], rate: Rate) -> Interval {
        let (view, shares) = (View::new(pi, pi.to_vec()), self.shares());
        let all: Vec<usize> = (0..pi.len()).collect();
        let slopes = view.slopes(rate, &all, &shares);
        let variance = self.variance(&shares, &all, &slopes);
        Interval::normal(view.sum(rate, &all, &shares), variance)
    }

    /// Shares with one more row in every group, spread over all answers that are ever given: none is 0 or 1.
    fn smoothed(&self) -> Vec<Vec<f64>> {
        let n_answers = self.groups.first().map_or(0, Vec::len);
        let given = |answer: usize| self.groups.iter().any(|group| group[answer] > 0);
        let given: Vec<bool> = (0..n_answers).map(given).collect();
        let each = 1.0 / given.iter().filter(|given| **given).count().max(1) as f64;
        let share = |group: &Vec<u64>| {
            let n = group.iter().sum::<u64>() as f64 + 1.0;
            let share =
                |(&c, &given): (&u64, &bool)| (c as f64 + if given { each } else { 0.0 }) / n;
            group.iter().zip(&given).map(share).collect()
        };
        self.groups.iter().map(share).collect()
    }

    /// The variance of a function of the groups' shares, by the delta method.
    ///
    /// ```text
    /// Var ≈ Σ_g (1/n_g) (Σ_j m_gj G_gj² - (Σ_j m_gj G_gj)²) ,   G_gj the slope of F in m_gj
    /// ```
    ///
    /// `slopes` are those of the answers named; in all others the function does not move.
    #[doc(alias = "eq:delta-interval")]
    fn variance(&self, shares: &[Vec<f64>], answers: &[usize], slopes: &[Vec<f64>]) -> f64 {
        let group = |group: usize| {
            let pairs = answers.iter().zip(&slopes[group]);
            let pairs = pairs.map(|(&answer, slope)| (shares[group][answer], slope));
            let (mut mean, mut squares) = (0.0, 0.0);
            for (share, slope) in pairs {
                mean += share * slope;
                squares += share * slope * slope;
            }
            (squares - mean * mean) / self.n(group) as f64
        };
        let groups = (0..shares.len()).filter(|&group| self.n(group) > 0);
        groups.map(group).sum()
    }
}

/// The joint shares of true class and answer in a population with class shares `τ`, from the groups' shares of
/// answers.
///
/// ```text
/// i < k:  τ_i P_i[ŷ=j]        k:  τ_k/π_k (P_u[ŷ=j] - Σ_i π_i P_i[ŷ=j])
/// ```
///
/// In the pool itself `τ = π`.
#[doc(alias = "eq:pu-confusion")]
fn joint_shares(pi: &[f64], target: &[f64], shares: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let negative = pi.len() - 1;
    let scale = rest_factor(pi, target);
    let rest = (0..shares[negative].len()).map(|j| {
        let observed = (0..negative).map(|class| pi[class] * shares[class][j]);
        scale * (shares[negative][j] - observed.sum::<f64>())
    });
    let rest = rest.collect();
    let mut joint: Vec<Vec<f64>> = (0..negative)
        .map(|class| shares[class].iter().map(|m| target[class] * m).collect())
        .collect();
    joint.push(rest);
    joint
}

/// `τ_k/π_k`, by which rows of the unknown class count more or less in a population than in the pool.
fn rest_factor(pi: &[f64], target: &[f64]) -> f64 {
    let negative = pi.len() - 1;
    if target[negative] == pi[negative] {
        1.0
    } else {
        over(target[negative], pi[negative])
    }
}

/// A ratio, 0 if there is nothing to divide by.
pub(crate) fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod trust;
