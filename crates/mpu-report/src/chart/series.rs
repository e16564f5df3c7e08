//! Points that belong together, and how they are drawn.

use super::palette::Style;
use super::scale::LARGEST;

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A curve with a band of one spread either side, and a marker here and there.
    Line,
    /// A marker with an error bar at each point, joined by thin lines.
    Points,
    /// A bar from zero with an error bar and a marker on top.
    Bars,
}

/// A point of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where it stands.
    pub x: f64,
    /// Its value; a value that is not finite, or beyond 1e300, leaves a gap.
    pub y: f64,
    /// The spread drawn either side of the value, such as a standard deviation.
    pub spread: Option<f64>,
    /// The marker's size as a multiple of the usual one, for points that weigh more or less.
    pub size: f64,
}

impl Point {
    /// A point without spread.
    pub fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            spread: None,
            size: 1.0,
        }
    }

    /// The same point with a spread, if there is one.
    #[must_use]
    pub fn spread(mut self, spread: Option<f64>) -> Self {
        self.spread = spread.filter(|s| s.abs() <= LARGEST);
        self
    }

    /// The same point with a marker of another size, between a quarter and three times the usual one.
    #[must_use]
    pub fn sized(mut self, size: f64) -> Self {
        self.size = if size.is_finite() {
            size.clamp(0.25, 3.0)
        } else {
            1.0
        };
        self
    }

    pub(super) fn is_finite(&self) -> bool {
        self.x.abs() <= LARGEST && self.y.abs() <= LARGEST
    }
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) points: Vec<Point>,
    pub(super) style: Option<Style>,
}

impl Series {
    /// A series with its name in the legend.
    pub fn new(
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        Self {
            name: name.into(),
            mark,
            points: points.into_iter().collect(),
            style: None,
        }
    }

    /// Another style than that of the series' number.
    #[must_use]
    pub fn styled(mut self, style: Style) -> Self {
        self.style = Some(style);
        self
    }
}
