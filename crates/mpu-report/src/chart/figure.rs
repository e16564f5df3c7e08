//! Panels in a grid.

use super::frame::{Draw, PANEL};
use super::heat_map::HeatMap;
use super::intervals::Intervals;
use super::markup::{Canvas, TEXT, TITLE, escape, num, wrap};
use super::palette::{GROUND, INK, SOFT, style_sheet};
use super::plot::Plot;
use std::fmt::Write as _;

/// The room between two panels.
const GAP: f64 = 16.0;
/// The typefaces: the one that widths are reckoned for first.
const FAMILY: &str = "'DejaVu Sans', Verdana, 'Helvetica Neue', Arial, sans-serif";

/// One panel of a figure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Panel {
    /// Series over two axes.
    Plot(Plot),
    /// A matrix.
    HeatMap(HeatMap),
    /// Estimates with intervals.
    Intervals(Intervals),
}

impl From<Plot> for Panel {
    fn from(plot: Plot) -> Self {
        Self::Plot(plot)
    }
}

impl From<HeatMap> for Panel {
    fn from(map: HeatMap) -> Self {
        Self::HeatMap(map)
    }
}

impl From<Intervals> for Panel {
    fn from(intervals: Intervals) -> Self {
        Self::Intervals(intervals)
    }
}

impl Panel {
    fn inner(&self) -> &dyn Draw {
        match self {
            Self::Plot(plot) => plot,
            Self::HeatMap(map) => map,
            Self::Intervals(intervals) => intervals,
        }
    }

    /// How wide the panel is drawn.
    fn width(&self) -> f64 {
        self.inner().width()
    }

    /// How high the titles are.
    fn header(&self) -> f64 {
        self.inner().frame().height(self.width())
    }

    /// The panel's markup, without a place, and its height, with room for titles of a height.
    fn drawn(&self, header: f64) -> (String, f64) {
        let (mut canvas, inner) = (Canvas::default(), self.inner());
        let width = inner.width();
        inner.frame().draw(&mut canvas, &inner.description(), width);
        let height = inner.draw_body(&mut canvas, width, header);
        (canvas.finish(), height)
    }

    /// The panel alone as an SVG document.
    pub fn to_svg(&self) -> String {
        let (markup, height) = self.drawn(self.header());
        document(
            &self.inner().description(),
            (self.width(), height),
            &format!("<g>\n{markup}</g>\n"),
        )
    }
}

/// Panels in a grid under one title.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    title: String,
    note: String,
    columns: usize,
    panels: Vec<Panel>,
}

impl Figure {
    /// A figure without panels, of up to three columns.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            columns: 3,
            panels: Vec::new(),
        }
    }

    /// How many panels stand side by side at most; one suits a phone.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// A text below the panels.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = text.into();
        self
    }

    /// One more panel.
    #[must_use]
    pub fn with(mut self, panel: impl Into<Panel>) -> Self {
        self.panels.push(panel.into());
        self
    }

    /// The panels.
    pub fn panels(&self) -> &[Panel] {
        &self.panels
    }

    /// One SVG document: each panel a group, as wide as the page but no wider than drawn.
    pub fn to_svg(&self) -> String {
        let columns = self.columns.min(self.panels.len()).max(1);
        let usual = columns as f64 * PANEL + (columns - 1) as f64 * GAP;
        let width = self.panels.iter().map(Panel::width).fold(usual, f64::max);
        let mut canvas = Canvas::default();
        let title = wrap(&self.title, TITLE + 2.0, width - 12.0);
        let mut y = canvas.paragraph((6.0, 6.0), INK, TITLE + 2.0, &title) + 8.0;
        for row in self.rows(columns, width) {
            // The areas of a row stand at one height, whatever their titles need.
            let header = row.iter().map(Panel::header).fold(0.0, f64::max);
            let mut height = 0.0_f64;
            let mut x = 0.0;
            for panel in row {
                let (markup, panel_height) = panel.drawn(header);
                canvas.group(x, y);
                canvas.raw(markup.trim_end());
                canvas.close();
                height = height.max(panel_height);
                x += panel.width() + GAP;
            }
            y += height + GAP;
        }
        let note = wrap(&self.note, TEXT, width - 12.0);
        y = canvas.paragraph((6.0, y - 6.0), SOFT, TEXT, &note) + 6.0;
        document(&self.title, (width, y), &canvas.finish())
    }

    /// The panels in rows that fit a width.
    fn rows(&self, columns: usize, width: f64) -> Vec<&[Panel]> {
        let (mut rows, mut rest) = (Vec::new(), self.panels.as_slice());
        while !rest.is_empty() {
            let mut right = 0.0;
            let fitting = rest.iter().take(columns).take_while(|panel| {
                right += panel.width() + GAP;
                right <= width + GAP
            });
            let (row, others) = rest.split_at(fitting.count().max(1));
            rows.push(row);
            rest = others;
        }
        rows
    }

    /// HTML with each panel as its own SVG, so that panels wrap where the page is narrow; a panel wider than
    /// the page is scrolled, so that it can be read.
    pub fn to_html(&self) -> String {
        let widths: f64 = self.panels.iter().map(|panel| panel.width() + GAP).sum();
        // No wider than its panels, so that narrow figures can stand side by side.
        let room = num((widths - GAP).max(PANEL));
        let mut html =
            format!("<figure style=\"margin:0;flex:0 1 {room}px;max-width:{room}px\">\n");
        let _ = writeln!(
            html,
            "<figcaption><strong>{}</strong></figcaption>",
            escape(&self.title)
        );
        html.push_str("<div style=\"display:flex;flex-wrap:wrap;gap:16px\">\n");
        for panel in &self.panels {
            let (svg, width) = (panel.to_svg(), panel.width());
            let _ = if width > PANEL {
                // Focusable, so that it can be scrolled with the keyboard.
                let (label, width) = (escape(&panel.inner().description()), num(width));
                let wide = format!("min-width:{width}px;height:auto");
                let svg = svg.replacen("height:auto", &wide, 1);
                writeln!(
                    html,
                    "<div style=\"flex:0 1 {width}px;overflow-x:auto\" tabindex=\"0\" role=\"region\" \
                     aria-label=\"{label}\">\n{svg}</div>"
                )
            } else {
                writeln!(
                    html,
                    "<div style=\"flex:0 1 {}px\">\n{svg}</div>",
                    num(width)
                )
            };
        }
        html.push_str("</div>\n");
        if !self.note.is_empty() {
            let _ = writeln!(html, "<p><small>{}</small></p>", escape(&self.note));
        }
        html.push_str("</figure>\n");
        html
    }
}

/// An SVG document about markup of a size.
fn document(label: &str, (width, height): (f64, f64), markup: &str) -> String {
    let (w, h, label) = (num(width), num(height.ceil()), escape(label));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"100%\" \
         style=\"max-width:{w}px;height:auto\" role=\"img\" aria-label=\"{label}\" \
         font-family=\"{FAMILY}\">\n<title>{label}</title>\n<style>\n{}\n</style>\n\
         <rect width=\"{w}\" height=\"{h}\" class=\"{}\" fill=\"{}\"/>\n{markup}</svg>\n",
        style_sheet(),
        GROUND.0,
        GROUND.1
    )
}
