//! Steps 1 to 3 in one call.

use mpu_data::{Priors, Seed};
use serde::{Deserialize, Serialize};

use crate::bootstrap::{BootstrapOptions, Interval, IntervalKind, Keep, bootstrap};
use crate::error::{Error, Result};
use crate::estimator::{EstimatorKind, PriorEstimator, feasible};
use crate::margins::{Counts, Group, Margins};
use crate::matching::MatchingReport;
use crate::np_bound::{NpOptions, np_bounds};

/// How bounds and intervals are made; the estimator is chosen apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EstimateOptions {
    /// Step 1.
    pub np: NpOptions,
    /// Step 3.
    pub bootstrap: BootstrapOptions,
}

/// Something a reader of an estimate must know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "note")]
pub enum Note {
    /// The printed quantity is zero at every level.
    #[error(
        "not detectable at any level alpha: fixed to 0, as the paper does (the estimator said {raw:.4})"
    )]
    NotDetectable {
        /// What the estimator said before the class was fixed to 0.
        raw: f64,
    },
    /// The estimate lies above the upper bound: margins or folds are not what they should be.
    #[error("the estimate exceeds the upper bound {upper:.4}")]
    AboveUpper {
        /// The upper bound.
        upper: f64,
    },
    /// The printed quantity lies above the upper bound: its assumption does not hold.
    #[error(
        "the printed lower bound exceeds the upper bound {upper:.4}: other classes are accepted too often"
    )]
    LowerAboveUpper {
        /// The upper bound.
        upper: f64,
    },
    /// The class has almost the same moments as another: only their sum can be known.
    #[error("cannot be told apart from class {with}; only the sum of both can be known")]
    Collinear {
        /// The other class.
        with: usize,
    },
    /// The interval is so wide that nothing is known; the estimate was drawn towards a careful guess.
    #[error(
        "the rows say almost nothing about it (the estimator said {raw:.4}, drawn towards a careful guess)"
    )]
    NothingKnown {
        /// What the estimator said.
        raw: f64,
    },
    /// Few labelled rows.
    #[error("only {rows} labelled rows")]
    FewRows {
        /// How many.
        rows: usize,
    },
}

/// What is known of one observed class's prior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    /// The class, counted from 0.
    pub class: usize,
    /// The point estimate.
    pub estimate: f64,
    /// The interval asked for.
    pub interval: Interval,
    /// The percentile interval.
    pub percentile: Interval,
    /// The basic interval.
    pub basic: Interval,
    /// The printed lower bound, valid if the detector accepts at most a share alpha of rows of other classes.
    pub lower_if_acceptance_below_alpha: f64,
    /// The upper bound, valid whatever the overlap.
    pub upper: f64,
    /// Whether the printed lower bound is positive at some level.
    pub detectable: bool,
    /// What else a reader must know.
    pub notes: Vec<Note>,
}

/// What is known of all priors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorReport {
    /// The estimator used.
    pub estimator: EstimatorKind,
    /// The observed classes.
    pub classes: Vec<ClassReport>,
    /// How the matching went, and from which margins, if the estimator is one.
    pub matching: Option<MatchingReport>,
    /// The interval of the negative class's prior; none in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<Interval>,
    /// Replicates used.
    pub replicates: usize,
    /// Replicates that could not be computed.
    pub failed_replicates: usize,
    /// One minus the level of the intervals.
    pub delta: f64,
    /// The replicates, if they were to be kept.
    pub kept: Option<Vec<Vec<f64>>>,
}

impl PriorReport {
    /// The estimates of the observed classes.
    pub fn observed(&self) -> Vec<f64> {
        self.classes.iter().map(|class| class.estimate).collect()
    }

    /// The estimates of all classes; the negative one gets what is left.
    pub fn priors(&self) -> Result<Priors> {
        Ok(Priors::from_observed(&self.observed())?)
    }
}

/// An interval that reaches to all of some values.
fn reaching(interval: Interval, values: impl Iterator<Item = f64>) -> Interval {
    values.fold(interval, |interval, value| Interval {
        low: interval.low.min(value),
        high: interval.high.max(value),
    })
}

/// From so many rows on, fewer replicates are drawn: each takes as long as all of a small table's, and an interval that
/// is narrow need not have exact ends.
const MANY_ROWS: usize = 100_000;
/// How many these are.
const FEW_REPLICATES: usize = 100;

/// Bounds, point estimates and intervals of all observed classes. Of more than 100 000 rows at most 100 replicates are
/// drawn.
///
/// A class that is not detectable has the estimate 0; its interval still reaches up to where the replicates do.
pub fn estimate(
    margins: &Margins,
    estimator: &dyn PriorEstimator,
    options: &EstimateOptions,
    seed: Seed,
) -> Result<PriorReport> {
    options.bootstrap.check()?;
    let bounds = np_bounds(margins, &options.np)?;
    let prepared = estimator.prepare(margins)?;
    let once = Counts::once(margins);
    let raw = feasible(&prepared.point(&once)?)?;
    let matching = prepared.matching(&once)?;
    let others = prepared.others(&once)?;
    let others = others.iter().map(|other| feasible(other));
    let others = others.collect::<Result<Vec<_>>>()?;
    let mut step3 = options.bootstrap;
    step3.replicates = step3.replicates.min(estimator.most_replicates());
    let rows = margins.all_groups().map(|group| margins.n_rows(group));
    if rows.sum::<usize>() > MANY_ROWS {
        step3.replicates = step3.replicates.min(FEW_REPLICATES);
    }
    let mut replicates = bootstrap(prepared.as_ref(), margins, &step3, seed)?;
    let delta = step3.delta;
    let mut classes = Vec::with_capacity(raw.len());
    for (class, bound) in bounds.iter().enumerate() {
        let estimate = if bound.detectable { raw[class] } else { 0.0 };
        let from_zero = |interval: Interval| Interval {
            low: if bound.detectable { interval.low } else { 0.0 },
            ..interval
        };
        let percentile = from_zero(replicates.percentile(class, delta));
        let basic = from_zero(replicates.basic(class, delta, raw[class]));
        let lower = bound.lower_if_acceptance_below_alpha;
        let upper = bound.upper;
        let n_rows = margins.n_rows(Group::Class(class));
        let pairs = matching.iter().flat_map(|matching| &matching.collinear);
        let partners = pairs.filter_map(|&(i, j)| match class {
            _ if i == class => Some(j),
            _ if j == class => Some(i),
            _ => None,
        });
        let mut notes = Vec::new();
        notes.extend((!bound.detectable).then_some(Note::NotDetectable { raw: raw[class] }));
        notes.extend((estimate > upper).then_some(Note::AboveUpper { upper }));
        notes.extend((lower > upper).then_some(Note::LowerAboveUpper { upper }));
        notes.extend(partners.map(|with| Note::Collinear { with }));
        notes.extend((n_rows < 30).then_some(Note::FewRows { rows: n_rows }));
        classes.push(ClassReport {
            class,
            estimate,
            interval: reaching(
                match step3.interval {
                    IntervalKind::Percentile => percentile,
                    IntervalKind::Basic => basic,
                },
                others.iter().map(|other| other[class]),
            ),
            percentile,
            basic,
            lower_if_acceptance_below_alpha: lower,
            upper,
            detectable: bound.detectable,
            notes,
        });
    }
    // Classes that are fixed to 0 are so in what is sampled from later.
    for class in classes.iter().filter(|class| !class.detectable) {
        for priors in &mut replicates.priors {
            priors[class.class] = 0.0;
        }
    }
    Ok(PriorReport {
        estimator: estimator.kind(),
        classes,
        matching,
        negative: Some(replicates.negative(delta)),
        replicates: replicates.priors.len(),
        failed_replicates: replicates.failed,
        delta,
        kept: (step3.keep == Keep::Replicates).then_some(replicates.priors),
    })
}

/// The kept replicates of a report.
pub(crate) fn kept(report: &PriorReport) -> Result<&[Vec<f64>]> {
    let kept = report.kept.as_deref().filter(|kept| !kept.is_empty());
    kept.ok_or(Error::NoReplicates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::KernelMean;
    use crate::matching::Matching;
    use crate::testing::{gaussian, separable};

    fn options(replicates: usize) -> EstimateOptions {
        let mut options = crate::testing::options(replicates);
        options.bootstrap.keep = Keep::Replicates;
        options
    }

    #[test]
    fn every_estimator_recovers_separable_priors() {
        let truth = [0.3, 0.15];
        let margins = separable(&truth, 400, 3000, Seed(11));
        for kind in EstimatorKind::ALL {
            // KM2 is slow without optimisation: fewer rows and replicates, whose own share deviates by 0.05.
            let slow = KernelMean {
                n_rows: 80,
                most_replicates: 2,
                ..KernelMean::default()
            };
            let estimator: Box<dyn PriorEstimator> = match kind {
                EstimatorKind::Km2 => Box::new(slow),
                _ => kind.build(),
            };
            let report = estimate(&margins, estimator.as_ref(), &options(10), Seed(1)).unwrap();
            let slow = kind == EstimatorKind::Km2;
            let tolerance = if slow { 0.08 } else { 0.03 };
            for (class, want) in report.classes.iter().zip(truth) {
                let found = class.estimate;
                assert!((found - want).abs() < tolerance, "{kind}: {found} {want}");
                assert!(class.detectable && class.upper >= want, "{class:?}");
                assert!(class.interval.low <= class.interval.high);
            }
            assert_eq!(report.matching.is_some(), kind == EstimatorKind::Moments);
            let n_kept = report.kept.as_ref().map(Vec::len);
            assert_eq!(n_kept, Some(estimator.most_replicates().min(10)));
            assert!(report.priors().is_ok());
            let text = serde_json::to_string(&report).unwrap();
            let back: PriorReport = serde_json::from_str(&text).unwrap();
            assert_eq!(back.observed().len(), 2);
        }
    }

    #[test]
    fn matching_takes_observed_classes_off_and_bbe_does_not() {
        // Class 1 overlaps class 0; the negative class is far from both.
        let truth = [0.1, 0.5];
        let margins = gaussian(&[0.0, 1.5, -8.0], &truth, 1000, 8000, Seed(2));
        let run = |kind: EstimatorKind| kind.build().estimate(&margins).unwrap();
        let (joint, alone) = (run(EstimatorKind::Moments), run(EstimatorKind::Bbe));
        assert!((joint[0] - 0.1).abs() < 0.03, "{joint:?}");
        assert!(alone[0] > joint[0] + 0.02, "{alone:?} {joint:?}");
    }

    #[test]
    fn many_rows_get_fewer_replicates() {
        let estimator = EstimatorKind::SharedRate.build();
        for (pool, wanted) in [(2000, 130), (100_000, FEW_REPLICATES)] {
            let margins = separable(&[0.3, 0.1], 100, pool, Seed(5));
            let report = estimate(&margins, estimator.as_ref(), &options(130), Seed(1)).unwrap();
            assert_eq!(report.replicates, wanted);
            assert!((report.classes[0].estimate - 0.3).abs() < 0.03);
        }
    }

    #[test]
    fn a_class_that_is_not_there_is_fixed_to_zero_and_says_so() {
        let margins = separable(&[0.3, 0.0], 300, 2000, Seed(4));
        let report = estimate(&margins, &Matching::default(), &options(20), Seed(1)).unwrap();
        let absent = &report.classes[1];
        assert!(!absent.detectable && absent.estimate == 0.0 && absent.interval.low == 0.0);
        assert!(matches!(absent.notes[0], Note::NotDetectable { .. }));
        assert!(absent.notes[0].to_string().contains("fixed to 0"));
        assert!(report.kept.unwrap().iter().all(|priors| priors[1] == 0.0));
    }

    #[test]
    fn classes_that_cannot_be_told_apart_are_named() {
        let margins = gaussian(&[3.0, 3.0, -3.0], &[0.2, 0.2], 500, 3000, Seed(6));
        let report = estimate(&margins, &Matching::default(), &options(10), Seed(1)).unwrap();
        assert_eq!(report.matching.as_ref().unwrap().collinear, [(0, 1)]);
        let notes = &report.classes[0].notes;
        assert!(notes.contains(&Note::Collinear { with: 1 }));
        let sum: f64 = report.observed().iter().sum();
        assert!((sum - 0.4).abs() < 0.06, "{sum}");
    }
}
