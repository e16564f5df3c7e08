//! The second pass: rows go straight to their place in the matrix.

use std::path::Path;

use rayon::prelude::*;

use super::block::{Block, BlockSource, next_blocks};
use super::encoder::{Encoded, Encoder, Target};
use super::error::{CHANGED, Result, TableError};
use super::options::Missing;
use super::scan::TableScan;
use super::schema::{ColumnKind, FeatureSchema};
use super::stats::{column_stats, median};
use crate::Features;

/// Refuses a matrix that is larger than allowed.
pub(super) fn check_matrix(file: &Path, n_rows: u64, width: usize, limit: u64) -> Result<()> {
    let bytes = n_rows.saturating_mul(width as u64).saturating_mul(4);
    if bytes > limit || usize::try_from(bytes).is_err() {
        return Err(TableError::too_big(
            file,
            format_args!("a matrix of {n_rows} rows and {width} features"),
            bytes,
            limit,
            "matrix-bytes",
        ));
    }
    Ok(())
}

/// Encodes the rows of `source`, of which `scan` knows how many each block has, into `matrix`.
pub(super) fn fill(
    source: &mut dyn BlockSource,
    file: &Path,
    scan: &TableScan,
    encoder: &Encoder<'_>,
    mut matrix: &mut [f32],
    mut gather: impl FnMut(Encoded),
) -> Result<()> {
    let changed = || TableError::file(file, CHANGED);
    let width = encoder.width();
    let mut counts = scan.block_rows.iter();
    loop {
        let blocks = next_blocks(source)?;
        if blocks.is_empty() {
            break;
        }
        let mut tasks: Vec<(&Block, &mut [f32])> = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let n_rows = counts.next().ok_or_else(changed)?;
            let (rows, rest) = std::mem::take(&mut matrix)
                .split_at_mut_checked(n_rows * width)
                .ok_or_else(changed)?;
            matrix = rest;
            tasks.push((block, rows));
        }
        let results: Vec<Result<Encoded>> = tasks
            .into_par_iter()
            .map(|(block, rows)| {
                let n_rows = rows.len() / width;
                let encoded = encoder.encode(block, Target::Fill(rows))?;
                if encoded.n_rows != n_rows {
                    return Err(changed());
                }
                Ok(encoded)
            })
            .collect();
        for encoded in results {
            gather(encoded?);
        }
    }
    if counts.next().is_some() {
        return Err(changed());
    }
    Ok(())
}

/// Learns what stands in for missing numbers, writes it into the schema, and fills the gaps if they are to be filled.
pub(super) fn impute(schema: &mut FeatureSchema, features: &mut Features) {
    if schema.missing == Missing::Error {
        return;
    }
    let matrix = features.values();
    let width = schema.width();
    let stats = column_stats(matrix, width);
    let mut at = 0;
    for column in &mut schema.columns {
        let width_of_column = column.width();
        if let ColumnKind::Numeric { impute, .. } = &mut column.kind {
            *impute = match schema.missing {
                Missing::Mean => Some(stats[at].mean()),
                _ => median(matrix, width, at),
            };
        }
        at += width_of_column;
    }
    let gapless = stats
        .iter()
        .all(|stats| stats.count as usize == matrix.len() / width);
    if !gapless && schema.missing != Missing::Keep {
        schema.fill(features.values_mut());
    }
}

impl FeatureSchema {
    /// What a row without any value is filled with: for each feature what stands in for NaN.
    pub fn imputed(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.width()];
        for (at, column) in self.placed() {
            match &column.kind {
                ColumnKind::Numeric { impute, .. } => values[at] = impute.unwrap_or_default(),
                ColumnKind::Categorical { impute, .. } => {
                    if let Some(category) = impute {
                        values[at + category] = 1.0;
                    }
                }
            }
        }
        values
    }

    /// Puts what stands in for a missing value wherever encoded rows hold NaN.
    pub fn fill(&self, rows: &mut [f32]) {
        let values = self.imputed();
        rows.par_chunks_mut(values.len()).for_each(|row| {
            for (value, imputed) in row.iter_mut().zip(&values) {
                if value.is_nan() {
                    *value = *imputed;
                }
            }
        });
    }
}
