//! The data check: what was understood of a table, to be shown before anything runs.

mod duplicates;
mod leakage;
mod warning;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use duplicates::Duplicates;
pub use leakage::{LEAKAGE_AUC, Leakage, LeakageKind};
pub use warning::Warning;

use super::block::Header;
use super::encoder::Gaps;
use super::format::InputFormat;
use super::labels::LabelCheck;
use super::schema::{ColumnKind, FeatureSchema};
use super::stats::{ColumnStats, column_stats};
use crate::split::Scenario;
use crate::{Features, MpuLabel};

/// What was understood of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DataCheck {
    /// The files that were read: the table, then a file of unlabelled rows.
    pub files: Vec<PathBuf>,
    /// The format of the table.
    pub format: InputFormat,
    /// The separator of CSV text.
    pub delimiter: Option<char>,
    /// Rows of all files.
    pub rows: u64,
    /// Numbers of an encoded row.
    pub features: usize,
    /// The input columns in order; none for images.
    pub columns: Vec<ColumnCheck>,
    /// The label column.
    pub label_column: Option<String>,
    /// The id column.
    pub id_column: Option<String>,
    /// Columns that were left out.
    pub excluded: Vec<String>,
    /// The observed classes with their labelled rows.
    pub classes: Vec<ClassCheck>,
    /// Rows of the unlabelled pool.
    pub unlabeled: u64,
    /// How the labels were understood.
    pub labels: LabelCheck,
    /// Rows that are alike.
    pub duplicates: Duplicates,
    /// Columns that tell almost alone whether a row is labelled.
    pub leakage: Vec<Leakage>,
    /// How the rows were drawn.
    pub sampling: Sampling,
    /// What the user should look at.
    pub warnings: Vec<Warning>,
}

/// An input column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnCheck {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// Rows in which it is missing.
    pub missing: u64,
    /// Whether it has one value in all rows that have any.
    pub constant: bool,
}

/// The type of an input column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnType {
    /// A number.
    Numeric,
    /// One of this many categories.
    Categorical(usize),
}

/// An observed class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassCheck {
    /// Its name.
    pub name: String,
    /// Its labelled rows.
    pub labeled: u64,
}

/// How labelled and unlabelled rows were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingScheme {
    /// Labelled rows and pool were drawn apart; the pool has all classes in natural proportions.
    CaseControl,
    /// One sample was drawn, and some of its rows were labelled.
    SingleSample,
    /// Not known: checks of before said so of rows in one file.
    Unknown,
}

/// How the rows were drawn, and how we know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sampling {
    /// The scheme.
    pub scheme: SamplingScheme,
    /// Why it is thought so.
    pub why: String,
}

impl Sampling {
    fn new(scenario: Scenario, why: &str) -> Self {
        Self {
            scheme: match scenario {
                Scenario::CaseControl => SamplingScheme::CaseControl,
                Scenario::SingleSample => SamplingScheme::SingleSample,
            },
            why: why.to_owned(),
        }
    }

    pub(super) fn two_files() -> Self {
        let why = "labelled and unlabelled rows come in separate files";
        Self::new(Scenario::CaseControl, why)
    }

    pub(super) fn listed() -> Self {
        let why = "the positives are a list of rows of the table";
        Self::new(Scenario::SingleSample, why)
    }

    pub(super) fn one_file() -> Self {
        let why = "one file holds labelled and unlabelled rows";
        Self::new(Scenario::SingleSample, why)
    }

    /// What the user says.
    pub fn given(scenario: Scenario) -> Self {
        Self::new(scenario, "you said so")
    }

    /// The scenario that follows; none if it is not known.
    pub fn scenario(&self) -> Option<Scenario> {
        match self.scheme {
            SamplingScheme::CaseControl => Some(Scenario::CaseControl),
            SamplingScheme::SingleSample => Some(Scenario::SingleSample),
            SamplingScheme::Unknown => None,
        }
    }
}

/// What a check is made from.
pub(super) struct CheckInput<'c> {
    pub(super) files: Vec<PathBuf>,
    pub(super) format: InputFormat,
    pub(super) header: &'c Header,
    pub(super) schema: &'c FeatureSchema,
    pub(super) features: &'c Features,
    pub(super) labels: &'c [MpuLabel],
    pub(super) class_names: &'c [String],
    /// The ids of the rows; none if there is no id column.
    pub(super) ids: &'c [String],
    pub(super) gaps: &'c [Gaps],
    /// Columns of numbers and texts that were taken as categories.
    pub(super) mixed: &'c [String],
    /// Columns of numbers with separators that were taken as categories: name, example, what to do.
    pub(super) separated: Vec<(String, String, &'static str)>,
    /// Columns taken as numbers in which one begins with zeros, and that number.
    pub(super) padded: Vec<(String, String)>,
    /// Columns in which different values became one.
    pub(super) rounded: Vec<String>,
    /// Folders within folders of images, with their images.
    pub(super) nested: Vec<(String, u64)>,
    /// Folders of classes that have no images.
    pub(super) empty_folders: Vec<String>,
    /// Files of a folder that are no images.
    pub(super) skipped_files: u64,
    pub(super) label_check: LabelCheck,
    pub(super) sampling: Sampling,
}

impl DataCheck {
    pub(super) fn new(input: &CheckInput<'_>) -> Self {
        let mut labeled = vec![0; input.class_names.len()];
        let mut unlabeled = 0;
        for label in input.labels {
            match label {
                MpuLabel::Labeled(class) => labeled[*class] += 1,
                MpuLabel::Unlabeled => unlabeled += 1,
            }
        }
        let classes = input
            .class_names
            .iter()
            .zip(labeled)
            .map(|(name, labeled)| ClassCheck {
                name: name.clone(),
                labeled,
            })
            .collect();
        let stats = column_stats(input.features.values(), input.schema.width());
        let mut check = Self {
            files: input.files.clone(),
            format: input.format,
            delimiter: input.header.delimiter.map(char::from),
            rows: input.labels.len() as u64,
            features: input.schema.width(),
            columns: columns(input, &stats),
            label_column: input.schema.label_column().map(str::to_owned),
            id_column: input.schema.id_column().map(str::to_owned),
            excluded: input.schema.excluded().to_vec(),
            classes,
            unlabeled,
            labels: input.label_check.clone(),
            duplicates: duplicates::find(input.features, input.labels),
            leakage: leakage::find(input, &stats),
            sampling: input.sampling.clone(),
            warnings: Vec::new(),
        };
        check.warnings = warning::all(&check, input);
        check
    }

    /// Rows with a label.
    pub fn labeled(&self) -> u64 {
        self.classes.iter().map(|class| class.labeled).sum()
    }

    /// Missing values of all columns.
    pub fn missing(&self) -> u64 {
        self.columns.iter().map(|column| column.missing).sum()
    }
}

fn columns(input: &CheckInput<'_>, stats: &[ColumnStats]) -> Vec<ColumnCheck> {
    let mut checks = Vec::with_capacity(input.schema.columns().len());
    for (i, (at, column)) in input.schema.placed().enumerate() {
        let missing = input.gaps.get(i).map_or(0, |gaps| gaps.rows);
        let (kind, constant) = match &column.kind {
            ColumnKind::Numeric { .. } => {
                let constant = stats.get(at).is_some_and(ColumnStats::is_constant);
                (ColumnType::Numeric, constant)
            }
            ColumnKind::Categorical { categories, .. } => (
                ColumnType::Categorical(categories.len()),
                categories.len() == 1,
            ),
        };
        checks.push(ColumnCheck {
            name: column.name.clone(),
            kind,
            missing,
            constant,
        });
    }
    checks
}
