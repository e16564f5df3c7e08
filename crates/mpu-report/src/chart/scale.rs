//! Axes: which numbers are written on them and where a value stands.

use super::markup::label;

/// The largest number that is drawn: beyond it differences would overflow.
pub(super) const LARGEST: f64 = 1e300;

/// A linear axis: values from `low` to `high` over places from `start` to `end`.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    /// Values that are written on the axis, with their text.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// An axis that ends at round numbers and holds all finite values, or 0 to 1 if there are none.
    pub(super) fn around(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        Self::build(values, n_ticks, true)
    }

    /// An axis that ends at the outermost values, with round numbers between them.
    pub(super) fn spanning(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        Self::build(values, n_ticks, false)
    }

    fn build(values: impl Iterator<Item = f64>, n_ticks: usize, round_ends: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|v| v.abs() <= 2.0 * LARGEST) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // One value only, or values that differ by rounding: make room about them.
        if high - low <= 1e-9 * low.abs().max(high.abs()) || high == low {
            let room = if low == 0.0 { 0.5 } else { 0.05 * low.abs() };
            (low, high) = (low - room, high + room);
        }
        let step = nice_step((high - low) / n_ticks.max(1) as f64);
        let largest = low.abs().max(high.abs());
        let (first, last) = if round_ends {
            ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil())
        } else {
            ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor())
        };
        if round_ends {
            (low, high) = (first * step, last * step);
        }
        let n_steps = (last - first).clamp(0.0, 100.0) as usize;
        let ticks = (0..=n_steps)
            .map(|i| (first + i as f64) * step)
            .map(|value| (value, tick_label(value, step, largest)))
            .collect();
        Self {
            low,
            high,
            start: 0.0,
            end: 1.0,
            ticks,
        }
    }

    /// An axis with given ticks and half a step of room at either end.
    pub(super) fn of_ticks(ticks: &[(f64, String)]) -> Self {
        let mut values: Vec<f64> = ticks.iter().map(|tick| tick.0).collect();
        values.sort_by(f64::total_cmp);
        let low = values.first().copied().unwrap_or(0.0);
        let high = values.last().copied().unwrap_or(1.0);
        let gap = values
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(f64::INFINITY, f64::min);
        let room = if gap.is_finite() && gap > 0.0 {
            0.5 * gap
        } else {
            0.5
        };
        Self {
            low: low - room,
            high: high + room,
            start: 0.0,
            end: 1.0,
            ticks: ticks.to_vec(),
        }
    }

    /// The same axis over other places.
    pub(super) fn over(mut self, start: f64, end: f64) -> Self {
        (self.start, self.end) = (start, end);
        self
    }

    /// The lowest value.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// The highest value.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Where a value stands.
    pub(super) fn place(&self, value: f64) -> f64 {
        self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// The place of zero, or of the end of the axis that is nearest to it.
    pub(super) fn base(&self) -> f64 {
        self.place(0.0_f64.clamp(self.low, self.high))
    }

    /// The least distance of two neighbouring ticks.
    pub(super) fn tick_gap(&self) -> f64 {
        let mut places: Vec<f64> = self.ticks.iter().map(|tick| self.place(tick.0)).collect();
        places.sort_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold((self.end - self.start).abs(), f64::min)
    }
}

/// The least of 1, 2 or 5 times a power of ten that is not below `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10_f64.powi(raw.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= raw * (1.0 - 1e-9));
    step.unwrap_or(10.0 * power)
}

/// A tick's number with as many digits as tell it from its neighbours; powers of ten where plain digits
/// would be many.
fn tick_label(value: f64, step: f64, largest: f64) -> String {
    if (1e-4..1e5).contains(&step) {
        let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 4.0);
        return label(value, decimals as usize);
    }
    if value.abs() < 0.5 * step {
        return "0".to_owned();
    }
    let digits = (largest / step).log10().clamp(0.0, 8.0).ceil() as usize;
    format!("{value:.digits$e}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(low: f64, high: f64) -> Vec<String> {
        let scale = Scale::around([low, high].into_iter(), 5);
        scale.ticks.into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(ticks(81.3, 97.2), ["80", "85", "90", "95", "100"]);
        assert_eq!(
            ticks(-0.13, 0.27),
            ["−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"]
        );
        assert_eq!(ticks(0.0, 100.0).len(), 6);
        assert_eq!(
            ticks(0.0, 9e7),
            ["0", "2.0e7", "4.0e7", "6.0e7", "8.0e7", "1.0e8"]
        );
        assert_eq!(
            ticks(1e-7, 3e-7),
            ["1.0e−7", "1.5e−7", "2.0e−7", "2.5e−7", "3.0e−7"]
        );
    }

    #[test]
    fn odd_values_still_make_an_axis() {
        for values in [
            vec![],
            vec![f64::NAN],
            vec![3.0],
            vec![0.0],
            vec![1e300, -1e300],
            vec![1e-300, 2e-300],
            vec![1.0, 1.0 + 1e-15],
            vec![f64::INFINITY, 2.0],
        ] {
            let scale = Scale::around(values.iter().copied(), 5).over(0.0, 100.0);
            assert!(
                (1..=12).contains(&scale.ticks.len()),
                "{values:?} {scale:?}"
            );
            for &value in values.iter().filter(|v| v.is_finite()) {
                let place = scale.place(value);
                assert!((-0.01..=100.01).contains(&place), "{values:?} {place}");
            }
        }
    }

    #[test]
    fn an_axis_that_spans_ends_at_its_data() {
        let scale = Scale::spanning([1.0, 100.0].into_iter(), 5).over(0.0, 99.0);
        assert_eq!((scale.place(1.0), scale.place(100.0)), (0.0, 99.0));
        assert_eq!(scale.ticks[0].1, "20");
    }
}
