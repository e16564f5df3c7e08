//! Confidence intervals of shares, of their ratios and of their sums.

use serde::{Deserialize, Serialize};

/// The 97.5 % point of the normal distribution: intervals are of 95 %.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// An estimated rate with its 95 % interval, clipped to `[0, 1]`, and the value before clipping.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The rate, in `[0, 1]`.
    pub value: f64,
    /// The estimate as it came out: outside `[0, 1]` it says that the sample is small or a prior wrong.
    pub raw: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Whether the rows tell the rate at all.
    #[serde(default)]
    pub state: State,
}

/// Whether counts of rows tell a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// They do.
    #[default]
    Identified,
    /// They give a share outside `[0, 1]`, because there are too few rows or a prior is too high: the estimate comes
    /// from probabilities.
    ByProbabilities,
    /// The same, and there are no probabilities.
    NotIdentified,
}

mpu_data::named!(State, "state of an estimate", {
    Identified => "identified",
    ByProbabilities => "by-probabilities",
    NotIdentified => "not-identified",
});

impl State {
    /// The state of a raw estimate by counts alone. Rounding is let through.
    pub(super) fn of(raw: f64) -> Self {
        if (-1e-9..=1.0 + 1e-9).contains(&raw) {
            Self::Identified
        } else {
            Self::NotIdentified
        }
    }
}

impl Estimate {
    /// The rate, if the rows tell it.
    pub fn known(&self) -> Option<f64> {
        (self.state != State::NotIdentified).then_some(self.value)
    }

    /// A share of rows that were counted, with its Wilson interval.
    pub fn of_share(part: u64, whole: u64) -> Self {
        match whole {
            0 => Self {
                low: 0.0,
                high: 1.0,
                ..Interval::wilson(0, 1).rate()
            },
            whole => Interval::wilson(part.min(whole), whole).rate(),
        }
    }

    /// A value in `[0, 1]` with its normal interval.
    pub(super) fn normal(value: f64, raw: f64, variance: f64, state: State) -> Self {
        let interval = Interval::normal(value, variance);
        Self {
            raw,
            state,
            ..interval.rate()
        }
    }
}

/// A number with its interval, before clipping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// Wilson's score interval of `part` out of `whole`, which is not 0.
    ///
    /// ```text
    /// (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    /// ```
    #[doc(alias = "eq:wilson-interval")]
    pub(super) fn wilson(part: u64, whole: u64) -> Self {
        let n = whole as f64;
        let p = part as f64 / n;
        let centre = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        // At the ends the limit is the end itself, but for rounding.
        let low = if part == 0 {
            0.0
        } else {
            (centre - half) / scale
        };
        let high = if part == whole {
            1.0
        } else {
            (centre + half) / scale
        };
        Self {
            value: p,
            low,
            high,
        }
    }

    /// From a variance, by the normal distribution.
    pub(super) fn normal(value: f64, variance: f64) -> Self {
        let half = Z * variance.max(0.0).sqrt();
        Self {
            value,
            low: value - half,
            high: value + half,
        }
    }

    /// `factor · self + constant`.
    pub(super) fn linear(self, factor: f64, constant: f64) -> Self {
        let at = |x: f64| factor * x + constant;
        let (low, high) = if factor >= 0.0 {
            (at(self.low), at(self.high))
        } else {
            (at(self.high), at(self.low))
        };
        Self {
            value: at(self.value),
            low,
            high,
        }
    }

    /// The sum of independent terms (Zou and Donner 2008: the squared distances to the limits add up).
    pub(super) fn sum(terms: &[Self]) -> Self {
        let (mut value, mut down, mut up) = (0.0, 0.0, 0.0);
        for term in terms {
            value += term.value;
            down += (term.value - term.low).powi(2);
            up += (term.high - term.value).powi(2);
        }
        Self {
            value,
            low: value - f64::sqrt(down),
            high: value + f64::sqrt(up),
        }
    }

    /// The ratio of two independent numbers, the second with a lower limit above 0 (Donner and Zou 2012).
    ///
    /// ```text
    /// low  = l₁(2θ₁-l₁) / (θ₁θ₂ + √(θ₁²θ₂² - l₁u₂(2θ₁-l₁)(2θ₂-u₂)))
    /// high = (θ₁θ₂ + √(θ₁²θ₂² - u₁l₂(2θ₁-u₁)(2θ₂-l₂))) / (l₂(2θ₂-l₂))
    /// ```
    #[doc(alias = "eq:ratio-interval")]
    pub(super) fn ratio(self, over: Self) -> Self {
        let product = self.value * over.value;
        let root = |a: f64, b: f64| (product * product - a * b).max(0.0).sqrt();
        let (l, u) = (
            self.low * (2.0 * self.value - self.low),
            self.high * (2.0 * self.value - self.high),
        );
        let (l2, u2) = (
            over.low * (2.0 * over.value - over.low),
            over.high * (2.0 * over.value - over.high),
        );
        let below = product + root(l, u2);
        Self {
            value: self.value / over.value,
            low: if below > 0.0 { l / below } else { 0.0 },
            high: (product + root(u, l2)) / l2,
        }
    }

    /// As a rate.
    pub(super) fn rate(self) -> Estimate {
        Estimate {
            value: self.value.clamp(0.0, 1.0),
            raw: self.value,
            low: self.low.clamp(0.0, 1.0),
            high: self.high.clamp(0.0, 1.0),
            state: State::of(self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Draws;

    /// The limits are the θ at which the score test just accepts: `n (p - θ)² = z² θ (1 - θ)`.
    #[test]
    fn wilson_limits_solve_the_score_equation() {
        for (part, whole) in [(8, 10), (1, 3), (50, 100), (999, 1000)] {
            let interval = Interval::wilson(part, whole);
            let (n, p) = (whole as f64, part as f64 / whole as f64);
            for limit in [interval.low, interval.high] {
                let rest = n * (p - limit).powi(2) - Z * Z * limit * (1.0 - limit);
                assert!(rest.abs() < 1e-9, "{interval:?} leaves {rest}");
            }
            assert!(interval.low < p && p < interval.high);
        }
        assert_eq!(Interval::wilson(0, 10).low, 0.0);
        assert_eq!(Interval::wilson(10, 10).high, 1.0);
    }

    #[test]
    fn nothing_accepted_has_an_upper_end_only() {
        let ratio = Interval::wilson(0, 20).ratio(Interval::wilson(10, 100));
        assert!(
            ratio.low == 0.0 && ratio.value == 0.0 && ratio.high > 0.5,
            "{ratio:?}"
        );
    }

    /// 95 % intervals hold the truth in about 95 of 100 samples.
    #[test]
    fn ratios_and_sums_cover_the_truth() {
        let mut draws = Draws(11);
        let (p, q) = (0.7, 0.3);
        let (mut ratios, mut sums) = (0, 0);
        for _ in 0..1000 {
            let mut count = |n: u64, p: f64| (0..n).filter(|_| draws.uniform() < p).count() as u64;
            let (a, b) = (
                Interval::wilson(count(40, p), 40),
                Interval::wilson(count(150, q), 150),
            );
            let ratio = a.ratio(b);
            ratios += u32::from(ratio.low <= p / q && p / q <= ratio.high);
            let sum = Interval::sum(&[a.linear(-0.5, 0.0), b]);
            let truth = q - 0.5 * p;
            sums += u32::from(sum.low <= truth && truth <= sum.high);
        }
        assert!(
            (930..=970).contains(&ratios) && (930..=970).contains(&sums),
            "{ratios} {sums}"
        );
    }
}
