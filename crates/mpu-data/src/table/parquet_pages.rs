//! The sizes that the pages of a Parquet file claim, checked before its reader believes them.
//!
//! The `parquet` crate takes the memory that a page header asks for: up to 2 GB for the page, and
//! more for a dictionary. So the headers are read here first: only their sizes, as the thrift
//! compact protocol writes them.

use std::io::{Read, SeekFrom};

use parquet::basic::{Compression, Type};
use parquet::file::metadata::ParquetMetaData;

use super::error::{Result, TableError};
use super::input::{ReadSeek, TableInput};
use super::limits::Limits;

/// The longest page header we read.
const HEADER_BYTES: u64 = 1 << 16;

/// The most bytes of one page, decompressed, unless a limit says otherwise; writers aim at one megabyte.
const PAGE_BYTES: u64 = 256 << 20;

/// Encodings whose reader believes counts inside the page.
const DELTA_TEXT: [i64; 2] = [6, 7];

/// What a page header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    uncompressed: i64,
    compressed: i64,
    dictionary_values: i64,
    encoding: i64,
    header_bytes: u64,
}

/// The longest footer we read.
const FOOTER_BYTES: u64 = 64 << 20;

/// How deep the columns of a schema may be nested before we say no; nested ones are not read anyway.
const SCHEMA_DEPTH: usize = 32;

/// Looks at the footer before the `parquet` crate does. That follows the schema by calling itself: one that is nested
/// some ten thousand times would use up the stack. And it passes over lists of truth values as long as they say they are,
/// though they hold nothing: a file of kilobytes could keep it busy for hours. And it takes memory for as many columns as an
/// element of the schema promises.
pub(crate) fn check_footer(input: &TableInput, stored: u64) -> Result<()> {
    let io = |source| input.io("read", source);
    let damaged = |what: &str| input.damaged("parquet", what);
    let mut file = input.open()?;
    let mut end = [0; 8];
    let Some(end_at) = stored.checked_sub(8) else {
        return Ok(()); // too short to be one; the reader says so
    };
    file.seek(SeekFrom::Start(end_at)).map_err(io)?;
    file.read_exact(&mut end).map_err(io)?;
    let [a, b, c, d, magic @ ..] = end;
    let len = u64::from(u32::from_le_bytes([a, b, c, d]));
    if &magic != b"PAR1" || len > end_at {
        return Ok(()); // as above
    }
    if len > FOOTER_BYTES {
        return Err(damaged("its description of itself is larger than 64 MB"));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(end_at - len)).map_err(io)?;
    file.take(len).read_to_end(&mut bytes).map_err(io)?;
    let mut thrift = Thrift {
        bytes: &bytes,
        at: 0,
    };
    match thrift.footer() {
        Some(depth) if depth <= SCHEMA_DEPTH => Ok(()),
        Some(_) => Err(damaged(
            "its columns are nested\nhint: write it as plain columns",
        )),
        None => Err(damaged("its description of itself is not valid")),
    }
}

/// Walks over the pages of all columns.
pub(crate) fn check_pages(
    input: &TableInput,
    metadata: &ParquetMetaData,
    stored: u64,
    limits: &Limits,
) -> Result<()> {
    let mut file = input.open()?;
    let damaged = |what: &str| input.damaged("parquet", what);
    for column in metadata
        .row_groups()
        .iter()
        .flat_map(parquet::file::metadata::RowGroupMetaData::columns)
        .filter(|column| column.num_values() > 0)
    {
        // What each value of a dictionary takes, at least.
        let descriptor = column.column_descr();
        let least = match descriptor.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => {
                u64::try_from(descriptor.type_length()).unwrap_or(1).max(1)
            }
            _ => 4,
        };
        let start = column
            .dictionary_page_offset()
            .unwrap_or_else(|| column.data_page_offset());
        let range = u64::try_from(start)
            .ok()
            .zip(u64::try_from(column.compressed_size()).ok());
        let Some((mut at, end)) = range
            .and_then(|(start, len)| Some((start, start.checked_add(len)?)))
            .filter(|(_, end)| *end <= stored)
        else {
            return Err(damaged("a column lies outside the file"));
        };
        if column.data_page_offset() < start {
            return Err(damaged("a dictionary comes after the data"));
        }
        while at < end {
            let page = read_page(input, &mut *file, at, end)?
                .ok_or_else(|| damaged("a page header is not valid"))?;
            let data = at + page.header_bytes;
            let sizes = u64::try_from(page.uncompressed)
                .ok()
                .zip(u64::try_from(page.compressed).ok());
            let Some((uncompressed, compressed)) =
                sizes.filter(|(_, compressed)| *compressed <= end - data)
            else {
                return Err(damaged("a page has an impossible size"));
            };
            let page_bytes = PAGE_BYTES.max(limits.expansion_free_bytes);
            let expanded = limits.decompressed_bytes(compressed);
            let limit = expanded.min(page_bytes);
            let values = u64::try_from(page.dictionary_values).unwrap_or(u64::MAX);
            if uncompressed > limit || values > uncompressed / least {
                return Err(TableError::too_big(
                    input.path(),
                    format_args!("a page of {compressed} bytes"),
                    uncompressed.max(values.saturating_mul(least)),
                    limit,
                    if expanded > page_bytes {
                        "expansion-free-bytes"
                    } else {
                        "expansion"
                    },
                ));
            }
            if DELTA_TEXT.contains(&page.encoding) {
                return Err(damaged(
                    "text in a delta encoding is not read\n\
                     hint: write the file with plain or dictionary encoding",
                ));
            }
            if matches!(column.compression(), Compression::GZIP(_)) {
                check_gzip(input, &mut *file, data, compressed, uncompressed)?;
            }
            at = data + compressed;
        }
    }
    Ok(())
}

/// The gzip reader of the `parquet` crate ignores the promised size, so it is checked here.
fn check_gzip(
    input: &TableInput,
    file: &mut dyn ReadSeek,
    start: u64,
    compressed: u64,
    uncompressed: u64,
) -> Result<()> {
    file.seek(SeekFrom::Start(start))
        .map_err(|source| input.io("read", source))?;
    let mut decoder =
        flate2::read::MultiGzDecoder::new(file.take(compressed)).take(uncompressed + 1);
    match std::io::copy(&mut decoder, &mut std::io::sink()) {
        // A page of version 2 may hold levels that are not compressed; its reader finds out.
        Err(_) => Ok(()),
        Ok(n) if n <= uncompressed => Ok(()),
        Ok(_) => Err(input.damaged("parquet", "a page is larger than its header says")),
    }
}

fn read_page(
    input: &TableInput,
    file: &mut dyn ReadSeek,
    at: u64,
    end: u64,
) -> Result<Option<Page>> {
    let io = |source| input.io("read", source);
    // Most headers are short; only a long one is read in full.
    for len in [256, HEADER_BYTES] {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at)).map_err(io)?;
        let len = len.min(end - at);
        file.take(len).read_to_end(&mut bytes).map_err(io)?;
        let mut thrift = Thrift {
            bytes: &bytes,
            at: 0,
        };
        if let Some(page) = thrift.page() {
            return Ok(Some(page));
        }
    }
    Ok(None)
}

/// A reader of the thrift compact protocol.
struct Thrift<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Thrift<'_> {
    fn page(&mut self) -> Option<Page> {
        let mut page = Page::default();
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (2, 5) => page.uncompressed = self.integer()?,
                (3, 5) => page.compressed = self.integer()?,
                // Data page: encoding is field 2. Dictionary page: values 1, encoding 2.
                // Data page of version 2: encoding is field 4.
                (5, 12) => page.encoding = self.numbers()?[2],
                (7, 12) => page.dictionary_values = self.numbers()?[1],
                (8, 12) => page.encoding = self.numbers()?[4],
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        page.header_bytes = self.at as u64;
        Some(page)
    }

    /// How deep the schema in a footer is nested; none if the footer is not valid. Elements come parents first, each with
    /// the number of its children.
    fn footer(&mut self) -> Option<usize> {
        let (mut id, mut found) = (0, None);
        while let Some(kind) = self.field(&mut id)? {
            if (id, kind) != (2, 9) {
                self.skip(kind, 0)?;
                continue;
            }
            let head = self.byte()?;
            let n_elements = match u64::from(head >> 4) {
                15 => self.varint()?,
                n => n,
            };
            let (mut open, mut deepest): (Vec<i64>, usize) = (Vec::new(), 0);
            for _ in 0..n_elements {
                while open.last() == Some(&0) {
                    open.pop();
                }
                if let Some(left) = open.last_mut() {
                    *left -= 1;
                }
                let children = self.children()?;
                // Memory is taken for as many as are promised.
                if children.cast_unsigned() > n_elements {
                    return None;
                }
                open.push(children);
                deepest = deepest.max(open.len());
                if deepest > SCHEMA_DEPTH {
                    return Some(deepest);
                }
            }
            found = Some(deepest);
        }
        found
    }

    /// The number of children of a schema element.
    fn children(&mut self) -> Option<i64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (5, 5) => children = self.integer()?.max(0),
                _ => self.skip(kind, 0)?,
            }
        }
        Some(children)
    }

    /// The 32-bit fields of a structure by their numbers, up to 7.
    fn numbers(&mut self) -> Option<[i64; 8]> {
        let mut numbers = [0; 8];
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (usize::try_from(id), kind) {
                (Ok(id), 5) if id < numbers.len() => numbers[id] = self.integer()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(numbers)
    }

    /// The type of the next field, or none at the end of the structure.
    #[expect(
        clippy::option_option,
        reason = "the outer one is the end of the bytes"
    )]
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let delta = i64::from(head >> 4);
        *id = if delta == 0 {
            self.integer()?
        } else {
            id.checked_add(delta)?
        };
        Some(Some(head & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > 16 {
            return None;
        }
        match kind {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => {
                self.varint()?;
            }
            7 => self.at += 8,
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                self.at = self.at.checked_add(len)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let mut n = u64::from(head >> 4);
                if n == 15 {
                    n = self.varint()?;
                }
                for _ in 0..n {
                    match head & 15 {
                        // Nothing we read has a list of truth values, and not everybody agrees on their length.
                        1 | 2 => return None,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        (self.at <= self.bytes.len()).then_some(())
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }
}
