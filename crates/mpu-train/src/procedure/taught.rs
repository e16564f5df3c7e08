//! Targets of the pool that were found before: from the first epoch to the last the same.

use mpu_risk::{Estimator, Objective};

use super::{Procedure, pool_places};
use crate::checkpoint::State;
use crate::error::Result;
use crate::problem::Problem;
use crate::trainer::Run;

/// Cross-entropy on labelled rows and on targets: those of a [`Problem`], or those that a
/// [`Teacher`](crate::teacher::Teacher) has left in the state.
///
/// Labelled rows count as much as rows of the pool do: the share of an observed class that is learned from them is
/// the share of the class that they are.
pub(super) struct Taught<'a> {
    problem: &'a Problem,
    estimator: Estimator,
    held_out: Estimator,
    /// The place of each training row in the pool; none for labelled rows.
    places: Vec<Option<usize>>,
}

impl<'a> Taught<'a> {
    pub(super) fn new(run: &Run, problem: &'a Problem) -> Result<Self> {
        let places = pool_places(problem);
        let n_pool = places.iter().flatten().count();
        let labeled = (places.len() - n_pool) as f64;
        let found = n_pool as f64 * (1.0 - run.priors.negative());
        let share = labeled / (labeled + found).max(1.0);
        Ok(Self {
            problem,
            estimator: run.estimator()?.with_labeled_share(share)?,
            held_out: Estimator::new(Objective::MpuMl, run.loss, run.priors.clone()),
            places,
        })
    }
}

impl Procedure for Taught<'_> {
    fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    fn held_out(&self) -> &Estimator {
        &self.held_out
    }

    fn targets(&self, state: &State, rows: &[usize]) -> Option<Vec<f64>> {
        let k = self.problem.classes().get();
        let places = rows.iter().filter_map(|&row| self.places[row]);
        let target = |place: usize| -> Vec<f64> {
            if let Some(targets) = self.problem.targets() {
                let target = &targets[place * k..][..k];
                return target.iter().map(|&share| f64::from(share)).collect();
            }
            // A sum of answers.
            let sums = &state.targets[place * k..][..k];
            let all: f64 = sums.iter().map(|&sum| f64::from(sum)).sum();
            sums.iter().map(|&sum| f64::from(sum) / all).collect()
        };
        Some(places.flat_map(target).collect())
    }
}
