//! `mpu-cli evaluate`: how good a model is, by true labels or without them.

pub(crate) mod by_pu;
pub(crate) mod by_truth;
mod noticed;
pub(crate) mod rows;
pub(crate) mod tables;

use anyhow::Context as _;
use mpu_report::Format;
use mpu_report::run_report::Basis;
use serde::Serialize;

use self::by_pu::ByPu;
use self::by_truth::ByTruth;
use self::rows::{Known, Scored};
use crate::args::evaluate::Evaluate;
use crate::commands::Answer;
use mpu::Classifier;

/// What was found, as it is written in JSON.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Judgement {
    model: String,
    /// What the figures were measured with.
    basis: Basis,
    /// On which rows.
    rows: String,
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

pub(crate) fn run(args: &Evaluate) -> anyhow::Result<Answer> {
    let model = Classifier::load(&args.model)?;
    let scored = match &args.rows.data {
        Some(file) => rows::of_file(&model, file, &args.rows)?,
        None => own_rows(&model)?,
    };
    let judgement = Judgement::new(&model, scored)?;
    Ok(Answer::good(match args.report.format {
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
        format => judgement.describe(format)?,
    }))
}

/// The rows that a run is judged by if no others are named: held-out ones, else its test rows.
fn own_rows(model: &Classifier) -> anyhow::Result<Scored> {
    if let Some(scored) = rows::held_out(model)? {
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
    pub(crate) fn new(model: &Classifier, scored: Scored) -> anyhow::Result<Self> {
        let card = model.card();
        let names = &card.class_names;
        let (mut true_labels, mut pu_rows) = (None, None);
        let mut warnings = scored.noticed.warnings;
        let basis = match &scored.known {
            Known::Truths(truths) => {
                let calibration = card.calibration.as_ref();
                true_labels = Some(ByTruth::new(names, truths, &scored.scores, calibration)?);
                Basis::TrueLabels
            }
            Known::Pu(labels) => {
                let found = ByPu::new(model, labels, &scored.scores)?;
                warnings.extend(found.doubts.iter().cloned());
                pu_rows = Some(found);
                Basis::PuRows
            }
        };
        Ok(Self {
            model: model.title().to_string(),
            basis,
            rows: scored.rows,
            classes: names.clone(),
            true_labels,
            pu_rows,
            notes: scored.noticed.notes,
            warnings,
        })
    }
}
