//! From rows to answers: scores, probabilities, decisions.

use std::borrow::Cow;

use mpu_data::Features;
use mpu_data::table::FeatureSchema;
use mpu_eval::margins::top_margins;
use mpu_eval::pu_metrics::{Evidence, Target, UncertainPriors};
use mpu_eval::shift::reweighted;
use mpu_eval::thresholds::{PrecisionThreshold, precision_thresholds};
use mpu_eval::training_range::MARGIN;
use rayon::prelude::*;

use super::Classifier;
use super::chosen::parallel;
use crate::error::{Context as _, Result, bail};
use crate::predictions::{Decided, Place, Predictions, Rule};
use crate::target_sample::{TargetEstimate, TargetSample};

impl Classifier {
    /// Scores rows and answers them.
    pub fn predict(&self, rows: &Features) -> Result<Predictions> {
        self.predict_by(&self.rule(), rows)
    }

    /// Scores rows and answers them by another rule.
    pub fn predict_by(&self, rule: &Rule, rows: &Features) -> Result<Predictions> {
        self.check_shape(rows)?;
        let width = self.card.shape.len();
        let parts: Vec<Predictions> = rows
            .values()
            .par_chunks(self.part_rows() * width)
            .enumerate()
            .map(|(part, values)| {
                let first = part * self.part_rows();
                let number = |row: usize| (first + row) as u64 + 1;
                let place = Place {
                    file: None,
                    number: &number,
                };
                self.predict_part(rule, values, &place)
            })
            .collect::<Result<_>>()?;
        let mut all = Predictions::default();
        for part in parts {
            all.extend(part);
        }
        Ok(all)
    }

    /// The names of the answers to rows, in their order.
    pub fn answers(&self, rows: &Features) -> Result<Vec<&str>> {
        let answers = self.predict(rows)?.answers;
        let name = |class: usize| self.names[class].as_str();
        Ok(answers.into_iter().map(name).collect())
    }

    /// The scores of rows, not scaled yet: `k` a row.
    pub fn scores(&self, rows: &Features) -> Result<Vec<f32>> {
        self.check_shape(rows)?;
        let parts: Vec<Vec<f32>> = rows
            .values()
            .par_chunks(self.part_rows() * self.card.shape.len())
            .map(|rows| self.scores_here(rows))
            .collect::<Result<_>>()?;
        Ok(parts.concat())
    }

    /// The scores of rows that are scaled already; only a network can give them.
    pub fn scaled_scores(&self, rows: &Features) -> Result<Vec<f32>> {
        self.check_shape(rows)?;
        let predictor = self.scorer.predictor();
        let predictor = predictor.context("a forest takes rows as they are, not scaled ones")?;
        parallel(predictor, rows.values())
    }

    /// The scores of rows, not scaled yet, on this thread.
    pub(crate) fn scores_here(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let features = Features::new(rows.to_vec(), self.card.shape)?;
        let schema = self.card.schema.as_ref();
        self.scorer.scores(schema, &self.card.scaler, &features)
    }

    fn check_shape(&self, rows: &Features) -> Result<()> {
        let (found, needed) = (rows.shape().len(), self.card.shape.len());
        if found != needed {
            bail!("rows of {found} numbers, but the model takes rows of {needed}");
        }
        Ok(())
    }

    /// Rows of a part that one thread works on at a time.
    pub fn part_rows(&self) -> usize {
        4 * self.scorer.batch_rows()
    }

    /// The scores of some encoded rows, not scaled yet, on this thread.
    pub fn part_scores(&self, rows: &[f32], place: &Place<'_>) -> Result<Vec<f32>> {
        let scores = self.scores_here(rows)?;
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let (row, width) = (at / self.names.len(), self.card.shape.len());
            let outside = self.outside(&rows[row * width..][..width])?;
            let names = self.card.schema.as_ref().map(FeatureSchema::feature_names);
            let cause = outside.zip(names).map(|(feature, names)| {
                format!(
                    "\nhint: look at `{}`, which is far outside the range of the training rows",
                    names[feature]
                )
            });
            bail!(
                "{}: the score for `{}` is not finite{}",
                place.of(row),
                self.names[at % self.names.len()],
                cause.unwrap_or_default()
            );
        }
        Ok(scores)
    }

    /// Scores some encoded rows, not scaled yet, on this thread, and answers them by a rule.
    pub fn predict_part(
        &self,
        rule: &Rule,
        rows: &[f32],
        place: &Place<'_>,
    ) -> Result<Predictions> {
        let scores = self.part_scores(rows, place)?;
        let decided = self.decide(rule, &scores)?;
        let probabilities: Vec<f32> = decided.probabilities.iter().map(|&p| p as f32).collect();
        let margins = top_margins(self.classes(), &probabilities)?;
        let width = self.card.shape.len();
        let outside = rows.chunks(width).map(|row| self.outside(row));
        Ok(Predictions {
            answers: decided.answers,
            margins: margins.into_iter().map(|margin| margin as f32).collect(),
            outside: outside.collect::<Result<_>>()?,
            scores,
            probabilities,
        })
    }

    /// Probabilities and answers that go with scores: what every command and judgement decides by.
    pub fn decide(&self, rule: &Rule, scores: &[f32]) -> Result<Decided> {
        let mut probabilities = self.probabilities(scores)?;
        if let Some(target) = &rule.target {
            probabilities = reweighted(self.priors(), target, &probabilities)
                .map_err(|error| crate::Error::from(error).naming(&self.names))?;
        }
        let written = written(&probabilities);
        let answers = rule.decision.answers(self.classes(), &written)?;
        Ok(Decided {
            probabilities,
            answers,
        })
    }

    /// Probabilities of scores under the pool's priors.
    pub fn probabilities(&self, scores: &[f32]) -> Result<Vec<f64>> {
        Ok(self.calibration.probabilities(scores)?)
    }

    /// The pool's priors and how far off they may be: by their intervals if they were estimated.
    pub fn uncertain_priors(&self) -> Result<UncertainPriors> {
        let priors = self.priors().clone();
        let Some(report) = &self.card.estimated_priors else {
            return Ok(UncertainPriors::exact(priors));
        };
        let intervals = report.classes.iter().map(|class| class.interval);
        let intervals: Vec<(f64, f64)> = intervals.map(|i| (i.low, i.high)).collect();
        Ok(UncertainPriors::with_intervals(priors, &intervals)?)
    }

    /// The population that a rule is about.
    pub fn target(&self, rule: &Rule) -> Target {
        match &rule.target {
            None => Target::Pool,
            Some(target) if Some(target) == self.card.population.as_ref() => {
                Target::Population(target.clone())
            }
            Some(target) => Target::Shares(target.clone()),
        }
    }

    /// The class shares of rows that may be unlike the population, for a [`Rule`] about them: those that make
    /// the rows likeliest, if they moved by more than chance.
    pub fn estimate_target(&self, rows: &Features) -> Result<TargetEstimate> {
        let mut sample = TargetSample::new(self.classes());
        sample.add_scores(self, 0, &self.scores(rows)?)?;
        sample.estimate(self, || Ok(()))
    }

    /// For each observed class, the probability from which on its answers are right as often as asked, by the
    /// held-out rows and with confidence; `targets` has a precision for every observed class. They make
    /// the rule stricter, never more generous.
    pub fn precision_thresholds(
        &self,
        rule: &Rule,
        targets: &[f64],
    ) -> Result<Vec<PrecisionThreshold>> {
        let held = self.held_out().with_context(|| {
            format!(
                "{} has no held-out.csv: a precision needs held-out rows\nhint: give --threshold, or train again",
                self.title()
            )
        })?;
        let decided = self.decide(rule, &held.scores)?;
        let evidence = Evidence {
            priors: &self.uncertain_priors()?,
            target: &self.target(rule),
            labels: &held.labels,
            probabilities: Some(&self.probabilities(&held.scores)?),
        };
        let written = written(&decided.probabilities);
        let found = precision_thresholds(&evidence, &decided.answers, &written, targets)?;
        Ok(found)
    }

    /// The feature by which an encoded row is farthest outside the range of the training rows, if it is. A missing
    /// value is not outside.
    pub(crate) fn outside(&self, row: &[f32]) -> Result<Option<usize>> {
        let Some(range) = &self.card.range else {
            return Ok(None);
        };
        let mut row = Cow::Borrowed(row);
        if let Some(schema) = &self.card.schema
            && row.iter().any(|value| value.is_nan())
        {
            schema.fill(row.to_mut());
        }
        Ok(range.outside(&row, MARGIN)?.map(|outside| outside.feature))
    }
}

/// Probabilities as they are written and decided on: `f32`.
fn written(exact: &[f64]) -> Vec<f64> {
    exact.iter().map(|&p| f64::from(p as f32)).collect()
}
