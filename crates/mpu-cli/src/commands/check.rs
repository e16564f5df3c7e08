//! `mpu-cli check`: what is understood of the user's own data, before anything runs.

use mpu::{HeldOutCheck, TableConfig};
use mpu_data::table::{EncodeOptions, TableInput, read_held_out, read_table};
use mpu_report::Format;

use crate::args;
use crate::commands::Answer;

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
    let text = match args.report.format {
        Format::Json => {
            let value = serde_json::json!({ "check": table.check, "test": held_out });
            serde_json::to_string_pretty(&value)? + "\n"
        }
        format => mpu::describe_check(&table.check, held_out.as_ref(), format)?,
    };
    Ok(Answer::good(text))
}
