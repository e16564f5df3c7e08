//! Tables of NumPy arrays: `X` in a file or archive, `y` beside it.

use std::io::Read;

use super::block::{Block, BlockSource, Content, Header};
use super::error::{EMPTY, NO_FEATURES, Result};
use super::input::{Guarded, TableInput};
use super::limits::Limits;
use super::npy::NpyReader;
use crate::Shape;

/// How many numbers a block has, about.
const BLOCK_ITEMS: usize = 1 << 17;

/// The names under which an archive may hold features and labels.
const FEATURES: [&str; 5] = ["X", "x", "features", "data", "arr_0"];
const LABELS: [&str; 5] = ["y", "labels", "label", "target", "arr_1"];

/// Features `x0`, `x1`, … and labels `y` if there are any.
pub(super) struct NpySource {
    features: NpyReader,
    labels: Option<NpyReader>,
    header: Header,
    file: std::path::PathBuf,
    next_row: u64,
}

impl NpySource {
    /// Opens an array of features, and an array of labels in another file.
    pub(super) fn open_npy(
        input: &TableInput,
        labels: Option<&TableInput>,
        limits: &Limits,
    ) -> Result<Self> {
        let open = |input: &TableInput| -> Result<NpyReader> {
            let stored = input.len()?;
            if stored == 0 {
                return Err(input.refused(EMPTY));
            }
            let reader = Box::new(std::io::BufReader::with_capacity(1 << 18, input.open()?));
            NpyReader::new(input, reader, Some(stored), limits)
        };
        let labels = labels.map(open).transpose()?;
        Self::new(input, open(input)?, labels)
    }

    /// Opens an archive that holds both.
    pub(super) fn open_npz(input: &TableInput, limits: &Limits) -> Result<Self> {
        if input.len()? == 0 {
            return Err(input.refused(EMPTY));
        }
        let names = entry_names(input)?;
        let find = |wanted: &[&str]| {
            wanted.iter().find_map(|name| {
                names
                    .iter()
                    .find(|entry| entry.trim_end_matches(".npy") == *name)
            })
        };
        let Some(features) = find(&FEATURES) else {
            return Err(input.damaged(
                "npz",
                format!(
                    "no array `X`; the arrays are {}\n\
                     hint: save features as `X` and labels as `y`",
                    super::near::list(&names)
                ),
            ));
        };
        let features = open_entry(input, features, limits)?;
        let labels = find(&LABELS)
            .map(|name| open_entry(input, name, limits))
            .transpose()?;
        Self::new(input, features, labels)
    }

    fn new(input: &TableInput, features: NpyReader, labels: Option<NpyReader>) -> Result<Self> {
        let shape = &features.header.shape;
        let side = |i: usize| shape.get(i).copied().unwrap_or(1) as usize;
        let image = match shape.len() {
            2 => None,
            3 => Some(Shape::image(1, side(1), side(2))),
            4 if matches!(side(1), 1 | 3) => Some(Shape::image(side(1), side(2), side(3))),
            _ => {
                return Err(input.damaged(
                    "npy",
                    format!(
                        "features of shape {shape:?}: rows by columns, or images as rows by \
                         height by width, or rows by 1 or 3 channels by height by width, are read"
                    ),
                ));
            }
        };
        let n_columns = features.row_items();
        if n_columns == 0 {
            return Err(input.refused(NO_FEATURES));
        }
        let mut columns: Vec<String> = (0..n_columns).map(|i| format!("x{i}")).collect();
        let mut label = None;
        if let Some(labels) = &labels {
            let one_column = labels.row_items() == 1;
            if !one_column || labels.rows_left() != features.rows_left() {
                return Err(input.refused(format!(
                    "{} labels for {} rows",
                    labels.rows_left().saturating_mul(labels.row_items() as u64),
                    features.rows_left()
                )));
            }
            label = Some(columns.len());
            columns.push("y".to_owned());
        }
        let mut header = Header::plain(columns);
        header.image = image;
        header.label = label;
        Ok(Self {
            features,
            labels,
            header,
            file: input.path().to_path_buf(),
            next_row: 1,
        })
    }
}

impl BlockSource for NpySource {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let n_columns = self.features.row_items();
        let n_rows = self
            .features
            .rows_left()
            .min((BLOCK_ITEMS / n_columns.max(1)).max(1) as u64) as usize;
        if n_rows == 0 {
            return Ok(None);
        }
        let values = self.features.numbers(n_rows)?;
        let label = self
            .labels
            .as_mut()
            .map(|labels| labels.column(n_rows))
            .transpose()?;
        let first = self.next_row;
        self.next_row += n_rows as u64;
        Ok(Some(Block {
            file: self.file.clone(),
            first,
            content: Content::Dense {
                values,
                n_columns,
                label,
            },
        }))
    }
}

type Archive = zip::ZipArchive<Box<dyn super::input::ReadSeek>>;

fn archive(input: &TableInput) -> Result<Archive> {
    zip::ZipArchive::new(input.open()?).map_err(|error| input.damaged("npz", error.to_string()))
}

fn entry_names(input: &TableInput) -> Result<Vec<String>> {
    let archive = archive(input)?;
    Ok(archive
        .file_names()
        .filter_map(|name| name.ok().map(std::borrow::Cow::into_owned))
        .collect())
}

/// Opens one array of an archive. An entry borrows its archive, so a thread-free way to read two
/// of them in step is to open the archive once for each.
fn open_entry(input: &TableInput, name: &str, limits: &Limits) -> Result<NpyReader> {
    let mut archive = archive(input)?;
    let damaged = |error: zip::result::ZipError| input.damaged("npz", error.to_string());
    let entry = archive.by_name(name).map_err(damaged)?;
    if entry.encrypted() {
        return Err(input.damaged("npz", format!("entry `{name}` is encrypted")));
    }
    let (size, offset, compressed, crc) = (
        entry.size(),
        entry.data_start(),
        entry.compressed_size(),
        entry.crc32(),
    );
    let method = entry.compression();
    drop(entry);
    let mut raw = archive.into_inner();
    let offset = offset.ok_or_else(|| input.damaged("npz", "an entry has no data"))?;
    raw.seek(std::io::SeekFrom::Start(offset))
        .map_err(|source| input.io("read", source))?;
    let raw = std::io::BufReader::with_capacity(1 << 16, raw.take(compressed));
    let limit = limits.decompressed_bytes(compressed);
    let reader: Box<dyn Read + Send> = match method {
        zip::CompressionMethod::Stored => Box::new(raw),
        zip::CompressionMethod::Deflated => Box::new(Guarded::new(
            flate2::bufread::DeflateDecoder::new(raw),
            limit,
        )),
        other => {
            return Err(input.damaged("npz", format!("compression {other:?} is not read")));
        }
    };
    let reader = Checked {
        inner: reader,
        crc: flate2::Crc::new(),
        left: size,
        expected: crc,
    };
    NpyReader::new(input, Box::new(reader), Some(size), limits)
}

/// Bytes whose checksum is compared once all of them are read.
struct Checked {
    inner: Box<dyn Read + Send>,
    crc: flate2::Crc,
    left: u64,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = self.inner.read(&mut buffer[..wanted])?;
        self.crc.update(&buffer[..n]);
        self.left -= n as u64;
        if n > 0 && self.left == 0 && self.crc.sum() != self.expected {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "the checksum of an array is wrong",
            ));
        }
        Ok(n)
    }
}
