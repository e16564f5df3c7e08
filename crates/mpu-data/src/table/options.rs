//! Options: how a table is to be understood.

use serde::{Deserialize, Serialize};

use super::format::InputFormat;
use super::input::TableInput;
use super::limits::Limits;
use crate::named;

/// What to do with missing values: blank cells, nulls, NaN, and texts such as `NA` or `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Missing {
    /// Refuse them, naming the first.
    #[default]
    Error,
    /// Numbers become the column's mean, texts its most frequent category.
    Mean,
    /// Numbers become the column's median, texts its most frequent category.
    Median,
    /// They stay missing: NaN in every feature of the column. What needs numbers takes
    /// [`FeatureSchema::fill`](super::FeatureSchema::fill), which does what `median` does.
    Keep,
}

named!(Missing, "way with missing values", { Error => "error", Mean => "mean", Median => "median", Keep => "keep" });

/// What stands between the whole part of a number and its fraction, in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Decimal {
    /// A point: `1234.5`.
    #[default]
    Point,
    /// A comma: `1234,5`, or `1.234,5` with points between groups of three digits.
    Comma,
}

named!(Decimal, "decimal separator", { Point => "point", Comma => "comma" });

/// A way to mark a row as unlabelled.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum UnlabeledMarker {
    /// A blank cell, a null, NaN, or a text such as `NA`.
    #[error("blank")]
    Blank,
    /// The number -1.
    #[error("-1")]
    MinusOne,
    /// The number 0.
    #[error("0")]
    Zero,
    /// This word, in any case.
    #[error("{0}")]
    Word(String),
}

impl UnlabeledMarker {
    /// `blank`, `-1` and `0` mean what they say; anything else is a word.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "" | "blank" => Self::Blank,
            "-1" => Self::MinusOne,
            "0" => Self::Zero,
            word => Self::Word(word.to_owned()),
        }
    }
}

/// How unlabelled rows are marked in the label column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelConvention {
    /// Found out, by the rule of [`LabelCheck`](super::LabelCheck).
    #[default]
    Auto,
    /// By these marks and no others.
    Marked(Vec<UnlabeledMarker>),
}

/// A list of positives, joined to a table by a key.
///
/// A `.txt` file has one key a line and no header. Any other table has a header with the key
/// column; the class of each positive is in `class_column`, or in the only other column, and
/// without one there is the single class `positive`.
#[derive(Debug, Clone)]
pub struct Positives {
    /// The list.
    pub input: TableInput,
    /// The key column, of this name in both files.
    pub key: String,
    /// The column of the list that holds class names.
    pub class_column: Option<String>,
}

/// Width and height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSize {
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
}

impl std::str::FromStr for ImageSize {
    type Err = crate::Error;

    /// `32x24`: 32 wide, 24 high.
    fn from_str(text: &str) -> crate::Result<Self> {
        let (width, height) = text.split_once('x').unwrap_or((text, ""));
        match (width.parse(), height.parse()) {
            (Ok(width @ 1..), Ok(height @ 1..)) => Ok(Self { width, height }),
            _ => Err(crate::error::bad_setting(
                "the size of images",
                text,
                "width and height in pixels, such as 64x48",
            )),
        }
    }
}

impl std::fmt::Display for ImageSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

crate::defaults! {
    /// How [`read_table`](super::read_table) understands a table. The default finds out what it can.
    #[derive(Debug, Clone)]
    pub struct TableOptions {
        /// The format; by default what the name says.
        pub format: Option<InputFormat> = None,
        /// The label column; by default one named `label`, `labels`, `class`, `target` or `y`.
        pub label_column: Option<String> = None,
        /// A column that identifies rows: carried through, not a feature.
        pub id_column: Option<String> = None,
        /// Columns that are no features.
        pub exclude: Vec<String> = Vec::new(),
        /// Columns that are categories even if they look like numbers.
        pub categorical: Vec<String> = Vec::new(),
        /// What to do with missing values.
        pub missing: Missing = Missing::default(),
        /// Further texts that stand for a missing value.
        pub missing_markers: Vec<String> = Vec::new(),
        /// How unlabelled rows are marked.
        pub convention: LabelConvention = LabelConvention::default(),
        /// A second table with the same columns: the unlabelled pool.
        pub unlabeled: Option<TableInput> = None,
        /// A list of positives among the rows.
        pub positives: Option<Positives> = None,
        /// The labels of an `.npy` array of features, as an array of their own.
        pub labels: Option<TableInput> = None,
        /// The separator of CSV text; by default found in the header line.
        pub delimiter: Option<u8> = None,
        /// How numbers are written in CSV text.
        pub decimal: Decimal = Decimal::default(),
        /// Classes whose names, such as `NA` or `null`, would else stand for a missing label.
        pub class_words: Vec<String> = Vec::new(),
        /// The most categories that a column of text may have.
        pub max_categories: usize = 100,
        /// Scale images to this size; by default they must all have one size.
        pub image_size: Option<ImageSize> = None,
        /// What the file may ask for.
        pub limits: Limits = Limits::default(),
    }
}

/// Whether the columns of a later table must stand in the order of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnOrder {
    /// They must.
    #[default]
    Schema,
    /// They are matched by name only.
    Any,
}

/// What to do with columns that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraColumns {
    /// Refuse them.
    #[default]
    Refuse,
    /// Pass over them.
    Ignore,
}

/// How a later table is read with a schema.
#[derive(Debug, Clone, Default)]
pub struct EncodeOptions {
    /// The format; by default what the name says.
    pub format: Option<InputFormat>,
    /// Whether the order of columns matters.
    pub column_order: ColumnOrder,
    /// What to do with unknown columns.
    pub extra_columns: ExtraColumns,
    /// The label column of a held-out table; by default the one of the schema.
    pub label_column: Option<String>,
    /// The separator of CSV text; by default the one the schema was learned with, else found in the header line.
    pub delimiter: Option<u8>,
    /// How numbers are written in CSV text; by default as when the schema was learned.
    pub decimal: Option<Decimal>,
    /// The labels of an `.npy` array of features, as an array of their own.
    pub labels: Option<TableInput>,
    /// What the file may ask for.
    pub limits: Limits,
}
