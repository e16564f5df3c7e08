//! `mpu-cli check`: what is understood of the user's own data, before anything runs.

use mpu::{HeldOutCheck, MpuTable, Subgrouped, TableConfig};
use mpu_data::Seed;
use mpu_data::table::{EncodeOptions, TableInput, read_held_out, read_table};
use mpu_prior::{EstimateOptions, EstimatorKind};
use mpu_report::Format;
use mpu_train::Sample;

use crate::args;
use crate::commands::Answer;
use crate::console::Detectors;

/// The seed of clusters and detectors, as everywhere if none is given.
const SEED: Seed = Seed(42);

pub(crate) fn run(args: &args::Check) -> anyhow::Result<Answer> {
    // A check lists gaps rather than stopping at the first: by default they are filled in.
    let data = TableConfig::read(None, &args.table.assignments())?.data;
    let mut table = read_table(TableInput::file(&args.data), &data.options()?)?;
    data.scenario.apply(&mut table.check);
    let held_out = match &args.test {
        None => None,
        Some(path) => {
            let input = TableInput::file(path);
            let encoding = EncodeOptions::default();
            let held = read_held_out(input, &table.schema, &table.class_names, &encoding)?;
            Some(HeldOutCheck::new(&held, &table.class_names))
        }
    };
    let selection = args.scar.then(|| selection(&table)).transpose()?;
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
fn selection(table: &MpuTable) -> anyhow::Result<Vec<String>> {
    let sample = Sample {
        features: table.features.clone(),
        labels: table.labels.clone(),
    };
    let split = Subgrouped::of(&sample, table.classes()?, SEED, &mut Detectors::new()?)?;
    let options = EstimateOptions::default();
    let report = split.estimate(EstimatorKind::default(), &options, SEED)?;
    Ok(split.sentences(&report, &table.class_names, &table.schema.feature_names()))
}
