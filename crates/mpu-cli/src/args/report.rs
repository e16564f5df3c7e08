//! The arguments of `mpu-cli report`.

/// `mpu-cli report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {}
