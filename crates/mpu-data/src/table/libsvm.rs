//! libsvm and svmlight text: `label index:value …`, one row a line.

use super::block::{Block, BlockSource, Content, Header, Row, for_each_block};
use super::cell::{Cell, parse_f32};
use super::error::{EMPTY, NO_FEATURES, Result, TableError};
use super::input::TableInput;
use super::limits::Limits;
use super::lines::{LineBlock, LineBlocks, Records};
use super::near::shorten;
use super::place::At;

/// How many cells a block has at most, about.
const BLOCK_CELLS: usize = 1 << 20;

/// The name of the label column.
const LABEL: &str = "label";

/// Which indices are columns: `first`, `first + 1`, … Column 0 of the table is the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    /// The smallest index: 0 or 1.
    pub(super) first: u32,
    /// How many indices there are.
    pub(super) count: u32,
}

impl Columns {
    /// The index after the last.
    fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }

    /// The columns that these names stand for, if all of them are `f0`, `f1`, … as we name them.
    pub(super) fn from_names<'n>(names: impl Iterator<Item = &'n str>) -> Option<Self> {
        let mut last = None;
        let mut first = 1;
        for name in names {
            let index: u32 = name.strip_prefix('f')?.parse().ok()?;
            first = first.min(index);
            last = last.max(Some(index));
        }
        let last = last?;
        Some(Self {
            first,
            count: last.checked_sub(first)?.checked_add(1)?,
        })
    }
}

/// One line, one record.
pub(super) struct Lines;

impl Records for Lines {
    fn last_end(&self, text: &[u8]) -> Option<usize> {
        memchr::memrchr(b'\n', text).map(|newline| newline + 1)
    }

    fn first_end(&self, text: &[u8]) -> Option<usize> {
        memchr::memchr(b'\n', text).map(|newline| newline + 1)
    }
}

/// A libsvm file.
pub(super) struct LibsvmSource {
    blocks: LineBlocks<Lines>,
    /// The rest of a block that was cut.
    rest: Option<LineBlock>,
    header: Header,
    columns: Columns,
}

impl LibsvmSource {
    /// The columns of some files together. Rows are kept with all their zeros, so a few bytes of text must not
    /// become gigabytes.
    pub(super) fn columns(inputs: &[&TableInput], limits: &Limits) -> Result<Columns> {
        let mut whole: Option<Columns> = None;
        let (mut n_rows, mut stored) = (0u64, 0u64);
        for input in inputs {
            let (found, rows) = find_columns(input, limits)?;
            n_rows = n_rows.saturating_add(rows);
            stored = stored.saturating_add(input.len()?);
            whole = Some(match whole {
                None => found,
                Some(whole) => {
                    let first = whole.first.min(found.first);
                    let end = whole.end().max(found.end());
                    Columns {
                        first,
                        count: u32::try_from(end - u64::from(first)).unwrap_or(u32::MAX),
                    }
                }
            });
        }
        let columns = whole.unwrap_or(Columns { first: 1, count: 0 });
        let limit = limits.decompressed_bytes(stored);
        let bytes = n_rows
            .saturating_mul(u64::from(columns.count))
            .saturating_mul(4);
        match inputs.first() {
            // Too many columns are refused where the file is opened.
            Some(input) if bytes > limit && (columns.count as usize) < limits.columns => {
                let n = columns.count;
                Err(TableError::too_big(
                    input.path(),
                    format_args!("a matrix of {n_rows} rows and {n} columns, most of them 0,"),
                    bytes,
                    limit,
                    "expansion",
                ))
            }
            _ => Ok(columns),
        }
    }

    /// Opens a file. Without given `columns` the file is read once to find its indices: they are
    /// counted from 0 if index 0 occurs, else from 1.
    pub(super) fn open(
        input: &TableInput,
        columns: Option<Columns>,
        limits: &Limits,
    ) -> Result<Self> {
        let columns = match columns {
            Some(columns) => columns,
            None => Self::columns(&[input], limits)?,
        };
        if columns.count as usize >= limits.columns {
            return Err(TableError::too_many_columns(
                input.path(),
                columns.count as usize + 1,
                limits.columns,
            ));
        }
        let indices = columns.first..columns.first.saturating_add(columns.count);
        let names = std::iter::once(LABEL.to_owned())
            .chain(indices.map(|index| format!("f{index}")))
            .collect();
        let mut header = Header::plain(names);
        header.label = Some(0);
        Ok(Self {
            blocks: LineBlocks::open(input, limits, Lines)?,
            rest: None,
            header,
            columns,
        })
    }
}

impl BlockSource for LibsvmSource {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let block = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.blocks.next()?,
        };
        let Some(mut block) = block else {
            return Ok(None);
        };
        // Short lines may stand for long rows.
        if !self.header.columns.is_empty() {
            let n_rows = (BLOCK_CELLS / self.header.columns.len()).max(16);
            self.rest = block.split_off(n_rows);
        }
        Ok(Some(Block {
            file: self.blocks.input().path().to_path_buf(),
            first: block.line,
            content: Content::Libsvm {
                text: block.text,
                columns: self.columns,
            },
        }))
    }
}

/// The columns of a file, and how many rows it has.
fn find_columns(input: &TableInput, limits: &Limits) -> Result<(Columns, u64)> {
    let any = Columns {
        first: 0,
        count: u32::MAX,
    };
    let mut source = LibsvmSource {
        blocks: LineBlocks::open(input, limits, Lines)?,
        rest: None,
        header: Header::plain(Vec::new()),
        columns: any,
    };
    let mut range: Option<(u32, u32)> = None;
    let mut n_rows = 0u64;
    for_each_block(
        &mut source,
        |block| {
            let mut found: Option<(u32, u32)> = None;
            let mut n_rows = 0u64;
            for_each_line(block, |at, _, entries| {
                n_rows += 1;
                parse_entries(block, at, entries, |index, _| {
                    let (low, high) = found.unwrap_or((index, index));
                    found = Some((low.min(index), high.max(index)));
                    Ok(())
                })
            })?;
            Ok((found, n_rows))
        },
        |(found, rows)| {
            n_rows += rows;
            range = match (range, found) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (a, b) => a.or(b),
            };
            Ok(())
        },
    )?;
    if n_rows == 0 {
        return Err(input.refused(EMPTY));
    }
    let Some((low, high)) = range else {
        return Err(input.refused(NO_FEATURES));
    };
    let first = low.min(1);
    let columns = Columns {
        first,
        count: (high - first).saturating_add(1),
    };
    Ok((columns, n_rows))
}

/// Visits the rows of a block: the label, then every column, 0 where nothing is written.
pub(super) fn for_each_row<'a>(
    block: &'a Block,
    columns: Columns,
    mut visit: impl FnMut(Row<'_, 'a>) -> Result<()>,
) -> Result<()> {
    let mut cells: Vec<Cell<'a>> = vec![Cell::Number(0.0); columns.count as usize + 1];
    for_each_line(block, |at, label, entries| {
        cells[1..].fill(Cell::Number(0.0));
        cells[0] = Cell::Text(label);
        parse_entries(block, at, entries, |index, value| {
            let column = index.checked_sub(columns.first);
            match column.filter(|column| *column < columns.count) {
                Some(column) => {
                    cells[column as usize + 1] = Cell::Text(value);
                    Ok(())
                }
                None => Err(TableError::at(
                    block.place(at),
                    format!(
                        "index {index} is out of range: the schema has indices {} to {}",
                        columns.first,
                        columns.end().saturating_sub(1)
                    ),
                )),
            }
        })?;
        visit(Row { at, cells: &cells })
    })
}

fn for_each_line<'a>(
    block: &'a Block,
    mut visit: impl FnMut(At, &'a [u8], &'a [u8]) -> Result<()>,
) -> Result<()> {
    let Content::Libsvm { text, .. } = &block.content else {
        return Ok(());
    };
    for (line, record) in (block.first..).zip(text.split(|byte| *byte == b'\n')) {
        let content = match memchr::memchr(b'#', record) {
            Some(comment) => &record[..comment],
            None => record,
        }
        .trim_ascii();
        if !content.is_empty() {
            let end = content.iter().position(u8::is_ascii_whitespace);
            let (label, entries) = content.split_at(end.unwrap_or(content.len()));
            let (label, entries) = if label.contains(&b':') {
                // A line may begin with its first entry: then it has no label.
                (&content[..0], content)
            } else {
                (label, entries)
            };
            if label.contains(&b',') {
                let what = format!(
                    "`{}` names several labels, but a row has one\n\
                     hint: keep one label per row, or leave it out where the row is unlabelled",
                    shorten(&String::from_utf8_lossy(label))
                );
                return Err(TableError::at(block.place(At::Line(line)), what));
            }
            visit(At::Line(line), label, entries)?;
        }
    }
    Ok(())
}

fn parse_entries<'a>(
    block: &Block,
    at: At,
    entries: &'a [u8],
    mut entry: impl FnMut(u32, &'a [u8]) -> Result<()>,
) -> Result<()> {
    let malformed = |token: &[u8], what: &str| {
        let what = format!("`{}` {what}", shorten(&String::from_utf8_lossy(token)));
        TableError::at(block.place(at), what)
    };
    let mut previous = None;
    for token in entries
        .split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty())
    {
        let Some(colon) = memchr::memchr(b':', token) else {
            return Err(malformed(token, "is not `index:value`"));
        };
        let (index, value) = (&token[..colon], &token[colon + 1..]);
        if index == b"qid" {
            continue;
        }
        let index: u32 = std::str::from_utf8(index)
            .ok()
            .and_then(|index| index.parse().ok())
            .filter(|index| *index < u32::MAX)
            .ok_or_else(|| malformed(token, "has no whole number before the colon"))?;
        if previous >= Some(index) {
            return Err(malformed(
                token,
                "is out of order: indices must increase along a line",
            ));
        }
        previous = Some(index);
        if parse_f32(value).is_none() && !value.eq_ignore_ascii_case(b"nan") {
            return Err(malformed(token, "has no number after the colon"));
        }
        entry(index, value)?;
    }
    Ok(())
}
