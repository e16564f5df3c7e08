//! Colours, dash patterns and markers, and what becomes of them on a dark page.

use super::markup::num;
use std::fmt::Write as _;

/// The colours of Okabe and Ito, without their yellow, which is lost on white, on light and on dark.
const COLOURS: [(&str, &str); 7] = [
    ("#0072B2", "#4EA5DC"),
    ("#D55E00", "#F0803C"),
    ("#009E73", "#2CC79A"),
    ("#CC79A7", "#E09AC3"),
    ("#E69F00", "#F3B93A"),
    ("#56B4E9", "#A6DCFA"),
    ("#000000", "#FFFFFF"),
];

/// Dash patterns, the unbroken line first.
const DASHES: [&str; 5] = ["", "7 4", "2 3", "9 3 2 3", "14 4"];

/// How many markers there are.
const MARKERS: usize = 6;

/// Class and colour of text.
pub(super) const INK: (&str, &str) = ("mpu-ink", "#1A1A1A");
/// Class and colour of text that matters less.
pub(super) const SOFT: (&str, &str) = ("mpu-soft", "#4D4D4D");
/// Class and colour of the axes.
pub(super) const AXIS: (&str, &str) = ("mpu-axis", "#4D4D4D");
/// Class and colour of the grid.
pub(super) const GRID: (&str, &str) = ("mpu-grid", "#DDDDDD");
/// Class and colour of the ground.
pub(super) const GROUND: (&str, &str) = ("mpu-ground", "#FFFFFF");

/// How one series looks: numbers of a colour, a dash pattern and a marker, counted round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The colour's number.
    pub colour: usize,
    /// The dash pattern's number; 0 is the unbroken line.
    pub dash: usize,
    /// The marker's number.
    pub marker: usize,
}

impl Style {
    /// The style of a chart's series number `index`: all three differ from its neighbours'.
    pub fn nth(index: usize) -> Self {
        Self {
            colour: index,
            dash: index,
            marker: index,
        }
    }

    /// The colour on a light ground.
    pub(super) fn light(self) -> &'static str {
        COLOURS[self.colour % COLOURS.len()].0
    }

    /// The class by which a dark page changes a stroke.
    pub(super) fn stroke_class(self) -> String {
        format!("mpu-s{}", self.colour % COLOURS.len())
    }

    /// The class by which a dark page changes a fill.
    pub(super) fn fill_class(self) -> String {
        format!("mpu-f{}", self.colour % COLOURS.len())
    }

    /// The dash pattern as an attribute; nothing for the unbroken line.
    pub(super) fn dash_attribute(self) -> String {
        match DASHES[self.dash % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        }
    }

    /// The marker about a place, as an element, `size` times as large as usual.
    pub(super) fn marker_at(self, x: f64, y: f64, size: f64) -> String {
        let number = self.marker % MARKERS;
        let class = format!("{} {}", self.fill_class(), self.stroke_class());
        // The first three markers are filled, the others hollow.
        let paint = if number < 3 {
            format!(
                "class=\"{class}\" fill=\"{0}\" stroke=\"{0}\"",
                self.light()
            )
        } else {
            format!(
                "class=\"mpu-hollow {}\" fill=\"{}\" stroke=\"{}\"",
                self.stroke_class(),
                GROUND.1,
                self.light()
            )
        };
        let polygon = |corners: &[(f64, f64)]| {
            let points: Vec<String> = corners
                .iter()
                .map(|&(dx, dy)| format!("{},{}", num(x + size * dx), num(y + size * dy)))
                .collect();
            format!(
                "<polygon points=\"{}\" {paint} stroke-width=\"1.5\"/>",
                points.join(" ")
            )
        };
        match number {
            0 | 3 => format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {paint} stroke-width=\"1.5\"/>",
                num(x),
                num(y),
                num(3.6 * size)
            ),
            1 | 4 => polygon(&[(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)]),
            _ => polygon(&[(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)]),
        }
    }
}

/// The style sheet: only what a dark page changes, so that a drawing without it is complete.
pub(super) fn style_sheet() -> String {
    let mut css = String::from("@media (prefers-color-scheme: dark) {\n");
    for ((class, _), colour, property) in [
        (INK, "#F2F2F2", "fill"),
        (SOFT, "#C4C4C4", "fill"),
        (AXIS, "#B0B0B0", "stroke"),
        (GRID, "#3A3D44", "stroke"),
        (GROUND, "#17191E", "fill"),
        (("mpu-hollow", ""), "#17191E", "fill"),
        (("mpu-range", ""), "#E8E8E8", "fill"),
        (("mpu-truth", ""), "#F2F2F2", "stroke"),
    ] {
        let _ = writeln!(css, ".{class} {{ {property}: {colour}; }}");
    }
    for (index, (_, dark)) in COLOURS.iter().enumerate() {
        let _ = writeln!(
            css,
            ".mpu-s{index} {{ stroke: {dark}; }} .mpu-f{index} {{ fill: {dark}; }}"
        );
    }
    css.push('}');
    css
}

/// A colour between white and a deep blue, `t` from 0 to 1.
pub(super) fn sequential(t: f64) -> [u8; 3] {
    blend([0xF7, 0xFB, 0xFF], [0x08, 0x4C, 0x8D], t)
}

/// A colour from vermilion (`t` = -1) by white (0) to blue (1).
pub(super) fn diverging(t: f64) -> [u8; 3] {
    if t < 0.0 {
        blend([0xFF, 0xFF, 0xFF], [0xC2, 0x4E, 0x00], -t)
    } else {
        blend([0xFF, 0xFF, 0xFF], [0x00, 0x5A, 0x9C], t)
    }
}

fn blend(from: [u8; 3], to: [u8; 3], t: f64) -> [u8; 3] {
    let t = if t.is_finite() {
        t.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut mixed = [0; 3];
    for (channel, (&a, &b)) in mixed.iter_mut().zip(from.iter().zip(&to)) {
        *channel = (f64::from(a) + t * (f64::from(b) - f64::from(a))).round() as u8;
    }
    mixed
}

/// A colour as SVG writes it.
pub(super) fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// Black or white, whichever is read better on a colour.
pub(super) fn readable_on(colour: [u8; 3]) -> &'static str {
    if luminance(colour) > 0.18 {
        "#000000"
    } else {
        "#FFFFFF"
    }
}

/// The relative luminance by which contrast is measured on the web.
fn luminance(colour: [u8; 3]) -> f64 {
    let [r, g, b] = colour.map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.040_45 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_every_colour_can_be_read() {
        for step in -20..=20 {
            let t = f64::from(step) / 20.0;
            for colour in [diverging(t), sequential(t)] {
                let ground = luminance(colour);
                let text = if readable_on(colour) == "#000000" {
                    0.0
                } else {
                    1.0
                };
                let (high, low) = if text > ground {
                    (text, ground)
                } else {
                    (ground, text)
                };
                assert!((high + 0.05) / (low + 0.05) >= 4.5, "{colour:?}");
            }
        }
    }

    #[test]
    fn neighbours_differ_in_colour_dash_and_marker() {
        for index in 0..20 {
            let (a, b) = (Style::nth(index), Style::nth(index + 1));
            assert_ne!(a.light(), b.light());
            assert_ne!(a.dash_attribute(), b.dash_attribute());
            assert_ne!(a.marker_at(0.0, 0.0, 1.0), b.marker_at(0.0, 0.0, 1.0));
        }
    }
}
