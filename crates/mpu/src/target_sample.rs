//! The class shares of rows to score, estimated from a sample of them.

use mpu_data::split::Scenario;
use mpu_data::{ClassCount, MpuLabel, Priors, scramble};
use mpu_eval::shift::{Moved, Shift, ShiftEstimate, reweighted};
use serde::Serialize;

use crate::classifier::Classifier;
use crate::error::Result;

/// The most rows an estimate keeps: its sampling error is then far below that of the model.
const SAMPLE_ROWS: usize = 100_000;
/// The most probabilities it keeps.
const SAMPLE_NUMBERS: usize = 1 << 22;

/// Estimated shares.
#[derive(Debug, Clone, Serialize)]
pub struct TargetEstimate {
    /// The shares to use: those found if they moved by more than chance, else those of the model's population.
    pub priors: Priors,
    /// Whether they moved.
    pub moved: bool,
    /// Rows that the estimate was made from.
    pub sampled_rows: usize,
    /// How much more likely the rows are under the shares found.
    pub statistic: f64,
    /// What that must exceed to count as moved.
    pub limit: f64,
    /// The shares that make the rows likeliest.
    pub found: ShiftEstimate,
}

/// A sample of bounded size from a stream of unknown length: rows whose mark, a fixed scramble of
/// their number, is below a limit, which is halved whenever they become too many. It does not depend on how
/// the stream is cut.
#[derive(Debug, Clone)]
pub struct TargetSample {
    k: usize,
    most: usize,
    limit: u64,
    marks: Vec<u64>,
    /// Under the pool's priors.
    probabilities: Vec<f64>,
}

impl TargetSample {
    /// An empty sample.
    pub fn new(classes: ClassCount) -> Self {
        let k = classes.get();
        Self {
            k,
            most: SAMPLE_ROWS.min(SAMPLE_NUMBERS / k).max(1),
            limit: u64::MAX,
            marks: Vec::new(),
            probabilities: Vec::new(),
        }
    }

    /// Whether a row may be kept; other rows need not be scored.
    pub fn wants(&self, row: u64) -> bool {
        scramble(row) <= self.limit
    }

    /// Adds consecutive rows by their scores.
    pub fn add_scores(&mut self, model: &Classifier, first_row: u64, scores: &[f32]) -> Result<()> {
        let probabilities = model.probabilities(scores)?;
        for (row, p) in probabilities.chunks(self.k).enumerate() {
            self.add(first_row + row as u64, p);
        }
        Ok(())
    }

    /// Adds a row by its probabilities under the pool's priors.
    pub fn add(&mut self, row: u64, probabilities: &[f64]) {
        if !self.wants(row) {
            return;
        }
        self.marks.push(scramble(row));
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

    /// The shares that make the sample likeliest, and whether they moved. `going` is asked before every pass over
    /// the sample; its error ends the work.
    pub fn estimate(
        &self,
        model: &Classifier,
        going: impl Fn() -> Result<()>,
    ) -> Result<TargetEstimate> {
        let population = model.population();
        let in_population = |p: &[f64]| reweighted(model.priors(), population, p);
        let rows = in_population(&self.probabilities)?;
        let mut shift = Shift::new(population.clone());
        while shift.stop().is_none() {
            going()?;
            shift.add(&rows)?;
            shift.step()?;
        }
        let found = shift.estimate().clone();
        let known = known_rows(model)?;
        let sampled_rows = self.marks.len();
        // Without rows to compare with, what was found is all there is.
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            return Ok(TargetEstimate {
                priors: found.priors.clone(),
                moved: true,
                sampled_rows,
                statistic: 2.0 * found.gain * sampled_rows as f64,
                limit: 0.0,
                found,
            });
        };
        let known = in_population(&known)?;
        let moved = Moved::new(population, &found.priors, &rows, &known)?;
        Ok(TargetEstimate {
            priors: moved.priors,
            moved: moved.moved,
            sampled_rows,
            statistic: moved.statistic,
            limit: moved.limit,
            found,
        })
    }
}

/// Probabilities of rows that were not trained on and come from the model's population: with the labelled ones if
/// these are part of it, and calibrated.
fn known_rows(model: &Classifier) -> Result<Option<Vec<f64>>> {
    let (Some(held), Some(_)) = (model.held_out(), &model.card().calibration) else {
        return Ok(None);
    };
    let k = model.classes().get();
    let p = model.probabilities(&held.scores)?;
    let one_population =
        model.card().population.is_some() && model.card().scenario == Scenario::SingleSample;
    let rows = p.chunks(k).zip(&held.labels);
    let known = rows.filter(|(_, label)| one_population || **label == MpuLabel::Unlabeled);
    Ok(Some(known.flat_map(|(p, _)| p).copied().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_bounded_and_even() {
        let mut sample = TargetSample::new(ClassCount::new(2).unwrap());
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
