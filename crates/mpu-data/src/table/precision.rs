//! Large numbers with small differences: features have 32 bits, so an offset is taken off first, in 64 bits.
//!
//! Seconds since 1970 are a multiple of 128 once they are `f32`. Where values lie far from 0 and so close together that
//! different ones would become equal, the first of them is subtracted before they are rounded. All other columns stay
//! as they are, to the bit.

use std::collections::BTreeMap;

use super::block::{BlockSource, for_each_block};
use super::cell::{Markers, Value};
use super::error::Result;
use super::layout::Role;
use super::schema::{ColumnKind, FeatureSchema};
use super::stats::column_stats;
use crate::Shape;

/// How many times farther from 0 than apart values must lie for an offset to be worth it.
const FAR: f32 = 16.0;

/// Whole numbers beyond this are not exact in `f32`.
const EXACT: f32 = 16_777_216.0;

/// How many different values of a column are looked at.
const MOST_VALUES: usize = 1 << 16;

/// A column that is looked at.
pub(super) struct Wanted {
    column: usize,
    /// The smallest value, rounded: what differences are measured from.
    near: f64,
    is_far: bool,
}

/// What was found of the columns that were looked at.
#[derive(Default)]
pub(super) struct Precision {
    offsets: Vec<(usize, f64)>,
    /// Columns in which different values become one all the same.
    pub(super) rounded: Vec<String>,
}

impl Precision {
    /// Puts the offsets into a schema; false if there are none.
    pub(super) fn apply(&self, schema: &mut FeatureSchema) -> bool {
        for (column, found) in &self.offsets {
            if let ColumnKind::Numeric { offset, .. } = &mut schema.columns[*column].kind {
                *offset = *found;
            }
        }
        !self.offsets.is_empty()
    }
}

/// The values of the columns, as they are and rounded.
pub(super) struct Seen(Vec<Values>);

#[derive(Default, Clone)]
struct Values {
    /// The difference of the first value of all: the offset.
    first: Option<f64>,
    /// By rounded value: the difference of the first value that has it.
    plain: BTreeMap<u32, f64>,
    /// The same with the offset taken off before rounding.
    shifted: BTreeMap<u32, f64>,
    merged: bool,
    merged_shifted: bool,
}

impl Values {
    fn see(&mut self, rounded: f32, difference: f64) {
        let is_new = |values: &mut BTreeMap<u32, f64>, rounded: f32| {
            let full = values.len() >= MOST_VALUES;
            match values.get(&rounded.to_bits()) {
                Some(&first) => first != difference,
                None if full => false,
                None => values.insert(rounded.to_bits(), difference).is_some(),
            }
        };
        self.merged = self.merged || is_new(&mut self.plain, rounded);
        let shifted = (difference - *self.first.get_or_insert(difference)) as f32;
        self.merged_shifted = self.merged_shifted || is_new(&mut self.shifted, shifted);
    }
}

impl Seen {
    /// Reads a table with an eye on the wanted columns only.
    pub(super) fn read(
        &mut self,
        source: &mut dyn BlockSource,
        roles: &[Role],
        wanted: &[Wanted],
        markers: &Markers,
    ) -> Result<()> {
        let place = |wanted: &Wanted| {
            roles
                .iter()
                .position(|r| *r == Role::Feature(wanted.column))
        };
        let places: Vec<Option<usize>> = wanted.iter().map(place).collect();
        for_each_block(
            source,
            |block| {
                let mut rows = Vec::new();
                block.for_each_row(|row| {
                    for (i, (wanted, place)) in wanted.iter().zip(&places).enumerate() {
                        let Some(cell) = place.and_then(|place| row.cells.get(place)) else {
                            continue;
                        };
                        if let Value::Number(rounded) = cell.numeric(markers)
                            && let Some(difference) = cell.difference(wanted.near, markers)
                        {
                            rows.push((i, rounded, difference));
                        }
                    }
                    Ok(())
                })?;
                Ok(rows)
            },
            |rows| {
                for (i, rounded, difference) in rows {
                    self.0[i].see(rounded, difference);
                }
                Ok(())
            },
        )
    }
}

/// Looks at columns whose rounded values lie far from 0 or are large; `read` reads them once more.
pub(super) fn look(
    schema: &FeatureSchema,
    matrix: &[f32],
    read: impl FnOnce(&[Wanted], &mut Seen) -> Result<()>,
) -> Result<Precision> {
    let mut found = Precision::default();
    if matches!(schema.shape, Shape::Image { .. }) {
        return Ok(found); // pixels
    }
    let stats = column_stats(matrix, schema.width());
    let mut wanted = Vec::new();
    for (column, (at, of)) in schema.placed().enumerate() {
        let stats = &stats[at];
        let largest = stats.max.abs().max(stats.min.abs());
        let is_far = largest > FAR * (stats.max - stats.min);
        let is_numeric = matches!(of.kind, ColumnKind::Numeric { .. });
        if is_numeric && stats.count > 0 && largest > 0.0 && (is_far || largest > EXACT) {
            wanted.push(Wanted {
                column,
                near: f64::from(stats.min),
                is_far,
            });
        }
    }
    if wanted.is_empty() {
        return Ok(found);
    }
    let mut seen = Seen(vec![Values::default(); wanted.len()]);
    read(&wanted, &mut seen)?;
    for (wanted, values) in wanted.iter().zip(&seen.0) {
        if !values.merged {
            continue;
        }
        if wanted.is_far {
            let offset = wanted.near + values.first.unwrap_or_default();
            found.offsets.push((wanted.column, offset));
        }
        if !wanted.is_far || values.merged_shifted {
            found
                .rounded
                .push(schema.columns[wanted.column].name.clone());
        }
    }
    Ok(found)
}
