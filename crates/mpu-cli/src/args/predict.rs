//! The arguments of `mpu-cli predict`.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mpu_data::table::InputFormat;

use super::{Report, slug_parser};

/// `mpu-cli predict`.
#[derive(Debug, clap::Args)]
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

    /// Replace the output if it exists.
    #[arg(long)]
    pub(crate) force: bool,

    /// The format of the data; by default taken from the file's name.
    #[arg(long, value_name = "FORMAT", value_parser = slug_parser::<InputFormat>(&InputFormat::ALL.map(InputFormat::slug)))]
    pub(crate) input_format: Option<InputFormat>,

    /// Match columns by name, whatever their order.
    #[arg(long)]
    pub(crate) any_order: bool,

    /// Ignore columns that the model does not know.
    #[arg(long)]
    pub(crate) ignore_extra: bool,

    /// The class shares among the rows to score: pool, uniform, estimate (from the rows, which are then read
    /// twice), or a share for each observed class, such as a=0.2,b=0.1.
    #[arg(long, value_name = "PRIORS", default_value = "pool")]
    pub(crate) target_priors: TargetPriors,

    /// Choose the answer with the lowest expected cost: a CSV or TOML file of costs, true classes in rows, answers in columns.
    #[arg(long, value_name = "FILE", group = "decision")]
    pub(crate) cost_matrix: Option<PathBuf>,

    /// Answer the likeliest observed class only if it is at least this probable, otherwise `unknown`: 0.9, or a=0.9,b=0.8.
    #[arg(long, value_name = "P", group = "decision")]
    pub(crate) threshold: Option<PerClass>,

    /// Choose the thresholds that give this precision on the held-out rows of the run: 0.95, or a=0.95,b=0.9.
    #[arg(long, value_name = "P", group = "decision")]
    pub(crate) precision_target: Option<PerClass>,

    /// Write only the N most probable rows of each observed class, best first, as a queue to review.
    ///
    /// Columns `queue` (the class) and `rank` are added. A row may be in several queues, whatever its answer.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<NonZeroUsize>,

    /// Threads; all cores if not given. The result does not depend on it.
    #[arg(long)]
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

/// A text that is none of what is allowed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(String);

/// One number for all observed classes, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PerClass {
    /// The same for all.
    All(f64),
    /// By name.
    Each(Vec<(String, f64)>),
}

impl PerClass {
    /// The numbers in the order of `names`; `flag` is named in errors.
    pub(crate) fn of(&self, names: &[String], flag: &str) -> anyhow::Result<Vec<f64>> {
        let each = match self {
            Self::All(number) => return Ok(vec![*number; names.len()]),
            Self::Each(each) => each,
        };
        for (position, (name, _)) in each.iter().enumerate() {
            anyhow::ensure!(
                names.contains(name),
                "{flag} names `{name}`, which is not an observed class of the model; these are {}",
                names.join(", ")
            );
            anyhow::ensure!(
                !each[..position].iter().any(|(earlier, _)| earlier == name),
                "{flag} names `{name}` twice"
            );
        }
        let number = |name: &String| {
            let found = each.iter().find(|(class, _)| class == name);
            found.map(|(_, number)| *number).ok_or_else(|| {
                anyhow::anyhow!(
                    "{flag} says nothing of class `{name}`\nhint: give a number for each of {}",
                    names.join(", ")
                )
            })
        };
        names.iter().map(number).collect()
    }
}

impl FromStr for PerClass {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if let Ok(number) = text.trim().parse() {
            return Ok(Self::All(number));
        }
        let one = |part: &str| {
            let (name, number) = part.rsplit_once('=')?;
            Some((name.trim().to_owned(), number.trim().parse().ok()?))
        };
        let each = text.split(',').map(|part| {
            one(part).ok_or_else(|| {
                Unreadable(format!(
                    "`{part}` is neither a number nor CLASS=NUMBER, such as dent=0.9"
                ))
            })
        });
        each.collect::<Result<_, _>>().map(Self::Each)
    }
}

/// Which class shares the rows to score have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TargetPriors {
    /// Those of the pool that was trained on.
    Pool,
    /// All classes alike.
    Uniform,
    /// Those that make the rows likeliest.
    Estimate,
    /// The user knows them.
    Given(PerClass),
}

impl TargetPriors {
    /// The one name used in flags and reports.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Uniform => "uniform",
            Self::Estimate => "estimate",
            Self::Given(_) => "given",
        }
    }
}

impl fmt::Display for TargetPriors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl FromStr for TargetPriors {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let named = [Self::Pool, Self::Uniform, Self::Estimate];
        if let Some(found) = named.into_iter().find(|one| one.slug() == text) {
            return Ok(found);
        }
        match text.parse() {
            Ok(each @ PerClass::Each(_)) => Ok(Self::Given(each)),
            _ => Err(Unreadable(format!(
                "`{text}` must be pool, uniform, estimate, or CLASS=SHARE for each observed class, such as dent=0.2,scratch=0.1"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predict_numbers_are_read_for_all_or_by_class() {
        let names = ["a=b".to_owned(), "c".to_owned()];
        let one: PerClass = "0.9".parse().unwrap();
        assert_eq!(one.of(&names, "--threshold").unwrap(), [0.9, 0.9]);
        let each: PerClass = "c=0.5, a=b=0.25".parse().unwrap();
        assert_eq!(each.of(&names, "--threshold").unwrap(), [0.25, 0.5]);
        for (text, told) in [
            ("c=0.5", "nothing of class `a=b`"),
            ("d=1,c=1", "`d`"),
            ("c=1,c=1,a=b=1", "twice"),
        ] {
            let each: PerClass = text.parse().unwrap();
            let error = each.of(&names, "--threshold").unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert!("high".parse::<PerClass>().is_err() && "c=x".parse::<PerClass>().is_err());
    }

    #[test]
    fn predict_priors_and_formats_are_read() {
        for text in ["pool", "uniform", "estimate"] {
            assert_eq!(text.parse::<TargetPriors>().unwrap().to_string(), text);
        }
        assert_eq!("a=0.2".parse::<TargetPriors>().unwrap().slug(), "given");
        for text in ["0.5", "flat", ""] {
            assert!(text.parse::<TargetPriors>().is_err(), "{text}");
        }
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
