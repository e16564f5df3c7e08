//! Delimited text: a header line, then records, read in blocks.

use std::collections::BTreeMap;
use std::path::Path;

use super::block::{Block, BlockSource, Content, Header};
use super::csv_tokens::{self, CsvRecords};
use super::error::{EMPTY, Result, TableError};
use super::input::TableInput;
use super::limits::Limits;
use super::lines::LineBlocks;
use super::near::shorten;
use super::place::{At, Place};

/// The separators that are tried, in this order, when none is given for a CSV file.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A CSV or TSV file.
pub(super) struct CsvSource {
    blocks: LineBlocks<CsvRecords>,
    header: Header,
    delimiter: u8,
}

impl CsvSource {
    /// Opens the file and reads its header.
    ///
    /// Without a given `delimiter`, the first of comma, semicolon, tab and bar that occurs in the
    /// header line outside quotes is taken, and the comma when none does.
    pub(super) fn open(input: &TableInput, delimiter: Option<u8>, limits: &Limits) -> Result<Self> {
        // Which separator it is does not change where the header line ends.
        let records = CsvRecords {
            delimiter: delimiter.unwrap_or(b','),
        };
        let mut blocks = LineBlocks::open(input, limits, records)?;
        let Some(first) = blocks.take_first()? else {
            return Err(input.refused(EMPTY));
        };
        let place = Place::new(input.path(), At::Line(first.line));
        check_first_line(&first.text, &place)?;
        let delimiter = delimiter.unwrap_or_else(|| sniff(&first.text));
        let names = csv_tokens::record(&first.text, delimiter, &place)?;
        let mut header = header(input.path(), names, limits)?;
        header.delimiter = Some(delimiter);
        blocks.set_records(CsvRecords { delimiter });
        Ok(Self {
            blocks,
            header,
            delimiter,
        })
    }
}

impl BlockSource for CsvSource {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        let Some(block) = self.blocks.next()? else {
            return Ok(None);
        };
        Ok(Some(Block {
            file: self.blocks.input().path().to_path_buf(),
            first: block.line,
            content: Content::Csv {
                text: block.text,
                delimiter: self.delimiter,
                n_columns: self.header.columns.len(),
            },
        }))
    }
}

/// Refuses what would else be taken for a header: a whole file whose lines end as on old Macs, or Excel's note on the
/// separator.
fn check_first_line(line: &[u8], place: &Place) -> Result<()> {
    let malformed = |what: &str| Err(TableError::at(place, what));
    let line = line.trim_ascii();
    if outside_quotes(line).contains(&b'\r') {
        return malformed(
            "lines end with a carriage return alone, which is not read\n\
             hint: save the file with the line ends of Unix or Windows, for instance with `tr '\\r' '\\n'`",
        );
    }
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', _] => malformed(
            "a note for Excel, not the names of the columns\n\
             hint: remove this line, and name the separator (--delimiter) if it is not found",
        ),
        _ => Ok(()),
    }
}

/// The bytes of a line that are not between double quotes.
fn outside_quotes(line: &[u8]) -> Vec<u8> {
    let mut quoted = false;
    let mut outside = line.to_vec();
    outside.retain(|&byte| {
        quoted ^= byte == b'"';
        !quoted
    });
    outside
}

fn sniff(line: &[u8]) -> u8 {
    let outside = outside_quotes(line);
    DELIMITERS
        .into_iter()
        .find(|delimiter| outside.contains(delimiter))
        .unwrap_or(b',')
}

/// Checks column names; one without a name is called after its position.
pub(super) fn header(file: &Path, names: Vec<String>, limits: &Limits) -> Result<Header> {
    if names.len() > limits.columns {
        return Err(TableError::too_many_columns(
            file,
            names.len(),
            limits.columns,
        ));
    }
    let mut unnamed = Vec::new();
    let columns: Vec<String> = names
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            if name.is_empty() {
                unnamed.push(i + 1);
                format!("column {}", i + 1)
            } else {
                name
            }
        })
        .collect();
    let mut seen = BTreeMap::new();
    for (i, name) in columns.iter().enumerate() {
        if let Some(first) = seen.insert(name.as_str(), i) {
            let what = format!(
                "column `{}` is in the header twice, as columns {} and {}\n\
                 hint: rename or remove one of them",
                shorten(name),
                first + 1,
                i + 1
            );
            return Err(TableError::file(file, what));
        }
    }
    let mut header = Header::plain(columns);
    header.unnamed = unnamed;
    Ok(header)
}
