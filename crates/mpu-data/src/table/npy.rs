//! NumPy arrays: a header that is checked against the size of the file, then numbers or texts.

use std::io::Read;

use super::block::TypedColumn;
use super::error::Result;
use super::input::TableInput;
use super::limits::Limits;

/// The longest header we read; NumPy itself writes some hundred bytes.
const HEADER_BYTES: usize = 1 << 16;

/// What one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    /// UCS-4 text, padded with zeros.
    Unicode,
    /// Bytes, padded with zeros.
    Bytes,
}

/// The header of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NpyHeader {
    kind: Kind,
    big_endian: bool,
    /// Bytes of one element.
    item: usize,
    fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// An array that is read row by row.
pub(super) struct NpyReader {
    input: TableInput,
    pub(super) header: NpyHeader,
    reader: Box<dyn Read + Send>,
    rows_left: u64,
    /// Bytes of one row.
    row_bytes: usize,
}

impl NpyReader {
    /// Reads the header and checks that `stored` bytes, or an unknown number, can hold the array.
    pub(super) fn new(
        input: &TableInput,
        mut reader: Box<dyn Read + Send>,
        stored: Option<u64>,
        limits: &Limits,
    ) -> Result<Self> {
        let damaged = |what: String| input.damaged("npy", what);
        let (header, n_header) = read_header(&mut reader).map_err(|problem| match problem {
            Problem::Io(source) => input.io("read", source),
            Problem::Content(what) => damaged(what),
        })?;
        let rows = header.shape.first().copied().unwrap_or(1);
        let row_items = header
            .shape
            .iter()
            .skip(1)
            .try_fold(1u64, |product, side| product.checked_mul(*side))
            .filter(|items| *items <= limits.columns as u64);
        let Some(row_items) = row_items else {
            return Err(damaged(format!(
                "an array of shape {:?}: a row may have at most {} numbers",
                header.shape, limits.columns
            )));
        };
        let row_bytes = row_items * header.item as u64;
        let needed = rows.checked_mul(row_bytes);
        if let Some(stored) = stored {
            let present = stored.saturating_sub(n_header as u64);
            if needed != Some(present) {
                return Err(damaged(format!(
                    "the header promises shape {:?} of {} bytes each, but {present} bytes follow",
                    header.shape, header.item
                )));
            }
        }
        let mut array = Self {
            input: input.clone(),
            header,
            reader,
            rows_left: rows,
            row_bytes: row_bytes as usize,
        };
        if array.header.fortran && array.header.shape.len() > 1 {
            array.transpose(rows, row_items, limits)?;
        }
        Ok(array)
    }

    /// How many rows are still to be read.
    pub(super) fn rows_left(&self) -> u64 {
        self.rows_left
    }

    /// How many numbers one row has.
    pub(super) fn row_items(&self) -> usize {
        self.row_bytes / self.header.item.max(1)
    }

    /// The next rows as numbers.
    pub(super) fn numbers(&mut self, n_rows: usize) -> Result<Vec<f64>> {
        if matches!(self.header.kind, Kind::Unicode | Kind::Bytes) {
            return Err(self
                .input
                .damaged("npy", "an array of text where numbers are wanted"));
        }
        let bytes = self.bytes(n_rows)?;
        Ok(bytes
            .chunks_exact(self.header.item)
            .map(|item| self.header.number(item))
            .collect())
    }

    /// The next rows of a one-dimensional array as a column, every value exactly as it is stored.
    pub(super) fn column(&mut self, n_rows: usize) -> Result<TypedColumn> {
        let bytes = self.bytes(n_rows)?;
        let items = bytes.chunks_exact(self.header.item.max(1));
        let header = &self.header;
        let texts = |text: fn(&NpyHeader, &[u8]) -> Option<String>| {
            let text = |item| text(header, item).map(|text| Some(text.into_bytes().into()));
            let texts = items.clone().map(text).collect::<Option<Vec<_>>>();
            texts.map(TypedColumn::Texts).ok_or_else(|| {
                self.input.damaged(
                    "npy",
                    "an array of text that is not valid Unicode\n\
                     hint: in Python, save it as `array.astype(str)`, decoded from its own encoding",
                )
            })
        };
        Ok(match header.kind {
            Kind::Float => TypedColumn::Numbers(items.map(|item| header.number(item)).collect()),
            Kind::Uint => {
                TypedColumn::Unsigned(items.map(|item| Some(header.unsigned(item))).collect())
            }
            Kind::Bool | Kind::Int => {
                TypedColumn::Integers(items.map(|item| Some(header.integer(item))).collect())
            }
            Kind::Bytes => texts(|_, item| {
                let end = item.iter().rposition(|byte| *byte != 0);
                let text = std::str::from_utf8(&item[..end.map_or(0, |last| last + 1)]);
                text.ok().map(str::to_owned)
            })?,
            Kind::Unicode => texts(|header, item| {
                let unit = |unit| char::from_u32(u32::try_from(header.unsigned(unit)).ok()?);
                let text: String = item.chunks_exact(4).map(unit).collect::<Option<_>>()?;
                Some(text.trim_end_matches('\0').to_owned())
            })?,
        })
    }

    fn bytes(&mut self, n_rows: usize) -> Result<Vec<u8>> {
        let wanted = n_rows as u64 * self.row_bytes as u64;
        let mut bytes = Vec::new();
        (&mut self.reader)
            .take(wanted)
            .read_to_end(&mut bytes)
            .map_err(|source| self.input.io("read", source))?;
        if bytes.len() as u64 != wanted {
            return Err(self
                .input
                .damaged("npy", "the array ends before its last row"));
        }
        self.rows_left = self.rows_left.saturating_sub(n_rows as u64);
        Ok(bytes)
    }

    /// Reads a column-major array whole and turns it, since its rows lie scattered.
    fn transpose(&mut self, rows: u64, row_items: u64, limits: &Limits) -> Result<()> {
        if self.header.shape.len() > 2 {
            return Err(self.input.damaged(
                "npy",
                "a column-major array of images\nhint: save it with `numpy.ascontiguousarray`",
            ));
        }
        let total = rows.saturating_mul(self.row_bytes as u64);
        if total > limits.matrix_bytes {
            return Err(super::TableError::too_big(
                self.input.path(),
                "a column-major array",
                total,
                limits.matrix_bytes,
                "matrix-bytes",
            ));
        }
        let rows = rows as usize;
        let columns = self.bytes(rows)?;
        self.rows_left = rows as u64;
        let item = self.header.item;
        let mut turned = Vec::with_capacity(columns.len());
        for row in 0..rows {
            for column in 0..row_items as usize {
                let start = (column * rows + row) * item;
                turned.extend_from_slice(&columns[start..start + item]);
            }
        }
        self.reader = Box::new(std::io::Cursor::new(turned));
        Ok(())
    }
}

impl NpyHeader {
    fn number(&self, item: &[u8]) -> f64 {
        match self.kind {
            Kind::Float if self.item == 4 => f64::from(f32::from_bits(self.unsigned(item) as u32)),
            Kind::Float if self.item == 8 => f64::from_bits(self.unsigned(item)),
            Kind::Float => half(self.unsigned(item) as u16),
            Kind::Uint => self.unsigned(item) as f64,
            _ => self.integer(item) as f64,
        }
    }

    fn integer(&self, item: &[u8]) -> i64 {
        let value = self.unsigned(item);
        if self.kind == Kind::Int && !item.is_empty() {
            let unused = 64 - 8 * item.len() as u32;
            return (value << unused).cast_signed() >> unused;
        }
        value.cast_signed() // of fewer than 64 bits, or a truth value
    }

    fn unsigned(&self, item: &[u8]) -> u64 {
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.big_endian {
            item.iter().fold(0, push)
        } else {
            item.iter().rev().fold(0, push)
        }
    }
}

/// A half-precision number.
pub(super) fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023) / 1024.0;
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

enum Problem {
    Io(std::io::Error),
    Content(String),
}

fn read_header(reader: &mut dyn Read) -> std::result::Result<(NpyHeader, usize), Problem> {
    let mut exact = |buffer: &mut [u8]| match reader.read_exact(buffer) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(Problem::Content("it ends within its header".to_owned()))
        }
        Err(error) => Err(Problem::Io(error)),
        Ok(()) => Ok(()),
    };
    let mut start = [0; 8];
    exact(&mut start)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err(Problem::Content(
            "its first bytes are not those of the format".to_owned(),
        ));
    }
    let n_length = if start[6] == 1 { 2 } else { 4 };
    let mut length = [0; 4];
    exact(&mut length[..n_length])?;
    let length = u32::from_le_bytes(length) as usize;
    if !(1..=3).contains(&start[6]) || length > HEADER_BYTES {
        return Err(Problem::Content(format!(
            "format version {} with a header of {length} bytes",
            start[6]
        )));
    }
    let mut text = vec![0; length];
    exact(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let header = parse_header(&text).ok_or_else(|| {
        Problem::Content(format!(
            "header `{}`; arrays of bool, int, uint, float, str and bytes are read\n\
             hint: convert it before it is saved, for instance with `astype(float)` or `astype(str)`",
            super::near::shorten(text.trim())
        ))
    })?;
    Ok((header, 8 + n_length + length))
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse_header(text: &str) -> Option<NpyHeader> {
    let after = |key: &str| {
        let at = text.find(&format!("'{key}'"))? + key.len() + 2;
        text.get(at..)?
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start)
    };
    let descr = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
    let fortran = after("fortran_order")?.starts_with("True");
    let shape = after("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|side| !side.is_empty())
        .map(|side| side.parse().ok())
        .collect::<Option<Vec<u64>>>()?;
    let mut code = descr.chars();
    let big_endian = code.next()? == '>';
    let kind = match code.next()? {
        'b' => Kind::Bool,
        'i' => Kind::Int,
        'u' => Kind::Uint,
        'f' => Kind::Float,
        'U' => Kind::Unicode,
        'S' => Kind::Bytes,
        _ => return None,
    };
    let size: usize = code.as_str().parse().ok()?;
    let fits = match kind {
        Kind::Bool => size == 1,
        Kind::Int | Kind::Uint => [1, 2, 4, 8].contains(&size),
        Kind::Float => [2, 4, 8].contains(&size),
        Kind::Unicode | Kind::Bytes => (1..=4096).contains(&size),
    };
    let item = if kind == Kind::Unicode {
        4 * size
    } else {
        size
    };
    fits.then_some(NpyHeader {
        kind,
        big_endian,
        item,
        fortran,
        shape,
    })
}
