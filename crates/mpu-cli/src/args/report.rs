//! The arguments of `mpu-cli report`.

use std::path::PathBuf;

use super::evaluate::RowsArgs;
use super::slug_parser;

/// `mpu-cli report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Folders of finished runs, or stores of runs; several runs are compared side by side.
    #[arg(required = true, value_name = "RUN|STORE")]
    pub(crate) runs: Vec<PathBuf>,

    /// Of a store, only the runs with these ids, or ids that begin so.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) id: Vec<String>,

    /// The file to write. By default HTML goes to report.html in the run's folder (for several runs: in the
    /// current folder), and Markdown and JSON go to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// How to write the report.
    #[arg(long, value_name = "FORMAT", default_value = ReportFormat::Html.slug(), value_parser = slug_parser::<ReportFormat>(&ReportFormat::ALL.map(ReportFormat::slug)))]
    pub(crate) format: ReportFormat,

    /// Overwrite a file that is not a report.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) rows: RowsArgs,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReportFormat {
    /// One page with figures.
    #[default]
    Html,
    /// Text and tables.
    Md,
    /// All numbers, for programs.
    Json,
}

mpu_data::named!(ReportFormat, "format", { Html => "html", Md => "md", Json => "json" });
