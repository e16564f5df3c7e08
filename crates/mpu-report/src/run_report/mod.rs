//! The report of one run, or of several side by side.
//!
//! [`RunReport`] is plain values that whoever trained fills in; JSON of them is the report for programs.
//! [`sections`], [`to_html`] and [`to_md`] make it readable. A part that a run has not is left out, and the
//! report says why.
//!
//! ```
//! use mpu_report::run_report::{self, Basis, Part, RunReport, Score, ScoreKind};
//!
//! let run = RunReport {
//!     name: "first try".to_owned(),
//!     scores: vec![Score::new("accuracy", ScoreKind::Share, Basis::TrueLabels, 0.913)],
//!     answers: Part::missing("the data have no test rows"),
//!     ..RunReport::default()
//! };
//! assert!(run_report::to_md(&[run]).contains("91.3 %"));
//! ```

mod cite;
mod findings;
#[cfg(test)]
mod made_up;
mod sections;
mod summary;
mod tables;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::figures::{
    Answers, ColumnWeights, ExpectedCounts, PrecisionRecall, PriorEstimates, PriorSensitivity,
    Reliability, RunCurves, ScoreHistograms, Thresholds,
};
use crate::page::{self, Tables};
use mpu_eval::PuJudgement;
use mpu_eval::pu_metrics::Estimate;
use serde::{Deserialize, Serialize};

pub use sections::sections;

/// A part of a report, or why it is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part<T> {
    /// The part.
    Given(T),
    /// Why there is none: a phrase without a full stop.
    Missing(String),
}

impl<T> Part<T> {
    /// No part, for a reason.
    pub fn missing(why: impl Into<String>) -> Self {
        Self::Missing(why.into())
    }

    /// A part that may not be there, for a reason.
    pub fn or_missing(part: Option<T>, why: impl Into<String>) -> Self {
        part.map_or_else(|| Self::missing(why), Self::Given)
    }

    /// The part, if there is one.
    pub fn given(&self) -> Option<&T> {
        match self {
            Self::Given(part) => Some(part),
            Self::Missing(_) => None,
        }
    }

    /// Why there is none.
    pub fn why_missing(&self) -> Option<&str> {
        match self {
            Self::Given(_) => None,
            Self::Missing(why) => Some(why),
        }
    }
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self::missing("not measured")
    }
}

/// A name and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value as text.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// How a score is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreKind {
    /// A share of rows from 0 to 1, shown in per cent: the more the better.
    Share,
    /// A number that is not compared between runs, such as a risk: another loss has another scale.
    Number,
}

mpu_data::named!(ScoreKind, "kind of score", { Share => "share", Number => "number" });

/// What a score was measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Rows with true labels that training did not see.
    TrueLabels,
    /// Positive and unlabelled rows, and the class priors.
    PuRows,
    /// Hidden labels of training rows, which no method may see.
    HiddenLabels,
}

mpu_data::named!(Basis, "basis", {
    TrueLabels => "true-labels",
    PuRows => "pu-rows",
    HiddenLabels => "hidden-labels",
});

impl Basis {
    /// What readers are told.
    pub fn label(self) -> &'static str {
        match self {
            Self::TrueLabels => "measured with true labels",
            Self::PuRows => "estimated without true labels",
            Self::HiddenLabels => "oracle, by hidden labels",
        }
    }
}

/// How good a run is in one respect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Score {
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: ScoreKind,
    /// What it was measured with.
    pub basis: Basis,
    /// The value.
    pub value: f64,
    /// The ends of an interval about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Score {
    /// A score without an interval.
    pub fn new(name: impl Into<String>, kind: ScoreKind, basis: Basis, value: f64) -> Self {
        Self {
            name: name.into(),
            kind,
            basis,
            value,
            interval: None,
        }
    }

    /// A share that is estimated from positive and unlabelled rows, with its interval.
    pub fn estimated(name: impl Into<String>, found: Estimate) -> Self {
        Self {
            interval: Some((found.low, found.high)),
            ..Self::new(name, ScoreKind::Share, Basis::PuRows, found.value)
        }
    }
}

/// How well one class is told from the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassScore {
    /// The class's name.
    pub class: String,
    /// Precision, as a share.
    #[serde(default)]
    pub precision: Option<f64>,
    /// The ends of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_interval: Option<(f64, f64)>,
    /// Recall, as a share.
    #[serde(default)]
    pub recall: Option<f64>,
    /// The ends of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall_interval: Option<(f64, f64)>,
    /// F1, as a share.
    #[serde(default)]
    pub f1: Option<f64>,
    /// Rows of the class.
    #[serde(default)]
    pub rows: Option<u64>,
}

impl ClassScore {
    /// What is estimated of every class from labelled rows and the pool.
    pub fn estimated(names: &[String], judged: &PuJudgement) -> Vec<Self> {
        let value = |rate: Option<Estimate>| rate.and_then(|rate| rate.known());
        let ends = |rate: Option<Estimate>| {
            let known = rate.filter(|rate| rate.known().is_some());
            known.map(|rate| (rate.low, rate.high))
        };
        let score = |(class, name): (usize, &String)| {
            let rates = judged.classes.get(class).and_then(Option::as_ref);
            Self {
                class: name.clone(),
                precision: value(rates.and_then(|r| r.precision)),
                precision_interval: ends(rates.and_then(|r| r.precision)),
                recall: value(rates.and_then(|r| r.recall)),
                recall_interval: ends(rates.and_then(|r| r.recall)),
                f1: value(rates.and_then(|r| r.f1)),
                rows: judged.n_labeled.get(class).copied(),
            }
        };
        names.iter().enumerate().map(score).collect()
    }
}

/// A column of the user's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CheckedColumn {
    /// Its name.
    pub column: String,
    /// Its type, in words.
    pub kind: String,
    /// Rows in which it is missing.
    pub missing: u64,
}

/// What was found when the data were checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DataCheck {
    /// What to mind, one sentence each.
    pub findings: Vec<String>,
    /// What was understood: files, rows, label column and the like.
    pub facts: Vec<Fact>,
    /// The columns.
    pub columns: Vec<CheckedColumn>,
}

/// What a reader in a hurry should know, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Verdict {
    /// What was found, one sentence each.
    pub found: Vec<String>,
    /// How sure that is.
    pub sure: Vec<String>,
    /// What to do next, the most useful first.
    pub next: Vec<String>,
}

/// What is told of one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RunReport {
    /// The run's name.
    pub name: String,
    /// What was found, how sure that is and what to do next; none for a benchmark.
    pub verdict: Option<Verdict>,
    /// What was done: data, method, loss, priors, epochs, seed, time and the like.
    pub facts: Vec<Fact>,
    /// The model: inputs, classes, parameters and the like.
    pub model: Vec<Fact>,
    /// What should be read before anything else.
    pub warnings: Vec<String>,
    /// What is doubtful, for readers who know the method.
    pub doubts: Vec<String>,
    /// On which rows scores were measured by true labels. Runs are compared only where it is the same.
    pub measured_on: String,
    /// On which rows scores were estimated without true labels. Runs are compared only where it is the same.
    pub estimated_on: String,
    /// How good the run is.
    pub scores: Vec<Score>,
    /// How many unlabelled rows are of each class.
    pub expected: Part<ExpectedCounts>,
    /// How probable each class is to its labelled rows and to unlabelled ones.
    pub histograms: Part<ScoreHistograms>,
    /// Precision against recall, estimated without true labels.
    pub precision_recall: Part<PrecisionRecall>,
    /// Which columns matter.
    pub importances: Part<ColumnWeights>,
    /// How good it is by class, by true labels.
    pub class_scores: Part<Vec<ClassScore>>,
    /// The same, estimated without true labels.
    pub class_estimates: Part<Vec<ClassScore>>,
    /// Every epoch.
    pub curves: Part<RunCurves>,
    /// Confusion and margins.
    pub answers: Part<Answers>,
    /// Calibration.
    pub reliability: Part<Reliability>,
    /// What happens if unsure rows are left unanswered.
    pub thresholds: Part<Thresholds>,
    /// Class priors: bounds, estimates, what was used.
    pub priors: Part<PriorEstimates>,
    /// What other priors would have given.
    pub sensitivity: Part<PriorSensitivity>,
    /// What was found when the data were checked.
    pub data_check: Part<DataCheck>,
    /// The resolved configuration; empty if it was not kept.
    pub config_toml: String,
}

/// The title of a report.
fn title(runs: &[RunReport]) -> String {
    match runs {
        [run] if run.name.is_empty() => "Run report".to_owned(),
        [run] => format!("Run report: {}", run.name),
        runs => format!("Report of {} runs", runs.len()),
    }
}

/// The report as one HTML page that needs no other file.
pub fn to_html(runs: &[RunReport]) -> String {
    page::render(&title(runs), Tables::Words, &sections(runs))
}

/// The report as Markdown: all but the figures.
pub fn to_md(runs: &[RunReport]) -> String {
    page::to_md(&title(runs), &sections(runs))
}

/// The report as JSON: a list of runs with all their numbers. A number that is not finite becomes `null`.
pub fn to_json(runs: &[RunReport]) -> Result<String> {
    Ok(serde_json::to_string_pretty(runs)? + "\n")
}
