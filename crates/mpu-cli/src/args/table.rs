//! The arguments that say how the user's own table is to be understood.

use std::path::PathBuf;

use mpu::TableScenario;
use mpu_data::table::{Decimal, InputFormat, Limits, Missing};

use super::{Report, path, slug_parser, text};

/// `mpu-cli check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The table, or a folder of images that has a folder for each class and one named `unlabeled`.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,

    /// A held-out table with true labels.
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,

    /// Also look whether the labelled rows are a random draw of their class ("selected completely at random"): grows a
    /// forest, or for images trains small detectors, which takes seconds to minutes.
    #[arg(long)]
    pub(crate) scar: bool,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    #[command(flatten)]
    pub(crate) report: Report,
}

impl Check {
    /// The flags as assignments to a configuration.
    pub(crate) fn overrides(&self) -> Vec<String> {
        let mut overrides = self.table.assignments();
        overrides.push(format!("data.file={}", super::path(&self.data)));
        overrides
    }
}

/// How a table is to be understood.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// The format; by default taken from the file's name.
    #[arg(long, value_name = "FORMAT", value_parser = slug_parser::<InputFormat>(&InputFormat::FILES.map(InputFormat::slug)))]
    pub(crate) input_format: Option<InputFormat>,

    /// The column with the labels; by default label, labels, class, target or y.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label_column: Option<String>,

    /// A column that identifies rows: carried through, not a feature.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,

    /// Columns that are not features (may be repeated).
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,

    /// Columns that are categories even if they look like numbers (may be repeated).
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) categorical: Vec<String>,

    /// What to do with missing values: error, mean or median.
    #[arg(long, value_name = "POLICY", value_parser = slug_parser::<Missing>(&Missing::ALL.map(Missing::slug)))]
    pub(crate) missing: Option<Missing>,

    /// How unlabelled rows are marked: blank, -1, 0 or a word (may be repeated); detected if not given.
    #[arg(long, value_name = "MARK", allow_hyphen_values = true)]
    pub(crate) unlabeled_marker: Vec<String>,

    /// A second table with the same columns: the unlabelled pool.
    #[arg(long, value_name = "FILE")]
    pub(crate) unlabeled: Option<PathBuf>,

    /// A list of positives among the rows, joined by --key.
    #[arg(long, value_name = "FILE")]
    pub(crate) positives: Option<PathBuf>,

    /// The column that joins --positives; it has the same name in both files.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,

    /// The column of --positives that holds class names.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) positives_class: Option<String>,

    /// Whether labelled rows and pool are one population (single-sample) or were collected separately
    /// (case-control); auto says single-sample unless the pool is a file of its own.
    #[arg(long, value_name = "SCENARIO", value_parser = slug_parser::<TableScenario>(&TableScenario::ALL.map(TableScenario::slug)))]
    pub(crate) scenario: Option<TableScenario>,

    /// The labels of an .npy array, as a separate array.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// A further word that stands for a missing value, besides NA, null, NaN and ? (may be repeated).
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) missing_marker: Vec<String>,

    /// A class whose name, such as NA or null, would else stand for a missing label (may be repeated).
    #[arg(long, value_name = "WORD")]
    pub(crate) class_word: Vec<String>,

    /// The most categories that a column of text may have; 100 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) max_categories: Option<usize>,

    /// Scale images to this size, such as 64x48 (width, height).
    #[arg(long, value_name = "WxH")]
    pub(crate) image_size: Option<String>,

    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// How the text of a table is written, and what a file may ask for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TextArgs {
    /// The separator of CSV text: one character, or `tab`; by default found in the header line. A model remembers it.
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<String>,

    /// Numbers in CSV text have a decimal comma: 1234,5 or 1.234,5. A model remembers it; =false says otherwise.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) decimal_comma: Option<bool>,

    /// Raise or lower what a file may ask for (may be repeated): matrix-bytes, columns, record-bytes, expansion,
    /// expansion-free-bytes, image-pixels.
    #[arg(long, value_name = "NAME=N")]
    pub(crate) limit: Vec<String>,
}

impl TextArgs {
    /// The separator.
    pub(crate) fn delimiter(&self) -> anyhow::Result<Option<u8>> {
        Ok(self.delimiter.as_deref().map(mpu::delimiter).transpose()?)
    }

    /// How numbers are written, if that was said.
    pub(crate) fn decimal(&self) -> Option<Decimal> {
        self.decimal_comma.map(|comma| {
            if comma {
                Decimal::Comma
            } else {
                Decimal::Point
            }
        })
    }

    /// What a file may ask for.
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        toml::from_str(&self.limit.join("\n"))
            .map_err(|error| anyhow::anyhow!("--limit: {}", error.message()))
    }
}

impl TableArgs {
    /// The flags as assignments.
    pub(crate) fn assignments(&self) -> Vec<String> {
        let list = |values: &[String]| {
            (!values.is_empty()).then(|| {
                let values = values.iter().cloned().map(toml::Value::String);
                toml::Value::Array(values.collect()).to_string()
            })
        };
        let word = |value: &Option<String>| value.as_deref().map(text);
        let file = |value: &Option<PathBuf>| value.as_deref().map(path);
        [
            ("input-format", self.input_format.map(|f| text(f.slug()))),
            ("label-column", word(&self.label_column)),
            ("id-column", word(&self.id_column)),
            ("exclude", list(&self.exclude)),
            ("categorical", list(&self.categorical)),
            ("missing", self.missing.map(|m| text(m.slug()))),
            ("unlabeled-marker", list(&self.unlabeled_marker)),
            ("unlabeled", file(&self.unlabeled)),
            ("positives", file(&self.positives)),
            ("key", word(&self.key)),
            ("positives-class", word(&self.positives_class)),
            ("labels", file(&self.labels)),
            ("scenario", self.scenario.map(|s| text(s.slug()))),
            ("missing-marker", list(&self.missing_marker)),
            ("class-word", list(&self.class_word)),
            ("max-categories", self.max_categories.map(|n| n.to_string())),
            ("image-size", word(&self.image_size)),
            ("delimiter", word(&self.text.delimiter)),
            ("decimal", self.text.decimal().map(|d| text(d.slug()))),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some(format!("data.{key}={}", value?)))
        .chain(
            self.text
                .limit
                .iter()
                .map(|limit| format!("data.limits.{limit}")),
        )
        .collect()
    }
}
