//! From encoded rows to scores, probabilities and answers.

use std::path::Path;

use anyhow::Context as _;
use mpu_data::table::FeatureSchema;
use mpu_data::{ClassCount, Features, Priors, Scaler};
use mpu_eval::margins::top_margins;
use mpu_eval::shift::reweighted;
use mpu_eval::training_range::MARGIN;
use mpu_eval::{Calibration, Decision, TrainingRange};
use mpu_train::Predictor;

use crate::run_folder::Model;

/// What the class that is none of the observed ones is called in the output; the first that is free.
const UNKNOWN: [&str; 3] = ["unknown", "negative", "none of these"];

/// A model as it is used: everything between an encoded row and its probabilities.
pub(super) struct Scorer {
    predictor: Predictor,
    scaler: Scaler,
    calibration: Calibration,
    range: Option<TrainingRange>,
    pub(super) schema: FeatureSchema,
    /// The priors under which probabilities are calibrated.
    pub(super) pool: Priors,
    /// The observed classes, then what is none of them.
    pub(super) names: Vec<String>,
}

/// Some consecutive rows, scored. Probabilities are as they are written: `f32`, and answers are decided on these.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scored {
    /// `k` scores a row.
    pub(super) scores: Vec<f32>,
    /// `k` probabilities a row.
    pub(super) probabilities: Vec<f32>,
    /// The class answered.
    pub(super) answers: Vec<usize>,
    /// The highest probability less the second highest.
    pub(super) margins: Vec<f32>,
    /// The feature that is furthest outside the training range, if one is.
    pub(super) outside: Vec<Option<usize>>,
}

/// How probabilities become answers.
pub(super) struct Rule {
    /// The class shares of the rows to score, if they are not the pool's.
    pub(super) target: Option<Priors>,
    pub(super) decision: Decision,
}

impl Scorer {
    /// Takes the parts of a model out of its folder and checks that they fit together.
    pub(super) fn new(model: Model) -> anyhow::Result<Self> {
        let (folder, card) = (model.folder, model.card);
        let path = folder.path();
        let schema = card.schema.with_context(|| {
            format!(
                "{} is a model of the benchmark `{}`: it does not know which columns of a table are its inputs\nhint: train on your own rows with `mpu-cli train --data FILE`",
                path.display(),
                card.dataset
            )
        })?;
        let k = card.priors.classes().get();
        let calibration = if let Some(calibration) = card.calibration {
            calibration
        } else {
            tracing::warn!(
                "{} was trained without held-out rows: probabilities are the softmax of its scores and not calibrated",
                path.display()
            );
            Calibration::new(1.0, vec![Some(0.0); k])?
        };
        let width = schema.width();
        let widths = [
            (card.model.inputs(), width, "inputs"),
            (card.scaler.width(), width, "columns to scale"),
            (card.model.outputs(), k, "outputs"),
            (card.class_names.len(), k, "class names"),
            (calibration.n_classes(), k, "calibrated classes"),
        ];
        let ranges = card.range.iter().map(|r| (r.low().len(), width, "ranges"));
        for (found, needed, what) in widths.into_iter().chain(ranges) {
            anyhow::ensure!(
                found == needed,
                "{} is damaged: it has {found} {what} where {needed} are needed\nhint: train again, or copy the whole folder of the run",
                folder.file("model.json").display()
            );
        }
        let mut names = card.class_names;
        names.pop();
        let taken = |name: &&str| !names.iter().any(|class| class == name);
        let unknown = UNKNOWN.into_iter().find(taken).unwrap_or("negative class");
        names.push(unknown.to_owned());
        Ok(Self {
            predictor: Predictor::new(model.params)?,
            scaler: card.scaler,
            calibration,
            range: card.range,
            schema,
            pool: card.priors,
            names,
        })
    }

    pub(super) fn classes(&self) -> ClassCount {
        self.pool.classes()
    }

    /// The observed classes.
    pub(super) fn observed(&self) -> &[String] {
        &self.names[..self.names.len() - 1]
    }

    /// The class that is none of the observed ones.
    pub(super) fn unknown(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// Rows of a part that one thread works on at a time.
    pub(super) fn part_rows(&self) -> usize {
        4 * self.predictor.batch_rows()
    }

    /// The scores of encoded rows, not scaled yet. `place` says where they are from, for errors.
    pub(super) fn scores(&self, rows: &[f32], place: &Place<'_>) -> anyhow::Result<Vec<f32>> {
        let mut features = Features::new(rows.to_vec(), self.schema.shape())?;
        self.scaler.apply(&mut features)?;
        let scores = self.predictor.scores(features.values())?;
        if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
            let row = at / self.names.len();
            let outside =
                self.outside(&rows[row * self.schema.width()..][..self.schema.width()])?;
            let cause = outside.map(|feature| {
                let name = &self.schema.feature_names()[feature];
                format!(
                    "\nhint: look at `{name}`, which is far outside the range of the training rows"
                )
            });
            anyhow::bail!(
                "{}: the score of row {} for `{}` is not finite{}",
                place.file.display(),
                (place.number)(row),
                self.names[at % self.names.len()],
                cause.unwrap_or_default()
            );
        }
        Ok(scores)
    }

    /// Probabilities under the pool's priors.
    pub(super) fn pool_probabilities(&self, scores: &[f32]) -> anyhow::Result<Vec<f64>> {
        Ok(self.calibration.probabilities(scores)?)
    }

    /// Scores rows and answers them by a rule.
    pub(super) fn score(
        &self,
        rule: &Rule,
        rows: &[f32],
        place: &Place<'_>,
    ) -> anyhow::Result<Scored> {
        let scores = self.scores(rows, place)?;
        let mut exact = self.pool_probabilities(&scores)?;
        if let Some(target) = &rule.target {
            exact = reweighted(&self.pool, target, &exact)?;
        }
        let probabilities: Vec<f32> = exact.iter().map(|&p| p as f32).collect();
        let written: Vec<f64> = probabilities.iter().map(|&p| f64::from(p)).collect();
        let margins = top_margins(self.classes(), &probabilities)?;
        let outside = rows
            .chunks(self.schema.width())
            .map(|row| self.outside(row));
        Ok(Scored {
            answers: rule.decision.answers(self.classes(), &written)?,
            margins: margins.into_iter().map(|margin| margin as f32).collect(),
            outside: outside.collect::<anyhow::Result<_>>()?,
            scores,
            probabilities,
        })
    }

    fn outside(&self, row: &[f32]) -> anyhow::Result<Option<usize>> {
        let Some(range) = &self.range else {
            return Ok(None);
        };
        Ok(range.outside(row, MARGIN)?.map(|outside| outside.feature))
    }
}

/// Where rows are from.
pub(super) struct Place<'a> {
    pub(super) file: &'a Path,
    /// The number in the file, counted from 1, of each row of a part.
    pub(super) number: &'a dyn Fn(usize) -> u64,
}
