//! What every estimator of class priors offers, and the closed list of them.

use crate::binary::{BestBin, Dedpul, ElkanNoto, KernelMean, PenalizedL1};
use crate::error::Result;
use crate::labeling_rate::{LabelingRate, Rates};
use crate::margins::{Counts, Margins};
use crate::matching::{Matching, MatchingReport};
use crate::simplex::FeasibleSet;

/// An estimator of the priors of the observed classes.
pub trait PriorEstimator: Send + Sync {
    /// Which one it is.
    fn kind(&self) -> EstimatorKind;

    /// Does once what does not depend on how often each row is counted: sorting, binning, kernels.
    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>>;

    /// The most bootstrap replicates that make sense for its cost.
    fn most_replicates(&self) -> usize {
        usize::MAX
    }

    /// The estimate from all rows, made feasible.
    fn estimate(&self, margins: &Margins) -> Result<Vec<f64>> {
        let prepared = self.prepare(margins)?;
        feasible(&prepared.point(&Counts::once(margins))?)
    }
}

/// An estimator that has seen its margins.
pub trait Prepared: Send + Sync {
    /// The estimates of the observed classes with rows counted as given. Methods that take one class at a time may
    /// give a sum above one: see [`feasible`].
    ///
    /// # Panics
    ///
    /// If the counts were made for other margins with fewer rows or classes.
    fn point(&self, counts: &Counts) -> Result<Vec<f64>>;

    /// What the estimates would be by other choices that are no worse: intervals reach to them.
    fn others(&self, counts: &Counts) -> Result<Vec<Vec<f64>>> {
        let _ = counts;
        Ok(Vec::new())
    }

    /// How the matching went, if it is one.
    fn matching(&self, counts: &Counts) -> Result<Option<MatchingReport>> {
        let _ = counts;
        Ok(None)
    }
}

/// Estimates that are made of one class at a time.
struct OneByOne<F>(Vec<F>);

impl<F: Fn(&Counts) -> f64 + Send + Sync> Prepared for OneByOne<F> {
    fn point(&self, counts: &Counts) -> Result<Vec<f64>> {
        Ok(self.0.iter().map(|class| class(counts)).collect())
    }
}

/// An estimator that takes one class at a time: `prepare` says what estimates a class from counts.
pub(crate) fn one_by_one<F: Fn(&Counts) -> f64 + Send + Sync + 'static>(
    margins: &Margins,
    prepare: impl Fn(usize) -> F,
) -> Box<dyn Prepared> {
    Box::new(OneByOne((0..margins.n_observed()).map(prepare).collect()))
}

/// The nearest priors that are not negative and sum to at most one.
pub fn feasible(priors: &[f64]) -> Result<Vec<f64>> {
    FeasibleSet::new(vec![0.0; priors.len()])?.project(priors)
}

/// Every estimator there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum EstimatorKind {
    /// Joint matching of margin moments in the region of high margins ([`Matching`]). The default:
    /// docs/PRIORS.md compares them.
    #[default]
    Moments,
    /// Best-bin estimation, one class at a time ([`BestBin`]).
    Bbe,
    /// Elkan and Noto's constant, one class at a time ([`ElkanNoto`]).
    ElkanNoto,
    /// Kernel mean embedding, one class at a time ([`KernelMean`]).
    Km2,
    /// Penalised L1 divergence, one class at a time ([`PenalizedL1`]).
    PenL1,
    /// Ratios of estimated densities, one class at a time ([`Dedpul`]).
    Dedpul,
    /// The rate at which each class is labelled, where its labelled rows are surest ([`LabelingRate`]).
    LabelingRate,
    /// The same, with rates that are alike unless a class shows otherwise ([`LabelingRate`]).
    SharedRate,
}

mpu_data::named!(EstimatorKind, "estimator", {
    Moments => "moments",
    Bbe => "bbe",
    ElkanNoto => "elkan-noto",
    Km2 => "km2",
    PenL1 => "pen-l1",
    Dedpul => "dedpul",
    LabelingRate => "labeling-rate",
    SharedRate => "shared-rate",
});

impl EstimatorKind {
    /// The estimator with its default settings.
    pub fn build(self) -> Box<dyn PriorEstimator> {
        match self {
            Self::Moments => Box::new(Matching::default()),
            Self::Bbe => Box::new(BestBin::default()),
            Self::ElkanNoto => Box::new(ElkanNoto),
            Self::Km2 => Box::new(KernelMean::default()),
            Self::PenL1 => Box::new(PenalizedL1::default()),
            Self::Dedpul => Box::new(Dedpul::default()),
            Self::LabelingRate => Box::new(LabelingRate { rates: Rates::Own }),
            Self::SharedRate => Box::new(LabelingRate {
                rates: Rates::Shared,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use mpu_data::Seed;

    use super::*;
    use crate::testing::separable;

    /// The seconds that this thread computes; on systems that do not tell, those that pass.
    fn seconds(work: impl FnOnce()) -> f64 {
        let computed = || {
            let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
            told.split(' ').next()?.parse::<f64>().ok()
        };
        let (begun, before) = (Instant::now(), computed());
        work();
        match (before, computed()) {
            (Some(before), Some(after)) => (after - before) / 1e9,
            _ => begun.elapsed().as_secs_f64(),
        }
    }

    /// Eight times as many classes on as many rows take some eight times as long. Were it the square, it would be 64 times.
    #[test]
    fn cost_does_not_grow_with_the_square_of_the_classes() {
        let margins = |n: usize| separable(&vec![0.7 / n as f64; n], 1600 / n, 2000, Seed(3));
        let (few, many) = (margins(10), margins(80));
        let kinds = EstimatorKind::ALL.into_iter();
        // The rows of `km2` shrink with the classes; a test of its own says how.
        for kind in kinds.filter(|kind| *kind != EstimatorKind::Km2) {
            // The clock of a thread has ticks of milliseconds: short work is done often.
            let each = |margins: &Margins, often: usize| {
                let counts = Counts::once(margins);
                let work = || {
                    for _ in 0..often {
                        let prepared = kind.build().prepare(margins).unwrap();
                        prepared.point(&counts).unwrap();
                    }
                };
                seconds(work).max(0.004) / often as f64
            };
            let (few, many) = (each(&few, 40), each(&many, 5));
            let times = many / few;
            let shown = format!("{kind}: {times:.1} times, {few} s and {many} s");
            assert!(times < 40.0, "{shown}");
        }
    }
}
