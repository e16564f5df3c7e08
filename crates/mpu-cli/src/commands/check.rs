//! `mpu-cli check`: what is understood of the user's own data, before anything runs.

use std::fmt::Write as _;

use mpu_data::table::{
    ColumnType, DataCheck, EncodeOptions, HeldOut, SamplingScheme, TableInput, read_held_out,
    read_table,
};
use mpu_report::{Align, Format, Table};
use serde::Serialize;

use crate::args;
use crate::commands::Answer;
use mpu::TableConfig;

/// What is said of a held-out file with true labels.
#[derive(Serialize)]
pub(crate) struct HeldOutCheck {
    rows: usize,
    classes: Vec<(String, usize)>,
    taken_as_negative: Vec<String>,
}

pub(crate) fn run(args: &args::Check) -> anyhow::Result<Answer> {
    // A check lists gaps rather than stopping at the first: by default they are filled in.
    let options = TableConfig::read(None, &args.table.assignments())?
        .data
        .options()?;
    let table = read_table(TableInput::file(&args.data), &options)?;
    let held_out = match &args.test {
        None => None,
        Some(path) => {
            let input = TableInput::file(path);
            let encoding = EncodeOptions::default();
            let held = read_held_out(input, &table.schema, &table.class_names, &encoding)?;
            Some(describe_held_out(&held, &table.class_names))
        }
    };
    let text = match args.report.format {
        Format::Json => {
            let value = serde_json::json!({ "check": table.check, "test": held_out });
            serde_json::to_string_pretty(&value)? + "\n"
        }
        format => describe(&table.check, held_out.as_ref(), format)?,
    };
    Ok(Answer::good(text))
}

fn describe_held_out(held: &HeldOut, names: &[String]) -> HeldOutCheck {
    let n_classes = names.len() + 1;
    let counts = mpu_data::dataset::count_classes(&held.classes, n_classes);
    let name = |class: usize| {
        names
            .get(class)
            .map_or("negative", String::as_str)
            .to_owned()
    };
    HeldOutCheck {
        rows: held.classes.len(),
        classes: counts
            .into_iter()
            .enumerate()
            .map(|(class, n)| (name(class), n))
            .collect(),
        taken_as_negative: held.negative_names.keys().cloned().collect(),
    }
}

pub(crate) fn describe(
    check: &DataCheck,
    held_out: Option<&HeldOutCheck>,
    format: Format,
) -> anyhow::Result<String> {
    let rendered = |table: &Table| mpu_report::render(format, table, &());
    let mut text = String::new();
    let files: Vec<String> = check
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let _ = writeln!(text, "read: {} ({})", files.join(", "), check.format);
    let _ = writeln!(
        text,
        "rows: {}, numbers per row: {}",
        check.rows, check.features
    );
    for (what, column) in [
        ("label column", &check.label_column),
        ("id column", &check.id_column),
    ] {
        if let Some(column) = column {
            let _ = writeln!(text, "{what}: {column}");
        }
    }
    if !check.excluded.is_empty() {
        let _ = writeln!(text, "left out: {}", check.excluded.join(", "));
    }
    let mut classes = Table::new([("class", Align::Left), ("labelled rows", Align::Right)]);
    for class in &check.classes {
        classes.push([class.name.clone(), class.labeled.to_string()]);
    }
    classes.push(["(unlabelled pool)".to_owned(), check.unlabeled.to_string()]);
    text += &rendered(&classes)?;
    for marker in &check.labels.markers {
        let _ = writeln!(
            text,
            "unlabelled rows are marked by {}: {} rows",
            marker.marker, marker.rows
        );
    }
    if check.labels.unlabeled_by_file > 0 {
        let rows = check.labels.unlabeled_by_file;
        let _ = writeln!(text, "unlabelled by their file or list: {rows} rows");
    }
    let scheme = match check.sampling.scheme {
        SamplingScheme::CaseControl => "case-control",
        SamplingScheme::SingleSample => "single-sample",
        SamplingScheme::Unknown => "unknown",
    };
    let _ = writeln!(text, "sampling: {scheme} ({})", check.sampling.why);
    if !check.columns.is_empty() {
        text += &rendered(&columns(check))?;
    }
    if check.missing() > 0 {
        let missing = check.missing();
        let _ = writeln!(
            text,
            "missing values: {missing}; in training they become the median or the most frequent category, unless --missing says otherwise"
        );
    }
    let _ = writeln!(
        text,
        "duplicate rows: {}; labelled rows that are also in the pool: {}",
        check.duplicates.rows, check.duplicates.labeled_in_pool
    );
    for suspect in &check.leakage {
        let _ = writeln!(
            text,
            "suspected leakage: {} alone almost separates labelled from unlabelled rows (AUC {:.3})",
            suspect.column, suspect.auc
        );
    }
    if let Some(held) = held_out {
        let counts: Vec<String> = held
            .classes
            .iter()
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        let _ = writeln!(text, "held out: {} rows: {}", held.rows, counts.join(", "));
        if !held.taken_as_negative.is_empty() {
            let _ = writeln!(
                text,
                "taken as negative: {}",
                held.taken_as_negative.join(", ")
            );
        }
    }
    for warning in &check.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    Ok(text)
}

fn columns(check: &DataCheck) -> Table {
    let mut columns = Table::new([
        ("column", Align::Left),
        ("type", Align::Left),
        ("missing", Align::Right),
        ("constant", Align::Left),
    ]);
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
