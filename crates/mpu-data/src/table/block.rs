//! Blocks: some rows of a table, as their reader hands them over, to be worked on in parallel.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::cell::Cell;
use super::error::Result;
use super::frame::Frame;
use super::place::{At, Place};
use super::{csv_tokens, libsvm};

/// What a table says of itself before its rows are read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    /// The names of the columns, no two alike.
    pub(super) columns: Vec<String>,
    /// The column that the format itself declares to hold labels.
    pub(super) label: Option<usize>,
    /// The shape of a row when it is not a plain vector.
    pub(super) image: Option<crate::Shape>,
    /// The separator, for formats that have one.
    pub(super) delimiter: Option<u8>,
    /// Positions, counted from 1, of columns that had no name and were given one.
    pub(super) unnamed: Vec<usize>,
    /// Columns of types that are not read, with the name of the type; their cells are missing.
    pub(super) unread: BTreeMap<usize, String>,
}

impl Header {
    pub(super) fn plain(columns: Vec<String>) -> Self {
        Self {
            columns,
            label: None,
            image: None,
            delimiter: None,
            unnamed: Vec::new(),
            unread: BTreeMap::new(),
        }
    }

    /// The position of a column.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// A table that is read from its beginning to its end, block by block.
pub(super) trait BlockSource: Send {
    /// The columns.
    fn header(&self) -> &Header;

    /// The next rows, or none at the end.
    fn next_block(&mut self) -> Result<Option<Block>>;
}

/// Some rows.
#[derive(Debug)]
pub(super) struct Block {
    /// The file they are from.
    pub(super) file: PathBuf,
    /// The number of the first line or row, counted from 1.
    pub(super) first: u64,
    pub(super) content: Content,
}

/// The rows of a block as they are stored.
#[derive(Debug)]
pub(super) enum Content {
    /// Whole records of delimited text, checked to be UTF-8.
    Csv {
        text: Vec<u8>,
        delimiter: u8,
        n_columns: usize,
    },
    /// Whole lines of libsvm text, checked to be UTF-8.
    Libsvm {
        text: Vec<u8>,
        columns: libsvm::Columns,
    },
    /// Rows of numbers, and labels beside them.
    Dense {
        values: Vec<f64>,
        n_columns: usize,
        label: Option<TypedColumn>,
    },
    /// Columns of one length.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(dead_code, reason = "only Parquet has columns")
    )]
    Columns {
        columns: Vec<TypedColumn>,
        n_rows: usize,
    },
    /// Some rows of a frame.
    Frame {
        frame: Arc<Frame>,
        rows: Range<usize>,
    },
}

/// A column of values of one type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TypedColumn {
    Numbers(Vec<f64>),
    Integers(Vec<Option<i64>>),
    Unsigned(Vec<Option<u64>>),
    Texts(Vec<Option<Box<[u8]>>>),
}

impl TypedColumn {
    #[cfg(feature = "parquet")]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Unsigned(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Numbers(values) => values.get(row).map_or(Cell::Missing, |v| Cell::Number(*v)),
            Self::Integers(values) => match values.get(row) {
                Some(Some(value)) => Cell::Integer(*value),
                _ => Cell::Missing,
            },
            Self::Unsigned(values) => match values.get(row) {
                Some(Some(value)) => Cell::Unsigned(*value),
                _ => Cell::Missing,
            },
            Self::Texts(values) => match values.get(row) {
                Some(Some(text)) => Cell::Word(text.trim_ascii()),
                _ => Cell::Missing,
            },
        }
    }
}

/// One row, with as many cells as the header has columns.
pub(super) struct Row<'r, 'a> {
    pub(super) at: At,
    pub(super) cells: &'r [Cell<'a>],
}

impl Block {
    /// Visits the rows in order and stops at the first error.
    pub(super) fn for_each_row<'a>(
        &'a self,
        mut visit: impl FnMut(Row<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        match &self.content {
            Content::Csv {
                text,
                delimiter,
                n_columns,
            } => csv_tokens::for_each_row(self, text, *delimiter, *n_columns, visit),
            Content::Libsvm { columns, .. } => libsvm::for_each_row(self, *columns, visit),
            Content::Dense {
                values,
                n_columns,
                label,
            } => {
                let mut cells = Vec::with_capacity(n_columns + 1);
                for (row, values) in values.chunks_exact((*n_columns).max(1)).enumerate() {
                    cells.clear();
                    cells.extend(values.iter().map(|value| Cell::Number(*value)));
                    cells.extend(label.as_ref().map(|label| label.cell(row)));
                    visit(Row {
                        at: At::Row(self.first + row as u64),
                        cells: &cells,
                    })?;
                }
                Ok(())
            }
            Content::Columns { columns, n_rows } => {
                let mut cells = Vec::with_capacity(columns.len());
                for row in 0..*n_rows {
                    cells.clear();
                    cells.extend(columns.iter().map(|column| column.cell(row)));
                    visit(Row {
                        at: At::Row(self.first + row as u64),
                        cells: &cells,
                    })?;
                }
                Ok(())
            }
            Content::Frame { frame, rows } => frame.for_each_row(rows.clone(), |row, cells| {
                let at = At::Row(row as u64 + 1);
                visit(Row { at, cells })
            }),
        }
    }

    /// A place in the file of this block.
    pub(super) fn place(&self, at: At) -> Place {
        Place::new(&self.file, at)
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

/// Reads a table to its end. Blocks are worked on in parallel, some at a time, and their results
/// are handed on in the order of the file, so that the outcome, also which error is reported, does
/// not depend on the number of threads.
pub(super) fn for_each_block<T: Send>(
    source: &mut dyn BlockSource,
    work: impl Fn(&Block) -> Result<T> + Sync,
    mut gather: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    loop {
        let blocks = next_blocks(source)?;
        if blocks.is_empty() {
            return Ok(());
        }
        let results: Vec<Result<T>> = blocks.par_iter().map(&work).collect();
        for result in results {
            gather(result?)?;
        }
    }
}

/// The next few blocks: enough to keep every thread busy, few enough for memory to stay constant.
pub(super) fn next_blocks(source: &mut dyn BlockSource) -> Result<Vec<Block>> {
    let n_blocks = 2 * rayon::current_num_threads();
    let mut blocks = Vec::with_capacity(n_blocks);
    while blocks.len() < n_blocks {
        match source.next_block()? {
            Some(block) => blocks.push(block),
            None => break,
        }
    }
    Ok(blocks)
}
