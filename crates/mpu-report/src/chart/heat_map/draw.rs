//! Drawing a matrix.

use super::super::frame::{Draw, Frame, PANEL, draw_empty};
use super::super::markup::{Anchor, Canvas, TEXT, label, num, shorten, text_width, widest};
use super::super::palette::{AXIS, INK, SOFT, hex, readable_on};
use super::{HeatMap, Shading};

/// The largest side of a cell.
const CELL: f64 = 64.0;
/// The longest a turned name of a column can be.
const TURNED: f64 = 96.0;
/// The height that two lines in a cell need.
const TWO_LINES: f64 = 34.0;
/// How many colours the legend shows.
const SHADES: usize = 40;

impl Draw for HeatMap {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn description(&self) -> String {
        let shown = format!("{} by {}", self.row_title, self.column_title);
        self.frame.description(&shown, &[])
    }

    fn width(&self) -> f64 {
        if !self.roomy {
            return PANEL;
        }
        let n_columns = self.columns.len() as f64;
        (self.left(PANEL) + 4.0 + n_columns * self.needed()).max(PANEL)
    }

    fn draw_body(&self, canvas: &mut Canvas, width: f64, header: f64) -> f64 {
        let top = header + 8.0;
        if let Some(notice) = &self.frame.notice {
            return draw_empty(canvas, notice, width, (top, top + 210.0));
        }
        let names = self.row_names(width.min(PANEL));
        let left = self.left(width.min(PANEL));
        let n_columns = self.columns.len().max(1) as f64;
        let cell = ((width - left - 4.0) / n_columns).min(CELL);
        let mut height = cell.min(40.0).max(0.6 * cell);
        if !self.second.is_empty() && cell >= self.needed() - 4.0 {
            height = height.max(TWO_LINES);
        }
        let bottom = top + height * self.rows.len() as f64;

        let decimals = self.decimals(cell - 2.0);
        for (row, name) in self.rows.iter().enumerate() {
            let middle = top + (row as f64 + 0.5) * height;
            let name = shorten(name, TEXT, names);
            canvas.text((left - 6.0, middle), Anchor::End, INK, &name);
            for column in 0..self.columns.len() {
                let corner = (left + column as f64 * cell, middle - 0.5 * height);
                self.draw_cell(canvas, (row, column), corner, (cell, height), decimals);
            }
        }
        let below = self.draw_column_names(canvas, (left, bottom), cell);
        let right = left + cell * self.columns.len() as f64;
        let middle = f64::midpoint(left, right);
        let title = &self.column_title;
        canvas.text((middle, below + 8.0), Anchor::Middle, INK, title);
        let beside = (14.0, f64::midpoint(top, bottom));
        turned(canvas, beside, Anchor::Middle, &self.row_title);
        let legend = right.max(left + 160.0).min(left + 420.0) - left;
        self.draw_legend(canvas, (left, below + 22.0), legend)
    }
}

impl HeatMap {
    /// How wide the widest number is, with room about it.
    fn needed(&self) -> f64 {
        let values = self.cells.iter().flatten().flatten();
        let numbers = values.map(|&v| text_width(&self.cell_label(v, self.decimals), TEXT));
        let second = self.second.iter().flatten().map(|l| text_width(l, TEXT));
        (numbers.chain(second).fold(0.0, f64::max) + 6.0).clamp(20.0, CELL)
    }

    /// The room that row names have.
    fn row_names(&self, width: f64) -> f64 {
        widest(&self.rows).min(0.25 * width)
    }

    /// Where the cells begin.
    fn left(&self, width: f64) -> f64 {
        6.0 + 18.0 + self.row_names(width) + 6.0
    }

    /// A number as cells show it: with the narrow minus sign.
    fn cell_label(&self, value: f64, decimals: usize) -> String {
        label(value, decimals).replace('\u{2212}', "-") + &self.unit
    }

    /// How many decimals all cells can have at a width: as many as asked for, or fewer.
    fn decimals(&self, width: f64) -> usize {
        let fits = |decimals: &usize| {
            let mut values = self.cells.iter().flatten().flatten();
            values.all(|&v| text_width(&self.cell_label(v, *decimals), TEXT) <= width)
        };
        (0..=self.decimals).rev().find(fits).unwrap_or(0)
    }

    /// Draws the columns' names below the cells, turned if one of them is too long; returns their bottom.
    fn draw_column_names(&self, canvas: &mut Canvas, (left, bottom): (f64, f64), cell: f64) -> f64 {
        let widest = widest(&self.columns);
        let place = |column: usize| left + (column as f64 + 0.5) * cell;
        if widest <= cell - 2.0 {
            for (column, name) in self.columns.iter().enumerate() {
                canvas.text((place(column), bottom + 12.0), Anchor::Middle, INK, name);
            }
            return bottom + 22.0;
        }
        let room = widest.min(TURNED);
        for (column, name) in self.columns.iter().enumerate() {
            let name = shorten(name, TEXT, room);
            turned(canvas, (place(column), bottom + 5.0), Anchor::End, &name);
        }
        bottom + room + 14.0
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas,
        (row, column): (usize, usize),
        corner: (f64, f64),
        (w, h): (f64, f64),
        decimals: usize,
    ) {
        let outline = format!(
            "class=\"{}\" stroke=\"{}\" stroke-width=\"0.5\"",
            AXIS.0, AXIS.1
        );
        let Some(value) = self.value(row, column) else {
            canvas.rect(corner, (w, h), &format!("{outline} fill=\"none\""));
            return;
        };
        let colour = self.colour(self.share(value));
        let paint = format!("{outline} fill=\"{}\"", hex(colour));
        canvas.rect(corner, (w, h), &paint);
        if value == 0.0 && self.silent_zeros {
            return;
        }
        let plain = self.cell_label(value, decimals);
        let in_thousands = format!("{}k", self.cell_label(value / 1000.0, 0));
        let mut forms = [plain, in_thousands]
            .into_iter()
            .take(1 + usize::from(value >= 1000.0));
        let fits = |text: &String| text_width(text, TEXT) <= w - 2.0;
        let number = forms.find(fits).filter(|_| h >= TEXT + 2.0);
        let second = self.second.get(row).and_then(|lines| lines.get(column));
        let second = second.filter(|text| h >= TWO_LINES && !text.is_empty() && fits(text));
        let ink = ("mpu-cell", readable_on(colour));
        let middle = (corner.0 + 0.5 * w, corner.1 + 0.5 * h);
        let shift = if second.is_some() { 7.5 } else { 0.0 };
        for (text, dy) in [(number.as_ref(), -shift), (second, shift)] {
            if let Some(text) = text {
                canvas.text((middle.0, middle.1 + dy), Anchor::Middle, ink, text);
            }
        }
    }

    /// Draws the strip of colours with the values of its ends and middle; returns its bottom.
    fn draw_legend(&self, canvas: &mut Canvas, (x, y): (f64, f64), width: f64) -> f64 {
        let low = match self.shading {
            Shading::Diverging => -1.0,
            Shading::Sequential => 0.0,
        };
        let step = width / SHADES as f64;
        for shade in 0..SHADES {
            let share = low + (1.0 - low) * (shade as f64 + 0.5) / SHADES as f64;
            let paint = format!(
                "shape-rendering=\"crispEdges\" fill=\"{}\"",
                hex(self.colour(share))
            );
            // A hair wider than a step, so that no seam shows.
            let wide = if shade + 1 < SHADES { step + 0.5 } else { step };
            canvas.rect((x + shade as f64 * step, y), (wide, 10.0), &paint);
        }
        let extent = self.extent();
        for (share, anchor) in [
            (0.0, Anchor::Start),
            (0.5, Anchor::Middle),
            (1.0, Anchor::End),
        ] {
            let value = extent * (low + (1.0 - low) * share);
            let text = label(value, self.decimals) + &self.unit;
            canvas.text((x + share * width, y + 20.0), anchor, INK, &text);
        }
        let any_blank = (0..self.rows.len())
            .any(|row| (0..self.columns.len()).any(|column| self.value(row, column).is_none()));
        if any_blank {
            canvas.text((x, y + 38.0), Anchor::Start, SOFT, "blank: no rows");
        }
        y + if any_blank { 50.0 } else { 34.0 }
    }
}

/// Text that is read upwards, about the origin of its own group.
fn turned(canvas: &mut Canvas, (x, y): (f64, f64), anchor: Anchor, text: &str) {
    canvas.raw(&format!(
        "<g transform=\"translate({} {}) rotate(-90)\">",
        num(x),
        num(y)
    ));
    canvas.text((0.0, 0.0), anchor, INK, text);
    canvas.close();
}
