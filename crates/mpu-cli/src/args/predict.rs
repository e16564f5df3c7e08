//! The arguments of `mpu-cli predict`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use mpu_data::table::InputFormat;

use super::decision::DecisionArgs;
use super::{Report, TextArgs, slug_parser};

/// `mpu-cli predict`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Predict {
    /// The folder of a finished run on your own data.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,

    /// The rows to score: a table with the columns of the training data (labels are not needed), or a folder of images.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,

    /// Where to write: a .csv, .jsonl or .parquet file, or `-` for standard output.
    ///
    /// Columns: the id column (or `row`, counted from 1), `answer`, for each class `score:NAME` and
    /// `probability:NAME`, `margin` (the highest probability less the second highest) and `outside` (the
    /// feature that is furthest outside the range of the training rows; blank if none is). Rows of none
    /// of the observed classes are called `unknown`.
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub(crate) out: PathBuf,

    /// The format of the output; by default taken from the file's name, and CSV for standard output.
    #[arg(long, value_name = "FORMAT", value_parser = slug_parser::<OutputFormat>(&OutputFormat::ALL.map(OutputFormat::slug)))]
    pub(crate) out_format: Option<OutputFormat>,

    /// Write texts into CSV as they are. By default ids and names that a spreadsheet would run as a formula (they begin
    /// with =, +, - or @ and are not numbers) get an apostrophe before them.
    #[arg(long)]
    pub(crate) raw_csv: bool,

    /// Replace the output if it exists.
    #[arg(long)]
    pub(crate) force: bool,

    /// The format of the data; by default taken from the file's name.
    #[arg(long, value_name = "FORMAT", value_parser = slug_parser::<InputFormat>(&InputFormat::FILES.map(InputFormat::slug)))]
    pub(crate) input_format: Option<InputFormat>,

    /// Match columns by name, whatever their order.
    #[arg(long)]
    pub(crate) any_order: bool,

    /// Ignore columns that the model does not know.
    #[arg(long)]
    pub(crate) ignore_extra: bool,

    #[command(flatten)]
    pub(crate) text: TextArgs,

    #[command(flatten)]
    pub(crate) decision: DecisionArgs,

    /// Write only the N most probable rows of each observed class, best first, as a queue to review.
    ///
    /// Columns `queue` (the class) and `rank` are added. A row may be in several queues, whatever its answer.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<NonZeroUsize>,

    /// Say which columns moved each answer: the N with the largest effect, 3 if N is not given.
    ///
    /// A column `because` is added. The row's value in a column is replaced by those of up to 64 training rows; the effect
    /// is how much higher its own value makes the log odds of the answer, on average. Each row is scored as often as there
    /// are columns times training rows, so this takes much longer; with --top only the rows of the queues are explained.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3")]
    pub(crate) explain: Option<NonZeroUsize>,

    /// Threads; all cores if not given. The result does not depend on it.
    #[arg(long, value_parser = super::thread_count)]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// How scored rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

mpu_data::named!(OutputFormat, "format", { Csv => "csv", Jsonl => "jsonl", Parquet => "parquet" });

impl OutputFormat {
    /// The format that a file's name says; CSV for `-`.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Csv);
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "parquet" | "pq" => Ok(Self::Parquet),
            _ => anyhow::bail!(
                "--out {}: the name does not tell the format\nhint: use a name that ends in .csv, .jsonl or .parquet, or give --out-format",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predict_formats_are_read() {
        for (name, format) in [
            ("-", OutputFormat::Csv),
            ("a.CSV", OutputFormat::Csv),
            ("a.ndjson", OutputFormat::Jsonl),
            ("a.parquet", OutputFormat::Parquet),
        ] {
            assert_eq!(OutputFormat::of(Path::new(name)).unwrap(), format);
        }
        assert!(OutputFormat::of(Path::new("scored.txt")).is_err());
    }
}
