//! A matrix whose cells are coloured by their values and carry them as numbers.

mod draw;

use super::frame::Frame;
use super::palette::{diverging, sequential};

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
    frame: Frame,
    row_title: String,
    column_title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<Vec<Option<f64>>>,
    second: Vec<Vec<String>>,
    decimals: usize,
    unit: String,
    shading: Shading,
    extent: Option<f64>,
    /// Whether colours follow the logarithm of a value's size.
    logarithmic: bool,
    /// Whether it is as wide as the numbers need, and not as all panels are.
    roomy: bool,
    /// Whether cells of value zero carry no number.
    silent_zeros: bool,
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
            frame: Frame::new(title),
            row_title: "row".to_owned(),
            column_title: "column".to_owned(),
            rows: (0..cells.len()).map(|i| i.to_string()).collect(),
            columns: (0..n_columns).map(|i| i.to_string()).collect(),
            cells,
            second: Vec::new(),
            decimals,
            unit: String::new(),
            shading,
            extent: None,
            logarithmic: false,
            roomy: false,
            silent_zeros: false,
        }
    }

    /// A line below the title.
    #[must_use]
    pub fn subtitle(mut self, text: impl Into<String>) -> Self {
        self.frame.subtitle = text.into();
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

    /// What follows each number, such as `%`.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The value that has the darkest colour, in place of the largest one; others are not drawn darker.
    #[must_use]
    pub fn darkest(mut self, value: f64) -> Self {
        self.extent = Some(value).filter(|v| v.is_finite() && *v > 0.0);
        self
    }

    /// Colours by the logarithm of one and a value's size: for values of which few are far larger than the others.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.logarithmic = true;
        self
    }

    /// A second line in each cell, such as a count; lists that are too short leave none.
    #[must_use]
    pub fn second_lines(mut self, lines: Vec<Vec<String>>) -> Self {
        self.second = lines;
        self
    }

    /// Without numbers in cells of value zero, so that the others stand out.
    #[must_use]
    pub fn silent_zeros(mut self) -> Self {
        self.silent_zeros = true;
        self
    }

    /// As wide as the numbers need, where there are many columns.
    #[must_use]
    pub fn roomy(mut self) -> Self {
        self.roomy = true;
        self
    }

    /// A text in place of the matrix: what is missing.
    #[must_use]
    pub fn notice(mut self, text: impl Into<String>) -> Self {
        self.frame.notice = Some(text.into());
        self
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let cell = self.cells.get(row)?.get(column).copied().flatten();
        cell.filter(|value| value.is_finite())
    }

    /// The value of the darkest colour: the largest absolute one unless another was given; 1 if all are
    /// zero or blank.
    fn extent(&self) -> f64 {
        if let Some(extent) = self.extent {
            return extent;
        }
        let values = self.cells.iter().flatten().flatten();
        let sizes = values.filter(|v| v.is_finite()).map(|v| v.abs());
        let extent = sizes.fold(0.0, f64::max);
        if extent > 0.0 { extent } else { 1.0 }
    }

    /// How dark a value is: 0 for nothing, 1 for the darkest, with the sign of the value.
    fn share(&self, value: f64) -> f64 {
        let extent = self.extent();
        if self.logarithmic {
            value.signum() * value.abs().ln_1p() / extent.ln_1p()
        } else {
            value / extent
        }
    }

    fn colour(&self, share: f64) -> [u8; 3] {
        match self.shading {
            Shading::Sequential => sequential(share),
            Shading::Diverging => diverging(share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_values_do_not_hide_the_others_in_logarithms() {
        let cells = vec![vec![Some(-99.0), Some(9.0), Some(0.0)]];
        let plain = HeatMap::new("m", Shading::Diverging, 0, cells);
        let shares = |map: &HeatMap| [-99.0, 9.0, 0.0].map(|value| map.share(value));
        assert_eq!(shares(&plain), [-1.0, 9.0 / 99.0, 0.0]);
        // log 10 is half of log 100.
        for (share, right) in shares(&plain.logarithmic()).iter().zip([-1.0, 0.5, 0.0]) {
            assert!((share - right).abs() < 1e-12, "{share} {right}");
        }
    }
}
