//! What was done, for people and for programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mpu_data::table::EncodeReport;
use mpu_report::{Align, Format, Table};
use serde::Serialize;

use crate::commands::decision::{ClassPrecision, Estimate};
use mpu::{Classifier, Predictions};

/// Outside rows beyond this share are told.
const MANY_OUTSIDE: f64 = 0.05;

/// Counts over all scored rows.
pub(super) struct Tally {
    rows: u64,
    answers: Vec<u64>,
    probabilities: Vec<f64>,
    outside: BTreeMap<usize, u64>,
}

impl Tally {
    pub(super) fn new(k: usize) -> Self {
        Self {
            rows: 0,
            answers: vec![0; k],
            probabilities: vec![0.0; k],
            outside: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, scored: &Predictions) {
        self.rows += scored.answers.len() as u64;
        for &answer in &scored.answers {
            self.answers[answer] += 1;
        }
        for row in scored.probabilities.chunks(self.probabilities.len()) {
            for (sum, &p) in self.probabilities.iter_mut().zip(row) {
                *sum += f64::from(p);
            }
        }
        for &feature in scored.outside.iter().flatten() {
            *self.outside.entry(feature).or_default() += 1;
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The classes in order.
    pub(super) fn classes(&self, model: &Classifier) -> Vec<ClassSummary> {
        let class = |(class, name): (usize, &String)| ClassSummary {
            class: name.clone(),
            answers: self.answers[class],
            mean_probability: self.probabilities[class] / self.rows.max(1) as f64,
        };
        model.names().iter().enumerate().map(class).collect()
    }

    /// The features that rows leave the range by, most frequent first.
    pub(super) fn outside(&self, model: &Classifier) -> mpu::Result<Vec<OutsideFeature>> {
        let names = model.schema()?.feature_names();
        let named = |(&feature, &rows): (&usize, &u64)| OutsideFeature {
            feature: names[feature].clone(),
            rows,
        };
        let mut features: Vec<OutsideFeature> = self.outside.iter().map(named).collect();
        features.sort_by_key(|feature| std::cmp::Reverse(feature.rows));
        Ok(features)
    }
}

/// What was done, as it is written in JSON.
#[derive(Serialize)]
pub(super) struct PredictionReport {
    pub(super) model: PathBuf,
    pub(super) data: PathBuf,
    pub(super) out: PathBuf,
    pub(super) rows: u64,
    pub(super) rows_written: u64,
    pub(super) classes: Vec<ClassSummary>,
    /// `argmax`, `thresholds`, `guarded` or `costs`.
    pub(super) decision: &'static str,
    /// The threshold of each observed class, where there are any; null for a class that is never answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thresholds: Option<Vec<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) precision: Option<Vec<ClassPrecision>>,
    /// `population`, `pool`, `uniform`, `estimate` or `given`.
    pub(super) target: &'static str,
    /// The class shares that probabilities are for, the unknown class last.
    pub(super) priors: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) estimate: Option<Estimate>,
    pub(super) outside_rows: u64,
    /// By which feature rows leave the range of the training rows most, most frequent first.
    pub(super) outside: Vec<OutsideFeature>,
    /// Unseen categories, missing values, columns passed over.
    pub(super) noticed: EncodeReport,
    pub(super) seconds: f64,
}

/// One class.
#[derive(Serialize)]
pub(super) struct ClassSummary {
    pub(super) class: String,
    pub(super) answers: u64,
    pub(super) mean_probability: f64,
}

/// A feature that rows leave the training range by.
#[derive(Serialize)]
pub(super) struct OutsideFeature {
    feature: String,
    rows: u64,
}

impl PredictionReport {
    /// Says on standard error what should not be overlooked.
    pub(super) fn warn(&self) {
        if self.outside_rows as f64 > MANY_OUTSIDE * self.rows as f64
            && let Some(most) = self.outside.first()
        {
            tracing::warn!(
                "{} of {} rows look unlike those trained on; {} of them leave the range of `{}`\nhint: check units and scaling of that column; the column `outside` marks the rows",
                self.outside_rows,
                self.rows,
                most.rows,
                most.feature
            );
        }
        for unseen in &self.noticed.unseen {
            let examples: Vec<String> = unseen.examples.keys().take(5).cloned().collect();
            tracing::warn!(
                "column `{}`: {} rows have categories that were not seen in training, such as {}",
                unseen.column,
                unseen.rows,
                examples.join(", ")
            );
        }
    }

    pub(super) fn describe(&self, format: Format) -> anyhow::Result<String> {
        let text = mpu_report::render(format, &self.table(), self)?;
        Ok(match format {
            Format::Table if self.out != std::path::Path::new("-") => {
                format!("{text}written: {}\n", self.out.display())
            }
            _ => text,
        })
    }

    fn table(&self) -> Table {
        let share = |rows: u64| {
            let share = 100.0 * rows as f64 / self.rows.max(1) as f64;
            format!("{rows} ({share:.1} %)")
        };
        let mut table = Table::new([("scored", Align::Left), ("rows", Align::Right)]);
        let mut push = |name: String, value: String| table.push([name, value]);
        push("all rows".to_owned(), self.rows.to_string());
        if self.rows_written != self.rows {
            let name = "written, as queues to review".to_owned();
            push(name, self.rows_written.to_string());
        }
        for class in &self.classes {
            push(format!("answered {}", class.class), share(class.answers));
        }
        push(
            "outside the training range".to_owned(),
            share(self.outside_rows),
        );
        for unseen in &self.noticed.unseen {
            let name = format!("with an unseen category of {}", unseen.column);
            push(name, share(unseen.rows));
        }
        for (column, &rows) in &self.noticed.imputed {
            push(format!("with {column} missing"), share(rows));
        }
        if !self.noticed.ignored.is_empty() {
            let name = format!("columns ignored: {}", self.noticed.ignored.join(", "));
            push(name, self.noticed.ignored.len().to_string());
        }
        table
    }
}
