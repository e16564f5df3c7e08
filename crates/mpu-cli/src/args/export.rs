//! The arguments of `mpu-cli export`.

use std::path::PathBuf;

/// `mpu-cli export`.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The folder of a finished run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,

    /// The ONNX file to write; model.onnx in the run's folder if not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) onnx: Option<PathBuf>,

    /// The model card to write; MODEL_CARD.md beside the ONNX file if not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,

    /// Overwrite files that this command did not write.
    #[arg(long)]
    pub(crate) force: bool,
}
