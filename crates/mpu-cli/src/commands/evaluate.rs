//! `mpu-cli evaluate`: how good a model is, by true labels or without them.

use mpu::Classifier;
use mpu::judge::{self, Judgement};
use mpu_report::Format;

use crate::args::evaluate::Evaluate;
use crate::commands::Answer;

pub(crate) fn run(args: &Evaluate) -> anyhow::Result<Answer> {
    let model = Classifier::load(&args.model)?;
    let scored = match &args.rows.data {
        Some(file) => judge::of_file(&model, file, &args.rows.options())?,
        None => judge::own_rows(&model)?,
    };
    let judgement = Judgement::new(&model, scored)?;
    Ok(Answer::good(match args.report.format {
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
        format => judgement.describe(format)?,
    }))
}
