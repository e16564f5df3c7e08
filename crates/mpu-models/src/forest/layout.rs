//! Which features of an encoded row make one column of the table.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, setting};

/// A column of a table, and how many features of an encoded row it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// A number: one feature, NaN where it is missing.
    Numeric,
    /// One of so many categories: a feature for each, 1 for the row's own and 0 for the others.
    /// All are 0 for a category that was not known, the first is NaN for a missing one. The forest takes both for
    /// missing.
    Categorical(usize),
}

impl Column {
    /// How many features it takes.
    pub fn width(self) -> usize {
        match self {
            Self::Numeric => 1,
            Self::Categorical(n) => n,
        }
    }
}

/// The columns of a table, in the order of the features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Column>", into = "Vec<Column>")]
pub struct Layout {
    columns: Vec<Column>,
}

impl Layout {
    /// A table of these columns: at least one, and each with at least one feature.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        if columns.is_empty() {
            return Err(setting("columns of the table", 0.0, "at least 1"));
        }
        let mut width = 0_usize;
        for column in &columns {
            if column.width() == 0 {
                return Err(setting("categories of a column", 0.0, "at least 1"));
            }
            width = width.saturating_add(column.width());
        }
        let limit = u32::MAX as usize;
        if width > limit {
            return Err(setting("features of a row", width as f64, "below 2^32"));
        }
        Ok(Self { columns })
    }

    /// `n` numbers a row.
    pub fn numeric(n: usize) -> Result<Self> {
        Self::new(vec![Column::Numeric; n])
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Features of an encoded row.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.width()).sum()
    }

    /// Each column with its first feature.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, Column)> {
        self.columns.iter().scan(0, |next, &column| {
            let start = *next;
            *next += column.width();
            Some((start, column))
        })
    }

    /// How many rows a block of features holds.
    pub(crate) fn rows(&self, features: &[f32]) -> Result<usize> {
        let width = self.width();
        if features.len().is_multiple_of(width) {
            return Ok(features.len() / width);
        }
        Err(Error::Rows {
            what: "the table",
            found: features.len(),
            width,
        })
    }
}

impl TryFrom<Vec<Column>> for Layout {
    type Error = Error;

    fn try_from(columns: Vec<Column>) -> Result<Self> {
        Self::new(columns)
    }
}

impl From<Layout> for Vec<Column> {
    fn from(layout: Layout) -> Self {
        layout.columns
    }
}
