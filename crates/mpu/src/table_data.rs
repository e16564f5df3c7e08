//! What a configuration says of a table of the user's own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mpu_data::Scaling;
use mpu_data::split::Scenario;
use mpu_data::table::{
    DataCheck, Decimal, EncodeOptions, InputFormat, LabelConvention, Limits, Missing, MpuTable,
    Positives, Sampling, TableInput, TableOptions, UnlabeledMarker, read_table,
};
use serde::{Deserialize, Serialize};

use crate::config::Auto;
use crate::error::{Context as _, Result, bail};

mpu_data::defaults! {
    /// A table or folder of images of the user's own, how it is to be understood, and what is known of its pool.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct TableData {
        /// The table, or a folder of images.
        pub file: PathBuf = PathBuf::new(),
        /// A table with true labels to judge by.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub test: Option<PathBuf> = None,
        /// The format; by the file's name if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub input_format: Option<InputFormat> = None,
        /// The column with the labels.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub label_column: Option<String> = None,
        /// A column that identifies rows and is no feature.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub id_column: Option<String> = None,
        /// Columns that are no features.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub exclude: Vec<String> = Vec::new(),
        /// Columns that are categories even if they look like numbers.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub categorical: Vec<String> = Vec::new(),
        /// What to do with missing values; unlike in the library, they are kept for forests and filled in for networks
        /// unless told otherwise.
        pub missing: Missing = Missing::Keep,
        /// How unlabelled rows are marked; found out if not given.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub unlabeled_marker: Vec<String> = Vec::new(),
        /// A second table with the same columns: the pool.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub unlabeled: Option<PathBuf> = None,
        /// A list of labelled rows among the rows of the table, joined by `key`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub positives: Option<PathBuf> = None,
        /// The column that joins `positives`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub key: Option<String> = None,
        /// The column of `positives` that holds class names.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub positives_class: Option<String> = None,
        /// The labels of an .npy array, as an array of their own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub labels: Option<PathBuf> = None,
        /// The separator of CSV text: one character, or `tab`; found in the header line if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub delimiter: Option<String> = None,
        /// What stands before the fraction of numbers in CSV text.
        #[serde(skip_serializing_if = "is_default")]
        pub decimal: Decimal = Decimal::default(),
        /// Further words that stand for a missing value.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub missing_marker: Vec<String> = Vec::new(),
        /// Classes whose names, such as `NA`, would else stand for a missing label.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub class_word: Vec<String> = Vec::new(),
        /// The most categories that a column of text may have; 100 if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_categories: Option<usize> = None,
        /// The size that images are scaled to, such as `64x48`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub image_size: Option<String> = None,
        /// What a file may ask for.
        #[serde(skip_serializing_if = "is_default")]
        pub limits: Limits = Limits::default(),
        /// The share of every group that is held out for calibration and checks.
        pub validation_share: f64 = 0.2,
        /// The seed of what is held out.
        pub split_seed: u64 = 42,
        /// How features are scaled: pixels by 255, columns to mean 0 and deviation 1 if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scaling: Option<Scaling> = None,
        /// `auto`, or the share of each observed class in the pool.
        pub priors: TablePriors = TablePriors::Estimated(Auto::Auto),
        /// Whether labelled rows and pool are one population (`single-sample`) or were collected separately
        /// (`case-control`); `auto` goes by how they are given.
        #[serde(skip_serializing_if = "TableScenario::is_auto")]
        pub scenario: TableScenario = TableScenario::Found(Auto::Auto),
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The separator of CSV text that a word stands for.
pub fn delimiter(word: &str) -> Result<u8> {
    match word.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        &[byte] if byte == b'\t' || byte.is_ascii_punctuation() && byte != b'"' => Ok(byte),
        _ => bail!(
            "the separator is {word:?}: it must be one character such as `;`, or `tab`, and no letter, digit, blank or double quote"
        ),
    }
}

/// Where priors come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TablePriors {
    /// They are estimated.
    Estimated(Auto),
    /// The user knows them.
    Given(BTreeMap<String, f64>),
}

/// Where the scenario comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableScenario {
    /// It follows from how the rows are given.
    Found(Auto),
    /// The user knows it.
    Given(Scenario),
}

impl TableScenario {
    /// Every one there is.
    pub const ALL: [Self; 3] = [
        Self::Found(Auto::Auto),
        Self::Given(Scenario::SingleSample),
        Self::Given(Scenario::CaseControl),
    ];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_auto(&self) -> bool {
        matches!(self, Self::Found(Auto::Auto))
    }

    /// The one name used in files and flags.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Found(Auto::Auto) => "auto",
            Self::Given(scenario) => scenario.slug(),
        }
    }

    /// Puts what the user says in the place of what a check found.
    pub fn apply(self, check: &mut DataCheck) {
        if let Self::Given(scenario) = self {
            check.sampling = Sampling::given(scenario);
        }
    }
}

mpu_data::named!(TableScenario, "scenario");

impl TableData {
    /// How the table is to be understood.
    pub fn options(&self) -> Result<TableOptions> {
        let positives = match (&self.positives, &self.key) {
            (Some(file), Some(key)) => Some(Positives {
                input: TableInput::file(file),
                key: key.clone(),
                class_column: self.positives_class.clone(),
            }),
            (None, None) => None,
            _ => bail!("--positives and --key go together: the list, and the column that joins it"),
        };
        let convention = match self.unlabeled_marker.as_slice() {
            [] => LabelConvention::Auto,
            marks => {
                LabelConvention::Marked(marks.iter().map(|m| UnlabeledMarker::parse(m)).collect())
            }
        };
        Ok(TableOptions {
            format: self.input_format,
            label_column: self.label_column.clone(),
            id_column: self.id_column.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            missing: self.missing,
            convention,
            unlabeled: self.unlabeled.as_ref().map(TableInput::file),
            positives,
            labels: self.labels.as_ref().map(TableInput::file),
            delimiter: self.delimiter.as_deref().map(delimiter).transpose()?,
            decimal: self.decimal,
            missing_markers: self.missing_marker.clone(),
            class_words: self.class_word.clone(),
            max_categories: self
                .max_categories
                .unwrap_or(TableOptions::default().max_categories),
            image_size: self.image_size.as_deref().map(str::parse).transpose()?,
            limits: self.limits,
        })
    }

    /// How a table with true labels is read: as the training table was, within the same limits.
    pub fn encoding(&self) -> EncodeOptions {
        EncodeOptions {
            limits: self.limits,
            ..EncodeOptions::default()
        }
    }

    /// Reads and understands the table.
    pub fn read(&self) -> Result<MpuTable> {
        let _span = tracing::info_span!("load").entered();
        let mut table = read_table(TableInput::file(&self.file), &self.options()?)?;
        self.scenario.apply(&mut table.check);
        Ok(table)
    }

    /// Paths that hold wherever the program is started.
    pub(crate) fn absolute(&mut self) -> Result<()> {
        let parts = [
            &mut self.test,
            &mut self.unlabeled,
            &mut self.positives,
            &mut self.labels,
        ];
        for path in parts.into_iter().flatten().chain([&mut self.file]) {
            *path = std::path::absolute(&*path)
                .with_context(|| format!("the path {}", path.display()))?;
        }
        Ok(())
    }

    /// The file's name, for folders and reports.
    pub fn name(&self) -> String {
        if self.file.as_os_str().is_empty() {
            return "rows in memory".to_owned();
        }
        let name = self.file.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}
