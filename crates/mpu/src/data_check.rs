//! What is understood of a table, for people to read before anything is trained.

use mpu_data::split::Scenario;
use mpu_data::table::{ColumnType, DataCheck, HeldOut, SamplingScheme};
use mpu_report::{Align, Format, Table, prose};
use serde::Serialize;

use crate::costs::UNKNOWN;
use crate::error::Result;

/// What is said of a held-out file with true labels.
#[derive(Debug, Clone, Serialize)]
pub struct HeldOutCheck {
    rows: usize,
    classes: Vec<(String, usize)>,
    taken_as_negative: Vec<String>,
}

impl HeldOutCheck {
    /// Of a file whose rows have true labels.
    pub fn new(held: &HeldOut, names: &[String]) -> Self {
        let n_classes = names.len() + 1;
        let counts = mpu_data::dataset::count_classes(&held.classes, n_classes);
        let all = names.iter().map(String::as_str).chain([UNKNOWN]);
        Self {
            rows: held.classes.len(),
            classes: all.map(str::to_owned).zip(counts).collect(),
            taken_as_negative: held.negative_names.keys().cloned().collect(),
        }
    }

    fn describe(&self, format: Format) -> String {
        let counts = self.classes.iter().map(|(name, n)| format!("{name} {n}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let say = |line: String| prose(format, &line);
        let mut text = say(format!("held out: {} rows: {counts}", self.rows));
        if !self.taken_as_negative.is_empty() {
            let names = self.taken_as_negative.join(", ");
            text += &say(format!("taken as unknown: {names}"));
        }
        text
    }
}

/// A check as text and tables.
pub fn describe_check(
    check: &DataCheck,
    held_out: Option<&HeldOutCheck>,
    format: Format,
) -> Result<String> {
    let rendered = |table: &Table| mpu_report::render(format, table, &());
    let say = |line: String| prose(format, &line);
    let mut text = String::new();
    let files = check.files.iter().map(|file| file.display().to_string());
    let files: Vec<String> = files.collect();
    text += &say(format!("read: {} ({})", files.join(", "), check.format));
    text += &say(format!(
        "rows: {}, numbers per row: {}",
        check.rows, check.features
    ));
    for (what, column) in [
        ("label column", &check.label_column),
        ("id column", &check.id_column),
    ] {
        if let Some(column) = column {
            text += &say(format!("{what}: {column}"));
        }
    }
    if !check.excluded.is_empty() {
        text += &say(format!("left out: {}", check.excluded.join(", ")));
    }
    let mut classes = Table::new([("class", Align::Left), ("labelled rows", Align::Right)]);
    for class in &check.classes {
        classes.push([class.name.clone(), class.labeled.to_string()]);
    }
    classes.push(["(unlabelled pool)".to_owned(), check.unlabeled.to_string()]);
    text += &rendered(&classes)?;
    for marker in &check.labels.markers {
        text += &say(format!(
            "unlabelled rows are marked by {}: {} rows",
            marker.marker, marker.rows
        ));
    }
    if check.labels.unlabeled_by_file > 0 {
        let rows = check.labels.unlabeled_by_file;
        text += &say(format!("unlabelled by their file or list: {rows} rows"));
    }
    let (scenario, meaning) = match check.sampling.scheme {
        SamplingScheme::SingleSample => (
            Scenario::SingleSample.slug(),
            "new rows are taken to have the class shares of labelled rows and pool together; if the labelled rows were collected separately, say --scenario case-control",
        ),
        SamplingScheme::CaseControl => (
            Scenario::CaseControl.slug(),
            "new rows are taken to have the class shares of the pool; if labelled rows and pool are one population, say --scenario single-sample",
        ),
        SamplingScheme::Unknown => ("not known", "the rows themselves cannot tell"),
    };
    let why = &check.sampling.why;
    text += &say(format!("scenario: {scenario}, because {why}; {meaning}"));
    if !check.columns.is_empty() {
        text += &rendered(&columns(check))?;
    }
    if check.missing() > 0 {
        let missing = check.missing();
        text += &say(format!(
            "missing values: {missing}; a forest takes them as they are, a network takes the median or the most frequent category, unless --missing says otherwise"
        ));
    }
    text += &say(format!(
        "duplicate rows: {}; labelled rows that are also in the pool: {}",
        check.duplicates.rows, check.duplicates.labeled_in_pool
    ));
    for suspect in &check.leakage {
        text += &say(format!(
            "suspected leakage: {} alone almost separates labelled from unlabelled rows (AUC {:.3})",
            suspect.column, suspect.auc
        ));
    }
    if let Some(held) = held_out {
        text += &held.describe(format);
    }
    for warning in &check.warnings {
        text += &say(format!("warning: {warning}"));
    }
    Ok(text)
}

fn columns(check: &DataCheck) -> Table {
    let mut columns = Table::with("column | type | missing: | constant");
    for column in &check.columns {
        let kind = match column.kind {
            ColumnType::Numeric => "number".to_owned(),
            ColumnType::Categorical(n) => format!("{n} categories"),
        };
        let constant = if column.constant { "yes" } else { "" };
        let missing = column.missing.to_string();
        columns.push([column.name.clone(), kind, missing, constant.to_owned()]);
    }
    columns
}
