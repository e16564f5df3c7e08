//! `mpu-cli predict`.

use crate::args::predict::Predict;
use crate::commands::Answer;

pub(crate) fn run(_args: &Predict) -> anyhow::Result<Answer> {
    anyhow::bail!("not there yet")
}
