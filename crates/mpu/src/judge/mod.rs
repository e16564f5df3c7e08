//! How good a classifier is, by true labels or without them.

mod by_pu;
mod by_truth;
mod noticed;
mod rows;
mod tables;

use mpu_report::run_report::Basis;
use serde::Serialize;

use crate::classifier::Classifier;
use crate::error::{Context as _, Result};
use crate::predictions::Rule;

pub use by_pu::{ByPu, RiskFigures};
pub use by_truth::{ByTruth, ClassFigures};
pub use noticed::Noticed;
pub use rows::{Known, RowsOptions, ScoredRows, held_out, of_file, test_rows};
pub use tables::summary;
pub(crate) use tables::{estimate, percent, percent_of};

/// What was found, as it is written in JSON.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Judgement {
    model: String,
    /// What the figures were measured with.
    basis: Basis,
    /// On which rows.
    rows: String,
    /// How probabilities became answers.
    decision: &'static str,
    classes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    true_labels: Option<ByTruth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pu_rows: Option<ByPu>,
    /// What should be known of the rows.
    notes: Vec<String>,
    /// What makes the judgement doubtful.
    warnings: Vec<String>,
}

/// The rows that a run is judged by if no others are named: held-out ones, else its test rows.
pub fn own_rows(model: &Classifier) -> Result<ScoredRows> {
    if let Some(scored) = rows::held_out(model) {
        return Ok(scored);
    }
    let path = model.title();
    let scored = rows::test_rows(model)
        .with_context(|| format!("{path} kept no held-out rows, and its test rows are not here"))?;
    scored.with_context(|| {
        format!(
            "{path} kept no held-out rows and has no test rows\nhint: name rows with --data, or train with --set data.validation-share=0.2"
        )
    })
}

impl Judgement {
    /// Judges a rule's answers to scored rows: those that `predict` gives by the same rule.
    pub fn new(model: &Classifier, rule: &Rule, scored: ScoredRows) -> Result<Self> {
        let (mut true_labels, mut pu_rows) = (None, None);
        let mut warnings = scored.noticed.warnings;
        let basis = match &scored.known {
            Known::Truths(truths) => {
                true_labels = Some(ByTruth::new(model, rule, truths, &scored.scores)?);
                Basis::TrueLabels
            }
            Known::Pu(labels) => {
                let found = ByPu::new(model, rule, labels, &scored.scores)?;
                warnings.extend(found.doubts.iter().cloned());
                pu_rows = Some(found);
                Basis::PuRows
            }
        };
        Ok(Self {
            model: model.title(),
            basis,
            rows: scored.rows,
            decision: rule.decision.slug(),
            classes: model.names().to_vec(),
            true_labels,
            pu_rows,
            notes: scored.noticed.notes,
            warnings,
        })
    }
}
