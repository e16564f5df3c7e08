//! What can be wrong with the user's own data: the place, the value, and the remedy.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::near::{differences, shorten};
use super::place::Place;

/// A result of reading the user's own data.
pub type Result<T> = std::result::Result<T, TableError>;

pub(super) const EMPTY: &str =
    "the file is empty\nhint: a header line and at least one row are needed";
pub(super) const NO_ROWS: &str = "a header but no rows\nhint: at least one row is needed";
pub(super) const NO_FEATURES: &str = "no feature column is left after label, id and excluded columns\n\
    hint: a table needs at least one more column, of numbers or of categories";
pub(super) const CHANGED: &str = "the file changed while it was read";

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

    /// Options that contradict one another or do not fit the format.
    #[error("{}: {what}", file.display())]
    Options {
        /// The file.
        file: PathBuf,
        /// What does not fit.
        what: String,
    },

    /// Content that cannot be used.
    #[error("{place}: {what}")]
    Refused {
        /// Where: the file, and the line or row and the column if they are known.
        place: String,
        /// What was found, what is allowed, and a `hint:` line.
        what: String,
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

    /// A row without a label where every row must have one.
    #[error("{place}, column `{column}`: the label is blank\nhint: {remedy}")]
    BlankLabel {
        /// Where.
        place: Place,
        /// The label column.
        column: String,
        /// What to do.
        remedy: &'static str,
    },

    /// No row is labelled.
    #[error(
        "{}: all {rows} rows are unlabelled\n\
         hint: some rows of each class to be found must carry its name",
        file.display()
    )]
    AllUnlabeled {
        /// The file.
        file: PathBuf,
        /// How many rows.
        rows: u64,
    },

    /// A stored schema that cannot be used.
    #[error("stored feature schema: {0}")]
    Schema(String),
}

impl TableError {
    pub(super) fn io(file: &Path, doing: &'static str, source: std::io::Error) -> Self {
        let file = file.to_path_buf();
        Self::Io {
            file,
            doing,
            source,
        }
    }

    pub(super) fn options(file: &Path, what: impl Into<String>) -> Self {
        let (file, what) = (file.to_path_buf(), what.into());
        Self::Options { file, what }
    }

    /// Content of a file that cannot be used.
    pub(super) fn file(file: &Path, what: impl Into<String>) -> Self {
        Self::at(file.display(), what)
    }

    /// The same at a place within a file.
    pub(super) fn at(place: impl Display, what: impl Into<String>) -> Self {
        let (place, what) = (place.to_string(), what.into());
        Self::Refused { place, what }
    }

    /// The same in a cell of a column.
    pub(super) fn cell(place: &Place, column: &str, what: impl Into<String>) -> Self {
        Self::at(format_args!("{place}, column `{}`", shorten(column)), what)
    }

    /// A file that does not follow its format.
    pub(super) fn damaged(file: &Path, format: &str, what: impl Display) -> Self {
        Self::file(file, format!("not a readable {format} file: {what}"))
    }

    /// A format that this build leaves out.
    #[cfg(not(all(feature = "images", feature = "parquet")))]
    pub(super) fn not_built(file: &Path, format: super::InputFormat, feature: &str) -> Self {
        let what = format!(
            "this build does not read {format}\nhint: build with the cargo feature `{feature}`"
        );
        Self::file(file, what)
    }

    /// Content that asks for more memory than the field `name` of [`Limits`](super::Limits) allows.
    pub(super) fn too_big(
        file: &Path,
        what: impl Display,
        bytes: u64,
        limit: u64,
        name: &str,
    ) -> Self {
        let raise = raise(name);
        Self::file(
            file,
            format!(
                "{what} needs {bytes} bytes, the limit is {limit}\nhint: check the file{raise}"
            ),
        )
    }

    pub(super) fn too_many_columns(file: &Path, found: usize, limit: usize) -> Self {
        let raise = raise("columns");
        Self::file(
            file,
            format!("{found} columns, the limit is {limit}\nhint: check the file{raise}"),
        )
    }

    /// Infinity, or a number too large for `f32`.
    pub(super) fn not_finite(place: &Place, column: &str, value: &str) -> Self {
        let what = format!(
            "`{}` is not a finite number within ±3.4e38\n\
             hint: correct it, leave it blank if it is not known, or exclude the column (--exclude)",
            shorten(value)
        );
        Self::cell(place, column, what)
    }

    /// A missing value where none is allowed; how many there are in the whole table, if that is known.
    pub(super) fn missing_value(place: &Place, column: &str, total: Option<u64>) -> Self {
        let in_all = total.map_or_else(String::new, |total| format!(" ({total} in all)"));
        let what = format!(
            "the value is missing{in_all}\n\
             hint: fill it in, exclude the column, or choose `mean` or `median` for missing values (--missing)"
        );
        Self::cell(place, column, what)
    }

    /// So many different labels that they cannot be classes.
    pub(super) fn too_many_classes(file: &Path, column: &str, limit: usize) -> Self {
        let what = format!(
            "column `{}` has more than {limit} different values\nhint: is it the label column?",
            shorten(column)
        );
        Self::file(file, what)
    }

    /// Images of two sizes.
    #[cfg(feature = "images")]
    pub(super) fn image_size(
        file: &Path,
        found: super::ImageSize,
        expected: super::ImageSize,
    ) -> Self {
        let what = format!(
            "{found} pixels, but the images before it, or the schema, have {expected}\n\
             hint: give all images one size, or ask for a size to scale them to (--image-size)"
        );
        Self::file(file, what)
    }
}

/// How a limit is raised.
fn raise(name: &str) -> String {
    format!("; if it is right, raise the limit `{name}` (--limit {name}=N)")
}
