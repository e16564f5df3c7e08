//! `mpu-cli show`: the configuration that a run would use.

use mpu_report::Format;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args;
use crate::commands::Answer;
use mpu::{RunConfig, TableRows};

pub(crate) fn run(args: &args::Show) -> anyhow::Result<Answer> {
    let file = args.config.as_deref();
    if mpu::is_about_a_table(file)? {
        return shown(&TableRows::read(file, &args.set)?.config, args.format);
    }
    shown(&RunConfig::resolve(file, &args.set)?, args.format)
}

fn shown<D>(config: &RunConfig<D>, format: Format) -> anyhow::Result<Answer>
where
    D: Default + Serialize + DeserializeOwned,
{
    Ok(Answer::good(match format {
        Format::Json => serde_json::to_string_pretty(config)? + "\n",
        _ => config.to_toml()?,
    }))
}
