//! The objectives written a second time, straight from their definitions: loops over rows, own
//! surrogates, no shared code with the crate. Everything else is held to this.

use mpu_data::MpuLabel;
use mpu_loss::{Form, Surrogate};
use mpu_risk::{Correction, Objective, Placement};

/// A binary loss by its printed formula, γ = 1.
pub(crate) fn ell(surrogate: Surrogate, form: Form, z: f64) -> f64 {
    let raw = |z: f64| match surrogate {
        Surrogate::SigmoidProb => 1.0 / (1.0 + z.exp()),
        Surrogate::Unhinged => 0.5 - 0.5 * z,
        Surrogate::TanhSmooth => 0.5 - 0.5 * z.tanh(),
        Surrogate::Hinge => (1.0 - z).max(0.0),
        Surrogate::Ramp => (1.0 - z).max(0.0).min(1.0),
        Surrogate::Logistic => (1.0 + (-z).exp()).ln(),
    };
    match form {
        Form::Raw => raw(z),
        Form::Sym => (0.5 * (raw(z) - raw(-z)) + 0.5).max(0.0).min(1.0),
    }
}

/// The paper's per-sample loss of `class`, counted from 0; `k-1` is negative.
pub(crate) fn paper_loss(ell: &dyn Fn(f64) -> f64, f: &[f64], class: usize) -> f64 {
    let k = f.len();
    if class < k - 1 {
        ell(f[class]) + ell(-f[k - 1])
    } else {
        let top = f[..k - 1].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ell(f[k - 1]) + ell(-top)
    }
}

/// The one-versus-rest loss of the baselines.
pub(crate) fn ovr_loss(ell: &dyn Fn(f64) -> f64, f: &[f64], class: usize) -> f64 {
    let k = f.len();
    let mut total = ell(f[class]);
    for i in 0..k {
        if i != class {
            total += ell(-f[i]) / (k as f64 - 1.0);
        }
    }
    total
}

fn g(correction: Correction, x: f64) -> f64 {
    match correction {
        Correction::Ure => x,
        Correction::Nn => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Correction::Abs => {
            if x < 0.0 {
                -x
            } else {
                x
            }
        }
    }
}

/// A sample as lists of score rows.
pub(crate) struct Lists {
    pub(crate) labeled: Vec<Vec<Vec<f64>>>,
    pub(crate) pool: Vec<Vec<f64>>,
    /// Soft targets of the pool's rows.
    pub(crate) targets: Vec<Vec<f64>>,
}

impl Lists {
    pub(crate) fn new(k: usize, rows: &[Vec<f64>], labels: &[MpuLabel]) -> Self {
        let mut lists = Self {
            labeled: vec![Vec::new(); k - 1],
            pool: Vec::new(),
            targets: Vec::new(),
        };
        for (row, label) in rows.iter().zip(labels) {
            match *label {
                MpuLabel::Labeled(class) => lists.labeled[class].push(row.clone()),
                MpuLabel::Unlabeled => {
                    lists.pool.push(row.clone());
                    lists.targets.push(target(row));
                }
            }
        }
        lists
    }
}

/// Any soft target will do; this one depends on the row alone.
pub(crate) fn target(row: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = row.iter().map(|f| 0.1 + f * f).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

fn log_softmax(f: &[f64], class: usize) -> f64 {
    f[class] - f.iter().map(|s| s.exp()).sum::<f64>().ln()
}

fn average(rows: &[Vec<f64>], loss: impl Fn(&[f64]) -> f64) -> f64 {
    rows.iter().map(|row| loss(row)).sum::<f64>() / rows.len() as f64
}

/// The objective of a objective on a sample in which every group has rows.
pub(crate) fn reference_value(
    objective: Objective,
    placement: Placement,
    ell: &dyn Fn(f64) -> f64,
    priors: &[f64],
    lists: &Lists,
) -> f64 {
    let k = priors.len();
    let (negative, pi_k) = (k - 1, priors[k - 1]);
    let own = |i: usize| average(&lists.labeled[i], |f| paper_loss(ell, f, i));
    let correction = objective.correction();
    let inner = if placement == Placement::Outer {
        Correction::Ure
    } else {
        correction
    };
    let outer = if placement == Placement::PerTerm {
        Correction::Ure
    } else {
        correction
    };
    let n: usize = lists.pool.len() + lists.labeled.iter().map(Vec::len).sum::<usize>();
    let share = |count: usize| count as f64 / n as f64;
    match objective {
        Objective::Csmpu(_) => {
            let mu_u = average(&lists.pool, |f| paper_loss(ell, f, negative));
            let mut total = g(inner, mu_u - 2.0 * (1.0 - pi_k));
            for i in 0..negative {
                total += 2.0 * priors[i] * g(inner, own(i));
            }
            g(outer, total)
        }
        Objective::CsmpuExact(_) => {
            let mut rest = average(&lists.pool, |f| paper_loss(ell, f, negative));
            let mut total = 0.0;
            for i in 0..negative {
                rest -= priors[i] * average(&lists.labeled[i], |f| paper_loss(ell, f, negative));
                total += priors[i] * own(i);
            }
            g(outer, total + g(inner, rest))
        }
        Objective::CsmpuRef(_) => {
            let mu_u = average(&lists.pool, |f| paper_loss(ell, f, negative));
            let mut total = share(lists.pool.len()) * g(inner, mu_u - (1.0 - pi_k));
            for i in 0..negative {
                total += share(lists.labeled[i].len()) * own(i);
            }
            g(outer, total)
        }
        Objective::UreOvr => {
            let mut total = average(&lists.pool, |f| ovr_loss(ell, f, negative));
            for i in 0..negative {
                total += priors[i]
                    * average(&lists.labeled[i], |f| {
                        ovr_loss(ell, f, i) - ovr_loss(ell, f, negative)
                    });
            }
            total
        }
        Objective::Area => {
            let k = k as f64;
            let mut total = average(&lists.pool, |f| {
                let rest: f64 = f[..negative].iter().map(|&score| ell(-score)).sum();
                ell(f[negative]) + rest / (k - 1.0)
            });
            for i in 0..negative {
                let pair = |f: &[f64]| ell(f[i]) + ell(-f[negative]);
                total += k / (k - 1.0) * priors[i] * average(&lists.labeled[i], pair);
            }
            total
        }
        Objective::BiasedSuper => {
            let mut total = average(&lists.pool, |f| ovr_loss(ell, f, negative));
            for i in 0..negative {
                total += average(&lists.labeled[i], |f| ovr_loss(ell, f, i));
            }
            total
        }
        Objective::Eulac(_) => augmented(priors, lists, inner, outer),
        Objective::MpuMl => likelihood(priors, lists) / n as f64,
        Objective::SoftTargets => self_training(priors, lists),
        Objective::Supervised => unreachable!("it has no pool"),
    }
}

/// `φ(z) = (1-z)²/4`.
pub(crate) fn square(z: f64) -> f64 {
    (1.0 - z) * (1.0 - z) / 4.0
}

/// The square loss of class `class`, one versus rest, each with the weight 1.
pub(crate) fn unit_cost_loss(ell: &dyn Fn(f64) -> f64, f: &[f64], class: usize) -> f64 {
    let signed = |j: usize| if j == class { f[j] } else { -f[j] };
    (0..f.len()).map(|j| ell(signed(j))).sum()
}

/// The augmented-class risk as its authors print it, where nothing is corrected; else the known classes' own loss and what
/// is left of the pool for the augmented one.
fn augmented(priors: &[f64], lists: &Lists, inner: Correction, outer: Correction) -> f64 {
    let negative = priors.len() - 1;
    if inner == Correction::Ure {
        return g(outer, augmented_as_printed(&square, priors, lists));
    }
    let mut rest = average(&lists.pool, |f| unit_cost_loss(&square, f, negative));
    let mut total = 0.0;
    for i in 0..negative {
        let mean = |class| average(&lists.labeled[i], |f| unit_cost_loss(&square, f, class));
        total += priors[i] * mean(i);
        rest -= priors[i] * mean(negative);
    }
    g(outer, total + g(inner, rest))
}

/// `θ E_kc[φ(f_y) - φ(-f_y) + φ(-f_ac) - φ(f_ac)] + E_te[φ(f_ac) + Σ φ(-f_i)]`, with `θ p_kc = Σ π_i p_i`.
pub(crate) fn augmented_as_printed(phi: &dyn Fn(f64) -> f64, priors: &[f64], lists: &Lists) -> f64 {
    let negative = priors.len() - 1;
    let mut total = average(&lists.pool, |f| {
        phi(f[negative]) + f[..negative].iter().map(|&s| phi(-s)).sum::<f64>()
    });
    for i in 0..negative {
        total += priors[i]
            * average(&lists.labeled[i], |f| {
                phi(f[i]) - phi(-f[i]) + phi(-f[negative]) - phi(f[negative])
            });
    }
    total
}

/// The negative logarithm of the probability of every row's group by Bayes' rule, from `p_i/p_u = q_i/π_i`.
fn likelihood(priors: &[f64], lists: &Lists) -> f64 {
    let negative = priors.len() - 1;
    let group = |f: &[f64], s: usize| {
        let drawn = |s: usize| {
            if s == negative {
                lists.pool.len() as f64
            } else {
                lists.labeled[s].len() as f64 * log_softmax(f, s).exp() / priors[s]
            }
        };
        drawn(s) / (0..=negative).map(drawn).sum::<f64>()
    };
    let mut total = 0.0;
    for i in 0..negative {
        total -= lists.labeled[i]
            .iter()
            .map(|f| group(f, i).ln())
            .sum::<f64>();
    }
    total
        - lists
            .pool
            .iter()
            .map(|f| group(f, negative).ln())
            .sum::<f64>()
}

/// Nine tenths of every observed class from its labelled rows, the rest from the pool's targets.
fn self_training(priors: &[f64], lists: &Lists) -> f64 {
    let negative = priors.len() - 1;
    let mut total = 0.0;
    for i in 0..negative {
        total -= 0.9 * priors[i] * average(&lists.labeled[i], |f| log_softmax(f, i));
    }
    for (f, t) in lists.pool.iter().zip(&lists.targets) {
        let weight = |j: usize| if j == negative { 1.0 } else { 0.1 };
        let entropy: f64 = (0..=negative)
            .map(|j| weight(j) * t[j] * log_softmax(f, j))
            .sum();
        total -= entropy / lists.pool.len() as f64;
    }
    total
}
