//! Judging without negatives: accuracy from labelled rows and the pool alone.

use mpu_data::{MpuLabel, Priors};

/// The accuracy on the pool's distribution, estimated without a single true negative.
///
/// ```text
/// Σ_{i<k} π_i P_i[ŷ = i] + P_u[ŷ = k] - Σ_{i<k} π_i P_i[ŷ = k]
/// ```
///
/// `P_i` is the share among the labelled rows of class `i`, `P_u` that among the pool. It is the exact
/// risk of `csmpu-exact-ure` with the zero-one loss, and unbiased for the same reason: the last two
/// terms together estimate `π_k P_k[ŷ = k]`. On a small sample it may leave `[0, 1]`.
///
/// `None` if the pool is empty. A class without labelled rows contributes nothing.
#[doc(alias = "eq:pu-accuracy")]
pub fn pu_accuracy(priors: &Priors, labels: &[MpuLabel], answers: &[usize]) -> Option<f64> {
    let negative = priors.classes().negative();
    let n_observed = priors.observed().len();
    let mut rows = vec![0u64; n_observed];
    let (mut right, mut lost) = (rows.clone(), rows.clone());
    let (mut pool, mut rejected) = (0u64, 0u64);
    for (label, &answer) in labels.iter().zip(answers) {
        match *label {
            MpuLabel::Labeled(class) if class < n_observed => {
                rows[class] += 1;
                right[class] += u64::from(answer == class);
                lost[class] += u64::from(answer == negative);
            }
            MpuLabel::Labeled(_) => {}
            MpuLabel::Unlabeled => {
                pool += 1;
                rejected += u64::from(answer == negative);
            }
        }
    }
    if pool == 0 {
        return None;
    }
    let mut accuracy = rejected as f64 / pool as f64;
    for (class, pi) in priors.observed().iter().enumerate() {
        if rows[class] > 0 {
            accuracy += pi * (right[class] as f64 - lost[class] as f64) / rows[class] as f64;
        }
    }
    Some(accuracy)
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_pool_has_no_accuracy() {
        let priors = Priors::new(vec![0.5, 0.5]).unwrap();
        assert_eq!(pu_accuracy(&priors, &[Labeled(0)], &[0]), None);
        assert_eq!(
            pu_accuracy(&priors, &[Labeled(0), Unlabeled], &[0, 1]),
            Some(1.5)
        );
    }

    proptest! {
        /// Each member of a finite population once as the pool, those of observed classes once more
        /// as labelled rows: the estimate is the true accuracy.
        #[test]
        fn the_estimate_is_the_true_accuracy_in_the_population(
            k in 2usize..6,
            members in prop::collection::vec((0usize..6, 0usize..6), 8..40),
        ) {
            let members: Vec<(usize, usize)> = (0..k)
                .map(|class| (class, 0))
                .chain(members)
                .map(|(class, answer)| (class % k, answer % k))
                .collect();
            let n = members.len() as f64;
            let share = |class| members.iter().filter(|m| m.0 == class).count() as f64 / n;
            let priors = Priors::new((0..k).map(share).collect()).unwrap();
            let (mut labels, mut answers) = (Vec::new(), Vec::new());
            for &(class, answer) in &members {
                labels.push(Unlabeled);
                answers.push(answer);
                if class < k - 1 {
                    labels.push(Labeled(class));
                    answers.push(answer);
                }
            }
            let truth = members.iter().filter(|m| m.0 == m.1).count() as f64 / n;
            let estimate = pu_accuracy(&priors, &labels, &answers).unwrap();
            prop_assert!((estimate - truth).abs() < 1e-12);
        }
    }
}
