//! The class shares of the rows to score, and their estimate from the rows themselves.

use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use indicatif::ProgressBar;
use mpu_data::Priors;
use mpu_eval::shift::{Shift, ShiftEstimate, Stop};
use rayon::prelude::*;
use serde::Serialize;

use super::rows::Blocks;
use super::{no_rows, stopped};
use crate::args::predict::{Predict, TargetPriors};
use mpu::{Classifier, Place};

/// The most rows an estimate keeps: its sampling error is then far below that of the model.
const SAMPLE_ROWS: usize = 100_000;
/// The most probabilities it keeps.
const SAMPLE_NUMBERS: usize = 1 << 22;

/// The class shares in force.
pub(super) struct Target {
    /// The shares, if they are not the pool's.
    pub(super) priors: Option<Priors>,
    pub(super) estimate: Option<Estimate>,
}

/// Estimated shares.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Estimate {
    /// All rows of the data.
    pub(super) rows: u64,
    /// Rows that the estimate was made from.
    pub(super) sampled_rows: usize,
    #[serde(flatten)]
    pub(super) found: ShiftEstimate,
}

/// The shares that the user asks for.
pub(super) fn target(
    args: &Predict,
    model: &Classifier,
    interrupted: &AtomicBool,
    bar: &ProgressBar,
) -> anyhow::Result<Target> {
    let priors = match &args.target_priors {
        TargetPriors::Pool => None,
        TargetPriors::Uniform => Some(Priors::uniform(model.classes())),
        TargetPriors::Given(each) => {
            let observed = each.of(model.observed(), "--target-priors")?;
            let priors = Priors::from_observed(&observed).with_context(|| {
                let unknown = model.unknown();
                format!("--target-priors: what is left of 1 is the share of `{unknown}`")
            })?;
            Some(priors)
        }
        TargetPriors::Estimate => {
            let estimate = estimate(args, model, interrupted, bar)?;
            return Ok(Target {
                priors: Some(estimate.found.priors.clone()),
                estimate: Some(estimate),
            });
        }
    };
    for (class, name) in model.names().iter().enumerate() {
        let new = priors
            .as_ref()
            .map_or(0.0, |priors| priors.as_slice()[class]);
        anyhow::ensure!(
            new == 0.0 || model.priors().as_slice()[class] > 0.0,
            "--target-priors {} gives `{name}` the share {new}, but the model was trained with a share of 0\nhint: train again with a share above 0",
            args.target_priors
        );
    }
    Ok(Target {
        priors,
        estimate: None,
    })
}

/// Reads all rows once, keeps the probabilities of a sample, and finds the shares that make it likeliest.
fn estimate(
    args: &Predict,
    model: &Classifier,
    interrupted: &AtomicBool,
    bar: &ProgressBar,
) -> anyhow::Result<Estimate> {
    bar.set_message("estimating priors");
    let mut blocks = Blocks::open(model.schema()?, args)?;
    let width = blocks.width();
    let mut sample = Sample::new(model.names().len());
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
            for (row, p) in rows.zip(probabilities?.chunks(sample.k)) {
                sample.add(row, p);
            }
        }
        bar.inc(block.n_rows as u64);
    }
    anyhow::ensure!(rows > 0, no_rows(args));
    let mut shift = Shift::new(model.priors().clone());
    while shift.stop().is_none() {
        stopped(interrupted)?;
        shift.add(&sample.probabilities)?;
        shift.step()?;
    }
    bar.set_position(0);
    let found = shift.estimate().clone();
    let estimate = Estimate {
        rows,
        sampled_rows: sample.marks.len(),
        found,
    };
    estimate.tell(model, bar);
    Ok(estimate)
}

impl Estimate {
    fn tell(&self, model: &Classifier, bar: &ProgressBar) {
        let shares = self.found.priors.as_slice().iter().zip(model.names());
        let shares: Vec<String> = shares
            .map(|(share, name)| format!("{name}={share:.4}"))
            .collect();
        let of = if (self.sampled_rows as u64) < self.rows {
            format!("a sample of {} of {} rows", self.sampled_rows, self.rows)
        } else {
            format!("{} rows", self.rows)
        };
        bar.suspend(|| {
            tracing::warn!("estimated priors, from {of}: {}", shares.join(", "));
            if self.found.stop == Some(Stop::Limit) {
                tracing::warn!(
                    "the estimate had not settled after {} steps (last change {:.1e})",
                    self.found.iterations,
                    self.found.change
                );
            }
        });
    }
}

/// A sample of bounded size from a stream of unknown length: rows whose mark, a fixed scramble of
/// their number, is below a limit, which is halved whenever they become too many. It does not depend on how
/// the stream is cut.
struct Sample {
    k: usize,
    most: usize,
    limit: u64,
    marks: Vec<u64>,
    probabilities: Vec<f64>,
}

impl Sample {
    fn new(k: usize) -> Self {
        Self {
            k,
            most: SAMPLE_ROWS.min(SAMPLE_NUMBERS / k).max(1),
            limit: u64::MAX,
            marks: Vec::new(),
            probabilities: Vec::new(),
        }
    }

    fn wants(&self, row: u64) -> bool {
        mark(row) <= self.limit
    }

    fn add(&mut self, row: u64, probabilities: &[f64]) {
        if !self.wants(row) {
            return;
        }
        self.marks.push(mark(row));
        self.probabilities.extend_from_slice(probabilities);
        while self.marks.len() > self.most {
            self.limit /= 2;
            let kept: Vec<usize> = (0..self.marks.len())
                .filter(|&at| self.marks[at] <= self.limit)
                .collect();
            for (to, &from) in kept.iter().enumerate() {
                self.marks[to] = self.marks[from];
                let k = self.k;
                self.probabilities
                    .copy_within(from * k..(from + 1) * k, to * k);
            }
            self.marks.truncate(kept.len());
            self.probabilities.truncate(kept.len() * self.k);
        }
    }
}

/// The splitmix64 scramble.
fn mark(row: u64) -> u64 {
    let mut z = row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predict_samples_stay_bounded_and_even() {
        let mut sample = Sample::new(2);
        sample.most = 1000;
        // A period of two, which a stride would miss.
        for row in 0..50_000u64 {
            let p = (row % 2) as f64;
            sample.add(row, &[p, 1.0 - p]);
        }
        let n = sample.marks.len();
        assert!((400..=1000).contains(&n), "{n}");
        assert_eq!(sample.probabilities.len(), 2 * n);
        let mean = sample.probabilities.iter().step_by(2).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.08, "{mean}");
        let rows = sample.probabilities.chunks(2);
        assert!(rows.clone().all(|p| p[0] + p[1] == 1.0));
    }
}
