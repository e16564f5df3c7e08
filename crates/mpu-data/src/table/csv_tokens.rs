//! Records of delimited text cut into cells, as RFC 4180 has it, without copying.
//!
//! A reader of our own rather than the `csv` crate's: blocks are cut into cells on several threads
//! straight from the bytes read, and every record knows its line. A test compares it with `csv`.

use super::block::{Block, Row};
use super::cell::Cell;
use super::error::{Result, TableError};
use super::lines::Records;
use super::place::{At, Place};

/// Where records end: at a line feed outside quotes.
pub(super) struct CsvRecords {
    pub(super) delimiter: u8,
}

impl Records for CsvRecords {
    fn last_end(&self, text: &[u8]) -> Option<usize> {
        if memchr::memchr(b'"', text).is_none() {
            return memchr::memrchr(b'\n', text).map(|newline| newline + 1);
        }
        self.ends(text).last()
    }

    fn first_end(&self, text: &[u8]) -> Option<usize> {
        self.ends(text).next()
    }
}

impl CsvRecords {
    /// Where records end, up to a cell whose quotes are not closed.
    fn ends(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < text.len() {
                let (end, closed) = cell_end(text, at, self.delimiter);
                if !closed {
                    return None;
                }
                at = end + 1;
                if text.get(end) == Some(&b'\n') {
                    return Some(at);
                }
            }
            None
        })
    }
}

/// The position of the delimiter, line feed or end of text that ends the cell beginning at
/// `start`, and whether its quotes are closed.
fn cell_end(text: &[u8], start: usize, delimiter: u8) -> (usize, bool) {
    let mut at = start;
    while matches!(text.get(at), Some(b' ')) {
        at += 1;
    }
    if text.get(at) == Some(&b'"') {
        at += 1;
        loop {
            match memchr::memchr(b'"', &text[at..]) {
                None => return (text.len(), false),
                Some(quote) if text.get(at + quote + 1) == Some(&b'"') => at += quote + 2,
                Some(quote) => {
                    at += quote + 1;
                    break;
                }
            }
        }
    }
    (find_end(text, at, delimiter), true)
}

/// The position of the next delimiter or line feed, or the end of the text.
///
/// Eight bytes at a time: a byte of `word ^ pattern` is zero where the pattern occurs, and
/// `(x - 0x01…) & !x & 0x80…` has its lowest set bit in the first such byte.
#[inline]
fn find_end(text: &[u8], start: usize, delimiter: u8) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let delimiters = LOW * u64::from(delimiter);
    let newlines = LOW * u64::from(b'\n');
    let mut at = start;
    while let Some(bytes) = text.get(at..at + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        let (d, n) = (word ^ delimiters, word ^ newlines);
        let found = (d.wrapping_sub(LOW) & !d | n.wrapping_sub(LOW) & !n) & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < text.len() && text[at] != delimiter && text[at] != b'\n' {
        at += 1;
    }
    at
}

/// Visits the records of a block in order. Blank lines are passed over.
pub(super) fn for_each_row<'a>(
    block: &Block,
    text: &'a [u8],
    delimiter: u8,
    n_columns: usize,
    mut visit: impl FnMut(Row<'_, 'a>) -> Result<()>,
) -> Result<()> {
    let mut cells: Vec<Cell<'a>> = Vec::with_capacity(n_columns);
    let mut line = block.first;
    let mut at = 0;
    while at < text.len() {
        cells.clear();
        let (start, start_line) = (at, line);
        loop {
            // Most cells are plain: straight to their end.
            let first = text.get(at).copied();
            let end = if first == Some(b'"') || first == Some(b' ') {
                let (end, closed) = cell_end(text, at, delimiter);
                let place = || block.place(At::Line(start_line));
                cells.push(quotable(&text[at..end], closed, place)?);
                line += super::lines::n_lines(&text[at..end]);
                end
            } else {
                let end = find_end(text, at, delimiter);
                cells.push(Cell::Text(trim(&text[at..end])));
                end
            };
            at = end + 1;
            if text.get(end) != Some(&delimiter) {
                break;
            }
        }
        line += 1;
        if cells.len() != n_columns || n_columns == 1 {
            // A blank line is no row; a pair of quotes is.
            if text[start..(at - 1).min(text.len())]
                .trim_ascii()
                .is_empty()
            {
                continue;
            }
            if cells.len() != n_columns {
                let what = format!(
                    "{} cells, but the header has {n_columns} columns\n\
                     hint: a cell that contains the separator must be in double quotes",
                    cells.len()
                );
                return Err(TableError::at(block.place(At::Line(start_line)), what));
            }
        }
        visit(Row {
            at: At::Line(start_line),
            cells: &cells,
        })?;
    }
    Ok(())
}

/// A cell that may be in quotes.
fn quotable(raw: &[u8], closed: bool, place: impl Fn() -> Place) -> Result<Cell<'_>> {
    let cell = trim(raw);
    let Some(inner) = cell.strip_prefix(b"\"") else {
        return Ok(Cell::Text(cell));
    };
    let malformed = |what: &str| TableError::at(place(), what);
    if !closed {
        return Err(malformed(
            "a double quote opens a cell and is never closed\n\
             hint: a double quote within a quoted cell is written twice",
        ));
    }
    let Some(inner) = inner
        .strip_suffix(b"\"")
        .filter(|inner| quotes_are_doubled(inner))
    else {
        return Err(malformed(
            "text follows the closing double quote of a cell\n\
             hint: a double quote within a quoted cell is written twice",
        ));
    };
    Ok(if inner.contains(&b'"') {
        Cell::Escaped(inner)
    } else {
        Cell::Text(trim(inner))
    })
}

fn quotes_are_doubled(inner: &[u8]) -> bool {
    let mut quotes = memchr::memchr_iter(b'"', inner);
    while let Some(first) = quotes.next() {
        if quotes.next() != Some(first + 1) {
            return false;
        }
    }
    true
}

#[inline]
fn trim(cell: &[u8]) -> &[u8] {
    match cell {
        [first, .., last] if *first > b' ' && *last > b' ' => cell,
        _ => cell.trim_ascii(),
    }
}

/// The texts of a single record, such as a header.
pub(super) fn record(text: &[u8], delimiter: u8, place: &Place) -> Result<Vec<String>> {
    let mut cells = Vec::new();
    let mut at = 0;
    loop {
        let (end, closed) = cell_end(text, at, delimiter);
        let cell = quotable(&text[at.min(end)..end], closed, || place.clone())?;
        cells.push(cell.text().trim().to_owned());
        if text.get(end) != Some(&delimiter) {
            return Ok(cells);
        }
        at = end + 1;
    }
}
