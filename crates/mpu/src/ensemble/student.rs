//! The student: a forest of classes, from labels and the targets of the pool.

use mpu_data::{MpuLabel, Priors, Seed};
use mpu_models::forest::{Forest, ForestSpec, Targets};

use super::teacher::{Teacher, grow};
use crate::error::Result;
use crate::prepared::Watcher;

/// A forest of classes, and its answers to the rows it was grown from.
#[derive(Debug, Clone)]
pub struct Student {
    /// The forest.
    pub forest: Forest,
    /// What is known of each row.
    pub labels: Vec<MpuLabel>,
    /// [`log_probabilities`] of each row by trees that have not seen it.
    pub scores: Vec<f32>,
}

impl Student {
    /// Grows the forest from labels and targets.
    pub fn fit(
        teacher: Teacher,
        priors: &Priors,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Self> {
        let _span = tracing::info_span!("student").entered();
        let k = teacher.classes.get();
        let pool = pool_targets(priors, &teacher.labels, &teacher.answers);
        let mut pool = pool.chunks_exact(k);
        let mut shares = vec![0.0_f32; teacher.labels.len() * k];
        for (row, &label) in shares.chunks_exact_mut(k).zip(&teacher.labels) {
            match label {
                MpuLabel::Labeled(class) => row[class] = 1.0,
                MpuLabel::Unlabeled => {
                    for (share, &target) in row.iter_mut().zip(pool.next().unwrap_or_default()) {
                        *share = target as f32;
                    }
                }
            }
        }
        let targets = Targets::soft(&shares, &vec![1.0; teacher.labels.len()], k)?;
        // Other trees than the teacher's: a tree that has not seen a row must not have taught it either.
        let seed = Seed(seed.0.wrapping_add(SECOND));
        let forest = grow(spec, teacher.bins, &teacher.rows, &targets, seed, observer)?;
        let answers = forest.out_of_bag(&teacher.rows, &targets)?.probabilities;
        Ok(Self {
            scores: log_probabilities(&answers, k, spec.trees),
            forest,
            labels: teacher.labels,
        })
    }
}

/// What sets the student's seed apart from the teacher's.
const SECOND: u64 = 0x9E37_79B9_7F4A_7C15;

/// Targets for the rows of the pool, in their order: how probable each class is.
///
/// ```text
/// t_i(x) = π_i r_i(x) / max(1, Σ_j π_j r_j(x)),   r_i = (P(s=i|x)/n_i) / (P(s=u|x)/n_u)
/// ```
///
/// `r_i` is the density of class `i` beside that of the pool. What is left of each row is the class that was not
/// observed. The means of the targets are not made to agree with the priors: where these are too high, rows that are
/// surely of a class cannot be more than that, and the targets stay below (docs/SELF_TRAINING.md).
#[doc(alias = "eq:pool-targets")]
pub fn pool_targets(priors: &Priors, labels: &[MpuLabel], answers: &[f32]) -> Vec<f64> {
    let k = priors.classes().get();
    let mut n = vec![0.0_f64; k];
    for label in labels {
        match *label {
            MpuLabel::Labeled(class) => n[class] += 1.0,
            MpuLabel::Unlabeled => n[k - 1] += 1.0,
        }
    }
    let mut targets = Vec::new();
    for (answer, label) in answers.chunks_exact(k).zip(labels) {
        if *label != MpuLabel::Unlabeled {
            continue;
        }
        let pool = f64::from(answer[k - 1]) / n[k - 1];
        let start = targets.len();
        for class in 0..k - 1 {
            let density = f64::from(answer[class]) / n[class].max(1.0);
            targets.push(priors.as_slice()[class] * density / pool);
        }
        let sum: f64 = targets[start..].iter().sum();
        for target in &mut targets[start..] {
            *target /= sum.max(1.0);
        }
        targets.push((1.0 - sum).max(0.0));
    }
    targets
}

/// Logarithms of shares that trees voted for, with half a vote for each class, so that all are finite.
pub fn log_probabilities(shares: &[f32], k: usize, trees: usize) -> Vec<f32> {
    let (votes, half) = (trees as f64, 0.5);
    let logs = shares
        .iter()
        .map(|&p| ((f64::from(p) * votes + half) / (votes + half * k as f64)).ln() as f32);
    logs.collect()
}
