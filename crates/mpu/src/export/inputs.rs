//! The part of a model card that says what the model takes.

use std::fmt::Write as _;

use mpu_data::table::{ColumnKind, FeatureSchema, InputColumn, Missing};
use mpu_data::{Scaling, Shape};
use mpu_models::onnx::FEATURES;
use mpu_report::Table;

use super::card::{code, plain};
use crate::folder::ModelCard;

/// Categories that are listed of one column; the names of all features are in the ONNX file.
const MOST_CATEGORIES: usize = 30;

/// Features that are listed.
const MOST_FEATURES: usize = 200;

/// The inputs: shape, names and order, and how columns become features.
pub(crate) fn inputs(md: &mut String, card: &ModelCard) {
    let width = card.shape.len();
    let _ = write!(
        md,
        "\n## Inputs\n\n{}: float32, shape `[N, {width}]`, one row per item, any number N of rows. {}\n\n",
        code(FEATURES),
        match (&card.model, card.scaler.scaling()) {
            (None, _) => "Give features as they are: a forest needs no scaling.",
            (Some(_), Scaling::Raw) => "Features are not scaled.",
            (Some(_), _) => "Give features as they are: the model scales them itself.",
        }
    );
    let Some(schema) = &card.schema else {
        let _ = writeln!(
            md,
            "The features are those of the benchmark {} in its own order.",
            plain(&card.dataset)
        );
        return;
    };
    if schema.is_images() {
        if let Shape::Image {
            channels,
            height,
            width,
        } = schema.shape()
        {
            let _ = writeln!(
                md,
                "Rows are images, {width} wide and {height} high, in {channels} channels (1: grey, 3: red, green, blue), flat in the order channel, row, column, pixels from 0 to 255."
            );
        }
        return;
    }
    md.push_str("How columns become features, in this order:\n\n");
    md.push_str(&columns(schema, card).to_md());
    md.push_str(
        "\nA categorical column becomes one feature for each category listed: 1 for the row's own, 0 for the others. A \
         category that is not listed becomes 0 in all of them.\n",
    );
    if schema.missing() != Missing::Error {
        let _ = write!(
            md,
            "\nA missing value is NaN in every feature of its column. {}\n",
            match (&card.forest, &card.model) {
                (Some(_), None) => "The forest takes it as it is.",
                (Some(_), Some(_)) =>
                    "The forest takes it as it is; for the network the model fills in what the table says.",
                (None, _) => "The model fills in what the table says.",
            }
        );
    }
    let names = schema.feature_names();
    let shown: Vec<String> = names.iter().take(MOST_FEATURES).map(|n| code(n)).collect();
    let more = match names.len().saturating_sub(MOST_FEATURES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let _ = write!(
        md,
        "\nFeatures in order: {}{more}. The ONNX file keeps all names in its metadata under `features`, and the whole \
         encoding under `schema`.\n",
        shown.join(", ")
    );
    if let Some(id) = schema.id_column() {
        let id = code(id);
        let _ = writeln!(md, "\nThe column {id} names rows and is not a feature.");
    }
    if !schema.excluded().is_empty() {
        let left: Vec<String> = schema.excluded().iter().map(|name| code(name)).collect();
        let _ = writeln!(md, "\nLeft out: {}.", left.join(", "));
    }
}

fn columns(schema: &FeatureSchema, card: &ModelCard) -> Table {
    let mut table = Table::with("column | features: | kind | a missing value becomes");
    let mut first = 0;
    for column in schema.columns() {
        let (kind, filled) = kind(column);
        let gap = match (&card.forest, &card.model) {
            _ if schema.missing() == Missing::Error => filled,
            (Some(_), None) => "NaN".to_owned(),
            (Some(_), Some(_)) => format!("NaN; for the network {filled}"),
            (None, _) => filled,
        };
        let last = first + column.width() - 1;
        let place = if first == last {
            first.to_string()
        } else {
            format!("{first}–{last}")
        };
        first = last + 1;
        table.push([column.name.clone(), place, kind, gap]);
    }
    table
}

fn kind(column: &InputColumn) -> (String, String) {
    let refused = || "refused".to_owned();
    match &column.kind {
        ColumnKind::Numeric { impute, offset } => (
            if *offset == 0.0 {
                "number".to_owned()
            } else {
                format!("number less {offset}; subtract it in 64 bits")
            },
            impute.map_or_else(refused, |value| value.to_string()),
        ),
        ColumnKind::Categorical { categories, impute } => {
            let shown = &categories[..categories.len().min(MOST_CATEGORIES)];
            let more = match categories.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let gap = impute.and_then(|at| categories.get(at).cloned());
            (
                format!("one of {}{more}", shown.join(", ")),
                gap.unwrap_or_else(refused),
            )
        }
    }
}
