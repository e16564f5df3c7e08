//! What is drawn of a series: bands, curves, points, bars, and the samples of the legend.

use super::markup::{Canvas, num};
use super::palette::{AXIS, Style};
use super::scale::Scale;
use super::series::{Mark, Point, Series};

/// How many markers a curve has, about.
const MARKERS: usize = 7;

/// The series without its gaps: runs of points that can be joined, with the index of each.
fn unbroken(series: &Series) -> Vec<Vec<(usize, Point)>> {
    let mut runs = vec![Vec::new()];
    for (index, point) in series.points.iter().enumerate() {
        if !point.is_finite() {
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut() {
            run.push((index, *point));
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut out = String::new();
    for (index, (x, y)) in places.enumerate() {
        out.push(if index == 0 { 'M' } else { 'L' });
        out.push_str(&num(x));
        out.push(' ');
        out.push_str(&num(y));
    }
    out
}

/// The band of one spread either side of a curve.
pub(super) fn band(
    canvas: &mut Canvas,
    series: &Series,
    style: Style,
    (x, y): (&Scale, &Scale),
    ends: impl Fn(&Point) -> (f64, f64),
) {
    for run in unbroken(series) {
        if run.len() < 2 || run.iter().all(|(_, p)| p.spread.is_none()) {
            continue;
        }
        let upper = run.iter().map(|(_, p)| (x.place(p.x), y.place(ends(p).1)));
        let lower = run
            .iter()
            .rev()
            .map(|(_, p)| (x.place(p.x), y.place(ends(p).0)));
        canvas.raw(&format!(
            "<path d=\"{}Z\" class=\"{}\" fill=\"{}\" fill-opacity=\"0.18\"/>",
            path(upper.chain(lower)),
            style.fill_class(),
            style.light()
        ));
    }
}

/// A curve with a marker here and there, at other places than those of its neighbours.
pub(super) fn line(
    canvas: &mut Canvas,
    series: &Series,
    style: Style,
    (x, y): (&Scale, &Scale),
    index: usize,
) {
    let every = series.points.len().div_ceil(MARKERS).max(1);
    let offset = index * every.div_ceil(3) % every;
    for run in unbroken(series) {
        let places = run.iter().map(|(_, p)| (x.place(p.x), y.place(p.y)));
        stroke(canvas, &path(places), style, 2.0);
        for (at, point) in &run {
            if at % every == offset || run.len() == 1 {
                canvas.raw(&style.marker_at(x.place(point.x), y.place(point.y), point.size));
            }
        }
    }
}

fn stroke(canvas: &mut Canvas, path: &str, style: Style, width: f64) {
    canvas.raw(&format!(
        "<path d=\"{path}\" class=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
         stroke-linejoin=\"round\"{}/>",
        style.stroke_class(),
        style.light(),
        num(width),
        style.dash_attribute()
    ));
}

/// Markers with error bars, joined by thin lines.
pub(super) fn points(
    canvas: &mut Canvas,
    series: &Series,
    style: Style,
    (x, y): (&Scale, &Scale),
    shift: f64,
    ends: impl Fn(&Point) -> (f64, f64),
) {
    for run in unbroken(series) {
        let places = run
            .iter()
            .map(|(_, p)| (x.place(p.x) + shift, y.place(p.y)));
        stroke(canvas, &path(places), style, 1.2);
        for (_, point) in &run {
            let place = x.place(point.x) + shift;
            error_bar(canvas, point, style, (place, y), &ends);
            canvas.raw(&style.marker_at(place, y.place(point.y), point.size));
        }
    }
}

/// Bars from zero, with error bars and markers on top.
pub(super) fn bars(
    canvas: &mut Canvas,
    series: &Series,
    style: Style,
    (x, y): (&Scale, &Scale),
    (shift, width): (f64, f64),
    ends: impl Fn(&Point) -> (f64, f64),
) {
    for point in series.points.iter().filter(|p| p.is_finite()) {
        let (place, height, base) = (x.place(point.x) + shift, y.place(point.y), y.base());
        let attributes = format!(
            "class=\"{} {}\" fill=\"{2}\" fill-opacity=\"0.3\" stroke=\"{2}\" stroke-width=\"1.2\"{3}",
            style.fill_class(),
            style.stroke_class(),
            style.light(),
            style.dash_attribute()
        );
        let corner = (place - 0.5 * width, height.min(base));
        canvas.rect(corner, (width, (height - base).abs()), &attributes);
        error_bar(canvas, point, style, (place, y), &ends);
        canvas.raw(&style.marker_at(place, height, point.size));
    }
}

fn error_bar(
    canvas: &mut Canvas,
    point: &Point,
    style: Style,
    (place, y): (f64, &Scale),
    ends: impl Fn(&Point) -> (f64, f64),
) {
    if point.spread.is_none() {
        return;
    }
    let (low, high) = ends(point);
    let (low, high) = (y.place(low), y.place(high));
    let class = style.stroke_class();
    let ink = (class.as_str(), style.light());
    canvas.line((place, low), (place, high), ink, 1.4);
    for end in [low, high] {
        canvas.line((place - 3.5, end), (place + 3.5, end), ink, 1.4);
    }
}

/// The sample of a series in the legend, from its left end.
pub(super) fn sample(
    canvas: &mut Canvas,
    mark: Mark,
    style: Style,
    (x, y): (f64, f64),
    width: f64,
) {
    let thickness = if mark == Mark::Line { 2.0 } else { 1.2 };
    let path = path([(x, y), (x + width, y)].into_iter());
    stroke(canvas, &path, style, thickness);
    canvas.raw(&style.marker_at(x + 0.5 * width, y, 1.0));
}

/// A thin dashed line that series are compared with.
pub(super) fn reference(canvas: &mut Canvas, from: (f64, f64), to: (f64, f64)) {
    canvas.raw(&format!(
        "<path d=\"{}\" class=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\" \
         stroke-dasharray=\"4 4\"/>",
        path([from, to].into_iter()),
        AXIS.0,
        AXIS.1
    ));
}
