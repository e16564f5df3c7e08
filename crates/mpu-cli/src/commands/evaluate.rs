//! `mpu-cli evaluate`: how good a model is, by true labels or without them.

use mpu::judge::{self, Judgement};
use mpu::{Classifier, TargetSample};
use mpu_report::Format;

use crate::args::evaluate::Evaluate;
use crate::commands::Answer;
use crate::commands::decision::{Asked, Estimate};

pub(crate) fn run(args: &Evaluate) -> anyhow::Result<Answer> {
    let model = Classifier::load(&args.model)?;
    let scored = match &args.rows.data {
        Some(file) => judge::of_file(&model, file, &args.rows.options()?)?,
        None => judge::own_rows(&model)?,
    };
    let asked = Asked::new(&args.decision, &model)?;
    let decided = asked.decide(&model, || {
        let mut sample = TargetSample::new(model.classes());
        sample.add_scores(&model, 0, &scored.scores)?;
        let rows = (scored.scores.len() / model.names().len()) as u64;
        let found = sample.estimate(&model, || Ok(()))?;
        let estimate = Estimate { rows, found };
        estimate.tell(&model);
        Ok(estimate)
    })?;
    let judgement = Judgement::new(&model, &decided.rule, scored)?;
    Ok(Answer::good(match args.report.format {
        Format::Json => serde_json::to_string_pretty(&judgement)? + "\n",
        format => judgement.describe(format)?,
    }))
}
