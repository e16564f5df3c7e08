//! Parquet tables, read without Arrow: plain columns, block by block within row groups.

use std::collections::BTreeMap;
use std::fs::File;

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;

use super::block::{Block, BlockSource, Content, Header, TypedColumn};
use super::csv::header;
use super::error::{EMPTY, Result, TableError};
use super::input::TableInput;
use super::limits::Limits;
use super::npy::half;
use super::parquet_pages::{check_footer, check_pages};
use crate::contain;

/// How many cells a block has, about.
const BLOCK_CELLS: usize = 1 << 17;

/// A Parquet file.
pub(super) struct ParquetSource {
    input: TableInput,
    file: Reader,
    header: Header,
    kinds: Vec<Kind>,
    row_group: usize,
    columns: Vec<ColumnReader>,
    rows_left: usize,
    next_row: u64,
}

enum Reader {
    Disk(SerializedFileReader<File>),
    Memory(SerializedFileReader<Bytes>),
}

/// What the numbers of a column mean.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Unsigned,
    /// To be divided by a power of ten.
    Decimal(i32),
    /// A type that is neither number nor text, such as a point in time.
    Unread,
}

impl Reader {
    fn file(&self) -> &dyn FileReader {
        match self {
            Self::Disk(file) => file,
            Self::Memory(file) => file,
        }
    }
}

impl ParquetSource {
    /// Opens a file and checks its columns and the sizes of its pages.
    pub(super) fn open(input: &TableInput, limits: &Limits) -> Result<Self> {
        let stored = input.len()?;
        if stored == 0 {
            return Err(input.refused(EMPTY));
        }
        check_footer(input, stored)?;
        let damaged = |what: String| input.damaged("parquet", what);
        let file = if let Some(bytes) = input.memory() {
            let bytes = Bytes::copy_from_slice(bytes);
            let reader = contained(|| SerializedFileReader::new(bytes));
            Reader::Memory(reader.map_err(damaged)?)
        } else {
            let file = input.disk()?;
            let reader = contained(|| SerializedFileReader::new(file));
            Reader::Disk(reader.map_err(damaged)?)
        };
        let metadata = file.file().metadata();
        let descriptor = metadata.file_metadata().schema_descr();
        let mut names = Vec::with_capacity(descriptor.num_columns());
        let mut kinds = Vec::with_capacity(descriptor.num_columns());
        let mut unread = BTreeMap::new();
        for column in descriptor.columns() {
            let name = column.path().string();
            let kind = if is_nested(column) {
                Kind::Unread
            } else {
                kind(column)
            };
            if kind == Kind::Unread {
                unread.insert(names.len(), type_name(column));
            }
            kinds.push(kind);
            names.push(name);
        }
        if names.is_empty() {
            return Err(input.damaged("parquet", "it has no columns"));
        }
        check_rows(input, metadata, stored, limits)?;
        check_pages(input, metadata, stored, limits)?;
        let mut header = header(input.path(), names, limits)?;
        header.unread = unread;
        Ok(Self {
            input: input.clone(),
            header,
            file,
            kinds,
            row_group: 0,
            columns: Vec::new(),
            rows_left: 0,
            next_row: 1,
        })
    }

    /// Opens the next row group that has rows; false when there is none.
    fn advance(&mut self) -> Result<bool> {
        let damaged = |what: String| self.input.damaged("parquet", what);
        while self.rows_left == 0 {
            let file = self.file.file();
            if self.row_group >= file.num_row_groups() {
                return Ok(false);
            }
            let group = contained(|| file.get_row_group(self.row_group)).map_err(damaged)?;
            self.row_group += 1;
            self.rows_left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            if self.rows_left == 0 {
                continue;
            }
            self.columns = (0..self.header.columns.len())
                .map(|column| contained(|| group.get_column_reader(column)).map_err(damaged))
                .collect::<Result<_>>()?;
        }
        Ok(true)
    }
}

impl ParquetSource {
    /// Refuses a row group whose columns hold more rows than it says: they would be lost without a word.
    fn check_ended(&mut self) -> Result<()> {
        for (i, reader) in self.columns.iter_mut().enumerate() {
            let more = read_column(reader, 1, self.kinds[i]).is_ok_and(|column| column.len() > 0);
            if more {
                return Err(self.input.damaged(
                    "parquet",
                    format!(
                        "column `{}` has more rows than its row group says",
                        self.header.columns[i]
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl BlockSource for ParquetSource {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        if !self.advance()? {
            return Ok(None);
        }
        let n_columns = self.header.columns.len();
        let n_rows = self.rows_left.min((BLOCK_CELLS / n_columns).max(16));
        let mut columns = Vec::with_capacity(n_columns);
        for (i, reader) in self.columns.iter_mut().enumerate() {
            let column = read_column(reader, n_rows, self.kinds[i]).map_err(|what| {
                let name = &self.header.columns[i];
                self.input
                    .damaged("parquet", format!("column `{name}`: {what}"))
            })?;
            columns.push(column);
        }
        self.rows_left -= n_rows;
        if self.rows_left == 0 {
            self.check_ended()?;
        }
        let first = self.next_row;
        self.next_row += n_rows as u64;
        Ok(Some(Block {
            file: self.input.path().to_path_buf(),
            first,
            content: Content::Columns { columns, n_rows },
        }))
    }
}

/// What `work` gives, or why it failed. The `parquet` crate checks most of what it reads, but some
/// damage trips an assertion in it: then the file is damaged, and the program goes on.
fn contained<T>(
    work: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> std::result::Result<T, String> {
    match contain::contained(work) {
        // Not every way of compressing is built in.
        Some(Err(error)) if error.to_string().contains("Disabled feature") => Err(format!(
            "{error}\nhint: write it without compression, or with snappy, gzip or zstd"
        )),
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err("its content contradicts itself".to_owned()),
    }
}

/// Refuses more rows than a file of this length can hold in earnest.
fn check_rows(
    input: &TableInput,
    metadata: &ParquetMetaData,
    stored: u64,
    limits: &Limits,
) -> Result<()> {
    let mut rows = 0u64;
    for group in metadata.row_groups() {
        let group_rows = u64::try_from(group.num_rows())
            .map_err(|_| input.damaged("parquet", "a row group has a negative number of rows"))?;
        // Without nesting a column has as many values, nulls among them, as the group has rows.
        if let Some(column) = group
            .columns()
            .iter()
            .filter(|column| !is_nested(column.column_descr()))
            .find(|column| column.num_values() != group.num_rows())
        {
            return Err(input.damaged(
                "parquet",
                format!(
                    "a row group has {group_rows} rows, but its column `{}` has {} values",
                    column.column_path().string(),
                    column.num_values()
                ),
            ));
        }
        rows = rows.saturating_add(group_rows);
    }
    let promised = metadata.file_metadata().num_rows();
    if u64::try_from(promised) != Ok(rows) {
        return Err(input.damaged(
            "parquet",
            format!("it promises {promised} rows, and its row groups have {rows}"),
        ));
    }
    let limit = limits.decompressed_bytes(stored);
    let bytes = rows.saturating_mul(4);
    if bytes > limit {
        return Err(TableError::too_big(
            input.path(),
            format_args!("one column of {rows} rows"),
            bytes,
            limit,
            "expansion",
        ));
    }
    Ok(())
}

/// Whether a column lies within another, or holds several values per row.
fn is_nested(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() > 0 || column.path().parts().len() != 1
}

/// What the values of a column mean.
fn kind(column: &ColumnDescriptor) -> Kind {
    use ConvertedType as Converted;
    let whole = matches!(column.physical_type(), Physical::INT32 | Physical::INT64);
    let float = matches!(column.physical_type(), Physical::FLOAT | Physical::DOUBLE);
    let text = column.physical_type() == Physical::BYTE_ARRAY;
    let fixed = column.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY;
    if fixed && column.logical_type_ref() == Some(&LogicalType::Float16) {
        return Kind::Plain;
    }
    match column.converted_type() {
        Converted::DECIMAL if whole || fixed => Kind::Decimal(column.type_scale()),
        Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64
            if whole =>
        {
            Kind::Unsigned
        }
        Converted::INT_8 | Converted::INT_16 | Converted::INT_32 | Converted::INT_64 if whole => {
            Kind::Plain
        }
        Converted::UTF8 | Converted::ENUM | Converted::JSON if text => Kind::Plain,
        Converted::NONE if column.logical_type_ref().is_none() => {
            let boolean = column.physical_type() == Physical::BOOLEAN;
            if whole || float || text || boolean {
                Kind::Plain
            } else {
                Kind::Unread
            }
        }
        _ => Kind::Unread,
    }
}

/// The name of a type for messages.
fn type_name(column: &ColumnDescriptor) -> String {
    match (column.logical_type_ref(), column.converted_type()) {
        _ if is_nested(column) => "nested".to_owned(),
        (Some(logical), _) => {
            let name = format!("{logical:?}");
            let end = name
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(name.len());
            name[..end].to_lowercase()
        }
        (None, ConvertedType::NONE) => column.physical_type().to_string().to_lowercase(),
        (None, converted) => converted.to_string().to_lowercase(),
    }
}

/// Beyond these the last digits of a decimal would be lost.
const TOO_MANY_DIGITS: &str = "a decimal number of more than 15 digits\n\
                               hint: write the column as text, or as floating-point numbers";

/// A signed whole number of any length, its first byte the largest; none if it has more than 64 bits.
fn big_endian(bytes: &[u8]) -> Option<i64> {
    let start = bytes
        .first()
        .map_or(0, |first| i128::from(first.cast_signed() >> 7));
    let shifted = |value: i128, byte: &u8| Some(value.checked_mul(256)? | i128::from(*byte));
    let value = bytes.iter().try_fold(start, shifted)?;
    i64::try_from(value).ok()
}

/// The next rows of a column.
fn read_column(
    reader: &mut ColumnReader,
    n_rows: usize,
    kind: Kind,
) -> std::result::Result<TypedColumn, String> {
    let integers = |values: Vec<Option<i64>>| match kind {
        Kind::Decimal(scale) if scale != 0 => {
            let exact = |value: &Option<i64>| value.is_none_or(|v| v.unsigned_abs() <= 1 << 53);
            if !values.iter().all(exact) {
                return Err(TOO_MANY_DIGITS.to_owned());
            }
            let number = |v: i64| v as f64 / 10f64.powi(scale);
            let values = values.into_iter();
            Ok(TypedColumn::Numbers(
                values.map(|value| value.map_or(f64::NAN, number)).collect(),
            ))
        }
        _ => Ok(TypedColumn::Integers(values)),
    };
    if kind == Kind::Unread {
        return Ok(TypedColumn::Numbers(Vec::new()));
    }
    Ok(match reader {
        ColumnReader::BoolColumnReader(reader) => {
            TypedColumn::Texts(spaced(reader, n_rows, |v| {
                let text: &[u8] = if v { b"true" } else { b"false" };
                text.into()
            })?)
        }
        ColumnReader::Int32ColumnReader(reader) => integers(spaced(reader, n_rows, |v| {
            if kind == Kind::Unsigned {
                i64::from(v as u32)
            } else {
                i64::from(v)
            }
        })?)?,
        ColumnReader::Int64ColumnReader(reader) if kind == Kind::Unsigned => {
            TypedColumn::Unsigned(spaced(reader, n_rows, i64::cast_unsigned)?)
        }
        ColumnReader::Int64ColumnReader(reader) => integers(spaced(reader, n_rows, |v| v)?)?,
        ColumnReader::FloatColumnReader(reader) => numbers(spaced(reader, n_rows, f64::from)?),
        ColumnReader::DoubleColumnReader(reader) => numbers(spaced(reader, n_rows, |v| v)?),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let texts = spaced(reader, n_rows, |v| Box::<[u8]>::from(v.data()))?;
            let not_text = |text: &Option<Box<[u8]>>| {
                text.as_ref()
                    .is_some_and(|text| std::str::from_utf8(text).is_err())
            };
            if texts.iter().any(not_text) {
                return Err(
                    "not UTF-8 text\nhint: exclude it, or write it as a number or as text"
                        .to_owned(),
                );
            }
            TypedColumn::Texts(texts)
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) if kind == Kind::Plain => {
            numbers(spaced(reader, n_rows, |v| match *v.data() {
                [low, high] => half(u16::from_le_bytes([low, high])),
                _ => f64::NAN,
            })?)
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            let wide = spaced(reader, n_rows, |v| big_endian(v.data()))?;
            let whole: Option<Vec<Option<i64>>> = wide
                .into_iter()
                .map(|value| value.map_or(Some(None), |whole| whole.map(Some)))
                .collect();
            integers(whole.ok_or(TOO_MANY_DIGITS)?)?
        }
        ColumnReader::Int96ColumnReader(_) => {
            return Err("a type that is not read".to_owned());
        }
    })
}

fn numbers(values: Vec<Option<f64>>) -> TypedColumn {
    TypedColumn::Numbers(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

/// The next rows, nulls in their places.
fn spaced<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    convert: impl Fn(T::T) -> V,
) -> std::result::Result<Vec<Option<V>>, String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (n_read, n_values, n_levels) =
        contained(|| reader.read_records(n_rows, Some(&mut levels), None, &mut values))?;
    if n_read != n_rows {
        return Err("it ends before its last row".to_owned());
    }
    // A column without nulls has no levels.
    if n_values == n_rows {
        return Ok(values
            .into_iter()
            .map(|value| Some(convert(value)))
            .collect());
    }
    if n_levels != n_rows || levels.len() != n_rows {
        return Err("the numbers of rows and nulls do not agree".to_owned());
    }
    let mut values = values.into_iter();
    levels
        .into_iter()
        .map(|level| match level {
            0 => Ok(None),
            _ => match values.next() {
                Some(value) => Ok(Some(convert(value))),
                None => Err("the numbers of rows and values do not agree".to_owned()),
            },
        })
        .collect()
}
