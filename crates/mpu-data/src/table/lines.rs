//! Lines: text cut into blocks at the ends of records.

use std::io::Read;

use super::error::{Result, TableError};
use super::input::TableInput;
use super::limits::Limits;
use super::place::{At, Place};

/// How many bytes a block has, about.
const BLOCK_BYTES: usize = 1 << 18;

/// Finds where the last whole record in a text ends, the text beginning with a record.
pub(super) trait Records: Send {
    /// The position after the last record end, if there is one.
    fn last_end(&self, text: &[u8]) -> Option<usize>;

    /// The position after the first record end, if there is one.
    fn first_end(&self, text: &[u8]) -> Option<usize>;
}

/// Text read in blocks of whole records.
pub(super) struct LineBlocks<R> {
    input: TableInput,
    reader: Box<dyn Read + Send>,
    records: R,
    record_bytes: usize,
    carried: Vec<u8>,
    line: u64,
    ended: bool,
}

/// Some whole records and the line they begin on.
pub(super) struct LineBlock {
    pub(super) text: Vec<u8>,
    pub(super) line: u64,
}

impl<R: Records> LineBlocks<R> {
    /// Opens the text; a byte order mark is dropped.
    pub(super) fn open(input: &TableInput, limits: &Limits, records: R) -> Result<Self> {
        let mut blocks = Self {
            input: input.clone(),
            reader: input.open_text(limits)?,
            records,
            record_bytes: limits.record_bytes.max(1),
            carried: Vec::new(),
            line: 1,
            ended: false,
        };
        blocks.fill(BLOCK_BYTES.min(blocks.record_bytes))?;
        if blocks.carried.starts_with(&[0xef, 0xbb, 0xbf]) {
            blocks.carried.drain(..3);
        }
        for (mark, encoding) in [([0xff, 0xfe], "UTF-16LE"), ([0xfe, 0xff], "UTF-16BE")] {
            if blocks.carried.starts_with(&mark) {
                let what = format!(
                    "this is {encoding} text, and UTF-8 is wanted\n\
                     hint: convert the file, for instance with `iconv -f UTF-16 -t UTF-8`"
                );
                let place = Place::new(input.path(), At::Line(1));
                return Err(TableError::at(place, what));
            }
        }
        Ok(blocks)
    }

    pub(super) fn input(&self) -> &TableInput {
        &self.input
    }

    /// From here on, records end as `records` says.
    pub(super) fn set_records(&mut self, records: R) {
        self.records = records;
    }

    /// The first record that is not blank, taken out of the text; none when there is none.
    pub(super) fn take_first(&mut self) -> Result<Option<LineBlock>> {
        loop {
            let end = loop {
                match self.records.first_end(&self.carried) {
                    Some(end) => break end,
                    None if self.ended => break self.carried.len(),
                    None => self.grow()?,
                }
            };
            if end == 0 {
                return Ok(None);
            }
            let text: Vec<u8> = self.carried.drain(..end).collect();
            let line = self.line;
            self.line += n_lines(&text);
            if !text.trim_ascii().is_empty() {
                self.check_utf8(&text, line)?;
                return Ok(Some(LineBlock { text, line }));
            }
        }
    }

    /// The next block of whole records.
    pub(super) fn next(&mut self) -> Result<Option<LineBlock>> {
        if self.carried.len() < BLOCK_BYTES {
            self.fill(BLOCK_BYTES)?;
        }
        let end = loop {
            if self.ended {
                break self.carried.len();
            }
            match self.records.last_end(&self.carried) {
                Some(end) => break end,
                None => self.grow()?,
            }
        };
        if end == 0 {
            return Ok(None);
        }
        let rest = self.carried[end..].to_vec();
        let mut text = std::mem::replace(&mut self.carried, rest);
        text.truncate(end);
        let line = self.line;
        self.check_utf8(&text, line)?;
        self.line += n_lines(&text);
        Ok(Some(LineBlock { text, line }))
    }

    fn grow(&mut self) -> Result<()> {
        if self.carried.len() >= self.record_bytes {
            let what = format!(
                "a record longer than {} bytes begins here\n\
                 hint: a double quote may not have been closed; if it is right, raise the limit `record-bytes` (--limit record-bytes=N)",
                self.record_bytes
            );
            return Err(TableError::at(self.place(self.line), what));
        }
        self.fill(
            self.carried
                .len()
                .saturating_mul(2)
                .clamp(1024, self.record_bytes),
        )
    }

    fn fill(&mut self, len: usize) -> Result<()> {
        let wanted = len.saturating_sub(self.carried.len()) as u64;
        if wanted == 0 || self.ended {
            return Ok(());
        }
        self.carried.reserve(wanted as usize);
        let n = (&mut self.reader)
            .take(wanted)
            .read_to_end(&mut self.carried)
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::InvalidInput
                | std::io::ErrorKind::InvalidData
                | std::io::ErrorKind::UnexpectedEof => {
                    self.input.damaged("compressed", source.to_string())
                }
                _ => self.input.io("read", source),
            })?;
        self.ended = (n as u64) < wanted;
        Ok(())
    }

    fn check_utf8(&self, text: &[u8], line: u64) -> Result<()> {
        let Err(error) = std::str::from_utf8(text) else {
            // Text has no such byte; UTF-16 without a mark and binary files do.
            let Some(nul) = memchr::memchr(0, text) else {
                return Ok(());
            };
            let what = "a byte 0, which text never has\n\
                        hint: the file may be binary, or UTF-16: convert it to UTF-8";
            return Err(TableError::at(
                self.place(line + n_lines(&text[..nul])),
                what,
            ));
        };
        let valid = error.valid_up_to();
        let what = format!(
            "not UTF-8 text (byte 0x{:02x})\n\
             hint: convert the file, for instance with `iconv -f latin1 -t utf-8`",
            text.get(valid).copied().unwrap_or_default()
        );
        Err(TableError::at(
            self.place(line + n_lines(&text[..valid])),
            what,
        ))
    }

    fn place(&self, line: u64) -> Place {
        Place::new(self.input.path(), At::Line(line))
    }
}

impl LineBlock {
    /// Cuts off all but the first lines, if there are more.
    pub(super) fn split_off(&mut self, n: usize) -> Option<Self> {
        let end = memchr::memchr_iter(b'\n', &self.text).nth(n.max(1) - 1)? + 1;
        if end == self.text.len() {
            return None;
        }
        Some(Self {
            text: self.text.split_off(end),
            line: self.line + n.max(1) as u64,
        })
    }
}

/// How many line feeds there are.
pub(super) fn n_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
