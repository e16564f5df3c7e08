//! `mpu-cli completions`: what a shell needs to complete commands and flags.

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::args::Args;
use crate::args::completions::Completions;
use crate::commands::Answer;

pub(crate) fn run(args: &Completions) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "mpu-cli", &mut script);
    let script = String::from_utf8(script).context("writing completions")?;
    Ok(Answer::good(script))
}
