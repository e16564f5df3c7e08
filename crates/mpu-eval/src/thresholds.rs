//! Thresholds that give each class the precision asked for, from held-out rows without negatives.
//!
//! ```
//! use mpu_data::{MpuLabel::{Labeled, Unlabeled}, Priors};
//! use mpu_eval::thresholds::precision_thresholds;
//!
//! let priors = Priors::new(vec![0.5, 0.5])?;
//! let labels = [Labeled(0), Labeled(0), Unlabeled, Unlabeled, Unlabeled, Unlabeled];
//! let p = [0.9, 0.1, 0.6, 0.4, 0.9, 0.1, 0.6, 0.4, 0.5, 0.5, 0.1, 0.9];
//! let found = precision_thresholds(&priors, &labels, &p, &[0.95])?;
//! // At 0.6 all of class 0 is accepted, which is half of the pool, and half of the pool is accepted.
//! assert_eq!(found[0].threshold, Some(0.6));
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::{MpuLabel, Priors, bad_setting, mismatch, top_class};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::held_out::Block;

/// The threshold of one class and what it is estimated to give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionThreshold {
    /// The precision asked for.
    pub target: f64,
    /// The lowest threshold that reaches it; `None` if none does.
    pub threshold: Option<f64>,
    /// The estimated precision at it, not clipped; without one, the highest found (0 if no row of the
    /// pool is given this class).
    pub precision: f64,
    /// The share of the labelled rows of the class that is accepted at it; 0 without one.
    pub recall: f64,
    /// The number of labelled rows of the class accepted at it: few make the estimate rough.
    pub accepted_labeled: u64,
    /// The number of pool rows accepted at it.
    pub accepted_pool: u64,
}

/// The lowest threshold of each observed class at which the estimated precision is its target.
///
/// ```text
/// precision_i(t) = π_i P_i[accept] / P_u[accept]
/// accept: class i is the likeliest observed class and p_i ≥ t
/// ```
///
/// `P_i` is the share among the held-out labelled rows of class `i`, `P_u` that among the held-out pool.
/// It is assumed that the labelled rows of a class look like its rows in the pool, and that the
/// prior is right: a prior too high by a tenth makes the precision look too high by a tenth. The
/// estimate is noisy where few rows are accepted, and the choice of the lowest `t` leans to lucky ones.
///
/// Thresholds are probabilities that occur among the held-out rows, or 0 if every row may be accepted.
#[doc(alias = "eq:precision-threshold")]
pub fn precision_thresholds(
    priors: &Priors,
    labels: &[MpuLabel],
    probabilities: &[f64],
    targets: &[f64],
) -> Result<Vec<PrecisionThreshold>> {
    let classes = priors.classes();
    Block::Probability.labeled_rows(classes, labels, probabilities)?;
    if targets.len() != classes.n_observed() {
        return Err(mismatch(
            "number of precision targets",
            targets.len(),
            format!("there are {} observed classes", classes.n_observed()),
        ));
    }
    if let Some(target) = targets.iter().find(|t| !(0.0..=1.0).contains(*t)) {
        return Err(bad_setting("precision target", target, "between 0 and 1"));
    }
    // Where each class is on top: its probability there, and whether the row is its own or the pool's.
    let mut candidates: Vec<Vec<(f64, Side)>> = vec![Vec::new(); classes.n_observed()];
    let mut n_labeled = vec![0u64; classes.n_observed()];
    let mut n_pool = 0u64;
    for (label, p) in labels.iter().zip(probabilities.chunks(classes.get())) {
        let top = top_class(&p[..classes.n_observed()]);
        match *label {
            MpuLabel::Unlabeled => {
                n_pool += 1;
                candidates[top].push((p[top], Side::Pool));
            }
            MpuLabel::Labeled(class) => {
                n_labeled[class] += 1;
                if class == top {
                    candidates[top].push((p[top], Side::Own));
                }
            }
        }
    }
    let found = candidates.iter_mut().enumerate().map(|(class, rows)| {
        let (pi, target) = (priors.as_slice()[class], targets[class]);
        lowest(rows, pi, target, n_labeled[class], n_pool)
    });
    Ok(found.collect())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Own,
    Pool,
}

fn lowest(
    rows: &mut [(f64, Side)],
    pi: f64,
    target: f64,
    n_labeled: u64,
    n_pool: u64,
) -> PrecisionThreshold {
    let mut best = PrecisionThreshold {
        target,
        threshold: None,
        precision: 0.0,
        recall: 0.0,
        accepted_labeled: 0,
        accepted_pool: 0,
    };
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut own, mut pool) = (0u64, 0u64);
    for at in 0..rows.len() {
        match rows[at].1 {
            Side::Own => own += 1,
            Side::Pool => pool += 1,
        }
        let next = rows.get(at + 1).map(|next| next.0);
        // Equal probabilities are accepted together.
        if next == Some(rows[at].0) || pool == 0 || n_labeled == 0 {
            continue;
        }
        let recall = own as f64 / n_labeled as f64;
        let precision = pi * recall * n_pool as f64 / pool as f64;
        if precision >= target {
            best = PrecisionThreshold {
                target,
                threshold: Some(next.map_or(0.0, |_| rows[at].0.clamp(0.0, 1.0))),
                precision,
                recall,
                accepted_labeled: own,
                accepted_pool: pool,
            };
        } else if best.threshold.is_none() {
            best.precision = best.precision.max(precision);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use proptest::prelude::*;

    use super::*;
    use crate::decide::{Decision, Thresholds};

    #[test]
    fn unattainable_targets_are_said_to_be() {
        let priors = Priors::new(vec![0.2, 0.8]).unwrap();
        let labels = [Labeled(0), Unlabeled, Unlabeled];
        let p = [0.5, 0.5, 0.6, 0.4, 0.4, 0.6];
        let found = precision_thresholds(&priors, &labels, &p, &[0.5]).unwrap();
        assert_eq!(found[0].threshold, None);
        assert!((found[0].precision - 0.4).abs() < 1e-12);
        // Anything goes: every row is accepted.
        let found = precision_thresholds(&priors, &labels, &p, &[0.1]).unwrap();
        assert_eq!(found[0].threshold, Some(0.0));
        // No labelled rows: nothing is known.
        let found = precision_thresholds(&priors, &labels[1..], &p[2..], &[0.0]).unwrap();
        assert_eq!(found[0].threshold, None);
        assert!(precision_thresholds(&priors, &labels, &p, &[]).is_err());
        assert!(precision_thresholds(&priors, &labels, &p, &[1.5]).is_err());
    }

    proptest! {
        /// A finite population once as the pool, its observed members once more as labelled rows: the
        /// estimate is the true precision of the rule, and no lower threshold reaches the target.
        #[test]
        fn the_precision_is_that_of_the_population(
            members in prop::collection::vec((0usize..3, 0u32..6, 0u32..6), 6..40),
            target in 0.1f64..0.9,
        ) {
            let members: Vec<(usize, [f64; 3])> = [(0, 5, 1), (1, 1, 5), (2, 1, 1)]
                .into_iter()
                .chain(members)
                .map(|(class, a, b)| {
                    let (a, b) = (f64::from(a) / 12.0, f64::from(b) / 12.0);
                    (class, [a, b, 1.0 - a - b])
                })
                .collect();
            let n = members.len() as f64;
            let share = |class| members.iter().filter(|m| m.0 == class).count() as f64 / n;
            let priors = Priors::new((0..3).map(share).collect()).unwrap();
            let (mut labels, mut p) = (Vec::new(), Vec::new());
            for (class, row) in &members {
                labels.push(Unlabeled);
                p.extend(row);
                if *class < 2 {
                    labels.push(Labeled(*class));
                    p.extend(row);
                }
            }
            let found = precision_thresholds(&priors, &labels, &p, &[target; 2]).unwrap();
            let precision = |class: usize, t: f64| {
                let mut thresholds = vec![None; 2];
                thresholds[class] = Some(t);
                let rule = Decision::Thresholds(Thresholds::new(thresholds).unwrap());
                let (mut given, mut right) = (0.0, 0.0);
                for (truth, row) in &members {
                    if rule.answers(priors.classes(), row).unwrap()[0] == class {
                        given += 1.0;
                        right += f64::from(u8::from(*truth == class));
                    }
                }
                if given > 0.0 { right / given } else { 0.0 }
            };
            for class in 0..2 {
                let lower = match found[class].threshold {
                    Some(t) => {
                        prop_assert!((found[class].precision - precision(class, t)).abs() < 1e-12);
                        prop_assert!(found[class].precision >= target);
                        t
                    }
                    None => 2.0,
                };
                let lower_rows = |m: &&(usize, [f64; 3])| {
                    m.1[class] < lower && top_class(&m.1[..2]) == class
                };
                for (_, row) in members.iter().filter(lower_rows) {
                    prop_assert!(precision(class, row[class]) < target + 1e-12);
                }
            }
        }
    }
}
