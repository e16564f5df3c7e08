//! The arguments of `mpu-cli evaluate`.

/// `mpu-cli evaluate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Evaluate {}
