//! `mpu-cli evaluate`.

use crate::args::evaluate::Evaluate;
use crate::commands::Answer;

pub(crate) fn run(_args: &Evaluate) -> anyhow::Result<Answer> {
    anyhow::bail!("not there yet")
}
