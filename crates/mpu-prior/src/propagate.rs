//! What to train with when priors are uncertain: a sweep around the estimate, or draws from its replicates.

use mpu_data::{Priors, Seed, Stream, bad_setting};
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimator::feasible;
use crate::report::{PriorReport, kept};

/// The relative changes `Δ` that the paper names.
pub const SWEEP: [f64; 3] = [0.1, 0.2, 0.3];

/// Priors of a robustness sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledPriors {
    /// The relative change, negative for smaller priors.
    pub change: f64,
    /// The priors of all classes, the negative one last.
    pub priors: Priors,
}

/// The priors `π̂ · (1 ± Δ)` for each `Δ`, smaller ones first, made feasible.
///
/// ```text
/// P(π̂_i (1 ± Δ)),   P the projection onto {π ≥ 0, Σπ ≤ 1}
/// ```
///
/// `observed` are the estimates of the observed classes; the negative class gets what is left of one.
#[doc(alias = "eq:prior-sweep")]
pub fn sweep(observed: &[f64], deltas: &[f64]) -> Result<Vec<ScaledPriors>> {
    let mut changes = Vec::with_capacity(2 * deltas.len());
    for &delta in deltas {
        if !(0.0..=1.0).contains(&delta) {
            let name = "the relative change of priors";
            return Err(bad_setting(name, delta, "from 0 to 1"));
        }
        changes.extend([-delta, delta]);
    }
    changes.sort_by(f64::total_cmp);
    let scaled = |change: f64| {
        let moved = observed.iter().map(|prior| prior * (1.0 + change));
        let moved: Vec<f64> = moved.collect();
        Ok(ScaledPriors {
            change,
            priors: Priors::from_observed(&feasible(&moved)?)?,
        })
    };
    changes.into_iter().map(scaled).collect()
}

/// `n` priors drawn from the kept bootstrap replicates, with replacement.
pub fn sample(report: &PriorReport, n: usize, seed: Seed) -> Result<Vec<Priors>> {
    let kept = kept(report)?;
    // The replicates used the streams 0, 1, …; the last one is free.
    let mut rng = seed.stream_at(Stream::Bootstrap, u64::MAX);
    let pick = |_| {
        let at = (u128::from(rng.next_u64()) * kept.len() as u128) >> 64;
        Ok(Priors::from_observed(&kept[at as usize])?)
    };
    (0..n).map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Keep;
    use crate::estimator::EstimatorKind;
    use crate::report::estimate;
    use crate::testing::{options, separable};

    #[test]
    fn the_sweep_by_hand() {
        let found = sweep(&[0.5, 0.3], &SWEEP).unwrap();
        let changes: Vec<f64> = found.iter().map(|scaled| scaled.change).collect();
        assert_eq!(changes, [-0.3, -0.2, -0.1, 0.1, 0.2, 0.3]);
        let close = |found: &Priors, want: [f64; 3]| {
            let pairs = found.as_slice().iter().zip(want);
            pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(close(&found[0].priors, [0.35, 0.21, 0.44]));
        assert!(close(&found[3].priors, [0.55, 0.33, 0.12]));
        // 0.65 + 0.39 exceeds one by 0.04: both give half of that.
        assert!(close(&found[5].priors, [0.63, 0.37, 0.0]));
        assert!(sweep(&[0.5], &[1.5]).is_err());
    }

    #[test]
    fn samples_are_replicates_and_repeat() {
        let margins = separable(&[0.3, 0.2], 100, 500, Seed(8));
        let run = |keep| {
            let mut options = options(12);
            options.bootstrap.keep = keep;
            let estimator = EstimatorKind::Bbe.build();
            estimate(&margins, estimator.as_ref(), &options, Seed(1)).unwrap()
        };
        let report = run(Keep::Replicates);
        let drawn = sample(&report, 50, Seed(2)).unwrap();
        assert_eq!(drawn, sample(&report, 50, Seed(2)).unwrap());
        let kept = report.kept.unwrap();
        let is_kept = |priors: &Priors| kept.contains(&priors.observed().to_vec());
        assert!(drawn.iter().all(is_kept));
        let none = sample(&run(Keep::Intervals), 1, Seed(2));
        assert_eq!(none, Err(crate::Error::NoReplicates));
    }
}
