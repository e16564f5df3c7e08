//! What the first pass teaches: whether the values will do, and the schema.

use super::block::Header;
use super::error::{Result, TableError};
use super::input::TableInput;
use super::layout::Layout;
use super::looks::Look;
use super::near::{list, shorten};
use super::options::{Missing, TableOptions};
use super::scan::ColumnScan;
use super::schema::{ColumnKind, FeatureSchema, InputColumn, SCHEMA_VERSION};
use crate::Shape;

/// Refuses values that cannot become features.
pub(super) fn check_values(
    input: &TableInput,
    layout: &Layout,
    columns: &[ColumnScan],
    options: &TableOptions,
) -> Result<()> {
    let names = &layout.features;
    for (column, name) in columns.iter().zip(names) {
        if let Some((place, value)) = &column.first_infinite {
            return Err(TableError::not_finite(place, name, value));
        }
    }
    if options.missing == Missing::Error {
        let total = columns.iter().map(|column| column.missing).sum();
        let first = columns
            .iter()
            .zip(names)
            .filter_map(|(column, name)| Some((column.first_missing.clone()?, name)))
            .min_by(|a, b| a.0.at.cmp(&b.0.at));
        if let Some((place, name)) = first {
            return Err(TableError::missing_value(&place, name, Some(total)));
        }
    }
    let empty = columns
        .iter()
        .zip(names)
        .find(|(c, _)| c.numbers + c.texts == 0);
    if let Some((_, name)) = empty {
        return Err(input.refused(format!(
            "column `{}` has no value in any row\nhint: exclude it (--exclude)",
            shorten(name)
        )));
    }
    for (column, name) in columns.iter().zip(names) {
        let look = column.looks.most(column.texts);
        let said = options.categorical.contains(name);
        let (Some(look), Some((place, value)), false) = (look, &column.first_text, said) else {
            continue;
        };
        let value = shorten(value);
        if look == Look::Date {
            let what = format!(
                "`{value}` is a date or a time, and so are the others; such columns are not read\n\
                 hint: leave it out (--exclude), write it as a number (such as days since a fixed day), or say \
                 --categorical to take each date as a category of its own"
            );
            return Err(TableError::cell(place, name, what));
        }
        if column.categories.too_many {
            let what = format!(
                "`{value}` looks like a number, but is read as text, and there are too many to be categories\n\
                 hint: {}",
                separated_remedy(look)
            );
            return Err(TableError::cell(place, name, what));
        }
    }
    let too_many = columns.iter().zip(names);
    let too_many: Vec<&String> = too_many
        .filter(|(column, _)| column.categories.too_many)
        .map(|(_, name)| name)
        .collect();
    if !too_many.is_empty() {
        return Err(input.refused(format!(
            "text with more than {} different values in {}\n\
             hint: exclude such a column, name it as the id column, or raise the limit on categories (--max-categories)",
            options.max_categories,
            list(&too_many)
        )));
    }
    Ok(())
}

/// What to do about numbers with separators that are not read.
pub(super) fn separated_remedy(look: Look) -> &'static str {
    match look {
        Look::DecimalComma => "if the comma is a decimal comma, say --decimal-comma",
        Look::Adorned => {
            "write plain numbers, without units or signs of money, and a hyphen for minus"
        }
        _ => {
            "write numbers without separators between thousands, or, if it is a decimal comma, say --decimal-comma"
        }
    }
}

/// The schema of a table, still without what stands in for missing numbers.
pub(super) fn learn_schema(
    header: &Header,
    input: &TableInput,
    layout: &Layout,
    columns: &[ColumnScan],
    options: &TableOptions,
) -> Result<FeatureSchema> {
    let input_columns: Vec<InputColumn> = columns
        .iter()
        .zip(&layout.features)
        .map(|(column, name)| InputColumn {
            name: name.clone(),
            kind: if column.texts == 0 {
                ColumnKind::Numeric {
                    impute: None,
                    offset: 0.0,
                }
            } else {
                let counts = &column.categories.counts;
                // The most frequent category, the first of those that are equally frequent.
                let most = counts.values().max();
                let impute = counts.values().position(|count| Some(count) == most);
                ColumnKind::Categorical {
                    categories: counts.keys().cloned().collect(),
                    impute: impute.filter(|_| options.missing != Missing::Error),
                }
            },
        })
        .collect();
    let width: usize = input_columns.iter().map(InputColumn::width).sum();
    if width > options.limits.columns {
        return Err(TableError::too_many_columns(
            input.path(),
            width,
            options.limits.columns,
        ));
    }
    let image = header.image.filter(|shape| shape.len() == width);
    Ok(FeatureSchema {
        version: SCHEMA_VERSION,
        columns: input_columns,
        shape: image.unwrap_or(Shape::Vector(width)),
        label_column: layout.label.clone(),
        id_column: layout.id.clone(),
        excluded: layout.excluded.clone(),
        missing: options.missing,
        missing_markers: options.missing_markers.clone(),
        image_size: None,
        delimiter: options.delimiter.map(char::from),
        decimal: options.decimal,
        class_words: options.class_words.clone(),
    })
}
