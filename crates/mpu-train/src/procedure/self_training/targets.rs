//! Targets of the pool that agree with its class priors, and the signs that they lead nowhere.

use mpu_data::Priors;
#[cfg(doc)]
use mpu_risk::PoolSurprise;

use super::SelfTraining;

/// A sign that self-training has failed, or cannot but fail.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Collapse {
    /// The priors leave nothing for negatives: matched to them, no target could name one.
    #[error(
        "there was nothing to train towards: the priors of the observed classes sum to one and leave no negatives"
    )]
    NoNegatives,
    /// The mean probabilities of the pool have gone this share of the way from the priors to one answer
    /// for all rows.
    #[error("the mean probabilities of the pool were {:.0} % of the way from the priors to one answer for all rows", 100.0 * .0)]
    Distance(f64),
    /// The model has forgotten most of what the warm-up model knew of the pool.
    #[error("the model explained {:.1} % of the pool's surprise, the warm-up model {:.1} %: the priors may be too high", 100.0 * gain, 100.0 * of_warm_up)]
    Forgotten {
        /// [`PoolSurprise::gain`].
        gain: f64,
        /// The same of the warm-up model.
        of_warm_up: f64,
    },
}

/// What scoring the pool gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolTargets {
    /// Targets of the rows, `k` to a row.
    pub(crate) targets: Vec<f64>,
    /// The mean of the model's own probabilities.
    pub(crate) mean: Vec<f64>,
}

impl PoolTargets {
    /// The sign that the model which gave these has failed, if there is one.
    pub(crate) fn collapse(
        &self,
        constants: &SelfTraining,
        priors: &Priors,
        gain: f64,
        of_warm_up: f64,
    ) -> Option<Collapse> {
        let share = self.way_to_one_answer(priors);
        if share > constants.collapse_distance {
            return Some(Collapse::Distance(share));
        }
        let forgotten = of_warm_up > 0.0 && gain < constants.least_kept * of_warm_up;
        forgotten.then_some(Collapse::Forgotten { gain, of_warm_up })
    }

    /// How far the model's mean `m` has gone from the priors to one answer for all rows, for the class
    /// where that is most: `max_j (m_j - π_j) / (1 - π_j)`.
    fn way_to_one_answer(&self, priors: &Priors) -> f64 {
        let classes = self.mean.iter().zip(priors.as_slice());
        classes
            .filter(|(_, pi)| **pi < 1.0)
            .map(|(m, pi)| (m - pi) / (1.0 - pi))
            .fold(0.0, f64::max)
    }
}

/// Rounds of scaling at the most; a handful is enough on real data.
const ROUNDS: usize = 100;
/// How near a column's share must come to its prior.
const TOLERANCE: f64 = 1e-6;

/// Turns scores of the pool, `k` to a row, into targets that agree with the priors.
///
/// ```text
/// t_rj = a_r q_rj b_j   with   Σ_j t_rj = 1,   mean_r t_rj = π_j,   q = softmax(scores)
/// ```
///
/// `a` and `b` are found by scaling rows and columns in turn (Sinkhorn). Among all targets with these
/// sums they are the nearest to `q` in relative entropy. Rows sum to one exactly; columns to a
/// tolerance, unless that cannot be had.
#[doc(alias = "eq:sinkhorn-targets")]
pub(crate) fn match_priors(scores: &[f32], priors: &Priors) -> PoolTargets {
    let pi = priors.as_slice();
    let k = pi.len();
    let n = (scores.len() / k).max(1) as f64;
    let mut q = probabilities(scores, k);
    let mut mean = vec![0.0; k];
    for row in q.chunks_mut(k) {
        for (q, mean) in row.iter_mut().zip(&mut mean) {
            // A floor, so that every column can be scaled to its prior.
            *q = q.max(1e-12);
            *mean += *q / n;
        }
    }
    let mut b = vec![1.0; k];
    for _ in 0..ROUNDS {
        let mut columns = vec![0.0; k];
        for row in q.chunks(k) {
            let sum: f64 = row.iter().zip(&b).map(|(q, b)| q * b).sum();
            for ((column, q), b) in columns.iter_mut().zip(row).zip(&b) {
                *column += q * b / (sum * n);
            }
        }
        let gap = columns.iter().zip(pi).map(|(c, pi)| (c - pi).abs());
        if gap.fold(0.0, f64::max) < TOLERANCE {
            break;
        }
        for ((b, column), pi) in b.iter_mut().zip(&columns).zip(pi) {
            *b = if *pi > 0.0 { *b * pi / column } else { 0.0 };
        }
    }
    for row in q.chunks_mut(k) {
        let sum: f64 = row.iter().zip(&b).map(|(q, b)| q * b).sum();
        for (q, b) in row.iter_mut().zip(&b) {
            *q *= b / sum;
        }
    }
    PoolTargets { targets: q, mean }
}

/// The softmax of each row of `k` scores.
pub(crate) fn probabilities(scores: &[f32], k: usize) -> Vec<f64> {
    let mut q = Vec::with_capacity(scores.len());
    for row in scores.chunks(k) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exps: Vec<f64> = row.iter().map(|&f| f64::from(f - top).exp()).collect();
        let sum: f64 = exps.iter().sum();
        q.extend(exps.iter().map(|e| e / sum));
    }
    q
}

/// Priors that allow for what a model found in the pool, if those given do not.
///
/// With `q = softmax(scores)`, `s` the share of rows with `max_{j<k} q_rj > sure` and `m_k` the mean of `q_rk`:
///
/// ```text
/// π'_i = π_i (1 - m_k) / (1 - π_k),   π'_k = m_k     if s > 1 - π_k and m_k < π_k
/// ```
#[doc(alias = "eq:raised-priors")]
pub(crate) fn raise_priors(scores: &[f32], priors: &Priors, sure: f64) -> Option<Priors> {
    let k = priors.as_slice().len();
    let given = 1.0 - priors.negative();
    let n = (scores.len() / k).max(1) as f64;
    let (mut found, mut sure_rows) = (0.0, 0.0);
    for row in probabilities(scores, k).chunks(k) {
        let observed = &row[..k - 1];
        found += observed.iter().sum::<f64>() / n;
        if observed.iter().any(|&q| q > sure) {
            sure_rows += 1.0 / n;
        }
    }
    if given <= 0.0 || sure_rows <= given || found <= given {
        return None;
    }
    let factor = found / given;
    let raised: Vec<f64> = priors.observed().iter().map(|pi| pi * factor).collect();
    Priors::from_observed(&raised).ok()
}

/// Moves the kept targets towards new ones: `t ← m t + (1-m) t_new`, or takes the new ones as they are if
/// there are none yet.
pub(crate) fn average(kept: &mut Vec<f32>, new: &[f64], momentum: f64) {
    if kept.is_empty() {
        kept.extend(new.iter().map(|&t| t as f32));
        return;
    }
    for (t, new) in kept.iter_mut().zip(new) {
        *t = (momentum * f64::from(*t) + (1.0 - momentum) * new) as f32;
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::ClassCount;
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use mpu_risk::{Groups, PoolSurprise};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_sum_to_one_columns_to_the_priors_and_odds_stay(
            (k, scores, weights) in (2usize..6).prop_flat_map(|k| (
                Just(k),
                prop::collection::vec(-4.0f32..4.0, 40 * k),
                prop::collection::vec(0.05f64..1.0, k),
            )),
        ) {
            let total: f64 = weights.iter().sum();
            let priors = Priors::new(weights.iter().map(|w| w / total).collect()).unwrap();
            let matched = match_priors(&scores, &priors);
            for row in matched.targets.chunks(k) {
                prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
            for (j, pi) in priors.as_slice().iter().enumerate() {
                let mean = matched.targets.iter().skip(j).step_by(k).sum::<f64>() / 40.0;
                prop_assert!((mean - pi).abs() < 1e-5, "{} {}", mean, pi);
            }
            // One factor for each column: the log-odds of two classes move by the same in every row.
            let moved = |r: usize| {
                let t = &matched.targets[r * k..(r + 1) * k];
                (t[0] / t[k - 1]).ln() - f64::from(scores[r * k] - scores[r * k + k - 1])
            };
            for r in 1..40 {
                prop_assert!((moved(r) - moved(0)).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_class_with_no_prior_gets_nothing_and_certain_rows_can_be_matched() {
        let priors = Priors::new(vec![0.5, 0.0, 0.5]).unwrap();
        let matched = match_priors(
            &[0.0, 9.0, 0.0, 900.0, 0.0, 0.0, 900.0, 0.0, -900.0],
            &priors,
        );
        assert!(matched.targets.iter().all(|t| t.is_finite()));
        assert!(matched.targets.iter().skip(1).step_by(3).all(|&t| t == 0.0));
        assert!(matched.way_to_one_answer(&priors) > 0.2);
    }

    #[test]
    fn either_sign_of_a_collapse_is_seen_and_told() {
        let priors = Priors::new(vec![0.25, 0.25, 0.5]).unwrap();
        let labels = [Labeled(0), Labeled(0), Labeled(0), Labeled(1), Unlabeled];
        let groups = Groups::new(ClassCount::new(3).unwrap(), &labels).unwrap();
        let sign = |q: [[f64; 3]; 2], of_warm_up: f64| {
            let scores: Vec<f64> = q.as_flattened().iter().map(|q| q.ln()).collect();
            let gain = PoolSurprise::new(&priors, &groups, &scores).gain();
            let scores: Vec<f32> = scores.iter().map(|&f| f as f32).collect();
            let constants = SelfTraining::default();
            match_priors(&scores, &priors).collapse(&constants, &priors, gain, of_warm_up)
        };
        assert_eq!(sign([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], 0.2), None);
        // Everything called negative: the likelihood of the pool could not be better.
        let all_negative = sign([[0.0, 0.0, 1.0]; 2], 0.2).unwrap();
        assert!(
            all_negative.to_string().contains("100 % of the way"),
            "{all_negative}"
        );
        // Nothing told apart, though the mean is that of the priors: forgotten, unless never known.
        let idle = sign([[0.25, 0.25, 0.5]; 2], 0.2).unwrap();
        assert!(
            idle.to_string().contains("the warm-up model 20.0 %"),
            "{idle}"
        );
        assert_eq!(sign([[0.26, 0.24, 0.5], [0.24, 0.25, 0.51]], 0.0), None);
        assert_eq!(sign([[0.25, 0.25, 0.5]; 2], -0.2), None, "it has improved");
    }

    #[test]
    fn priors_are_raised_to_what_a_sure_model_finds_and_never_lowered() {
        // Four rows of ten each of an observed class, as sure as `top`, the others negative.
        let scores = |top: f64| -> Vec<f32> {
            let rest = (1.0 - top) / 2.0;
            let row = |r: usize| match r {
                0..4 => [top, rest, rest],
                4..8 => [rest, top, rest],
                _ => [0.0, 0.0, 1.0],
            };
            (0..10).flat_map(row).map(|q| q.ln() as f32).collect()
        };
        let low = Priors::new(vec![0.3, 0.1, 0.6]).unwrap();
        let raised = raise_priors(&scores(0.96), &low, 0.9).unwrap();
        let found = 0.8 * 0.98;
        for (value, expected) in raised.as_slice().iter().zip([0.75, 0.25]) {
            assert!((value - expected * found).abs() < 1e-6, "{raised:?}");
        }
        // Not sure enough; allowed by the priors; and sure of more rows than it has mass for.
        assert_eq!(raise_priors(&scores(0.8), &low, 0.9), None);
        assert_eq!(raise_priors(&scores(0.96), &low, 1.0), None);
        let high = Priors::new(vec![0.5, 0.4, 0.1]).unwrap();
        assert_eq!(raise_priors(&scores(0.96), &high, 0.9), None);
        let near = Priors::new(vec![0.5, 0.29, 0.21]).unwrap();
        assert_eq!(raise_priors(&scores(0.96), &near, 0.9), None);
        // No observed class at all: nothing to scale.
        let none = Priors::new(vec![0.0, 0.0, 1.0]).unwrap();
        assert_eq!(raise_priors(&scores(0.96), &none, 0.9), None);
    }

    #[test]
    fn averages_begin_with_what_they_are_given() {
        let mut kept = Vec::new();
        average(&mut kept, &[1.0, 0.0], 0.9);
        assert_eq!(kept, [1.0, 0.0]);
        average(&mut kept, &[0.0, 1.0], 0.9);
        assert_eq!(kept, [0.9, 0.1]);
    }
}
