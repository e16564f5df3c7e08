//! `mpu-cli check`: what is understood of the user's own data, before anything runs.

use mpu::{HeldOutCheck, TableConfig, TableRows};
use mpu_data::Seed;
use mpu_data::table::{TableInput, read_held_out, read_table};
use mpu_prior::{EstimateOptions, EstimatorKind};
use mpu_report::Format;

use crate::args;
use crate::commands::Answer;
use crate::console::Detectors;

pub(crate) fn run(args: &args::Check) -> anyhow::Result<Answer> {
    // A check lists gaps rather than stopping at the first: by default they are kept.
    let data = TableConfig::read(None, &args.overrides())?.data;
    let mut table = read_table(TableInput::file(&args.data), &data.options()?)?;
    data.scenario.apply(&mut table.check);
    let held_out = match &args.test {
        None => None,
        Some(path) => {
            let input = TableInput::file(path);
            let encoding = data.encoding();
            let held = read_held_out(input, &table.schema, &table.class_names, &encoding)?;
            Some(HeldOutCheck::new(&held, &table.class_names))
        }
    };
    let selection = args.scar.then(|| selection(args)).transpose()?;
    let text = match args.report.format {
        Format::Json => {
            let mut value = serde_json::json!({ "check": table.check, "test": held_out });
            if let Some(selection) = selection {
                value["selection"] = serde_json::json!(selection);
            }
            serde_json::to_string_pretty(&value)? + "\n"
        }
        format => {
            let mut text = mpu::describe_check(&table.check, held_out.as_ref(), format)?;
            for line in selection.iter().flatten() {
                text += line;
                text.push('\n');
            }
            text
        }
    };
    Ok(Answer::good(text))
}

/// Whether the labelled rows of each class are a random draw of it, in words.
fn selection(args: &args::Check) -> anyhow::Result<Vec<String>> {
    let rows = TableRows::read(None, &args.overrides())?;
    let split = rows.subgrouped(&mut Detectors::new()?)?;
    let (options, seed) = (EstimateOptions::default(), Seed(rows.config.seed));
    let report = split.estimate(EstimatorKind::default(), &options, seed)?;
    let features = rows.table.schema.feature_names();
    Ok(split.sentences(&report, &rows.table.class_names, &features))
}
