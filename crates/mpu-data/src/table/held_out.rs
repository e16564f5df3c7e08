//! A held-out table with true labels, for evaluation.

use std::collections::BTreeMap;

use super::encode::{EncodeReport, Truths};
use super::error::Result;
use super::input::TableInput;
use super::options::EncodeOptions;
use super::schema::FeatureSchema;
use crate::Features;

/// Rows whose true class is known.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The encoded rows.
    pub features: Features,
    /// The true class of each row: an observed class, or the negative class, which comes last.
    pub classes: Vec<usize>,
    /// The id of each row, if there is an id column.
    pub ids: Option<Vec<String>>,
    /// Class names that are not observed classes and count as negative, with their rows.
    pub negative_names: BTreeMap<String, u64>,
    /// Observed classes that no row has.
    pub absent: Vec<String>,
    /// What was noticed while reading.
    pub report: EncodeReport,
}

/// Reads a held-out table with the schema of a model. Each label is the name of a class; a name
/// that is not in `class_names` counts as negative. A blank label is an error.
pub fn read_held_out(
    input: impl Into<TableInput>,
    schema: &FeatureSchema,
    class_names: &[String],
    options: &EncodeOptions,
) -> Result<HeldOut> {
    let table = schema.encode_whole(&input.into(), options, Truths::Keep)?;
    let mut negative_names: BTreeMap<String, u64> = BTreeMap::new();
    let mut present = vec![false; class_names.len()];
    let classes = table
        .truths
        .into_iter()
        .map(|name| {
            if let Some(class) = class_names.iter().position(|class| *class == name) {
                present[class] = true;
                class
            } else {
                *negative_names.entry(name).or_default() += 1;
                class_names.len()
            }
        })
        .collect();
    let absent = class_names
        .iter()
        .zip(present)
        .filter(|(_, present)| !present);
    Ok(HeldOut {
        features: table.features,
        classes,
        ids: table.ids,
        negative_names,
        absent: absent.map(|(name, _)| name.clone()).collect(),
        report: table.report,
    })
}
