//! The arguments of `mpu-cli evaluate`.

use std::path::PathBuf;

use mpu::judge::RowsOptions;
use mpu_data::table::InputFormat;

use super::decision::DecisionArgs;
use super::{Report, TextArgs, slug_parser};

/// `mpu-cli evaluate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Evaluate {
    /// The folder of a finished run.
    #[arg(long, value_name = "RUN")]
    pub(crate) model: PathBuf,

    #[command(flatten)]
    pub(crate) rows: RowsArgs,

    #[command(flatten)]
    pub(crate) decision: DecisionArgs,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// Rows to judge by, and how they are read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RowsArgs {
    /// A table (or a folder of images) with the columns of the training data. If every row has a true label,
    /// the model is judged by these; otherwise from labelled and unlabelled rows alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// The column with the labels; by default the same as in the training data.
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub(crate) label_column: Option<String>,

    /// The format; by default taken from the file's name.
    #[arg(long, value_name = "FORMAT", requires = "data", value_parser = slug_parser::<InputFormat>(&InputFormat::FILES.map(InputFormat::slug)))]
    pub(crate) input_format: Option<InputFormat>,

    /// How unlabelled rows are marked, apart from a blank: -1, 0 or a word (may be repeated); by default as
    /// in the training data.
    #[arg(
        long,
        value_name = "MARK",
        requires = "data",
        allow_hyphen_values = true
    )]
    pub(crate) unlabeled_marker: Vec<String>,

    /// The labels of an .npy array, as a separate array.
    #[arg(long, value_name = "FILE", requires = "data")]
    pub(crate) labels: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) text: TextArgs,
}

impl RowsArgs {
    /// How the rows are read.
    pub(crate) fn options(&self) -> anyhow::Result<RowsOptions> {
        Ok(RowsOptions {
            label_column: self.label_column.clone(),
            input_format: self.input_format,
            unlabeled_marker: self.unlabeled_marker.clone(),
            labels: self.labels.clone(),
            delimiter: self.text.delimiter()?,
            decimal: self.text.decimal(),
            limits: self.text.limits()?,
        })
    }
}
