//! The arguments of `mpu-cli predict`.

/// `mpu-cli predict`.
#[derive(Debug, clap::Args)]
pub(crate) struct Predict {}
