//! The class shares of the rows to score, estimated from the rows themselves.

use mpu::{Classifier, Place, TargetSample};
use rayon::prelude::*;

use super::rows::Blocks;
use super::{no_rows, stopped};
use crate::args::predict::Predict;
use crate::commands::decision::Estimate;
use crate::console::{Bar, Interrupts};

/// Reads all rows once, keeps the probabilities of a sample, and finds the shares that make it likeliest.
pub(super) fn estimate(
    args: &Predict,
    model: &Classifier,
    interrupted: &Interrupts,
    bar: &Bar,
) -> anyhow::Result<Estimate> {
    bar.set_message("estimating class shares");
    let mut blocks = Blocks::open(model.schema()?, args)?;
    let width = blocks.width();
    let k = model.names().len();
    let mut sample = TargetSample::new(model.classes());
    let mut rows = 0;
    while let Some(block) = blocks.next()? {
        stopped(interrupted)?;
        rows += block.n_rows as u64;
        // Only rows that may be kept are scored.
        let wanted: Vec<usize> = (0..block.n_rows)
            .filter(|&row| sample.wants(block.first_row + row as u64))
            .collect();
        let part = |part: &[usize]| -> anyhow::Result<Vec<f64>> {
            let mut values = Vec::with_capacity(part.len() * width);
            for &row in part {
                values.extend_from_slice(&block.values[row * width..(row + 1) * width]);
            }
            let place = Place {
                file: Some(&args.data),
                number: &|row| block.first_row + part[row] as u64 + 1,
            };
            let scores = model.part_scores(&values, &place)?;
            Ok(model.probabilities(&scores)?)
        };
        let parts: Vec<anyhow::Result<Vec<f64>>> =
            wanted.par_chunks(model.part_rows()).map(part).collect();
        for (rows, probabilities) in wanted.chunks(model.part_rows()).zip(parts) {
            let rows = rows.iter().map(|&row| block.first_row + row as u64);
            for (row, p) in rows.zip(probabilities?.chunks(k)) {
                sample.add(row, p);
            }
        }
        bar.inc(block.n_rows as u64);
    }
    anyhow::ensure!(rows > 0, no_rows(args));
    let going = || stopped(interrupted).map_err(|error| mpu::Error::Stopped(error.to_string()));
    let found = sample.estimate(model, going);
    stopped(interrupted)?;
    let found = found?;
    bar.set_position(0);
    let estimate = Estimate { rows, found };
    bar.suspend(|| estimate.tell(model));
    Ok(estimate)
}
