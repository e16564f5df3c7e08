//! What all panels have: titles, and a notice where something is missing.

use super::markup::{Anchor, Canvas, TEXT, TITLE, escape, lines_height, wrap};
use super::palette::{INK, SOFT};

/// How high a panel's title and subtitle are.
pub(super) fn header_height(title: &str, subtitle: &str, width: f64) -> f64 {
    let title = lines_height(&wrap(title, TITLE, width - 12.0), TITLE);
    4.0 + title + lines_height(&wrap(subtitle, TEXT, width - 12.0), TEXT)
}

/// Draws a panel's title and subtitle, and tells its description to who cannot see it.
pub(super) fn draw_header(
    canvas: &mut Canvas,
    description: &str,
    title: &str,
    subtitle: &str,
    width: f64,
) {
    canvas.raw(&format!("<title>{}</title>", escape(description)));
    let y = canvas.paragraph((6.0, 4.0), INK, TITLE, &wrap(title, TITLE, width - 12.0));
    canvas.paragraph((6.0, y), SOFT, TEXT, &wrap(subtitle, TEXT, width - 12.0));
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
