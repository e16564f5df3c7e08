//! Inputs: a file or bytes in memory, opened as often as needed and decompressed within limits.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Result, TableError};
use super::format::InputFormat;
use super::frame::Frame;
use super::limits::Limits;
use super::near::did_you_mean;

/// Something to read: a path, bytes under a name that says their format, or a table in memory.
#[derive(Debug, Clone)]
pub struct TableInput {
    path: PathBuf,
    bytes: Option<Arc<[u8]>>,
    frame: Option<Arc<Frame>>,
}

/// What the readers of binary formats need.
pub(super) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

impl TableInput {
    /// A file, or a folder of images.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            bytes: None,
            frame: None,
        }
    }

    /// A table in memory; `name` stands for a file name in messages.
    pub fn frame(name: impl Into<PathBuf>, frame: impl Into<Arc<Frame>>) -> Self {
        Self {
            path: name.into(),
            bytes: None,
            frame: Some(frame.into()),
        }
    }

    /// Bytes in memory; `name` stands for a file name in messages and says the format.
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            path: name.into(),
            bytes: Some(bytes.into()),
            frame: None,
        }
    }

    /// The path, or the name of bytes in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format asked for, else the one the name says.
    pub(super) fn format(&self, asked: Option<InputFormat>) -> Result<InputFormat> {
        match &self.frame {
            Some(_) => Ok(InputFormat::Memory),
            None => asked.map_or_else(|| InputFormat::of(&self.path), Ok),
        }
    }

    /// The table, if it is in memory.
    pub(super) fn as_frame(&self) -> Option<&Arc<Frame>> {
        self.frame.as_ref()
    }

    /// The length in bytes as stored.
    pub(super) fn len(&self) -> Result<u64> {
        match &self.bytes {
            Some(bytes) => Ok(bytes.len() as u64),
            None => Ok(plain(&self.path)?.len()),
        }
    }

    /// Opens the stored bytes.
    pub(super) fn open(&self) -> Result<Box<dyn ReadSeek>> {
        match &self.bytes {
            Some(bytes) => Ok(Box::new(Cursor::new(Arc::clone(bytes)))),
            None => Ok(Box::new(self.open_file()?)),
        }
    }

    /// Opens the text, decompressed if its first bytes say so.
    pub(super) fn open_text(&self, limits: &Limits) -> Result<Box<dyn Read + Send>> {
        let mut file = self.open()?;
        let mut magic = [0; 10];
        let mut n_magic = 0;
        while n_magic < magic.len() {
            match file.read(&mut magic[n_magic..]) {
                Ok(0) => break,
                Ok(n) => n_magic += n,
                Err(source) => return Err(self.io("read", source)),
            }
        }
        file.rewind().map_err(|source| self.io("read", source))?;
        let magic = &magic[..n_magic];
        let limit = limits.decompressed_bytes(self.len()?);
        if magic.starts_with(&[0x1f, 0x8b]) {
            let decoder = flate2::read::MultiGzDecoder::new(io::BufReader::new(file));
            return Ok(Box::new(Guarded::new(decoder, limit)));
        }
        if magic.starts_with(b"BZh") && magic.get(4..10) == Some(b"1AY&SY") {
            let decoder = bzip2::read::MultiBzDecoder::new(io::BufReader::new(file));
            return Ok(Box::new(Guarded::new(decoder, limit)));
        }
        for (extension, format) in [("gz", "gzip"), ("bz2", "bzip2")] {
            if n_magic > 0 && self.path.extension().is_some_and(|e| e == extension) {
                return Err(self.damaged(
                    format,
                    format!("its first bytes are not those of the format\nhint: if it is not compressed, name it without .{extension}"),
                ));
            }
        }
        Ok(file)
    }

    /// Turns a failure to read into an error that names this file.
    pub(super) fn io(&self, doing: &'static str, source: io::Error) -> TableError {
        if let Some(bomb) = source.get_ref().and_then(|e| e.downcast_ref::<Expanded>()) {
            return TableError::too_big(
                &self.path,
                "its decompressed content",
                bomb.limit.saturating_add(1),
                bomb.limit,
                "expansion",
            );
        }
        TableError::io(&self.path, doing, source)
    }

    pub(super) fn damaged(&self, format: &str, what: impl std::fmt::Display) -> TableError {
        TableError::damaged(&self.path, format, what)
    }

    pub(super) fn refused(&self, what: impl Into<String>) -> TableError {
        TableError::file(&self.path, what)
    }

    pub(super) fn options(&self, what: impl Into<String>) -> TableError {
        TableError::options(&self.path, what)
    }

    /// A column that was asked for and is not among `columns`.
    pub(super) fn unknown_column(
        &self,
        role: &'static str,
        wanted: &str,
        columns: &[String],
    ) -> TableError {
        TableError::UnknownColumn {
            file: self.path.clone(),
            role,
            wanted: wanted.to_owned(),
            hint: did_you_mean(wanted, columns),
        }
    }

    fn open_file(&self) -> Result<File> {
        open_plain(&self.path)
    }

    /// The stored bytes themselves when in memory.
    #[cfg(feature = "parquet")]
    pub(super) fn memory(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The file itself when on disk.
    #[cfg(feature = "parquet")]
    pub(super) fn disk(&self) -> Result<File> {
        self.open_file()
    }
}

impl From<&TableInput> for TableInput {
    fn from(input: &TableInput) -> Self {
        input.clone()
    }
}

impl From<&Path> for TableInput {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

impl From<&PathBuf> for TableInput {
    fn from(path: &PathBuf) -> Self {
        Self::file(path)
    }
}

impl From<PathBuf> for TableInput {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}

impl From<&str> for TableInput {
    fn from(path: &str) -> Self {
        Self::file(path)
    }
}

/// Opens a plain file. A pipe would wait for ever, a device may never end, and neither can be read twice.
pub(super) fn open_plain(path: &Path) -> Result<File> {
    plain(path)?;
    File::open(path).map_err(|source| TableError::io(path, "open", source))
}

/// What is known of a plain file; anything else is refused.
fn plain(path: &Path) -> Result<std::fs::Metadata> {
    let metadata =
        std::fs::metadata(path).map_err(|source| TableError::io(path, "open", source))?;
    let kind = metadata.file_type();
    let refused = |what: &str| Err(TableError::options(path, what));
    if kind.is_dir() {
        return refused("this is a folder, but a file is wanted");
    }
    if !kind.is_file() {
        return refused(
            "this is a pipe or a device, but a plain file is wanted\n\
             hint: write it to a file first",
        );
    }
    Ok(metadata)
}

/// A decompressor that stops when it has made too much of too little.
pub(super) struct Guarded<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R> Guarded<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Self {
            inner,
            left: limit,
            limit,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("decompresses to more than {limit} bytes")]
struct Expanded {
    limit: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(n as u64)
            .ok_or_else(|| io::Error::other(Expanded { limit: self.limit }))?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::make::{bzip2, gzip};
    use super::*;

    #[test]
    fn compressed_text_is_recognised_by_its_first_bytes() {
        let mut twice = gzip(b"a,b\n");
        twice.extend(gzip(b"1,2\n"));
        for bytes in [twice, bzip2(b"a,b\n1,2\n"), b"a,b\n1,2\n".to_vec()] {
            let input = TableInput::from_bytes("a.csv", bytes);
            let mut text = String::new();
            let mut reader = input.open_text(&Limits::default()).unwrap();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "a,b\n1,2\n");
        }
        let input = TableInput::from_bytes("a.csv.gz", b"a,b\n".to_vec());
        let error = input.open_text(&Limits::default()).err().unwrap();
        assert!(error.to_string().contains("gzip"), "{error}");
    }

    #[test]
    fn a_gzip_bomb_is_an_error() {
        let input = TableInput::from_bytes("bomb.csv.gz", gzip(&vec![b'0'; 8 << 20]));
        let limits = Limits {
            expansion: 10,
            expansion_free_bytes: 1 << 20,
            ..Limits::default()
        };
        let mut reader = input.open_text(&limits).unwrap();
        let source = io::copy(&mut reader, &mut io::sink()).unwrap_err();
        let error = input.io("read", source);
        assert!(
            error.to_string().contains("the limit is 1048576"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = TableInput::from("no/such.csv").open().err().unwrap();
        assert!(
            error.to_string().starts_with("no/such.csv: cannot open"),
            "{error}"
        );
    }
}
