//! Estimates from few labelled rows: drawn towards equal shares, with intervals that say how little is known.

use mpu_data::Priors;

use crate::bootstrap::Interval;
use crate::error::Result;
use crate::estimator::feasible;
use crate::margins::{Group, Margins};
use crate::report::PriorReport;

/// Equal shares count as much as so many labelled rows.
const EQUAL_ROWS: f64 = 10.0;

/// The standard deviation, of the log odds of a share, of what a bootstrap does not see where there is hardly a labelled
/// row.
const UNSEEN: f64 = 0.6;

/// How much less the log odds of lower priors are.
const LOWER: f64 = 0.7;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Shares closer to 0 or 1 have the log odds of this one.
const LEAST: f64 = 1e-4;

/// The report with estimates drawn towards equal shares, the more the fewer labelled rows a class has, and with
/// intervals that are wider for it. A class that is not detectable keeps its 0.
pub fn allow_for_few_rows(mut report: PriorReport, margins: &Margins) -> Result<PriorReport> {
    let equal = 1.0 / (report.classes.len() + 1) as f64;
    for class in report.classes.iter_mut().filter(|class| class.detectable) {
        let rows = margins.n_rows(Group::Class(class.class)) as f64;
        class.estimate = towards_equal(class.estimate, equal.min(class.upper), rows);
        class.interval = widened(class.interval, class.estimate, rows);
    }
    let settled = feasible(&report.observed())?;
    for (class, estimate) in report.classes.iter_mut().zip(settled) {
        class.estimate = estimate;
        class.interval.low = class.interval.low.min(estimate);
    }
    let rest = 1.0 - report.observed().iter().sum::<f64>();
    if let Some(negative) = &mut report.negative {
        negative.low = negative.low.min(rest);
        negative.high = negative.high.max(rest);
    }
    Ok(report)
}

/// An estimate from `n` labelled rows and a guess that counts as much as ten.
///
/// ```text
/// logit π' = (n logit π̂ + 10 logit g) / (n + 10)
/// ```
///
/// The guess `g` is that all classes are equally frequent, the unknown one among them, but no more than the upper bound of the prior,
/// which holds whatever the overlap. With six labelled rows an estimate is too low where a class is easy to tell and too high where
/// it overlaps with others; equal shares are wrong in neither direction.
#[doc(alias = "eq:equal-shares")]
pub fn towards_equal(estimate: f64, guess: f64, rows: f64) -> f64 {
    let weight = rows / (rows + EQUAL_ROWS);
    share(weight * log_odds(estimate) + (1.0 - weight) * log_odds(guess))
}

/// An interval about an estimate, of log odds with the bootstrap's variance and what it does not see.
///
/// ```text
/// logit π' ± 1.96 √(σ² + 0.6² · 10/(n + 10)),   σ = (logit high - logit low) / 3.92
/// ```
#[doc(alias = "eq:widened-interval")]
pub fn widened(interval: Interval, estimate: f64, rows: f64) -> Interval {
    let sigma = (log_odds(interval.high) - log_odds(interval.low)) / (2.0 * Z);
    let unseen = UNSEEN * UNSEEN * EQUAL_ROWS / (rows + EQUAL_ROWS);
    let half = Z * (sigma * sigma + unseen).sqrt();
    let centre = log_odds(estimate);
    Interval {
        low: share(centre - half),
        high: share(centre + half),
    }
}

/// Priors whose observed classes are less frequent, by 0.7 in log odds: 0.33 instead of 0.5, 0.05 instead of 0.1.
///
/// Where classes overlap, an estimate is the largest prior that agrees with the rows. These may be as right.
#[doc(alias = "eq:lower-priors")]
pub fn lower(priors: &Priors) -> Result<Priors> {
    let lowered = priors.observed().iter().map(|&pi| match pi {
        0.0 => 0.0,
        pi => share(log_odds(pi) - LOWER).min(pi),
    });
    Ok(Priors::from_observed(&lowered.collect::<Vec<f64>>())?)
}

fn log_odds(share: f64) -> f64 {
    let share = share.clamp(LEAST, 1.0 - LEAST);
    libm::log(share / (1.0 - share))
}

fn share(log_odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-log_odds))
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::estimate;
    use crate::labeling_rate::{LabelingRate, Rates};
    use crate::testing::{options, separable};

    #[test]
    fn ten_rows_count_as_much_as_the_guess() {
        // The mean of the log odds of 0.2 and 0.5 is that of one third.
        assert!((towards_equal(0.2, 0.5, 10.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((towards_equal(0.2, 0.5, 0.0) - 0.5).abs() < 1e-12);
        assert!((towards_equal(0.2, 0.5, 1e9) - 0.2).abs() < 1e-6);
        assert!(towards_equal(0.0, 0.5, 10.0) < 0.02);
    }

    #[test]
    fn intervals_by_hand() {
        let narrow = |estimate| Interval {
            low: estimate,
            high: estimate,
        };
        // Without variance from the rows: 1.96 · 0.6 √(10/(n+10)) in log odds, to each side.
        let found = widened(narrow(0.5), 0.5, 0.0);
        assert!((found.high - share(Z * 0.6)).abs() < 1e-12);
        assert!((found.low + found.high - 1.0).abs() < 1e-12);
        let many = widened(narrow(0.3), 0.3, 1e6);
        assert!(many.high - many.low < 0.01);
        // With many rows the interval is that of the bootstrap, if that is even in log odds.
        let even = Interval {
            low: 0.2,
            high: 0.5,
        };
        let same = widened(even, 1.0 / 3.0, 1e9);
        assert!((same.low - 0.2).abs() < 1e-4 && (same.high - 0.5).abs() < 1e-4);
    }

    #[test]
    fn lower_priors_by_hand() {
        let priors = Priors::new(vec![0.5, 0.0, 0.1, 0.4]).unwrap();
        let found = lower(&priors).unwrap();
        let odds = |p: f64| p / (1.0 - p);
        let factor = libm::exp(-0.7);
        assert!((odds(found.observed()[0]) - factor).abs() < 1e-12);
        assert_eq!(found.observed()[1], 0.0);
        assert!((odds(found.observed()[2]) - factor / 9.0).abs() < 1e-12);
        let tiny = lower(&Priors::new(vec![1e-6, 1.0 - 1e-6]).unwrap()).unwrap();
        assert_eq!(tiny.observed()[0], 1e-6);
    }

    #[test]
    fn few_rows_are_told_by_the_width_and_no_share_is_lost() {
        let options = options(100);
        let estimator = LabelingRate { rates: Rates::Own };
        let width = |rows: usize| {
            let margins = separable(&[0.3, 0.2], rows, 1500, Seed(1));
            let plain = estimate(&margins, &estimator, &options, Seed(1)).unwrap();
            let found = allow_for_few_rows(plain.clone(), &margins).unwrap();
            assert!(found.observed().iter().sum::<f64>() <= 1.0);
            for (before, after) in plain.classes.iter().zip(&found.classes) {
                let Interval { low, high } = after.interval;
                assert!(low <= after.estimate && after.estimate <= high);
                assert!(high - low >= before.interval.high - before.interval.low);
                assert!(after.estimate <= before.upper.max(before.estimate));
            }
            found.classes[0].interval.high - found.classes[0].interval.low
        };
        assert!(width(8) > 2.0 * width(400));
    }
}
