//! A panel of series over two axes.

use super::frame::{Draw, Frame, SAMPLE, draw_legend, draw_notice};
use super::marks;
use super::markup::{Anchor, Canvas, TEXT, shorten, widest, wrap};
use super::palette::{AXIS, GRID, INK, Style};
use super::scale::Scale;
use super::series::{Mark, Point, Series};

/// How high the plotted area is.
const AREA: f64 = 210.0;
/// Room left inside the area, so that markers do not stand on the axes.
const INSET: f64 = 7.0;

/// A thin line that series are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reference {
    /// Where both axes have the same value.
    Diagonal,
    /// One value of the horizontal axis.
    Vertical(f64),
}

/// A panel of series over two axes, with a legend below.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    frame: Frame,
    x_title: String,
    y_title: String,
    x_ticks: Option<Vec<(f64, String)>>,
    x_shown: Vec<f64>,
    y_shown: Vec<f64>,
    y_bounds: (f64, f64),
    series: Vec<Series>,
    /// By their names.
    references: Vec<(String, Reference)>,
}

impl Plot {
    /// An empty panel with its title and those of its axes.
    pub fn new(
        title: impl Into<String>,
        x_title: impl Into<String>,
        y_title: impl Into<String>,
    ) -> Self {
        Self {
            frame: Frame::new(title),
            x_title: x_title.into(),
            y_title: y_title.into(),
            x_ticks: None,
            x_shown: Vec::new(),
            y_shown: Vec::new(),
            y_bounds: (f64::NEG_INFINITY, f64::INFINITY),
            series: Vec::new(),
            references: Vec::new(),
        }
    }

    /// A line below the title: of what and of how many runs.
    #[must_use]
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.frame.subtitle = text.into();
        self
    }

    /// One more series.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Values that are written on the horizontal axis, with their text; points and bars of several
    /// series then stand side by side at each of them.
    #[must_use]
    pub fn x_ticks(mut self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        let ticks: Vec<_> = ticks
            .into_iter()
            .filter(|tick| tick.0.is_finite())
            .collect();
        self.x_ticks = (!ticks.is_empty()).then_some(ticks);
        self
    }

    /// A thin line where both axes have the same value, with its name in the legend.
    #[must_use]
    pub fn diagonal(mut self, name: impl Into<String>) -> Self {
        self.references.push((name.into(), Reference::Diagonal));
        self
    }

    /// A thin upright line at a value of the horizontal axis, with its name in the legend; none if the
    /// value is not finite.
    #[must_use]
    pub fn upright(mut self, name: impl Into<String>, x: f64) -> Self {
        if x.is_finite() {
            self.references.push((name.into(), Reference::Vertical(x)));
        }
        self
    }

    /// Values that the horizontal axis shows whether or not there are points there.
    #[must_use]
    pub fn x_shows(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.x_shown.extend(values);
        self
    }

    /// Values that the vertical axis shows whether or not there are points there, such as those of other
    /// panels that are to be compared with this one.
    #[must_use]
    pub fn y_shows(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.y_shown.extend(values);
        self
    }

    /// What values can be at all, such as 0 to 100 for per cent: spreads are not drawn beyond.
    #[must_use]
    pub fn y_bounds(mut self, low: f64, high: f64) -> Self {
        self.y_bounds = (low, high);
        self
    }

    /// A text in the middle of the panel: what is missing there.
    #[must_use]
    pub fn notice(mut self, text: impl Into<String>) -> Self {
        self.frame.notice = Some(text.into());
        self
    }

    /// The lowest and the highest value drawn, spreads included; none if nothing is drawn.
    pub fn y_range(&self) -> Option<(f64, f64)> {
        let ends = self.points().map(|p| self.ends(p));
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// All points that are drawn.
    fn points(&self) -> impl Iterator<Item = &Point> {
        let points = self.series.iter().flat_map(|s| &s.points);
        points.filter(|p| p.is_finite())
    }

    /// The lower and upper end of a point's spread, within the bounds.
    fn ends(&self, point: &Point) -> (f64, f64) {
        let spread = point.spread.unwrap_or(0.0);
        let (low, high) = self.y_bounds;
        (
            (point.y - spread).max(low).min(point.y),
            (point.y + spread).min(high).max(point.y),
        )
    }

    fn style(&self, index: usize) -> Style {
        self.series[index]
            .style
            .unwrap_or_else(|| Style::nth(index))
    }

    fn scales(&self) -> (Scale, Scale) {
        let x = if let Some(ticks) = &self.x_ticks {
            Scale::of_ticks(ticks)
        } else {
            let shown = self.x_shown.iter().copied();
            Scale::spanning(self.points().map(|p| p.x).chain(shown), 5)
        };
        let bars = self.series.iter().any(|s| s.mark == Mark::Bars);
        let zero = bars.then_some(0.0);
        let values = self.points().map(|p| self.ends(p));
        let values = values.flat_map(|(low, high)| [low, high]);
        let shown = self.y_shown.iter().copied().chain(zero);
        (x, Scale::around(values.chain(shown), 5))
    }

    fn draw_axes(
        &self,
        canvas: &mut Canvas,
        x: &Scale,
        y: &Scale,
        (left, right, top, bottom): (f64, f64, f64, f64),
    ) {
        // An axis without data has no numbers.
        let nothing = self.y_range().is_none() && self.y_shown.is_empty();
        for (value, text) in y.ticks.iter().filter(|_| !nothing) {
            let place = y.place(*value);
            canvas.line((left, place), (right, place), GRID, 1.0);
            canvas.text((left - 6.0, place), Anchor::End, INK, text);
        }
        let room = x.tick_gap() - 4.0;
        let written = !nothing || self.x_ticks.is_some();
        for (value, text) in x.ticks.iter().filter(|_| written) {
            let place = x.place(*value);
            canvas.line((place, bottom), (place, bottom + 4.0), AXIS, 1.0);
            let text = shorten(text, TEXT, room);
            canvas.text((place, bottom + 14.0), Anchor::Middle, INK, &text);
        }
        canvas.line((left, top), (left, bottom), AXIS, 1.0);
        canvas.line((left, bottom), (right, bottom), AXIS, 1.0);
    }

    fn draw_references(&self, canvas: &mut Canvas, x: &Scale, y: &Scale) {
        for (_, reference) in &self.references {
            let (from, to) = match *reference {
                Reference::Diagonal => {
                    let low = x.low().max(y.low());
                    let high = x.high().min(y.high());
                    if low >= high {
                        continue;
                    }
                    ((low, low), (high, high))
                }
                Reference::Vertical(at) if (x.low()..=x.high()).contains(&at) => {
                    ((at, y.low()), (at, y.high()))
                }
                Reference::Vertical(_) => continue,
            };
            let place = |(a, b): (f64, f64)| (x.place(a), y.place(b));
            marks::reference(canvas, place(from), place(to));
        }
    }

    fn draw_series(&self, canvas: &mut Canvas, x: &Scale, y: &Scale) {
        let side_by_side = self.x_ticks.is_some();
        let beside = self.series.iter().filter(|s| s.mark != Mark::Line);
        let n_beside = beside.count().max(1);
        let mut beside = 0;
        // Bands lie below all curves.
        for (index, series) in self.series.iter().enumerate() {
            if series.mark == Mark::Line {
                marks::band(canvas, series, self.style(index), (x, y), |p| self.ends(p));
            }
        }
        for (index, series) in self.series.iter().enumerate() {
            let style = self.style(index);
            let step = match series.mark {
                Mark::Line => 0.0,
                _ if !side_by_side => 0.0,
                Mark::Points => (0.6 * x.tick_gap() / n_beside as f64).min(11.0),
                Mark::Bars => (0.84 * x.tick_gap() / n_beside as f64).min(30.0),
            };
            let shift = step * (beside as f64 - 0.5 * (n_beside as f64 - 1.0));
            match series.mark {
                Mark::Line => marks::line(canvas, series, style, (x, y), index),
                Mark::Points => {
                    marks::points(canvas, series, style, (x, y), shift, |p| self.ends(p));
                }
                Mark::Bars => {
                    let width = if step > 0.0 { 0.86 * step } else { 12.0 };
                    marks::bars(canvas, series, style, (x, y), (shift, width), |p| {
                        self.ends(p)
                    });
                }
            }
            beside += usize::from(series.mark != Mark::Line);
        }
    }
}

impl Draw for Plot {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
        let shown = format!("{} against {}", self.y_title, self.x_title);
        self.frame.description(&shown, &names)
    }

    fn draw_body(&self, canvas: &mut Canvas, width: f64, header: f64) -> f64 {
        let y_title = wrap(&self.y_title, TEXT, width - 12.0);
        let top = canvas.paragraph((6.0, header + 6.0), INK, TEXT, &y_title) + 8.0;

        let (x_scale, y_scale) = self.scales();
        let widest = widest(y_scale.ticks.iter().map(|tick| &tick.1));
        let (left, right) = (6.0 + widest.min(0.4 * width) + 8.0, width - 14.0);
        let bottom = top + AREA;
        let x_scale = x_scale.over(left + INSET, right - INSET);
        let y_scale = y_scale.over(bottom, top);
        self.draw_axes(canvas, &x_scale, &y_scale, (left, right, top, bottom));
        self.draw_references(canvas, &x_scale, &y_scale);
        self.draw_series(canvas, &x_scale, &y_scale);
        if let Some(notice) = &self.frame.notice {
            draw_notice(canvas, notice, (left, right, top, bottom));
        }
        let x_title = shorten(&self.x_title, TEXT, width - 12.0);
        let middle = f64::midpoint(left, right);
        canvas.text((middle, bottom + 34.0), Anchor::Middle, INK, &x_title);
        let series = self.series.iter().enumerate();
        let series = series.map(|(i, s)| (s.name.as_str(), Some((s.mark, self.style(i)))));
        let references = self
            .references
            .iter()
            .map(|(name, _)| (name.as_str(), None));
        let entries = series.chain(references);
        draw_legend(
            canvas,
            (bottom + 46.0, width),
            entries,
            |canvas, look, at| match look {
                Some((mark, style)) => marks::sample(canvas, mark, style, at, SAMPLE),
                None => marks::reference(canvas, at, (at.0 + SAMPLE, at.1)),
            },
        ) + 6.0
    }
}
