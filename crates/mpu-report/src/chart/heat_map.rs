//! A matrix whose cells are coloured by their values and carry them as numbers.

use super::frame::{draw_header, draw_notice, header_height};
use super::markup::{Anchor, Canvas, TEXT, label, num, shorten, text_width};
use super::palette::{AXIS, INK, SOFT, diverging, hex, readable_on, sequential};

/// The largest side of a cell.
const CELL: f64 = 64.0;
/// How many colours the legend shows.
const SHADES: usize = 40;

/// Which colours the values have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shading {
    /// From light to dark between zero and the largest value: for counts.
    Sequential,
    /// One hue below zero, another above, light at zero: for values of either sign.
    Diverging,
}

/// A matrix with rows and columns that have names.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    title: String,
    subtitle: String,
    row_title: String,
    column_title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<Vec<Option<f64>>>,
    decimals: usize,
    shading: Shading,
    notice: Option<String>,
}

impl HeatMap {
    /// A matrix of `cells[row][column]`; cells without a value, or with one that is not finite, stay
    /// blank, and so do those that the lists are too short for.
    pub fn new(
        title: impl Into<String>,
        shading: Shading,
        decimals: usize,
        cells: Vec<Vec<Option<f64>>>,
    ) -> Self {
        let n_columns = cells.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            title: title.into(),
            subtitle: String::new(),
            row_title: "row".to_owned(),
            column_title: "column".to_owned(),
            rows: (0..cells.len()).map(|i| i.to_string()).collect(),
            columns: (0..n_columns).map(|i| i.to_string()).collect(),
            cells,
            decimals,
            shading,
            notice: None,
        }
    }

    /// A line below the title.
    #[must_use]
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.subtitle = text.into();
        self
    }

    /// What rows and columns are.
    #[must_use]
    pub fn axes(mut self, row_title: impl Into<String>, column_title: impl Into<String>) -> Self {
        (self.row_title, self.column_title) = (row_title.into(), column_title.into());
        self
    }

    /// The names of rows and columns, in place of numbers counted from zero.
    #[must_use]
    pub fn names(mut self, rows: &[String], columns: &[String]) -> Self {
        for (names, given) in [(&mut self.rows, rows), (&mut self.columns, columns)] {
            for (name, given) in names.iter_mut().zip(given) {
                name.clone_from(given);
            }
        }
        self
    }

    /// A text in place of the matrix: what is missing.
    #[must_use]
    pub fn notice(mut self, text: impl Into<String>) -> Self {
        self.notice = Some(text.into());
        self
    }

    /// What a reader who cannot see the panel is told.
    pub(super) fn description(&self) -> String {
        let mut text = format!(
            "{}: {} by {}",
            self.title, self.row_title, self.column_title
        );
        for part in [self.subtitle.as_str(), self.notice.as_deref().unwrap_or("")] {
            if !part.is_empty() {
                text.push_str("; ");
                text.push_str(part);
            }
        }
        text
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let cell = self.cells.get(row)?.get(column).copied().flatten();
        cell.filter(|value| value.is_finite())
    }

    /// The largest absolute value; 1 if all are zero or blank.
    fn extent(&self) -> f64 {
        let values = self
            .cells
            .iter()
            .flatten()
            .flatten()
            .filter(|v| v.is_finite());
        let extent = values.map(|v| v.abs()).fold(0.0, f64::max);
        if extent > 0.0 { extent } else { 1.0 }
    }

    fn colour(&self, share: f64) -> [u8; 3] {
        match self.shading {
            Shading::Sequential => sequential(share),
            Shading::Diverging => diverging(share),
        }
    }

    /// How many decimals all cells can have at a width: as many as asked for, or fewer.
    fn decimals(&self, width: f64) -> usize {
        let fits = |decimals: &usize| {
            let values = self.cells.iter().flatten().flatten();
            values
                .clone()
                .all(|&v| text_width(&cell_label(v, *decimals), TEXT) <= width)
        };
        (0..=self.decimals).rev().find(fits).unwrap_or(0)
    }

    /// How high the titles are at a panel's width.
    pub(super) fn header(&self, width: f64) -> f64 {
        header_height(&self.title, &self.subtitle, width)
    }

    /// Draws the panel from its upper left corner, with room for titles of a height; returns its own.
    pub(super) fn draw(&self, canvas: &mut Canvas, width: f64, header: f64) -> f64 {
        draw_header(
            canvas,
            &self.description(),
            &self.title,
            &self.subtitle,
            width,
        );
        let top = header + 8.0;
        if let Some(notice) = &self.notice {
            let bottom = top + 210.0;
            canvas.line((6.0, bottom), (width - 6.0, bottom), AXIS, 1.0);
            canvas.line((6.0, top), (width - 6.0, top), AXIS, 1.0);
            draw_notice(canvas, notice, (6.0, width - 6.0, top, bottom));
            return bottom + 6.0;
        }
        let widest = self
            .rows
            .iter()
            .map(|name| text_width(name, TEXT))
            .fold(0.0, f64::max);
        let names = widest.min(0.25 * width);
        let left = 6.0 + 18.0 + names + 6.0;
        let n_columns = self.columns.len().max(1) as f64;
        let cell = ((width - left - 4.0) / n_columns).min(CELL);
        let bottom = top + cell.min(40.0).max(0.6 * cell) * self.rows.len() as f64;
        let height = (bottom - top) / self.rows.len().max(1) as f64;

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
        for (column, name) in self.columns.iter().enumerate() {
            let at = (left + (column as f64 + 0.5) * cell, bottom + 12.0);
            canvas.text(at, Anchor::Middle, INK, &shorten(name, TEXT, cell - 2.0));
        }
        let right = left + cell * self.columns.len() as f64;
        let middle = f64::midpoint(left, right);
        canvas.text(
            (middle, bottom + 30.0),
            Anchor::Middle,
            INK,
            &self.column_title,
        );
        let turned = f64::midpoint(top, bottom);
        canvas.raw(&format!(
            "<g transform=\"translate(14 {}) rotate(-90)\">",
            num(turned)
        ));
        canvas.text((0.0, 0.0), Anchor::Middle, INK, &self.row_title);
        canvas.close();
        self.draw_legend(
            canvas,
            (left, bottom + 44.0),
            right.max(left + 160.0) - left,
        )
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
        let colour = self.colour(value / self.extent());
        canvas.rect(
            corner,
            (w, h),
            &format!("{outline} fill=\"{}\"", hex(colour)),
        );
        let plain = cell_label(value, decimals);
        let in_thousands = format!("{}k", cell_label(value / 1000.0, 0));
        let mut forms = [plain, in_thousands]
            .into_iter()
            .take(1 + usize::from(value >= 1000.0));
        let number = forms.find(|form| text_width(form, TEXT) <= w - 2.0);
        if let Some(number) = number.filter(|_| h >= TEXT + 2.0) {
            let ink = ("mpu-cell", readable_on(colour));
            canvas.text(
                (corner.0 + 0.5 * w, corner.1 + 0.5 * h),
                Anchor::Middle,
                ink,
                &number,
            );
        }
    }

    /// Draws the strip of colours with the values of its ends and middle; returns its bottom.
    fn draw_legend(&self, canvas: &mut Canvas, (x, y): (f64, f64), width: f64) -> f64 {
        let low = if self.shading == Shading::Diverging {
            -1.0
        } else {
            0.0
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
            let text = label(value, self.decimals);
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

/// A number as cells show it: with the narrow minus sign.
fn cell_label(value: f64, decimals: usize) -> String {
    label(value, decimals).replace('\u{2212}', "-")
}
