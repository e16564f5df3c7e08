//! `mpu-cli show`: the configuration that a run would use.

use mpu_report::Format;

use crate::args;
use crate::commands::Answer;
use crate::config::RunConfig;

pub(crate) fn run(args: &args::Show) -> anyhow::Result<Answer> {
    let config = RunConfig::resolve(args.config.as_deref(), &args.set)?;
    Ok(Answer::good(match args.format {
        Format::Json => serde_json::to_string_pretty(&config)? + "\n",
        _ => config.to_toml()?,
    }))
}
