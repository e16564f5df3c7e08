//! The encoder: blocks of rows to features, labels and ids, by a schema.

use std::collections::BTreeMap;

use super::block::{Block, Row};
use super::cell::{Cell, Markers, Value};
use super::error::{CHANGED, Result, TableError};
use super::labels::canonical;
use super::layout::Role;
use super::looks::{Look, look};
use super::near::shorten;
use super::options::{Decimal, Missing};
use super::place::At;
use super::schema::{ColumnKind, FeatureSchema};
use crate::MpuLabel;

/// How many unseen categories of a column are kept by name.
const UNSEEN_NAMES: usize = 20;

/// What becomes of the label, or of the key, of a row.
pub(super) enum Labeling<'l> {
    /// Nothing.
    None,
    /// Every row has this label.
    All(MpuLabel),
    /// The label column, by what each text means; blank is unlabelled.
    Column(&'l BTreeMap<String, MpuLabel>),
    /// The label column, which has this name, as text, for a held-out table; blank is an error.
    Truth { column: String },
    /// Keys that are listed have the class of the list; other rows are unlabelled.
    Listed(&'l BTreeMap<String, usize>),
}

/// What becomes of a missing number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// What the schema says: the imputation value, or an error.
    Schema,
    /// NaN, to be filled in once the whole column is known.
    Mark,
}

/// Turns rows of a file into rows of features.
pub(super) struct Encoder<'s> {
    schema: &'s FeatureSchema,
    markers: Markers,
    /// What stands for a missing label.
    label_markers: Markers,
    actions: Vec<Action<'s>>,
    labeling: Labeling<'s>,
    gap: Gap,
    /// Whether the key of a list is the id column.
    key_is_id: bool,
    carries_ids: bool,
}

enum Action<'s> {
    Skip,
    Label,
    Id,
    Key,
    Numeric {
        column: usize,
        at: usize,
        impute: Option<f32>,
        offset: f64,
    },
    OneHot {
        column: usize,
        at: usize,
        impute: Option<usize>,
        categories: &'s [String],
    },
}

/// Where the features of a block go.
pub(super) enum Target<'t> {
    /// To a place that has room for all rows and holds zeros.
    Fill(&'t mut [f32]),
    /// To the end of a vector.
    Grow(&'t mut Vec<f32>),
}

impl Target<'_> {
    /// A row of zeros, if there is room.
    fn next_row(&mut self, width: usize) -> Option<&mut [f32]> {
        match self {
            Self::Fill(rows) => {
                let (row, rest) = std::mem::take(rows).split_at_mut_checked(width)?;
                *rows = rest;
                Some(row)
            }
            Self::Grow(values) => {
                let start = values.len();
                values.resize(start + width, 0.0);
                Some(&mut values[start..])
            }
        }
    }
}

/// What a block became.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) n_rows: usize,
    pub(super) labels: Vec<MpuLabel>,
    pub(super) truths: Vec<String>,
    pub(super) ids: Vec<String>,
    /// Keys of a list that were found.
    pub(super) found: Vec<(String, At)>,
    pub(super) gaps: Vec<Gaps>,
    pub(super) unseen: BTreeMap<usize, Unseen>,
}

/// How many values of a column are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    pub(super) rows: u64,
    pub(super) labeled_rows: u64,
}

/// Categories of a column that the schema does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    pub(super) rows: u64,
    pub(super) names: BTreeMap<String, u64>,
}

impl Unseen {
    fn see(&mut self, name: &str, rows: u64) {
        self.rows += rows;
        if let Some(count) = self.names.get_mut(name) {
            *count += rows;
        } else if self.names.len() < UNSEEN_NAMES {
            self.names.insert(name.to_owned(), rows);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let named: u64 = other.names.values().sum();
        for (name, rows) in &other.names {
            self.see(name, *rows);
        }
        self.rows += other.rows - named;
    }
}

impl<'s> Encoder<'s> {
    /// An encoder of a file whose columns have these roles.
    pub(super) fn new(
        schema: &'s FeatureSchema,
        roles: &[Role],
        labeling: Labeling<'s>,
        gap: Gap,
        decimal: Decimal,
    ) -> Self {
        let starts: Vec<usize> = schema.placed().map(|(at, _)| at).collect();
        let actions = roles
            .iter()
            .map(|role| match *role {
                Role::Skip => Action::Skip,
                Role::Label => Action::Label,
                Role::Id => Action::Id,
                Role::Key => Action::Key,
                Role::Feature(column) => match &schema.columns[column].kind {
                    ColumnKind::Numeric { impute, offset } => Action::Numeric {
                        column,
                        at: starts[column],
                        impute: *impute,
                        offset: *offset,
                    },
                    ColumnKind::Categorical { categories, impute } => Action::OneHot {
                        column,
                        at: starts[column],
                        impute: *impute,
                        categories,
                    },
                },
            })
            .collect();
        Self {
            schema,
            label_markers: Markers::new(&schema.missing_markers).without(&schema.class_words),
            markers: Markers::new(&schema.missing_markers).with_decimal(decimal),
            actions,
            labeling,
            gap,
            key_is_id: !roles.contains(&Role::Key),
            carries_ids: roles.contains(&Role::Id),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.schema.width()
    }

    pub(super) fn carries_ids(&self) -> bool {
        self.carries_ids
    }

    /// Encodes a block.
    pub(super) fn encode(&self, block: &Block, mut target: Target<'_>) -> Result<Encoded> {
        let mut out = Encoded {
            gaps: vec![Gaps::default(); self.schema.columns.len()],
            ..Encoded::default()
        };
        let mut gaps = Vec::new();
        block.for_each_row(|row| {
            let Some(features) = target.next_row(self.width()) else {
                return Err(TableError::file(block.file(), CHANGED));
            };
            self.encode_row(block, &row, features, &mut out, &mut gaps)
        })?;
        Ok(out)
    }

    fn encode_row(
        &self,
        block: &Block,
        row: &Row<'_, '_>,
        features: &mut [f32],
        out: &mut Encoded,
        gaps: &mut Vec<usize>,
    ) -> Result<()> {
        let mut label = match self.labeling {
            Labeling::All(label) => label,
            _ => MpuLabel::Unlabeled,
        };
        gaps.clear();
        for (cell, action) in row.cells.iter().zip(&self.actions) {
            match action {
                Action::Numeric {
                    column,
                    at,
                    impute,
                    offset,
                } => {
                    features[*at] = match cell.less(*offset, &self.markers) {
                        Value::Number(value) if value.is_finite() => value,
                        Value::Missing => {
                            gaps.push(*column);
                            match (self.gap, impute) {
                                (Gap::Mark, _) => f32::NAN,
                                (Gap::Schema, Some(value)) => *value,
                                (Gap::Schema, None) => {
                                    return Err(self.gap_error(block, row.at, *column));
                                }
                            }
                        }
                        wrong => {
                            return Err(self.number_error(block, row.at, *column, *cell, &wrong));
                        }
                    };
                }
                Action::OneHot {
                    column,
                    at,
                    impute,
                    categories,
                } => {
                    let category = if let Some(text) = cell.categorical(&self.markers) {
                        let found = categories.binary_search_by(|c| c.as_str().cmp(&text)).ok();
                        if found.is_none() {
                            out.unseen.entry(*column).or_default().see(&text, 1);
                        }
                        found
                    } else {
                        gaps.push(*column);
                        if impute.is_none() {
                            return Err(self.gap_error(block, row.at, *column));
                        }
                        if self.schema.missing == Missing::Keep {
                            features[*at..*at + categories.len()].fill(f32::NAN);
                            continue;
                        }
                        *impute
                    };
                    if let Some(category) = category {
                        features[at + category] = 1.0;
                    }
                }
                Action::Skip => {}
                Action::Label => self.read_label(block, row.at, *cell, &mut label, out)?,
                Action::Id => {
                    let id = cell.text();
                    if self.key_is_id {
                        self.look_up(&id, row.at, &mut label, out);
                    }
                    out.ids.push(id.into_owned());
                }
                Action::Key => self.look_up(&cell.text(), row.at, &mut label, out),
            }
        }
        for column in gaps.iter() {
            let gap = &mut out.gaps[*column];
            gap.rows += 1;
            gap.labeled_rows += u64::from(label != MpuLabel::Unlabeled);
        }
        if !matches!(self.labeling, Labeling::None | Labeling::Truth { .. }) {
            out.labels.push(label);
        }
        out.n_rows += 1;
        Ok(())
    }

    fn read_label(
        &self,
        block: &Block,
        at: At,
        cell: Cell<'_>,
        label: &mut MpuLabel,
        out: &mut Encoded,
    ) -> Result<()> {
        let text = cell.categorical(&self.label_markers);
        match (&self.labeling, text) {
            (Labeling::Column(codes), Some(text)) => {
                let Some(code) = codes.get(text.as_ref()) else {
                    return Err(TableError::file(block.file(), CHANGED));
                };
                *label = *code;
            }
            (Labeling::Truth { .. }, Some(text)) => out.truths.push(canonical(&text)),
            (Labeling::Truth { column }, None) => {
                return Err(TableError::BlankLabel {
                    place: block.place(at),
                    column: column.clone(),
                    remedy: "every row of a held-out table needs its true class",
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn look_up(&self, key: &str, at: At, label: &mut MpuLabel, out: &mut Encoded) {
        if let Labeling::Listed(classes) = self.labeling
            && let Some(class) = classes.get(key)
        {
            *label = MpuLabel::Labeled(*class);
            out.found.push((key.to_owned(), at));
        }
    }

    fn name(&self, column: usize) -> &str {
        &self.schema.columns[column].name
    }

    fn number_error(
        &self,
        block: &Block,
        at: At,
        column: usize,
        cell: Cell<'_>,
        wrong: &Value<'_>,
    ) -> TableError {
        let (place, column) = (block.place(at), self.name(column));
        let value = cell.text();
        if !matches!(wrong, Value::Text(_)) {
            return TableError::not_finite(&place, column, &value);
        }
        let comma = match look(&value) {
            Look::DecimalComma => "; if this table has decimal commas, say --decimal-comma",
            _ => "",
        };
        let what = format!(
            "`{}` is not a number\n\
             hint: the column was numeric when the schema was learned{comma}",
            shorten(&value)
        );
        TableError::cell(&place, column, what)
    }

    fn gap_error(&self, block: &Block, at: At, column: usize) -> TableError {
        TableError::missing_value(&block.place(at), self.name(column), None)
    }
}
