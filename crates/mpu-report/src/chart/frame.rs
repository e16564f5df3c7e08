//! What all panels have: titles, a notice where something is missing, and a legend.

use super::markup::{Anchor, Canvas, TEXT, TITLE, escape, lines_height, shorten, text_width, wrap};
use super::palette::{AXIS, INK, SOFT};

/// The usual width of a panel: that of a phone's screen.
pub(super) const PANEL: f64 = 380.0;
/// The height of a row of the legend.
const LEGEND_ROW: f64 = 19.0;
/// The width of a sample in the legend, with the room after it.
const ROOM: f64 = 34.0;
/// The width of a sample in the legend.
pub(super) const SAMPLE: f64 = ROOM - 8.0;

/// A panel of a figure.
pub(super) trait Draw {
    /// Its titles.
    fn frame(&self) -> &Frame;

    /// What a reader who cannot see the panel is told.
    fn description(&self) -> String;

    /// How wide it is drawn.
    fn width(&self) -> f64 {
        PANEL
    }

    /// Draws what stands below the titles, which are `header` high; returns the height of the whole panel.
    fn draw_body(&self, canvas: &mut Canvas, width: f64, header: f64) -> f64;
}

/// A panel's titles, and what is said in place of what is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) notice: Option<String>,
}

impl Frame {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// How high title and subtitle are.
    pub(super) fn height(&self, width: f64) -> f64 {
        let title = lines_height(&wrap(&self.title, TITLE, width - 12.0), TITLE);
        4.0 + title + lines_height(&wrap(&self.subtitle, TEXT, width - 12.0), TEXT)
    }

    /// Draws title and subtitle, and tells the panel's description to who cannot see it.
    pub(super) fn draw(&self, canvas: &mut Canvas, description: &str, width: f64) {
        canvas.raw(&format!("<title>{}</title>", escape(description)));
        let title = wrap(&self.title, TITLE, width - 12.0);
        let y = canvas.paragraph((6.0, 4.0), INK, TITLE, &title);
        let subtitle = wrap(&self.subtitle, TEXT, width - 12.0);
        canvas.paragraph((6.0, y), SOFT, TEXT, &subtitle);
    }

    /// The title and what is shown under it, with the names of what is drawn.
    pub(super) fn description(&self, shown: &str, names: &[&str]) -> String {
        let mut text = format!("{}: {shown}", self.title);
        let notice = self.notice.as_deref().unwrap_or("");
        for part in [&self.subtitle, &names.join(", "), notice] {
            if !part.is_empty() {
                text.push_str("; ");
                text.push_str(part);
            }
        }
        text
    }
}

/// Says in the middle of an area what is missing there.
pub(super) fn draw_notice(
    canvas: &mut Canvas,
    notice: &str,
    (left, right, top, bottom): (f64, f64, f64, f64),
) {
    let lines = wrap(notice, TEXT, right - left - 16.0);
    let mut y = f64::midpoint(top, bottom) - 0.5 * lines_height(&lines, TEXT);
    let step = lines_height(&lines, TEXT) / lines.len().max(1) as f64;
    for line in &lines {
        let at = (f64::midpoint(left, right), y + 0.5 * step);
        canvas.text(at, Anchor::Middle, INK, line);
        y += step;
    }
}

/// A notice between two lines, in place of a panel without axes; returns the panel's height.
pub(super) fn draw_empty(
    canvas: &mut Canvas,
    notice: &str,
    width: f64,
    (top, bottom): (f64, f64),
) -> f64 {
    for y in [bottom, top] {
        canvas.line((6.0, y), (width - 6.0, y), AXIS, 1.0);
    }
    draw_notice(canvas, notice, (6.0, width - 6.0, top, bottom));
    bottom + 6.0
}

/// Draws a legend in as many rows as it needs, each name after its sample, which is drawn from its left
/// end; returns the bottom.
pub(super) fn draw_legend<'a, L>(
    canvas: &mut Canvas,
    (top, width): (f64, f64),
    entries: impl Iterator<Item = (&'a str, L)>,
    sample: impl Fn(&mut Canvas, L, (f64, f64)),
) -> f64 {
    let (mut x, mut y, mut bottom) = (6.0, top, top);
    for (name, look) in entries {
        let name = shorten(name, TEXT, width - ROOM - 12.0);
        let entry = ROOM + text_width(&name, TEXT);
        if x > 6.0 && x + entry > width - 6.0 {
            (x, y) = (6.0, y + LEGEND_ROW);
        }
        let middle = y + 0.5 * LEGEND_ROW;
        sample(canvas, look, (x, middle));
        canvas.text((x + ROOM - 4.0, middle), Anchor::Start, INK, &name);
        x += entry + 14.0;
        bottom = y + LEGEND_ROW;
    }
    bottom
}
