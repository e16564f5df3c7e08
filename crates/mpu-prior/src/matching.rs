//! Step 2: joint matching of margin moments in the region of high margins, as an estimator.

use mpu_data::bad_setting;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator};
use crate::margins::{Counts, Margins};
use crate::moments::{Binned, Region, RegionOptions, Shares, Summary};
use crate::np_bound::{NpOptions, NpStep};
use crate::simplex::FeasibleSet;
use crate::solver::{self, Solution, SolverOptions, Stop};

/// The weight `λ` of the penalty `‖π - π̲‖₁`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lambda {
    /// This weight.
    Fixed(f64),
    /// The one of these whose solution on the other folds fits the moments of the held-out fold best.
    CrossValidated(Vec<f64>),
}

/// The lower bounds `π̲` of equation 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lower {
    /// Zero. The default, because the printed quantity of step 1 exceeds the prior where classes overlap.
    Zero,
    /// The printed quantity of step 1, computed again in every bootstrap replicate.
    Printed,
}

mpu_data::defaults! {
    /// The estimator `moments`: equation 3 on moments from the region of high margins.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct Matching {
        /// Summary functions of a margin.
        pub summary: Summary = Summary::Bins(1),
        /// The choice of the region.
        pub region: RegionOptions = RegionOptions::default(),
        /// The weight of the penalty.
        pub lambda: Lambda = Lambda::Fixed(0.0),
        /// The lower bounds.
        pub lower: Lower = Lower::Zero,
        /// Step 1, if its printed quantity is the lower bound.
        pub np: NpOptions = NpOptions::default(),
        /// When the solver stops.
        pub solver: SolverOptions = SolverOptions::default(),
    }
}

/// What the matching found and from what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchingReport {
    /// `‖Aπ - b‖² + λ‖π - π̲‖₁` at the solution.
    pub value: f64,
    /// `‖Aπ - b‖`.
    pub residual: f64,
    /// The optimality (KKT) residual.
    pub kkt: f64,
    /// Steps of the solver.
    pub iterations: usize,
    /// Why it stopped.
    pub stop: Stop,
    /// The condition number of `A`; none if its columns are dependent.
    pub condition: Option<f64>,
    /// Pairs of classes with almost the same moments, whose shares cannot be told apart.
    pub collinear: Vec<(usize, usize)>,
    /// The `λ` used.
    pub lambda: f64,
    /// The margins used: those at or above each class's threshold, where negatives hardly reach.
    pub regions: Vec<Region>,
}

impl PriorEstimator for Matching {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::Moments
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        Ok(Box::new(PreparedMatching::new(self, margins)?))
    }
}

/// Equation 3 on binned margins.
#[derive(Debug)]
struct PreparedMatching {
    options: Matching,
    binned: Binned,
    np: Option<NpStep>,
    lambda: f64,
}

impl PreparedMatching {
    fn new(options: &Matching, margins: &Margins) -> Result<Self> {
        options.region.check()?;
        let np = match options.lower {
            Lower::Zero => None,
            Lower::Printed => Some(NpStep::new(margins, &options.np)?),
        };
        let mut prepared = Self {
            options: options.clone(),
            binned: Binned::new(margins, options.region.n_thresholds),
            np,
            lambda: 0.0,
        };
        prepared.lambda = match &options.lambda {
            Lambda::Fixed(lambda) => *lambda,
            Lambda::CrossValidated(grid) => prepared.choose_lambda(margins, grid)?,
        };
        Ok(prepared)
    }

    fn set(&self, counts: &Counts, n_observed: usize) -> Result<FeasibleSet> {
        let Some(np) = &self.np else {
            return FeasibleSet::new(vec![0.0; n_observed]);
        };
        // More than the whole pool is no lower bound for anything.
        let bounds = np.lower(counts).into_iter().map(|bound| bound.min(1.0));
        FeasibleSet::new(bounds.collect())
    }

    /// The regions and the solution on them.
    fn run(
        &self,
        shares: &Shares<'_>,
        set: &FeasibleSet,
        lambda: f64,
    ) -> Result<(Vec<usize>, Solution)> {
        let starts = shares.plateau(&self.options.region);
        let system = shares.system(&starts, self.options.summary)?;
        let solution = solver::solve(&system, set, lambda, &self.options.solver)?;
        Ok((starts, solution))
    }

    fn choose_lambda(&self, margins: &Margins, grid: &[f64]) -> Result<f64> {
        let none = bad_setting("the number of lambdas", 0.0, "at least 1");
        let mut best: Option<(f64, f64)> = None;
        let n_folds = margins.n_folds();
        if n_folds < 2 {
            let name = "the number of folds for cross-validation";
            return Err(bad_setting(name, n_folds, "at least 2"));
        }
        for &lambda in grid {
            let mut error = 0.0;
            for fold in 0..n_folds {
                let train = Counts::without_fold(margins, fold);
                let held_out = Counts::only_fold(margins, fold);
                train.check(margins)?;
                held_out.check(margins)?;
                let set = self.set(&train, margins.n_observed())?;
                let (starts, solution) = self.run(&self.binned.shares(&train), &set, lambda)?;
                let shares = self.binned.shares(&held_out);
                let system = shares.system(&starts, self.options.summary)?;
                error += system.squared_residual(&solution.priors);
            }
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, lambda));
            }
        }
        best.map(|(_, lambda)| lambda).ok_or(none)
    }

    fn solve<'a>(&'a self, counts: &'a Counts) -> Result<(Shares<'a>, Vec<usize>, Solution)> {
        let shares = self.binned.shares(counts);
        let set = self.set(counts, shares.n_observed())?;
        let (starts, solution) = self.run(&shares, &set, self.lambda)?;
        Ok((shares, starts, solution))
    }
}

impl Prepared for PreparedMatching {
    fn point(&self, counts: &Counts) -> Result<Vec<f64>> {
        Ok(self.solve(counts)?.2.priors)
    }

    fn matching(&self, counts: &Counts) -> Result<Option<MatchingReport>> {
        let (shares, starts, solution) = self.solve(counts)?;
        let system = shares.system(&starts, self.options.summary)?;
        let conditioning = system.conditioning();
        Ok(Some(MatchingReport {
            value: solution.value,
            residual: solution.residual,
            kkt: solution.kkt,
            iterations: solution.iterations,
            stop: solution.stop,
            condition: Some(conditioning.number).filter(|number| number.is_finite()),
            collinear: conditioning.collinear,
            lambda: self.lambda,
            regions: shares.regions(&starts),
        }))
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::testing::{gaussian, separable};

    #[test]
    fn the_report_says_what_was_matched() {
        let margins = separable(&[0.3, 0.2], 300, 2000, Seed(1));
        let prepared = Matching::default().prepare(&margins).unwrap();
        let report = prepared.matching(&Counts::once(&margins)).unwrap().unwrap();
        assert_eq!(report.stop, Stop::Converged);
        assert!(report.kkt < 1e-12 && report.residual < 1e-6, "{report:?}");
        assert!(report.condition.unwrap() < 2.0 && report.collinear.is_empty());
        assert_eq!(report.regions.len(), 2);
        let mut regions = report.regions.iter();
        assert!(regions.all(|region| region.labeled_share > 0.5));
    }

    #[test]
    fn printed_lower_bounds_that_do_not_fit_are_an_error() {
        // Classes far into each other: each detector accepts almost the whole pool.
        let margins = gaussian(&[0.0, 0.5, 1.0], &[0.4, 0.4], 200, 1000, Seed(2));
        let printed = Matching {
            lower: Lower::Printed,
            ..Matching::default()
        };
        let text = printed.estimate(&margins).unwrap_err().to_string();
        assert!(
            text.contains("lower bounds sum to") && text.contains("hint:"),
            "{text}"
        );
        assert!(Matching::default().estimate(&margins).is_ok());
    }

    #[test]
    fn printed_lower_bounds_hold_where_they_fit() {
        let margins = separable(&[0.3, 0.2], 300, 2000, Seed(3));
        let printed = Matching {
            lower: Lower::Printed,
            ..Matching::default()
        };
        let np = NpStep::new(&margins, &printed.np).unwrap();
        let lower = np.lower(&Counts::once(&margins));
        let found = printed.estimate(&margins).unwrap();
        assert!(
            found
                .iter()
                .zip(&lower)
                .all(|(found, lower)| found >= lower)
        );
    }

    #[test]
    fn lambda_is_the_one_that_fits_held_out_folds() {
        let margins = separable(&[0.3, 0.2], 300, 3000, Seed(4));
        let grid = vec![10.0, 0.0, 1.0];
        let chosen = |grid: Vec<f64>| {
            let options = Matching {
                lambda: Lambda::CrossValidated(grid),
                ..Matching::default()
            };
            PreparedMatching::new(&options, &margins).map(|prepared| prepared.lambda)
        };
        assert_eq!(chosen(grid), Ok(0.0), "10 and 1 shrink every prior to 0");
        let text = chosen(vec![]).unwrap_err().to_string();
        assert!(text.contains("number of lambdas"));
    }

    #[test]
    fn more_summaries_agree_with_one_where_classes_are_apart() {
        let margins = separable(&[0.3, 0.2], 500, 4000, Seed(5));
        for summary in [Summary::Bins(4), Summary::Sigmoids(4)] {
            let options = Matching {
                summary,
                ..Matching::default()
            };
            for (found, want) in options.estimate(&margins).unwrap().iter().zip([0.3, 0.2]) {
                assert!((found - want).abs() < 0.02, "{summary:?} {found} {want}");
            }
        }
    }
}
