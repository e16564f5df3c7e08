//! The feature schema: what a model's inputs were learned from, stored with the model.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::error::{Result, TableError};
use super::options::{Decimal, ImageSize, Missing};
use crate::Shape;

/// The version of the stored form.
pub const SCHEMA_VERSION: u32 = 1;

/// How columns become features: ordered, typed, with what fills their gaps.
///
/// A numeric column is one feature, a categorical column one feature for each known category
/// (1 for its own, 0 for the others; all 0 for a category that was not known). A schema of images
/// has no columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Stored")]
pub struct FeatureSchema {
    pub(super) version: u32,
    /// The input columns in order.
    pub(super) columns: Vec<InputColumn>,
    /// The shape of an encoded row.
    pub(super) shape: Shape,
    /// The label column, not a feature.
    pub(super) label_column: Option<String>,
    /// The id column, carried through.
    pub(super) id_column: Option<String>,
    /// Columns that were left out.
    pub(super) excluded: Vec<String>,
    /// What is done with missing values.
    pub(super) missing: Missing,
    /// Further texts that stand for a missing value.
    pub(super) missing_markers: Vec<String>,
    /// The size that images are scaled to.
    pub(super) image_size: Option<ImageSize>,
    /// The separator of CSV text, if it had to be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delimiter: Option<char>,
    /// How numbers are written in CSV text.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) decimal: Decimal,
    /// Classes whose names would else stand for a missing label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) class_words: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One input column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ColumnKind,
}

/// The type of an input column, and what stands in for a missing value (nothing, where missing
/// values are refused).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A number.
    Numeric {
        /// What stands in for a missing value, the offset already taken off.
        impute: Option<f32>,
        /// What is taken off a value, in 64 bits, before it becomes a feature of 32 bits: 0 unless values lie so close
        /// together, so far from 0, that they would become equal.
        #[serde(default, skip_serializing_if = "is_default")]
        offset: f64,
    },
    /// One of some texts, in alphabetical order.
    Categorical {
        /// The texts.
        categories: Vec<String>,
        /// The position of the text that stands in for a missing value.
        impute: Option<usize>,
    },
}

impl InputColumn {
    /// How many features the column becomes.
    pub fn width(&self) -> usize {
        match &self.kind {
            ColumnKind::Numeric { .. } => 1,
            ColumnKind::Categorical { categories, .. } => categories.len(),
        }
    }
}

impl FeatureSchema {
    /// The input columns in order; none for images.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// The input columns, each with the place of its first feature.
    pub(super) fn placed(&self) -> impl Iterator<Item = (usize, &InputColumn)> {
        self.columns.iter().scan(0, |end, column| {
            *end += column.width();
            Some((*end - column.width(), column))
        })
    }

    /// The shape of an encoded row.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of features of an encoded row.
    pub fn width(&self) -> usize {
        self.shape.len()
    }

    /// Whether the inputs are images.
    pub fn is_images(&self) -> bool {
        self.columns.is_empty()
    }

    /// The label column.
    pub fn label_column(&self) -> Option<&str> {
        self.label_column.as_deref()
    }

    /// The id column.
    pub fn id_column(&self) -> Option<&str> {
        self.id_column.as_deref()
    }

    /// Columns that were left out.
    pub fn excluded(&self) -> &[String] {
        &self.excluded
    }

    /// What is done with missing values.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// The separator of CSV text, if it had to be said.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter.and_then(|c| u8::try_from(c).ok())
    }

    /// How numbers are written in CSV text.
    pub fn decimal(&self) -> Decimal {
        self.decimal
    }

    /// Classes whose names would else stand for a missing label.
    pub fn class_words(&self) -> &[String] {
        &self.class_words
    }

    /// The names of the features in order: the column, or `column=category`.
    pub fn feature_names(&self) -> Vec<String> {
        if self.is_images() {
            return (0..self.width()).map(|i| format!("pixel{i}")).collect();
        }
        let mut names = Vec::with_capacity(self.width());
        for column in &self.columns {
            match &column.kind {
                ColumnKind::Numeric { .. } => names.push(column.name.clone()),
                ColumnKind::Categorical { categories, .. } => names.extend(
                    categories
                        .iter()
                        .map(|category| format!("{}={category}", column.name)),
                ),
            }
        }
        names
    }
}

/// A schema as stored; checked when it is read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Stored {
    version: u32,
    columns: Vec<InputColumn>,
    shape: Shape,
    label_column: Option<String>,
    id_column: Option<String>,
    #[serde(default)]
    excluded: Vec<String>,
    #[serde(default)]
    missing: Missing,
    #[serde(default)]
    missing_markers: Vec<String>,
    image_size: Option<ImageSize>,
    delimiter: Option<char>,
    #[serde(default)]
    decimal: Decimal,
    #[serde(default)]
    class_words: Vec<String>,
}

impl TryFrom<Stored> for FeatureSchema {
    type Error = TableError;

    fn try_from(stored: Stored) -> Result<Self> {
        let wrong = |what: String| Err(TableError::Schema(what));
        if stored.version > SCHEMA_VERSION {
            return wrong(format!(
                "version {} is newer than {SCHEMA_VERSION}, the newest this program knows",
                stored.version
            ));
        }
        let names: BTreeSet<&str> = stored.columns.iter().map(|c| c.name.as_str()).collect();
        if names.len() < stored.columns.len() {
            return wrong("two columns have one name".to_owned());
        }
        for column in &stored.columns {
            let fits = match &column.kind {
                ColumnKind::Numeric { impute, offset } => {
                    impute.is_none_or(f32::is_finite) && offset.is_finite()
                }
                ColumnKind::Categorical { categories, impute } => {
                    !categories.is_empty()
                        && categories.is_sorted_by(|a, b| a < b)
                        && impute.is_none_or(|i| i < categories.len())
                }
            };
            if !fits {
                return wrong(format!("column `{}` is not valid", column.name));
            }
        }
        if stored
            .delimiter
            .is_some_and(|delimiter| !delimiter.is_ascii())
        {
            return wrong("the separator is not an ASCII character".to_owned());
        }
        let width: usize = stored.columns.iter().map(InputColumn::width).sum();
        let len = match stored.shape {
            Shape::Vector(n) => Some(n),
            Shape::Image {
                channels,
                height,
                width,
            } => channels
                .checked_mul(height)
                .and_then(|n| n.checked_mul(width)),
        };
        if len.is_none_or(|len| len == 0 || (width != len && !stored.columns.is_empty())) {
            return wrong(format!(
                "{width} features do not make the shape {:?}",
                stored.shape
            ));
        }
        if stored.columns.is_empty() && !matches!(stored.shape, Shape::Image { .. }) {
            return wrong("no columns and no images".to_owned());
        }
        Ok(Self {
            version: stored.version,
            columns: stored.columns,
            shape: stored.shape,
            label_column: stored.label_column,
            id_column: stored.id_column,
            excluded: stored.excluded,
            missing: stored.missing,
            missing_markers: stored.missing_markers,
            image_size: stored.image_size,
            delimiter: stored.delimiter,
            decimal: stored.decimal,
            class_words: stored.class_words,
        })
    }
}
