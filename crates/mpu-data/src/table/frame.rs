//! Frames: tables in memory, as columns or as one matrix of numbers.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::block::{Block, BlockSource, Content, Header};
use super::cell::Cell;
use super::error::Result;
use super::input::TableInput;
use super::schema::{ColumnKind, FeatureSchema};
use crate::{Features, Shape};

/// How many cells a block has, about.
const BLOCK_CELLS: usize = 1 << 17;

/// A table in memory. [`TableInput::frame`] makes an input of it, which is read like any file.
#[derive(Debug, Clone)]
pub struct Frame {
    names: Vec<String>,
    body: Body,
    labels: Option<Column>,
}

#[derive(Debug, Clone)]
enum Body {
    Columns(Vec<Column>),
    Matrix(Features),
}

/// A column in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Texts by their number.
    Words {
        /// The texts.
        names: Vec<String>,
        /// The text of each row; none is missing.
        codes: Vec<Option<u32>>,
    },
}

impl Column {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Words { codes, .. } => codes.len(),
        }
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Numbers(values) => values.get(row).map_or(Cell::Missing, |v| Cell::Number(*v)),
            Self::Words { names, codes } => {
                let code = codes.get(row).copied().flatten();
                let name = code.and_then(|code| names.get(code as usize));
                name.map_or(Cell::Missing, |name| Cell::Word(name.trim().as_bytes()))
            }
        }
    }
}

impl Frame {
    /// Columns with their names.
    pub fn columns(columns: impl IntoIterator<Item = (String, Column)>) -> Self {
        let (names, columns) = columns.into_iter().unzip();
        Self {
            names,
            body: Body::Columns(columns),
            labels: None,
        }
    }

    /// Rows of numbers, one column a number; NaN is missing. Training takes the block as it is, without a copy.
    pub fn matrix(names: Vec<String>, features: Features) -> Self {
        Self {
            names,
            body: Body::Matrix(features),
            labels: None,
        }
    }

    /// The same with a column of labels of this name.
    #[must_use]
    pub fn with_labels(mut self, name: impl Into<String>, labels: Column) -> Self {
        if self.labels.is_some() {
            self.names.pop();
        }
        self.names.push(name.into());
        self.labels = Some(labels);
        self
    }

    /// The number of rows: of the first column.
    pub fn n_rows(&self) -> usize {
        match &self.body {
            Body::Columns(columns) => columns.first().map_or(0, Column::n_rows),
            Body::Matrix(features) => features.n_rows(),
        }
    }

    /// The number of columns that are no labels.
    fn n_columns(&self) -> usize {
        match &self.body {
            Body::Columns(columns) => columns.len(),
            Body::Matrix(features) => features.shape().len(),
        }
    }

    /// Refuses columns of different lengths and names that are missing or doubled.
    fn check(&self, input: &TableInput) -> Result<()> {
        let (found, needed) = (
            self.names.len(),
            self.n_columns() + usize::from(self.labels.is_some()),
        );
        if found != needed {
            return Err(input.options(format!("{found} names for {needed} columns")));
        }
        let mut seen = BTreeSet::new();
        if let Some(name) = self.names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(input.options(format!(
                "two columns are called `{name}`\nhint: rename one of them"
            )));
        }
        let columns: &[Column] = match &self.body {
            Body::Columns(columns) => columns,
            Body::Matrix(_) => &[],
        };
        let n_rows = self.n_rows();
        let named = columns.iter().zip(&self.names);
        let labels = self.labels.iter().zip(self.names.last());
        for (column, name) in named.chain(labels) {
            if column.n_rows() != n_rows {
                return Err(input.options(format!(
                    "column `{name}` has {} rows, but the table has {n_rows}",
                    column.n_rows()
                )));
            }
            if let Column::Words { names, codes } = column
                && let Some(code) = codes
                    .iter()
                    .flatten()
                    .find(|code| **code as usize >= names.len())
            {
                return Err(input.options(format!(
                    "column `{name}` has the code {code}, but only {} texts",
                    names.len()
                )));
            }
        }
        Ok(())
    }

    /// The matrix, if encoding it by the schema would give the same numbers again.
    pub(super) fn encoded_by(&self, schema: &FeatureSchema) -> Option<&Features> {
        let Body::Matrix(features) = &self.body else {
            return None;
        };
        let same = |(column, name): (&super::schema::InputColumn, &String)| {
            column.name == *name && matches!(column.kind, ColumnKind::Numeric { .. })
        };
        let columns = schema.columns();
        let all =
            columns.len() == features.shape().len() && columns.iter().zip(&self.names).all(same);
        let as_it_is = all && schema.missing_markers.is_empty();
        (as_it_is && features.shape() == schema.shape()).then_some(features)
    }

    /// Visits some rows as cells.
    pub(super) fn for_each_row<'a>(
        &'a self,
        rows: Range<usize>,
        mut visit: impl FnMut(usize, &[Cell<'a>]) -> Result<()>,
    ) -> Result<()> {
        let mut cells = Vec::with_capacity(self.names.len());
        for row in rows {
            cells.clear();
            match &self.body {
                Body::Columns(columns) => cells.extend(columns.iter().map(|c| c.cell(row))),
                Body::Matrix(features) => {
                    let numbers = features.row(row).iter();
                    cells.extend(numbers.map(|&value| Cell::Number(f64::from(value))));
                }
            }
            cells.extend(self.labels.as_ref().map(|labels| labels.cell(row)));
            visit(row, &cells)?;
        }
        Ok(())
    }
}

/// Reads a frame block by block; nothing is copied.
pub(super) struct FrameSource {
    frame: Arc<Frame>,
    header: Header,
    file: PathBuf,
    next_row: usize,
}

impl FrameSource {
    pub(super) fn open(input: &TableInput, frame: &Arc<Frame>) -> Result<Self> {
        frame.check(input)?;
        let mut header = Header::plain(frame.names.clone());
        header.label = frame.labels.as_ref().map(|_| frame.n_columns());
        if let Body::Matrix(features) = &frame.body
            && let shape @ Shape::Image { .. } = features.shape()
        {
            header.image = Some(shape);
        }
        Ok(Self {
            frame: Arc::clone(frame),
            header,
            file: input.path().to_path_buf(),
            next_row: 0,
        })
    }
}

impl BlockSource for FrameSource {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let first = self.next_row;
        let n_rows = (BLOCK_CELLS / self.frame.names.len().max(1)).max(1);
        let end = self.frame.n_rows().min(first + n_rows);
        if first >= end {
            return Ok(None);
        }
        self.next_row = end;
        Ok(Some(Block {
            file: self.file.clone(),
            first: first as u64 + 1,
            content: Content::Frame {
                frame: Arc::clone(&self.frame),
                rows: first..end,
            },
        }))
    }
}
