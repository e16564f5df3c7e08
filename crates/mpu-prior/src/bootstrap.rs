//! Step 3: bootstrap intervals of any estimator, the same on any number of threads.

use mpu_data::{Seed, Stream, bad_setting};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_open_share};
use crate::estimator::{Prepared, feasible};
use crate::margins::{Counts, Margins};

/// What is drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resample {
    /// Rows, within each fold and group.
    #[default]
    Rows,
    /// Folds, then rows within the folds drawn: takes the difference between the folds' models in as well. With few
    /// folds the chance of rows is counted in both steps, so intervals come out too wide rather than too narrow.
    FoldsAndRows,
}

/// How an interval is made from replicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// Quantiles of the replicates.
    #[default]
    Percentile,
    /// Quantiles of the replicates, mirrored at the estimate.
    Basic,
}

/// Whether the replicates are kept in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Intervals only.
    #[default]
    Intervals,
    /// The replicates as well, to sample priors from.
    Replicates,
}

mpu_data::defaults! {
    /// How the bootstrap is done.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct BootstrapOptions {
        /// Replicates, `B`.
        pub replicates: usize = 1000,
        /// One minus the level of the intervals.
        pub delta: f64 = 0.05,
        /// What is drawn again.
        pub resample: Resample = Resample::default(),
        /// Which interval the report puts first.
        pub interval: IntervalKind = IntervalKind::default(),
        /// Whether replicates are kept.
        pub keep: Keep = Keep::default(),
    }
}

impl BootstrapOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if self.replicates < 2 {
            return Err(bad_setting("replicates", self.replicates, "at least 2"));
        }
        check_open_share("delta", self.delta)
    }
}

/// An interval of priors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The estimates `π̂^(1), …, π̂^(B)` from resampled rows, each feasible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replicates {
    /// One row per replicate, one entry per observed class.
    pub priors: Vec<Vec<f64>>,
    /// How many more could not be computed.
    pub failed: usize,
}

/// Draws replicates. Replicate `b` has its own random stream, so the result does not depend on threads; they run on
/// the current rayon pool.
pub fn bootstrap(
    prepared: &dyn Prepared,
    margins: &Margins,
    options: &BootstrapOptions,
    seed: Seed,
) -> Result<Replicates> {
    options.check()?;
    let resampler = Resampler::new(margins, options.resample);
    let outcomes: Vec<Result<Vec<f64>>> = (0..options.replicates as u64)
        .into_par_iter()
        .map_init(
            || Counts::once(margins),
            |counts, index| {
                resampler.draw(counts, &mut seed.stream_at(Stream::Bootstrap, index));
                feasible(&prepared.point(counts)?)
            },
        )
        .collect();
    let first = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
    let first = first.map(ToString::to_string);
    let priors: Vec<Vec<f64>> = outcomes.into_iter().flatten().collect();
    let failed = options.replicates - priors.len();
    match first {
        Some(first) if failed * 10 > options.replicates || priors.len() < 2 => {
            Err(Error::Refused(format!(
                "{failed} of {} bootstrap replicates failed, the first with: {first}",
                options.replicates
            )))
        }
        _ => Ok(Replicates { priors, failed }),
    }
}

impl Replicates {
    /// The percentile interval of a class.
    ///
    /// ```text
    /// [q(δ/2), q(1 - δ/2)],   q the quantiles of π̂^(1), …, π̂^(B)
    /// ```
    #[doc(alias = "eq:percentile-interval")]
    pub fn percentile(&self, class: usize, delta: f64) -> Interval {
        let of_class = self.priors.iter().map(|priors| priors[class]);
        percentile(of_class.collect(), delta)
    }

    /// The percentile interval of the negative class: of what is left by the others.
    pub(crate) fn negative(&self, delta: f64) -> Interval {
        let left = |priors: &Vec<f64>| (1.0 - priors.iter().sum::<f64>()).max(0.0);
        percentile(self.priors.iter().map(left).collect(), delta)
    }

    /// The basic interval of a class, cut at 0 and 1.
    ///
    /// ```text
    /// [2π̂ - q(1 - δ/2), 2π̂ - q(δ/2)]
    /// ```
    #[doc(alias = "eq:basic-interval")]
    pub fn basic(&self, class: usize, delta: f64, estimate: f64) -> Interval {
        let Interval { low, high } = self.percentile(class, delta);
        Interval {
            low: (2.0 * estimate - high).clamp(0.0, 1.0),
            high: (2.0 * estimate - low).clamp(0.0, 1.0),
        }
    }
}

/// The percentile interval of some values.
pub(crate) fn percentile(mut values: Vec<f64>, delta: f64) -> Interval {
    values.sort_by(f64::total_cmp);
    Interval {
        low: quantile(&values, 0.5 * delta),
        high: quantile(&values, 1.0 - 0.5 * delta),
    }
}

/// The `p`-quantile of ascending values, linear between them.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = p * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
}

/// Rows by group and fold, and what is drawn from them.
struct Resampler {
    resample: Resample,
    n_folds: usize,
    /// By group, by fold: row numbers.
    rows: Vec<Vec<Vec<u32>>>,
}

impl Resampler {
    fn new(margins: &Margins, resample: Resample) -> Self {
        let n_folds = margins.n_folds();
        let rows = margins.all_groups().map(|group| {
            let mut folds = vec![Vec::new(); n_folds];
            for (row, &fold) in margins.rows(group).folds.iter().enumerate() {
                folds[fold as usize].push(row as u32);
            }
            folds
        });
        Self {
            resample,
            n_folds,
            rows: rows.collect(),
        }
    }

    fn draw(&self, counts: &mut Counts, rng: &mut ChaCha8Rng) {
        let mut folds: Vec<usize> = (0..self.n_folds).collect();
        if self.resample == Resample::FoldsAndRows {
            for fold in &mut folds {
                *fold = below(rng.next_u32(), self.n_folds);
            }
        }
        for (index, by_fold) in self.rows.iter().enumerate() {
            let counts = counts.at_mut(index);
            counts.fill(0);
            let drawn = folds.iter().any(|&fold| !by_fold[fold].is_empty());
            let all: Vec<usize> = (0..self.n_folds).collect();
            // A group that has no rows in any fold drawn keeps all of its folds.
            for &fold in if drawn { &folds } else { &all } {
                let rows = &by_fold[fold];
                for _ in 0..rows.len() {
                    let row = rows[below(rng.next_u32(), rows.len())] as usize;
                    counts[row] = counts[row].saturating_add(1);
                }
            }
        }
    }
}

/// A number below `n` from 32 random bits; for a million rows its shares are equal to one part in 4000.
fn below(bits: u32, n: usize) -> usize {
    ((u64::from(bits) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::EstimatorKind;
    use crate::margins::{Group, Rows};
    use crate::testing::{gaussian, separable};

    #[test]
    fn replicates_do_not_depend_on_threads() {
        let margins = gaussian(&[0.0, 2.0, 5.0], &[0.3, 0.2], 300, 1000, Seed(3));
        let options = BootstrapOptions {
            replicates: 24,
            ..BootstrapOptions::default()
        };
        for kind in [
            EstimatorKind::Moments,
            EstimatorKind::Bbe,
            EstimatorKind::ElkanNoto,
        ] {
            for resample in [Resample::Rows, Resample::FoldsAndRows] {
                let options = BootstrapOptions {
                    resample,
                    ..options
                };
                let prepared = kind.build().prepare(&margins).unwrap();
                let run = |threads: usize| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                    let draw =
                        || bootstrap(prepared.as_ref(), &margins, &options, Seed(5)).unwrap();
                    pool.build().unwrap().install(draw)
                };
                let (one, two) = (run(1), run(2));
                assert_eq!(one, two, "{kind} {resample:?}");
                assert_ne!(one.priors[0], one.priors[1]);
            }
        }
    }

    #[test]
    fn a_resample_has_the_rows_of_each_fold_and_group() {
        let margins = separable(&[0.3, 0.2], 30, 100, Seed(3));
        let mut counts = Counts::once(&margins);
        let resampler = Resampler::new(&margins, Resample::Rows);
        let mut seen = 0_u64;
        for index in 0..200 {
            let mut stream = Seed(1).stream_at(Stream::Bootstrap, index);
            resampler.draw(&mut counts, &mut stream);
            for (at, group) in margins.all_groups().enumerate() {
                let folds = &margins.rows(group).folds;
                for fold in 0..margins.n_folds() as u32 {
                    let of_fold = |row: &usize| folds[*row] == fold;
                    let rows = (0..folds.len()).filter(of_fold);
                    let drawn: u64 = rows.clone().map(|row| u64::from(counts.at(at)[row])).sum();
                    assert_eq!(drawn, rows.count() as u64);
                }
            }
            seen += u64::from(counts.at(0)[0]);
        }
        let often = (150..250).contains(&seen);
        assert!(often, "row 0 was drawn {seen} times in 200");
    }

    #[test]
    fn drawing_folds_keeps_groups_that_miss_them() {
        let rows = |folds: &[u32]| Rows {
            values: vec![0.0; folds.len()],
            folds: folds.to_vec(),
        };
        let margins = Margins::new(vec![rows(&[0])], rows(&[0, 1, 2])).unwrap();
        let resampler = Resampler::new(&margins, Resample::FoldsAndRows);
        let mut counts = Counts::once(&margins);
        for index in 0..50 {
            let mut stream = Seed(1).stream_at(Stream::Bootstrap, index);
            resampler.draw(&mut counts, &mut stream);
            assert!(counts.check(&margins).is_ok());
            assert!(counts.total(margins.index(Group::Pool)) >= 1);
        }
    }

    #[test]
    fn intervals_by_hand() {
        let replicates = Replicates {
            priors: (0..=100).map(|i| vec![f64::from(i) / 200.0]).collect(),
            failed: 0,
        };
        let Interval { low, high } = replicates.percentile(0, 0.1);
        assert!((low - 0.025).abs() < 1e-12 && (high - 0.475).abs() < 1e-12);
        let Interval { low, high } = replicates.basic(0, 0.1, 0.3);
        assert!((low - 0.125).abs() < 1e-12 && (high - 0.575).abs() < 1e-12);
        assert_eq!(replicates.basic(0, 0.1, 0.0).low, 0.0, "cut at zero");
        assert_eq!(quantile(&[1.0], 0.7), 1.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.25), 1.25);
    }

    #[test]
    fn bad_settings_and_failing_estimates_are_named() {
        struct Failing;
        impl Prepared for Failing {
            fn point(&self, _: &Counts) -> Result<Vec<f64>> {
                Err(Error::NoClasses)
            }
        }
        let margins = separable(&[0.3], 10, 20, Seed(3));
        for (replicates, delta, part) in [
            (4, 0.05, "4 of 4"),
            (1, 0.05, "replicates is 1"),
            (4, 0.0, "delta is 0"),
        ] {
            let options = BootstrapOptions {
                replicates,
                delta,
                ..BootstrapOptions::default()
            };
            let error = bootstrap(&Failing, &margins, &options, Seed(1)).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
