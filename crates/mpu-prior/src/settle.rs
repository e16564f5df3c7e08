//! Estimates about which the rows say almost nothing: recognised, told and drawn towards a careful guess.

use crate::binary::ElkanNoto;
use crate::bootstrap::Interval;
use crate::error::Result;
use crate::estimator::PriorEstimator as _;
use crate::margins::Margins;
use crate::report::{ClassReport, Note, PriorReport};

/// An interval wider than this says that nothing is known.
pub const WIDE: f64 = 0.3;

impl ClassReport {
    /// Whether the rows say almost nothing about this prior: its interval is wider than [`WIDE`].
    pub fn is_unknown(&self) -> bool {
        self.interval.high - self.interval.low > WIDE
    }
}

impl PriorReport {
    /// The interval of the negative class's prior, if that is so wide that nothing is known of it.
    pub fn unknown_negative(&self) -> Option<Interval> {
        self.negative
            .filter(|negative| negative.high - negative.low > WIDE)
    }
}

/// The report with estimates drawn towards those of Elkan and Noto where nothing is known. The margins must be
/// log odds, as for [`ElkanNoto`].
pub fn settle(report: PriorReport, margins: &Margins) -> Result<PriorReport> {
    Ok(settle_with(report, &ElkanNoto.estimate(margins)?))
}

/// The same with guesses of the priors at hand.
pub(crate) fn settle_with(mut report: PriorReport, guesses: &[f64]) -> PriorReport {
    for (class, &guess) in report.classes.iter_mut().zip(guesses) {
        let guess = guess.min(class.estimate);
        let interval = Interval {
            low: class.interval.low.min(guess),
            ..class.interval
        };
        let width = interval.high - interval.low;
        if width <= WIDE {
            continue;
        }
        class.notes.push(Note::NothingKnown {
            raw: class.estimate,
        });
        class.interval = interval;
        class.estimate = shrunk(class.estimate, guess, width);
    }
    report
}

/// An estimate drawn towards a guess, the more the wider its interval.
///
/// ```text
/// π' = g + min(1, (0.3/w)²) (π̂ - g),   g = min(π̂, π̂ of Elkan and Noto)
/// ```
///
/// `w` is the width of the interval, stretched down to `g`: two estimates that differ by their assumptions only are a sign of
/// what rows cannot tell. The factor is the weight of `π̂` in a mean by precision if the guess is trusted like an interval of
/// width 0.3 and the interval's excess over that counts as the error of `π̂`. It never moves an estimate up: with overlap `π̂` is the
/// largest prior that agrees with the rows.
#[doc(alias = "eq:shrunk-prior")]
pub fn shrunk(estimate: f64, guess: f64, width: f64) -> f64 {
    let weight = (WIDE / width.max(WIDE)) * (WIDE / width.max(WIDE));
    guess + weight * (estimate - guess)
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::estimate;
    use crate::matching::Matching;
    use crate::testing::{gaussian, options, separable};

    fn report(margins: &Margins) -> PriorReport {
        estimate(margins, &Matching::default(), &options(100), Seed(1)).unwrap()
    }

    #[test]
    fn shrinkage_by_hand() {
        // As trusted as the guess counts: excess variance 0 at width 0.3, three parts at width 0.6.
        assert_eq!(shrunk(0.9, 0.1, 0.2), 0.9);
        assert_eq!(shrunk(0.9, 0.1, 0.3), 0.9);
        assert!((shrunk(0.9, 0.1, 0.6) - 0.3).abs() < 1e-12);
        let precision = |width: f64| {
            let (guess, excess) = (0.3_f64.powi(2), width.powi(2) - 0.3_f64.powi(2));
            (0.9 * guess + 0.1 * excess) / (guess + excess)
        };
        for width in [0.35, 0.5, 0.8, 1.0] {
            assert!((shrunk(0.9, 0.1, width) - precision(width)).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_known_stays_as_it_is() {
        let margins = separable(&[0.3, 0.2], 200, 1500, Seed(1));
        let plain = report(&margins);
        assert!(plain.negative.is_some() && plain.unknown_negative().is_none());
        assert_eq!(settle(plain.clone(), &margins).unwrap(), plain);
        assert!(plain.classes.iter().all(|class| !class.is_unknown()));
    }

    #[test]
    fn a_guess_far_below_or_a_wide_interval_is_told_and_shrunk() {
        let margins = gaussian(&[0.7, 0.0], &[0.2], 25, 200, Seed(3));
        let plain = report(&margins);
        let settled = settle_with(plain.clone(), &[0.05]);
        let (before, after) = (&plain.classes[0], &settled.classes[0]);
        assert!(after.is_unknown(), "{after:?}");
        assert!(after.estimate < before.estimate && after.interval.low <= after.estimate);
        let raw = before.estimate;
        assert_eq!(after.notes.last(), Some(&Note::NothingKnown { raw }));
        // A guess above the estimate moves nothing.
        let up = settle_with(plain.clone(), &[1.0]).classes[0].estimate;
        assert_eq!(up, before.estimate);
    }
}
