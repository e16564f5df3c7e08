//! Estimates with intervals, a row for each of several things.

use super::frame::{Draw, Frame, SAMPLE, draw_empty, draw_legend};
use super::markup::{Anchor, Canvas, TEXT, num, shorten, widest};
use super::palette::{AXIS, GRID, INK, Style};
use super::scale::{LARGEST, Scale};
use serde::{Deserialize, Serialize};

/// The distance of two estimates of one row.
const STEP: f64 = 15.0;
/// The least height of a row.
const ROW: f64 = 26.0;

/// An estimate and the interval about it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// The value; one that is not finite is not drawn.
    pub value: f64,
    /// The interval's ends.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
}

/// A row: what is known of one thing, and how it was estimated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalRow {
    /// Its name.
    pub name: String,
    /// The lowest and the highest value that it can have; either may be unknown.
    pub bounds: (Option<f64>, Option<f64>),
    /// The true value, where it is known.
    pub truth: Option<f64>,
    /// The value that was used.
    pub used: Option<f64>,
    /// One estimate for each series of the panel; none where there is none.
    pub estimates: Vec<Option<Estimate>>,
}

/// A panel of estimates with intervals: rows have names, values run from left to right. Several series
/// stand one below the other in each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    frame: Frame,
    x_title: String,
    series: Vec<String>,
    rows: Vec<IntervalRow>,
}

/// What the legend explains besides the series.
#[derive(Clone, Copy)]
enum Sign {
    Bounds,
    Truth,
    Used,
}

impl Sign {
    const ALL: [Self; 3] = [Self::Bounds, Self::Used, Self::Truth];

    fn name(self) -> &'static str {
        match self {
            Self::Bounds => "possible range",
            Self::Truth => "true value",
            Self::Used => "used in training",
        }
    }
}

impl Intervals {
    /// A panel with its title, that of its axis, and the names of its series.
    pub fn new<S: Into<String>>(
        title: impl Into<String>,
        x_title: impl Into<String>,
        series: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            frame: Frame::new(title),
            x_title: x_title.into(),
            series: series.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// A line below the title.
    #[must_use]
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.frame.subtitle = text.into();
        self
    }

    /// One more row.
    #[must_use]
    pub fn with(mut self, row: IntervalRow) -> Self {
        self.rows.push(row);
        self
    }
}

impl Draw for Intervals {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(String::as_str).collect();
        self.frame.description(&self.x_title, &names)
    }

    fn draw_body(&self, canvas: &mut Canvas, width: f64, header: f64) -> f64 {
        let top = header + 8.0;
        if self.rows.is_empty() {
            return draw_empty(canvas, "nothing to show", width, (top, top + 110.0));
        }
        let names = widest(self.rows.iter().map(|row| &row.name)).min(0.34 * width);
        let (left, right) = (6.0 + names + 8.0, width - 18.0);
        let height = ROW.max(STEP * self.series.len() as f64 + 8.0);
        let bottom = top + height * self.rows.len() as f64;
        let scale = Scale::around(self.rows.iter().flat_map(values), 4).over(left, right);
        for (value, text) in &scale.ticks {
            let x = scale.place(*value);
            canvas.line((x, top), (x, bottom), GRID, 1.0);
            canvas.text((x, bottom + 13.0), Anchor::Middle, INK, text);
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * height;
            if index > 0 {
                let line = y - 0.5 * height;
                canvas.line((6.0, line), (right, line), GRID, 1.0);
            }
            let name = shorten(&row.name, TEXT, names);
            canvas.text((left - 8.0, y), Anchor::End, INK, &name);
            draw_row(canvas, row, &scale, (y, height));
        }
        canvas.line((left, top), (left, bottom), AXIS, 1.0);
        canvas.line((left, bottom), (right, bottom), AXIS, 1.0);
        let x_title = shorten(&self.x_title, TEXT, width - 12.0);
        let middle = f64::midpoint(left, right);
        canvas.text((middle, bottom + 31.0), Anchor::Middle, INK, &x_title);
        let any = |sign: &Sign| {
            self.rows.iter().any(|row| match sign {
                Sign::Bounds => row.bounds.0.or(row.bounds.1).is_some(),
                Sign::Truth => row.truth.is_some(),
                Sign::Used => row.used.is_some(),
            })
        };
        let series = self.series.iter().enumerate();
        let signs = Sign::ALL.into_iter().filter(any);
        let entries = series
            .map(|(index, name)| (name.as_str(), Ok(index)))
            .chain(signs.map(|sign| (sign.name(), Err(sign))));
        draw_legend(
            canvas,
            (bottom + 43.0, width),
            entries,
            |canvas, look, (x, y)| {
                let end = x + SAMPLE;
                let centre = f64::midpoint(x, end);
                match look {
                    Ok(index) => draw_estimate(canvas, index, (centre, Some((x, end))), y),
                    Err(Sign::Bounds) => {
                        draw_range(canvas, (Some(x), Some(end)), (x, end), y, 12.0);
                    }
                    Err(Sign::Truth) => draw_stroke(canvas, centre, (y, 14.0), TRUTH),
                    Err(Sign::Used) => draw_stroke(canvas, centre, (y, 14.0), USED),
                }
            },
        ) + 6.0
    }
}

/// A number that can be drawn.
fn drawable(value: f64) -> Option<f64> {
    (value.abs() <= LARGEST).then_some(value)
}

/// All that a row needs room for.
fn values(row: &IntervalRow) -> impl Iterator<Item = f64> {
    let known = [row.bounds.0, row.bounds.1, row.truth, row.used];
    let estimates = row.estimates.iter().flatten().flat_map(|estimate| {
        let Estimate { value, interval } = *estimate;
        let (low, high) = interval.unwrap_or((value, value));
        [value, low, high]
    });
    let estimates: Vec<f64> = estimates.collect();
    known.into_iter().flatten().chain(estimates)
}

fn draw_row(canvas: &mut Canvas, row: &IntervalRow, scale: &Scale, (y, height): (f64, f64)) {
    let place = |value: f64| drawable(value).map(|value| scale.place(value));
    let inner = height - 8.0;
    let bounds = (row.bounds.0.and_then(place), row.bounds.1.and_then(place));
    if bounds.0.or(bounds.1).is_some() {
        let ends = (scale.place(scale.low()), scale.place(scale.high()));
        draw_range(canvas, bounds, ends, y, inner);
    }
    for (value, look) in [(row.used, USED), (row.truth, TRUTH)] {
        if let Some(x) = value.and_then(place) {
            draw_stroke(canvas, x, (y, inner), look);
        }
    }
    let n_series = row.estimates.len();
    for (index, estimate) in row.estimates.iter().enumerate() {
        let drawn = estimate.and_then(|estimate| Some((estimate.interval, place(estimate.value)?)));
        let Some((interval, x)) = drawn else { continue };
        let interval = interval.and_then(|(low, high)| Some((place(low)?, place(high)?)));
        let middle = y + STEP * (index as f64 - 0.5 * (n_series as f64 - 1.0));
        draw_estimate(canvas, index, (x, interval), middle);
    }
}

/// A pale bar over what is possible, closed at the bounds that are known.
fn draw_range(
    canvas: &mut Canvas,
    (low, high): (Option<f64>, Option<f64>),
    ends: (f64, f64),
    y: f64,
    height: f64,
) {
    let (from, to) = (low.unwrap_or(ends.0), high.unwrap_or(ends.1));
    let top = y - 0.5 * height;
    canvas.rect(
        (from.min(to), top),
        ((to - from).abs(), height),
        &format!(
            "class=\"mpu-range\" fill=\"{}\" fill-opacity=\"0.14\"",
            AXIS.1
        ),
    );
    for x in [low, high].into_iter().flatten() {
        canvas.line((x, top), (x, top + height), AXIS, 1.0);
    }
}

/// How the stroke of a true value and that of one used in training are drawn.
const TRUTH: &str = "stroke-width=\"2.4\"";
const USED: &str = "stroke-width=\"1.6\" stroke-dasharray=\"3 2\"";

/// A stroke of ink through the whole row.
fn draw_stroke(canvas: &mut Canvas, x: f64, (y, height): (f64, f64), look: &str) {
    let half = 0.5 * height + 2.0;
    canvas.raw(&format!(
        "<path d=\"M{0} {1}L{0} {2}\" class=\"mpu-truth\" fill=\"none\" stroke=\"{3}\" {look}/>",
        num(x),
        num(y - half),
        num(y + half),
        INK.1
    ));
}

/// A marker on its interval.
fn draw_estimate(
    canvas: &mut Canvas,
    series: usize,
    (x, interval): (f64, Option<(f64, f64)>),
    y: f64,
) {
    let style = Style::nth(series);
    let class = style.stroke_class();
    let ink = (class.as_str(), style.light());
    if let Some((low, high)) = interval {
        canvas.line((low, y), (high, y), ink, 2.0);
        for end in [low, high] {
            canvas.line((end, y - 3.5), (end, y + 3.5), ink, 1.4);
        }
    }
    canvas.raw(&style.marker_at(x, y, 1.0));
}
