//! MATLAB MAT-files of level 5, as far as SVHN needs them.
//!
//! A file is a header of 128 bytes and then data elements: a type, a size, the bytes, padded to
//! eight. A variable is a matrix element, usually inside a zlib-compressed one, made of elements
//! itself: flags, dimensions, name, values in column-major order. Little-endian files of real,
//! dense numeric arrays are read; other variables are skipped.
//!
//! Our own reader because the one crate for this format, `matfile` 0.5, reads SVHN well but unpacks
//! compressed elements without a limit.

use flate2::read::ZlibDecoder;

use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::{Limit, read_within};

/// One numeric variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its dimensions; the first varies fastest.
    pub dims: Vec<usize>,
    /// Its values, column-major.
    pub values: Values,
}

/// The numbers of a variable, as stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Bytes.
    U8(Vec<u8>),
    /// Any other number type, converted.
    F64(Vec<f64>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    fn get(&self, i: usize) -> f64 {
        match self {
            Self::U8(values) => f64::from(values[i]),
            Self::F64(values) => values[i],
        }
    }
}

const HEADER_LEN: usize = 128;
const MI_UINT8: u32 = 2;
const MI_INT32: u32 = 5;
const MI_UINT32: u32 = 6;
const MI_INT8: u32 = 1;
const MI_MATRIX: u32 = 14;
const MI_COMPRESSED: u32 = 15;

/// Reads the numeric variables of a MAT-file. The limit holds for all of them together.
pub fn read(name: &str, bytes: &[u8], limit: Limit) -> Result<Vec<Variable>> {
    let Some(header) = bytes.get(..HEADER_LEN) else {
        let problem = "too short for a MAT-file header of 128 bytes";
        return Err(Error::bytes(name, 0, problem));
    };
    if &header[124..] != b"\x00\x01IM" {
        return Err(Error::bytes(
            name,
            124,
            "not a little-endian MAT-file of level 5 (version 0x0100, mark IM); files saved with -v7.3 are HDF5 and not read",
        ));
    }
    limit.check(name, "the file", bytes.len() as u64)?;
    let mut cursor = Cursor {
        name,
        bytes,
        base: 0,
        at: HEADER_LEN,
    };
    let mut left = limit.get();
    let mut variables = Vec::new();
    while cursor.at < bytes.len() {
        let element = cursor.element(Padding::Outer)?;
        let variable = match element.kind {
            MI_COMPRESSED => {
                let mut unpacked = Vec::new();
                let packed = ZlibDecoder::new(element.bytes);
                let broken = |error: &std::io::Error| {
                    let problem = format!("broken zlib data: {error}");
                    Error::bytes(name, element.offset, problem)
                };
                read_within(name, packed, Limit::bytes(left), &mut unpacked)
                    .map_err(|failure| failure.into_error(broken))?;
                left -= unpacked.len() as u64;
                let mut inner = Cursor {
                    name,
                    bytes: &unpacked,
                    base: element.offset,
                    at: 0,
                };
                let element = inner.element(Padding::Outer)?;
                matrix(name, &element)?
            }
            _ => matrix(name, &element)?,
        };
        variables.extend(variable);
    }
    Ok(variables)
}

/// Reads SVHN's cropped digits: `X` of 32×32×3×n bytes and `y` of n labels 1 to 10, where 10 is the
/// digit 0. Rows come out channel by channel, each in row-major order.
pub fn svhn(name: &str, bytes: &[u8], limit: Limit) -> Result<Rows> {
    const SIDE: usize = 32;
    const PLANE: usize = SIDE * SIDE;
    const CHANNELS: usize = 3;
    let variables = read(name, bytes, limit)?;
    let find = |wanted: &str| {
        variables
            .iter()
            .find(|variable| variable.name == wanted)
            .ok_or_else(|| Error::bytes(name, 0, format!("no numeric variable {wanted:?}")))
    };
    let (x, y) = (find("X")?, find("y")?);
    let Values::U8(pixels) = &x.values else {
        return Err(Error::bytes(name, 0, "X must hold bytes"));
    };
    // MATLAB drops a last dimension of one.
    let n_images = match x.dims[..] {
        [SIDE, SIDE, CHANNELS] => 1,
        [SIDE, SIDE, CHANNELS, n] => n,
        _ => {
            let problem = format!("X has dimensions {:?}: 32x32x3xn is expected", x.dims);
            return Err(Error::bytes(name, 0, problem));
        }
    };
    if y.values.len() != n_images {
        let problem = format!("{n_images} images in X and {} labels in y", y.values.len());
        return Err(Error::bytes(name, 0, problem));
    }
    let mut labels = Vec::with_capacity(n_images);
    for i in 0..n_images {
        let label = y.values.get(i);
        if label.fract() != 0.0 || !(1.0..=10.0).contains(&label) {
            let problem =
                format!("label {label} of image {i}: 1 to 10 are allowed, 10 for the digit 0");
            return Err(Error::bytes(name, 0, problem));
        }
        labels.push(label as usize % 10);
    }
    let mut values = vec![0.0; pixels.len()];
    for (column_major, row_major) in pixels
        .chunks_exact(PLANE)
        .zip(values.chunks_exact_mut(PLANE))
    {
        for row in 0..SIDE {
            for column in 0..SIDE {
                row_major[row * SIDE + column] = f32::from(column_major[column * SIDE + row]);
            }
        }
    }
    let shape = Shape::image(CHANNELS, SIDE, SIDE);
    Rows::new(Features::new(values, shape)?, labels)
}

#[derive(Clone, Copy, PartialEq)]
enum Padding {
    /// Elements of the file itself: compressed ones are not padded.
    Outer,
    /// Elements of a matrix: padded to eight bytes.
    Inner,
}

struct Element<'a> {
    kind: u32,
    bytes: &'a [u8],
    offset: u64,
}

struct Cursor<'a> {
    name: &'a str,
    bytes: &'a [u8],
    base: u64,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    fn element(&mut self, padding: Padding) -> Result<Element<'a>> {
        let offset = self.offset();
        let cut = || Error::bytes(self.name, offset, "the file ends within a data element");
        let rest = self.bytes.get(self.at..).ok_or_else(cut)?;
        let (tag, after) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let word = u32::from_le_bytes(*tag);
        // A small element has its size in the upper half of the first word and its bytes in the second.
        let (kind, size, start) = if word >> 16 != 0 {
            (word & 0xffff, (word >> 16) as usize, 4)
        } else {
            let (size, _) = after.split_first_chunk::<4>().ok_or_else(cut)?;
            (word, u32::from_le_bytes(*size) as usize, 8)
        };
        if start == 4 && size > 4 {
            let problem = format!("a small element of {size} bytes: 4 at most");
            return Err(Error::bytes(self.name, offset, problem));
        }
        let Some(bytes) = rest.get(start..).and_then(|data| data.get(..size)) else {
            let problem = format!("an element of {size} bytes, and {} are left", rest.len());
            return Err(Error::bytes(self.name, offset, problem));
        };
        let mut end = if start == 4 { 8 } else { start + size };
        if padding == Padding::Inner || kind != MI_COMPRESSED {
            end = end.next_multiple_of(8);
        }
        self.at = (self.at + end).min(self.bytes.len());
        Ok(Element {
            kind,
            bytes,
            offset,
        })
    }
}

/// A variable, or nothing if it is not a real, dense numeric array.
fn matrix(name: &str, element: &Element<'_>) -> Result<Option<Variable>> {
    const FIRST_NUMERIC_CLASS: u8 = 6;
    const LAST_NUMERIC_CLASS: u8 = 15;
    const COMPLEX: u8 = 0x08;
    if element.kind != MI_MATRIX {
        return Ok(None);
    }
    let mut parts = Cursor {
        name,
        bytes: element.bytes,
        base: element.offset + 8,
        at: 0,
    };
    let flags = parts.element(Padding::Inner)?;
    let &[class, flag_bits, ..] = flags.bytes else {
        return Err(Error::bytes(name, flags.offset, "array flags are missing"));
    };
    if flags.kind != MI_UINT32 {
        return Err(Error::bytes(
            name,
            flags.offset,
            "array flags must be of type 6",
        ));
    }
    if !(FIRST_NUMERIC_CLASS..=LAST_NUMERIC_CLASS).contains(&class) || flag_bits & COMPLEX != 0 {
        return Ok(None);
    }
    let dims = parts.element(Padding::Inner)?;
    if dims.kind != MI_INT32 || dims.bytes.len() > 32 || !dims.bytes.len().is_multiple_of(4) {
        let problem = "dimensions must be up to eight numbers of type 5";
        return Err(Error::bytes(name, dims.offset, problem));
    }
    let offset = dims.offset;
    let dims: Vec<usize> = dims
        .bytes
        .chunks_exact(4)
        .map(|dim| u32::from_le_bytes([dim[0], dim[1], dim[2], dim[3]]) as usize)
        .collect();
    let variable_name = parts.element(Padding::Inner)?;
    if variable_name.kind != MI_INT8 || variable_name.bytes.len() > 63 {
        let problem = "a variable name must be up to 63 bytes of type 1";
        return Err(Error::bytes(name, variable_name.offset, problem));
    }
    let values = parts.element(Padding::Inner)?;
    let Some(values) = numbers(&values) else {
        let problem = format!("values of type {}: numbers are expected", values.kind);
        return Err(Error::bytes(name, values.offset, problem));
    };
    let claimed = dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim));
    if claimed != Some(values.len()) {
        let problem = format!("dimensions {dims:?} and {} values", values.len());
        return Err(Error::bytes(name, offset, problem));
    }
    Ok(Some(Variable {
        name: String::from_utf8_lossy(variable_name.bytes).into_owned(),
        dims,
        values,
    }))
}

fn numbers(element: &Element<'_>) -> Option<Values> {
    fn convert<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Values {
        let (chunks, _) = bytes.as_chunks::<N>();
        Values::F64(chunks.iter().map(|&chunk| number(chunk)).collect())
    }
    let bytes = element.bytes;
    Some(match element.kind {
        MI_INT8 => convert(bytes, |b| f64::from(i8::from_le_bytes(b))),
        MI_UINT8 => Values::U8(bytes.to_vec()),
        3 => convert(bytes, |b| f64::from(i16::from_le_bytes(b))),
        4 => convert(bytes, |b| f64::from(u16::from_le_bytes(b))),
        MI_INT32 => convert(bytes, |b| f64::from(i32::from_le_bytes(b))),
        MI_UINT32 => convert(bytes, |b| f64::from(u32::from_le_bytes(b))),
        7 => convert(bytes, |b| f64::from(f32::from_le_bytes(b))),
        9 => convert(bytes, f64::from_le_bytes),
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests;
