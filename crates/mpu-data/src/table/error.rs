//! What can be wrong with the user's own data: the place, the value, and the remedy.

use std::path::PathBuf;

use super::label_error::LabelError;
use super::near::{differences, list, shorten};
use super::place::Place;

/// A result of reading the user's own data.
pub type Result<T> = std::result::Result<T, TableError>;

/// What was wrong with a file, or with what was asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },

    /// A file name that says no known format.
    #[error(
        "{}: the name does not say the format\n\
         hint: {}",
        .0.display(),
        how_to_say(.0)
    )]
    UnknownFormat(PathBuf),

    /// A format that this build leaves out.
    #[error(
        "{}: this build does not read {format}\n\
         hint: build with the cargo feature `{feature}`",
        file.display()
    )]
    NotBuilt {
        /// The file.
        file: PathBuf,
        /// The format.
        format: super::InputFormat,
        /// The cargo feature that brings it.
        feature: &'static str,
    },

    /// Options that contradict one another or do not fit the format.
    #[error("{}: {what}", file.display())]
    Options {
        /// The file.
        file: PathBuf,
        /// What does not fit.
        what: String,
    },

    /// A file that does not follow its format.
    #[error("{}: not a readable {format} file: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What it should have been.
        format: &'static str,
        /// What was found.
        what: String,
    },

    /// A line or row that does not follow the format.
    #[error("{place}: {what}")]
    Malformed {
        /// Where.
        place: Place,
        /// What was found and what is allowed.
        what: String,
    },

    /// Content that asks for more memory than allowed.
    #[error(
        "{}: {what} needs {bytes} bytes, the limit is {limit}\n\
         hint: check the file{}",
        file.display(),
        raise(*name)
    )]
    TooBig {
        /// The file.
        file: PathBuf,
        /// What is too big.
        what: String,
        /// How much it needs.
        bytes: u64,
        /// How much is allowed.
        limit: u64,
        /// The field of [`Limits`](super::Limits), if it is one of these.
        name: Option<&'static str>,
    },

    /// More columns than allowed.
    #[error(
        "{}: {found} columns, the limit is {limit}\n\
         hint: check the file{}",
        file.display(),
        raise(Some("columns"))
    )]
    TooManyColumns {
        /// The file.
        file: PathBuf,
        /// How many there are, at least.
        found: usize,
        /// How many there may be.
        limit: usize,
    },

    /// A file without content.
    #[error("{}: the file is empty\nhint: a header line and at least one row are needed", .0.display())]
    Empty(PathBuf),

    /// A header and nothing else.
    #[error("{}: a header but no rows\nhint: at least one row is needed", .0.display())]
    NoRows(PathBuf),

    /// A column name that occurs twice.
    #[error(
        "{}: column `{}` is in the header twice, as columns {first} and {second}\n\
         hint: rename or remove one of them",
        file.display(),
        shorten(name)
    )]
    DuplicateColumn {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
        /// Its first position, counted from 1.
        first: usize,
        /// Its second position.
        second: usize,
    },

    /// A row with too few or too many cells.
    #[error(
        "{place}: {found} cells, but the header has {expected} columns\n\
         hint: a cell that contains the separator must be in double quotes"
    )]
    Ragged {
        /// Where.
        place: Place,
        /// Cells in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },

    /// Bytes that are not UTF-8.
    #[error(
        "{place}: not UTF-8 text (byte 0x{byte:02x})\n\
         hint: convert the file, for instance with `iconv -f latin1 -t utf-8`"
    )]
    NotUtf8 {
        /// Where.
        place: Place,
        /// The first byte that does not fit.
        byte: u8,
    },

    /// A column of a type that is not read.
    #[error(
        "{}: column `{}` has type {kind}, which is not read\n\
         hint: exclude it (--exclude), or write it as a number or as text",
        file.display(),
        shorten(column)
    )]
    ColumnType {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },

    /// A column that was asked for and is not there.
    #[error("{}: no column `{}` (wanted as {role}){hint}", file.display(), shorten(wanted))]
    UnknownColumn {
        /// The file.
        file: PathBuf,
        /// What it was wanted for: label column, id column, key column, …
        role: &'static str,
        /// The name asked for.
        wanted: String,
        /// A `hint:` line with near names or all names.
        hint: String,
    },

    /// No label column was named and none has a usual name.
    #[error(
        "{}: which column holds the labels?\n\
         hint: name the label column (--label-column); the columns are {}",
        file.display(),
        list(columns)
    )]
    NoLabelColumn {
        /// The file.
        file: PathBuf,
        /// Its columns.
        columns: Vec<String>,
    },

    /// Nothing is left to learn from.
    #[error(
        "{}: no feature column is left after label, id and excluded columns\n\
         hint: a table needs at least one more column, of numbers or of categories",
        .0.display()
    )]
    NoFeatures(PathBuf),

    /// Text columns with too many values to be categories.
    #[error(
        "{}: text with more than {limit} different values in {}\n\
         hint: exclude such a column, name it as the id column, or raise the limit on categories (--max-categories)",
        file.display(),
        list(columns)
    )]
    TooManyCategories {
        /// The file.
        file: PathBuf,
        /// The columns.
        columns: Vec<String>,
        /// How many values a categorical column may have.
        limit: usize,
    },

    /// A column of dates or times.
    #[error(
        "{place}, column `{}`: `{}` is a date or a time, and so are the others; such columns are not read\n\
         hint: leave it out (--exclude), write it as a number (such as days since a fixed day), or say --categorical to \
         take each date as a category of its own",
        shorten(column),
        shorten(value)
    )]
    Dates {
        /// Where the first one is.
        place: Place,
        /// The column.
        column: String,
        /// The first one.
        value: String,
    },

    /// A column of numbers with separators that are not read, too many to be categories.
    #[error(
        "{place}, column `{}`: `{}` looks like a number, but is read as text, and there are too \
         many to be categories\n\
         hint: {remedy}",
        shorten(column),
        shorten(value)
    )]
    SeparatedNumbers {
        /// Where the first one is.
        place: Place,
        /// The column.
        column: String,
        /// The first one.
        value: String,
        /// What helps.
        remedy: &'static str,
    },

    /// A column of numbers in which a few cells are text.
    #[error(
        "{place}, column `{column}`: `{}` is not a number, but {numbers} other cells are\n\
         hint: correct it, declare `{}` a mark of missing values (--missing-marker), or the column categorical (--categorical)",
        shorten(value),
        shorten(value)
    )]
    MixedColumn {
        /// Where the first text is.
        place: Place,
        /// The column.
        column: String,
        /// The text.
        value: String,
        /// How many cells of the column are numbers.
        numbers: u64,
    },

    /// Text where the schema wants a number.
    #[error(
        "{place}, column `{column}`: `{}` is not a number\n\
         hint: the column was numeric when the schema was learned{}",
        shorten(value),
        comma(value)
    )]
    TextInNumber {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The text.
        value: String,
    },

    /// Infinity, or a number too large for `f32`.
    #[error(
        "{place}, column `{column}`: `{}` is not a finite number within ±3.4e38\n\
         hint: correct it, leave it blank if it is not known, or exclude the column (--exclude)",
        shorten(value)
    )]
    NotFinite {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The value as written.
        value: String,
    },

    /// A missing value where none is allowed.
    #[error(
        "{place}, column `{column}`: the value is missing{}\n\
         hint: fill it in, exclude the column, or choose `mean` or `median` for missing values (--missing)",
        in_all(*total)
    )]
    MissingValue {
        /// Where the first one is.
        place: Place,
        /// The column of the first one.
        column: String,
        /// How many there are in the whole table, if that is known.
        total: Option<u64>,
    },

    /// A column that has no value at all.
    #[error("{}: column `{}` has no value in any row\nhint: exclude it (--exclude)", file.display(), shorten(column))]
    AllMissing {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
    },

    /// Columns other than those of the schema.
    #[error(
        "{}: the columns are not those the schema was learned from{}",
        file.display(),
        differences(missing, extra)
    )]
    ColumnsDiffer {
        /// The file.
        file: PathBuf,
        /// Columns of the schema that are not there, each with near names among the extra ones.
        missing: Vec<(String, Vec<String>)>,
        /// Columns that the schema does not know.
        extra: Vec<String>,
    },

    /// The right columns in another order.
    #[error(
        "{}: feature column {position} is `{}`, the schema has `{}` there\n\
         hint: put the columns in the schema's order, or allow any order (they are matched by name)",
        file.display(),
        shorten(found),
        shorten(expected)
    )]
    ColumnOrder {
        /// The file.
        file: PathBuf,
        /// Which of the feature columns, counted from 1.
        position: usize,
        /// The name there.
        found: String,
        /// The name the schema has there.
        expected: String,
    },

    /// Images of two sizes.
    #[error(
        "{}: {found} pixels, but the images before it, or the schema, have {expected}\n\
         hint: give all images one size, or ask for a size to scale them to (--image-size)",
        file.display()
    )]
    ImageSize {
        /// The image.
        file: PathBuf,
        /// Its width and height.
        found: super::ImageSize,
        /// The width and height of the others.
        expected: super::ImageSize,
    },

    /// A stored schema that cannot be used.
    #[error("stored feature schema: {what}")]
    Schema {
        /// What is wrong with it.
        what: String,
    },

    /// The file changed between two readings.
    #[error("{}: the file changed while it was read", .0.display())]
    Changed(PathBuf),

    /// Labels from which nothing can be learned, or that cannot be understood.
    #[error(transparent)]
    Label(#[from] LabelError),
}

/// What to do with a file whose name says no format.
fn how_to_say(file: &std::path::Path) -> &'static str {
    let ending = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match ending.as_ref().and_then(|e| e.to_str()) {
        Some("xlsx" | "xls" | "xlsm" | "ods" | "numbers") => "save the sheet as CSV",
        Some("zip" | "7z" | "rar" | "tar" | "xz" | "zst") => {
            "unpack it first; of compressed files, .gz and .bz2 are read"
        }
        Some("json" | "jsonl" | "ndjson" | "feather" | "arrow" | "h5" | "hdf5" | "pkl" | "mat") => {
            "write it as CSV or Parquet"
        }
        _ => "name one of csv, tsv, parquet, npy, npz, libsvm, images (--input-format)",
    }
}

/// What else to say of a value that is a number with a decimal comma.
fn comma(value: &str) -> &'static str {
    match super::looks::look(value) {
        super::looks::Look::DecimalComma => {
            "; if this table has decimal commas, say --decimal-comma"
        }
        _ => "",
    }
}

/// How a limit is raised.
fn raise(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| {
        format!("; if it is right, raise the limit `{name}` (--limit {name}=N)")
    })
}

fn in_all(total: Option<u64>) -> String {
    total.map_or_else(String::new, |total| format!(" ({total} in all)"))
}
