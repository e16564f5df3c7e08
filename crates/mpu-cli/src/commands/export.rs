//! `mpu-cli export`.

use crate::args::export::Export;
use crate::commands::Answer;

pub(crate) fn run(_args: &Export) -> anyhow::Result<Answer> {
    anyhow::bail!("not there yet")
}
