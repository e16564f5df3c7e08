//! `mpu-cli completions`.

use crate::args::completions::Completions;
use crate::commands::Answer;

pub(crate) fn run(_args: &Completions) -> anyhow::Result<Answer> {
    anyhow::bail!("not there yet")
}
