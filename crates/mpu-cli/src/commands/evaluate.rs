//! `mpu-cli evaluate`: how good a model is, by true labels or without them.

use mpu::judge::{self, Judgement};
use mpu::{Classifier, NamedCosts};
use mpu_report::Format;

use crate::args::evaluate::Evaluate;
use crate::commands::Answer;

pub(crate) fn run(args: &Evaluate) -> anyhow::Result<Answer> {
    let model = Classifier::load(&args.model)?;
    let scored = match &args.rows.data {
        Some(file) => judge::of_file(&model, file, &args.rows.options())?,
        None => judge::own_rows(&model)?,
    };
    let costs = args.cost_matrix.as_ref().map(|file| {
        let names = model.names();
        NamedCosts::read(file, names)?.matrix(names)
    });
    let judgement = Judgement::new(&model, scored, costs.transpose()?.as_ref())?;
    Ok(Answer::good(match args.report.format {
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
        format => judgement.describe(format)?,
    }))
}
