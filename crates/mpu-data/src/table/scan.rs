//! The first pass: types, categories, gaps and labels, in constant memory.

use std::collections::BTreeMap;

use super::block::{Block, BlockSource, for_each_block};
use super::cell::{Cell, Markers, Value, is_plain_number};
use super::error::Result;
use super::labels::LabelScan;
use super::layout::Role;
use super::looks::Looks;
use super::place::{At, Place};

/// What a pass over a table found.
#[derive(Debug)]
pub(super) struct TableScan {
    pub(super) columns: Vec<ColumnScan>,
    pub(super) labels: LabelScan,
    /// How many rows each block has: the second pass must find the same.
    pub(super) block_rows: Vec<usize>,
}

impl TableScan {
    pub(super) fn n_rows(&self) -> u64 {
        self.block_rows.iter().map(|rows| *rows as u64).sum()
    }
}

/// What a column holds.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnScan {
    pub(super) numbers: u64,
    pub(super) texts: u64,
    pub(super) missing: u64,
    pub(super) first_text: Option<(Place, String)>,
    pub(super) first_missing: Option<Place>,
    pub(super) first_infinite: Option<(Place, String)>,
    /// The first number that begins with zeros that say nothing, such as `007`.
    pub(super) first_padded: Option<String>,
    pub(super) categories: Categories,
    /// What its texts look like.
    pub(super) looks: Looks,
}

/// The different texts of a column, up to a limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Categories {
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) too_many: bool,
}

impl Categories {
    fn see(&mut self, text: &str, n: u64, limit: usize) {
        if self.too_many {
            return;
        }
        if let Some(count) = self.counts.get_mut(text) {
            *count += n;
        } else if self.counts.len() < limit {
            self.counts.insert(text.to_owned(), n);
        } else {
            self.too_many = true;
            self.counts.clear();
        }
    }
}

/// What the pass is to look for.
pub(super) struct ScanPlan<'p> {
    /// The role of each column of the file.
    pub(super) roles: &'p [Role],
    /// Whether each feature column is text even where it looks like a number.
    pub(super) categorical: &'p [bool],
    pub(super) markers: &'p Markers,
    /// What stands for a missing label.
    pub(super) label_markers: &'p Markers,
    pub(super) max_categories: usize,
}

/// Reads a table once.
pub(super) fn scan(source: &mut dyn BlockSource, plan: &ScanPlan<'_>) -> Result<TableScan> {
    let mut whole = TableScan {
        columns: vec![ColumnScan::default(); plan.categorical.len()],
        labels: LabelScan::default(),
        block_rows: Vec::new(),
    };
    for_each_block(
        source,
        |block| scan_block(block, plan),
        |part| {
            whole.labels.merge(part.labels);
            whole.block_rows.extend(part.block_rows);
            merge(&mut whole.columns, part.columns, plan.max_categories);
            Ok(())
        },
    )?;
    Ok(whole)
}

/// Adds what was found in later rows, or in another file.
pub(super) fn merge(whole: &mut [ColumnScan], part: Vec<ColumnScan>, max_categories: usize) {
    for (column, more) in whole.iter_mut().zip(part) {
        column.numbers += more.numbers;
        column.texts += more.texts;
        column.missing += more.missing;
        column.first_text = column.first_text.take().or(more.first_text);
        column.first_missing = column.first_missing.take().or(more.first_missing);
        column.first_infinite = column.first_infinite.take().or(more.first_infinite);
        column.first_padded = column.first_padded.take().or(more.first_padded);
        column.looks.merge(more.looks);
        for (text, n) in more.categories.counts {
            column.categories.see(&text, n, max_categories);
        }
        if more.categories.too_many {
            column.categories.too_many = true;
            column.categories.counts.clear();
        }
    }
}

fn scan_block(block: &Block, plan: &ScanPlan<'_>) -> Result<TableScan> {
    let mut columns = vec![ColumnScan::default(); plan.categorical.len()];
    let mut labels = LabelScan::default();
    let mut n_rows = 0;
    block.for_each_row(|row| {
        n_rows += 1;
        for (cell, role) in row.cells.iter().zip(plan.roles) {
            match role {
                Role::Feature(feature) => {
                    let column = &mut columns[*feature];
                    if plan.categorical[*feature] {
                        scan_text(column, *cell, block, row.at, plan);
                    } else {
                        scan_value(column, *cell, block, row.at, plan);
                    }
                }
                Role::Label => match cell.categorical(plan.label_markers) {
                    Some(text) => labels.see(&text, row.at),
                    None => labels.see_blank(&cell.text(), row.at),
                },
                Role::Skip | Role::Id | Role::Key => {}
            }
        }
        Ok(())
    })?;
    Ok(TableScan {
        columns,
        labels,
        block_rows: vec![n_rows],
    })
}

#[inline]
fn scan_value(column: &mut ColumnScan, cell: Cell<'_>, block: &Block, at: At, plan: &ScanPlan<'_>) {
    if let Cell::Text(text @ [b'0', b'0'..=b'9', ..]) = cell
        && column.first_padded.is_none()
        && is_plain_number(text)
    {
        column.first_padded = Some(cell.text().into_owned());
    }
    if let Cell::Text(text) = cell
        && is_plain_number(text)
        && plan.markers.are_plain()
    {
        column.numbers += 1;
        return;
    }
    match cell.value(plan.markers) {
        Value::Number(value) => {
            column.numbers += 1;
            if value.is_infinite() && column.first_infinite.is_none() {
                column.first_infinite = Some((block.place(at), cell.text().into_owned()));
            }
        }
        Value::Missing => see_missing(column, block, at),
        Value::Text(text) => see_text(column, &text, block, at, plan),
    }
}

fn scan_text(column: &mut ColumnScan, cell: Cell<'_>, block: &Block, at: At, plan: &ScanPlan<'_>) {
    match cell.categorical(plan.markers) {
        Some(text) => see_text(column, &text, block, at, plan),
        None => see_missing(column, block, at),
    }
}

fn see_text(column: &mut ColumnScan, text: &str, block: &Block, at: At, plan: &ScanPlan<'_>) {
    column.texts += 1;
    column.looks.see(text);
    if column.first_text.is_none() {
        column.first_text = Some((block.place(at), text.to_owned()));
    }
    column.categories.see(text, 1, plan.max_categories);
}

fn see_missing(column: &mut ColumnScan, block: &Block, at: At) {
    column.missing += 1;
    if column.first_missing.is_none() {
        column.first_missing = Some(block.place(at));
    }
}
