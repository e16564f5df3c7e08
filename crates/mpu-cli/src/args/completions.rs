//! The arguments of `mpu-cli completions`.

use clap_complete::Shell;

/// `mpu-cli completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
