//! The arguments of `mpu-cli export`.

/// `mpu-cli export`.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {}
