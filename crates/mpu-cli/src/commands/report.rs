//! `mpu-cli report`.

use crate::args::report::ReportArgs;
use crate::commands::Answer;

pub(crate) fn run(_args: &ReportArgs) -> anyhow::Result<Answer> {
    anyhow::bail!("not there yet")
}
