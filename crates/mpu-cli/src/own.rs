//! The user's own table or images, made into a problem to train on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mpu_data::source::content::sha256;
use mpu_data::split::draw::shuffle;
use mpu_data::table::{
    EncodeOptions, InputFormat, LabelConvention, Missing, MpuTable, Positives, TableInput,
    TableOptions, UnlabeledMarker, read_held_out, read_table,
};
use mpu_data::{Features, MpuLabel, Priors, Scaling, Seed, Shape, Stream};
use mpu_eval::TrainingRange;
use mpu_risk::Method;
use mpu_train::{Batching, Judged, Problem, Sample, Schedule};
use serde::{Deserialize, Serialize};

use crate::config::{Auto, ModelConfig, RunConfig};
use crate::priors;
use crate::training::{Facts, NEGATIVE, Prepared};

/// A run on the user's own rows.
pub(crate) type OwnConfig = RunConfig<OwnData>;

/// The fewest labelled rows of a class: some train, some are held out, some are scored out of fold.
const FEWEST: usize = 6;

/// Steps of an epoch at the least, and of all epochs together about, if 40 to 100 of them can give it.
pub(crate) const MIN_STEPS: usize = 5;
const ALL_STEPS: usize = 1500;

/// What the run trains on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct OwnData {
    /// The table, or a folder of images.
    pub(crate) file: PathBuf,
    /// A table with true labels to judge by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_format: Option<InputFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_column: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_column: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) categorical: Vec<String>,
    /// What to do with missing values; unlike in the library, they are filled in unless told otherwise.
    pub(crate) missing: Missing,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unlabeled_marker: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unlabeled: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) positives: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) positives_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<PathBuf>,
    /// The share of every group that is held out for calibration and checks.
    pub(crate) validation_share: f64,
    /// The seed of what is held out.
    pub(crate) split_seed: u64,
    /// How features are scaled: pixels by 255, columns to mean 0 and deviation 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scaling: Option<Scaling>,
    /// `auto`, or the share of each observed class in the pool.
    pub(crate) priors: OwnPriors,
}

/// Where priors come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum OwnPriors {
    /// They are estimated.
    Estimated(Auto),
    /// The user knows them.
    Given(BTreeMap<String, f64>),
}

impl Default for OwnData {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            test: None,
            input_format: None,
            label_column: None,
            id_column: None,
            exclude: Vec::new(),
            categorical: Vec::new(),
            missing: Missing::Median,
            unlabeled_marker: Vec::new(),
            unlabeled: None,
            positives: None,
            key: None,
            positives_class: None,
            labels: None,
            validation_share: 0.2,
            split_seed: 42,
            scaling: None,
            priors: OwnPriors::Estimated(Auto::Auto),
        }
    }
}

impl OwnData {
    /// How the table is to be understood.
    pub(crate) fn options(&self) -> anyhow::Result<TableOptions> {
        let positives = match (&self.positives, &self.key) {
            (Some(file), Some(key)) => Some(Positives {
                input: TableInput::file(file),
                key: key.clone(),
                class_column: self.positives_class.clone(),
            }),
            (None, None) => None,
            _ => anyhow::bail!(
                "--positives and --key go together: the list, and the column that joins it"
            ),
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
            ..TableOptions::default()
        })
    }

    /// Paths that hold wherever the program is started.
    fn absolute(&mut self) -> anyhow::Result<()> {
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
    pub(crate) fn name(&self) -> String {
        let name = self.file.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The user's rows, and the configuration with every default that depends on them.
pub(crate) struct OwnRows {
    pub(crate) table: MpuTable,
    pub(crate) config: OwnConfig,
}

impl OwnRows {
    /// Reads the table of a configuration and fills in what is not given.
    pub(crate) fn read(file: Option<&Path>, overrides: &[String]) -> anyhow::Result<Self> {
        let mut config = OwnConfig::read(file, overrides)?;
        anyhow::ensure!(
            !config.data.file.as_os_str().is_empty(),
            "data.file is missing: name the table or the folder of images with --data"
        );
        config.data.absolute()?;
        let options = config.data.options()?;
        let table = read_table(TableInput::file(&config.data.file), &options)?;
        for class in &table.check.classes {
            let found = class.labeled;
            anyhow::ensure!(
                found >= FEWEST as u64,
                "{}: class `{}` has {found} labelled rows: at least {FEWEST} are needed\nhint: label more rows of it, or take it out of the file: its rows are then found as part of the pool",
                config.data.file.display(),
                class.name
            );
        }
        anyhow::ensure!(
            table.check.unlabeled >= 20,
            "{}: {} unlabelled rows: at least 20 are needed\nhint: leave the label of more rows blank, or give the pool as a separate file with --unlabeled",
            config.data.file.display(),
            table.check.unlabeled
        );
        let columns = &table.check.columns;
        anyhow::ensure!(
            columns.is_empty() || columns.iter().any(|column| !column.constant),
            "{}: every column is constant: no row can be told from another\nhint: check the separator and which columns are left out",
            config.data.file.display()
        );
        let (given, _) = crate::config::read_table(file)?;
        let given = crate::config::overridden(given, overrides)?;
        config.complete(&table, &given)?;
        Ok(Self { table, config })
    }

    /// The problem: rows held out, features scaled, priors estimated if they are not given.
    pub(crate) fn prepare(&self) -> anyhow::Result<Prepared> {
        let (table, config) = (&self.table, &self.config);
        let classes = table.classes()?;
        let (train, held) = self.draw();
        let scaling = config.data.scaling.unwrap_or_default();
        let scaler = scaling.fit(&table.features, &train)?;
        let take = |features: &Features, rows: &[usize]| -> anyhow::Result<Features> {
            let mut selected = features.select(rows);
            scaler.apply(&mut selected)?;
            Ok(selected)
        };
        let sample = |rows: &[usize]| -> anyhow::Result<Sample> {
            let labels = rows.iter().map(|&row| table.labels[row]).collect();
            let features = take(&table.features, rows)?;
            Ok(Sample { features, labels })
        };
        let train_sample = sample(&train)?;
        let (priors, estimated) = match &config.data.priors {
            OwnPriors::Given(given) => (self.given_priors(given)?, None),
            OwnPriors::Estimated(Auto::Auto) => {
                let problem = Problem::new(Priors::uniform(classes), train_sample.clone())?;
                let report = priors::estimate(&problem, Seed(config.seed))?;
                (report.priors()?, Some(report))
            }
        };
        let mut problem =
            Problem::new(priors.clone(), train_sample)?.with_validation(sample(&held)?)?;
        if let Some(test) = &config.data.test {
            let input = TableInput::file(test);
            let options = EncodeOptions::default();
            let judged = read_held_out(input, &table.schema, &table.class_names, &options)?;
            let mut features = judged.features;
            scaler.apply(&mut features)?;
            problem = problem.with_test(Judged {
                features,
                classes: judged.classes,
            })?;
        }
        let mut names = table.class_names.clone();
        names.push(NEGATIVE.to_owned());
        let digest: Vec<String> = held.iter().map(usize::to_string).collect();
        Ok(Prepared {
            model: config.architecture(table.features.shape(), classes.get())?,
            facts: Facts {
                dataset: config.data.name(),
                class_names: names,
                split_digest: sha256(digest.join(" ").as_bytes()),
                mark: None,
                schema: Some(table.schema.clone()),
                check: Some(table.check.clone()),
                range: Some(TrainingRange::new(&table.features.select(&train))?),
                estimated,
            },
            problem,
            scaler,
            priors,
        })
    }

    /// All rows, scaled: for estimates that hold rows out by themselves.
    pub(crate) fn all(&self) -> anyhow::Result<Sample> {
        let mut features = self.table.features.clone();
        let rows: Vec<usize> = (0..features.n_rows()).collect();
        let scaling = self.config.data.scaling.unwrap_or_default();
        scaling.fit(&features, &rows)?.apply(&mut features)?;
        let labels = self.table.labels.clone();
        Ok(Sample { features, labels })
    }

    /// Rows to train on and rows held out, both in order: a share of every group, at least two of a
    /// class.
    fn draw(&self) -> (Vec<usize>, Vec<usize>) {
        let k = self.table.class_names.len();
        let mut groups = vec![Vec::new(); k + 1];
        for (row, label) in self.table.labels.iter().enumerate() {
            groups[match *label {
                MpuLabel::Labeled(class) => class,
                MpuLabel::Unlabeled => k,
            }]
            .push(row);
        }
        let mut rng = Seed(self.config.data.split_seed).stream(Stream::Split);
        let (mut train, mut held) = (Vec::new(), Vec::new());
        for group in &mut groups {
            shuffle(group, &mut rng);
            let share = (self.config.data.validation_share * group.len() as f64).round();
            let (part, rest) = group.split_at((share as usize).clamp(2, group.len() - 1));
            held.extend_from_slice(part);
            train.extend_from_slice(rest);
        }
        train.sort_unstable();
        held.sort_unstable();
        (train, held)
    }

    /// The user's priors, in the order of classes.
    fn given_priors(&self, given: &BTreeMap<String, f64>) -> anyhow::Result<Priors> {
        let names = &self.table.class_names;
        if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
            anyhow::bail!(
                "data.priors names `{unknown}`, which is not a class of the data; the classes are {}",
                names.join(", ")
            );
        }
        let of = |name: &String| {
            given.get(name).copied().with_context(|| {
                format!(
                    "data.priors has no share for class `{name}`\nhint: --priors {name}=0.1 for 10 % of the pool; 0 if it is not in the pool"
                )
            })
        };
        let observed = names.iter().map(of).collect::<anyhow::Result<Vec<f64>>>()?;
        Priors::from_observed(&observed).context("data.priors")
    }
}

impl OwnConfig {
    /// Fills in what depends on the rows, where the user's file and flags (`given`) say nothing.
    fn complete(&mut self, table: &MpuTable, given: &toml::Table) -> anyhow::Result<()> {
        let share = self.data.validation_share;
        anyhow::ensure!(
            share > 0.0 && share <= 0.5,
            "data.validation-share is {share}: it must be above 0 and at most 0.5"
        );
        let is_given = |path: &[&str]| {
            let (last, folders) = path.split_last().map_or(("", path), |(l, f)| (*l, f));
            let mut place = Some(given);
            for key in folders {
                place = place.and_then(|table| table.get(*key)?.as_table());
            }
            place.is_some_and(|table| table.contains_key(last))
        };
        if !is_given(&["method"]) {
            self.method = Method::CsmpuSt;
        }
        let shape = table.features.shape();
        self.data.scaling.get_or_insert(match shape {
            Shape::Image { .. } if table.schema.is_images() => Scaling::Div255,
            _ => Scaling::Standardize,
        });
        let n_rows = (table.labels.len() as f64 * (1.0 - share)) as usize;
        self.model.get_or_insert_with(|| match shape {
            Shape::Image { channels, .. } if channels > 1 => ModelConfig::ResNet { depth: 20 },
            _ => ModelConfig::Mlp {
                hidden: if n_rows < 5000 {
                    vec![128, 128]
                } else {
                    vec![300; 4]
                },
            },
        });
        if !is_given(&["train", "batch-size"]) && !is_given(&["train", "min-steps"]) {
            self.train.min_steps = MIN_STEPS;
        }
        if !is_given(&["train", "batching"]) {
            self.train.batching = Batching::Stratified;
        }
        if !is_given(&["train", "epochs"]) {
            let steps = n_rows.div_ceil(self.train.batch_of(n_rows)).max(1);
            self.train.epochs = ALL_STEPS.div_ceil(steps).clamp(40, 100);
        }
        if !is_given(&["train", "schedule"]) {
            self.train.schedule = Schedule::Cosine;
        }
        self.check(share)
    }

    /// A name for the run's folder.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}-s{}", self.data.name(), self.method, self.seed)
    }
}
