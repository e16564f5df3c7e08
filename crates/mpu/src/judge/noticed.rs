//! What is noticed of rows while they are read.

use mpu_data::Features;
use mpu_data::table::{EncodeReport, FeatureSchema};

use crate::error::Result;

use crate::classifier::Classifier;

/// The share of rows outside the training range that is no reason to worry.
const FEW_OUTSIDE: f64 = 0.01;

/// What was noticed on the way.
#[derive(Debug, Clone, Default)]
pub struct Noticed {
    /// What should be known.
    pub notes: Vec<String>,
    /// What makes the judgement doubtful.
    pub warnings: Vec<String>,
}

/// What a reader should know of rows that a model did not see in training.
pub(crate) fn notice(
    model: &Classifier,
    schema: &FeatureSchema,
    features: &Features,
    report: &EncodeReport,
) -> Result<Noticed> {
    let mut noticed = Noticed::default();
    for unseen in &report.unseen {
        let examples: Vec<&str> = unseen.examples.keys().map(String::as_str).collect();
        noticed.warnings.push(format!(
            "column {}: {} rows have categories that were not in the training data ({})",
            unseen.column,
            unseen.rows,
            examples.join(", ")
        ));
    }
    if !report.imputed.is_empty() {
        let filled = report.imputed.iter();
        let filled: Vec<String> = filled.map(|(name, n)| format!("{name} {n}")).collect();
        let note = format!("missing values: {}", filled.join(", "));
        noticed.notes.push(note);
    }
    if !report.ignored.is_empty() {
        noticed.notes.push(format!(
            "columns that the model does not know, passed over: {}",
            report.ignored.join(", ")
        ));
    }
    let mut outside = vec![0usize; schema.width()];
    for row in 0..features.n_rows() {
        if let Some(feature) = model.outside(features.row(row))? {
            outside[feature] += 1;
        }
    }
    let n_outside: usize = outside.iter().sum();
    if n_outside > 0 {
        let worst = outside.iter().enumerate().max_by_key(|(_, n)| **n);
        let names = schema.feature_names();
        let worst = worst.and_then(|(at, _)| names.get(at));
        let text = format!(
            "rows outside the range of the training rows: {n_outside} of {}, most of them by {}; the answers to these rows are guesses",
            features.n_rows(),
            worst.map_or("", String::as_str)
        );
        let many = n_outside as f64 > FEW_OUTSIDE * features.n_rows() as f64;
        let place = if many {
            &mut noticed.warnings
        } else {
            &mut noticed.notes
        };
        place.push(text);
    }
    Ok(noticed)
}
