//! The arguments of `mpu-cli completions`.

/// `mpu-cli completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {}
