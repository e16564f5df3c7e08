//! What the first pass teaches: whether the values will do, and the schema.

use super::block::Header;
use super::error::{Result, TableError};
use super::input::TableInput;
use super::layout::Layout;
use super::looks::Look;
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
    let file = input.path();
    let infinite = columns.iter().zip(names).find_map(|(column, name)| {
        let (place, value) = column.first_infinite.clone()?;
        Some((place, name.clone(), value))
    });
    if let Some((place, column, value)) = infinite {
        return Err(TableError::NotFinite {
            place,
            column,
            value,
        });
    }
    if options.missing == Missing::Error {
        let total = columns.iter().map(|column| column.missing).sum();
        let first = columns
            .iter()
            .zip(names)
            .filter_map(|(column, name)| Some((column.first_missing.clone()?, name)))
            .min_by(|a, b| a.0.at.cmp(&b.0.at));
        if let Some((place, name)) = first {
            return Err(TableError::MissingValue {
                place,
                column: name.clone(),
                total: Some(total),
            });
        }
    }
    let empty = columns
        .iter()
        .zip(names)
        .find(|(c, _)| c.numbers + c.texts == 0);
    if let Some((_, name)) = empty {
        return Err(TableError::AllMissing {
            file: file.to_path_buf(),
            column: name.clone(),
        });
    }
    for (column, name) in columns.iter().zip(names) {
        let look = column.looks.most(column.texts);
        let said = options.categorical.contains(name);
        let (Some(look), Some((place, value)), false) = (look, &column.first_text, said) else {
            continue;
        };
        let (place, column_name, value) = (place.clone(), name.clone(), value.clone());
        if look == Look::Date {
            return Err(TableError::Dates {
                place,
                column: column_name,
                value,
            });
        }
        if column.categories.too_many {
            return Err(TableError::SeparatedNumbers {
                place,
                column: column_name,
                value,
                remedy: separated_remedy(look),
            });
        }
    }
    let too_many: Vec<String> = columns
        .iter()
        .zip(names)
        .filter(|(column, _)| column.categories.too_many)
        .map(|(_, name)| name.clone())
        .collect();
    if !too_many.is_empty() {
        return Err(TableError::TooManyCategories {
            file: file.to_path_buf(),
            columns: too_many,
            limit: options.max_categories,
        });
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
        return Err(TableError::TooManyColumns {
            file: input.path().to_path_buf(),
            found: width,
            limit: options.limits.columns,
        });
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
