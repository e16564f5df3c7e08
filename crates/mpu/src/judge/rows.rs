//! The rows that a model is judged by, with its scores and what is known of each.

use std::path::{Path, PathBuf};

use mpu_data::source::progress::Quiet;
use mpu_data::source::resolve::{Locations, Network};
use mpu_data::table::{
    ColumnKind, Decimal, EncodeOptions, ExtraColumns, FeatureSchema, HeldOut, InputColumn,
    InputFormat, LabelConvention, Limits, Missing, TableError, TableInput, TableOptions,
    UnlabeledMarker, read_held_out, read_table,
};
use mpu_data::{MpuLabel, Split};
use mpu_train::{Judged, Problem};

use super::noticed::{Noticed, notice};
use crate::classifier::Classifier;
use crate::config::{RunConfig, is_about_a_table};
use crate::error::{Context as _, Result, ensure};
use crate::files::file_name;
use crate::prepared::dataset;
use crate::rows::TableConfig;

/// How rows to judge by are read.
#[derive(Debug, Clone, Default)]
pub struct RowsOptions {
    /// The column with the labels; that of the training data if not given.
    pub label_column: Option<String>,
    /// The format; by the file's name if not given.
    pub input_format: Option<InputFormat>,
    /// How unlabelled rows are marked, apart from a blank; as in the training data if not given.
    pub unlabeled_marker: Vec<String>,
    /// The labels of an .npy array, as an array of their own.
    pub labels: Option<PathBuf>,
    /// The separator of CSV text; as in the training data, or found in the header line, if not given.
    pub delimiter: Option<u8>,
    /// How numbers are written in CSV text; as in the training data if not given.
    pub decimal: Option<Decimal>,
    /// What the file may ask for.
    pub limits: Limits,
}

impl RowsOptions {
    /// How the table is encoded for the model; columns it does not know are passed over.
    fn encoding(&self) -> EncodeOptions {
        EncodeOptions {
            format: self.input_format,
            label_column: self.label_column.clone(),
            extra_columns: ExtraColumns::Ignore,
            labels: self.labels.as_ref().map(TableInput::file),
            delimiter: self.delimiter,
            decimal: self.decimal,
            limits: self.limits,
            ..EncodeOptions::default()
        }
    }
}

/// What is known of the rows.
#[derive(Debug, Clone)]
pub enum Known {
    /// The true class of each.
    Truths(Vec<usize>),
    /// Which are labelled, and with what; the others are of the pool.
    Pu(Vec<MpuLabel>),
}

/// Rows with the scores and answers of a classifier.
#[derive(Debug, Clone)]
pub struct ScoredRows {
    /// Which rows they are, as it is told.
    pub rows: String,
    /// `k` scores a row.
    pub scores: Vec<f32>,
    /// What is known of them.
    pub known: Known,
    /// What a reader should know of them.
    pub noticed: Noticed,
}

/// The rows that were held out of training, if the run kept any.
pub fn held_out(model: &Classifier) -> Option<ScoredRows> {
    let held = model.held_out()?;
    let pool = held.labels.iter().filter(|l| **l == MpuLabel::Unlabeled);
    let pool = pool.count();
    let labeled = held.labels.len() - pool;
    Some(ScoredRows {
        rows: format!("{labeled} labelled and {pool} unlabelled rows held out of training"),
        scores: held.scores.clone(),
        known: Known::Pu(held.labels.clone()),
        noticed: Noticed::default(),
    })
}

/// The test rows of the run, with true labels; none if it has none.
pub fn test_rows(model: &Classifier) -> Result<Option<ScoredRows>> {
    let folder = model.folder();
    let folder = folder.context("the model was not loaded from the folder of a run")?;
    let config = folder.join("config.toml");
    if is_about_a_table(Some(&config))? {
        let config = TableConfig::read(Some(&config), &[])?;
        let Some(test) = &config.data.test else {
            return Ok(None);
        };
        let (schema, encoding) = (schema(model)?, config.data.encoding());
        let held = read_held_out(TableInput::file(test), schema, observed(model), &encoding)?;
        return judged(model, schema, test, held).map(Some);
    }
    let config = RunConfig::resolve(Some(&config), &[])?;
    // A judgement never downloads.
    let mut locations = Locations::from_env();
    locations.network = Network::Offline;
    let data = dataset(&config, &locations, &Quiet)?;
    let split = Split::of(&data, &config.split_spec())?;
    let (problem, _) = Problem::of(&data, &split, config.data.scaling.unwrap_or_default())?;
    let Some(Judged { features, classes }) = problem.test() else {
        return Ok(None);
    };
    Ok(Some(ScoredRows {
        rows: format!("{} test rows of {}", classes.len(), model.card().dataset),
        scores: model.scaled_scores(features)?,
        known: Known::Truths(classes.clone()),
        noticed: Noticed::default(),
    }))
}

/// The rows of a file: with true labels, with some labels, or with none.
pub fn of_file(model: &Classifier, file: &Path, options: &RowsOptions) -> Result<ScoredRows> {
    let schema = schema(model)?;
    let names = observed(model);
    let marks = marks(model, options);
    let encoding = options.encoding();
    match read_held_out(TableInput::file(file), schema, names, &encoding) {
        Ok(held) if held.negative_names.keys().any(|n| is_mark(&marks, n)) => {
            partly_labeled(model, schema, file, options, marks)
        }
        Ok(held) => judged(model, schema, file, held),
        Err(TableError::BlankLabel { .. }) => partly_labeled(model, schema, file, options, marks),
        Err(TableError::UnknownColumn { role, .. })
            if role == "label column" && options.label_column.is_none() =>
        {
            pool_only(model, schema, file, &encoding)
        }
        // Images that are in no folder of a class.
        Err(TableError::Options { .. }) if schema.is_images() => {
            pool_only(model, schema, file, &encoding)
        }
        Err(error) => Err(error.into()),
    }
}

fn schema(model: &Classifier) -> Result<&FeatureSchema> {
    model.card().schema.as_ref().with_context(|| {
        format!(
            "{} was trained on the benchmark {}, so it does not know which columns of a table are its inputs\nhint: leave out --data: the run's own test rows are used",
            model.title(),
            model.card().dataset
        )
    })
}

/// The names of the observed classes.
fn observed(model: &Classifier) -> &[String] {
    let names = &model.card().class_names;
    &names[..names.len().saturating_sub(1)]
}

/// How unlabelled rows are marked: as asked, or as in training.
fn marks(model: &Classifier, options: &RowsOptions) -> Vec<UnlabeledMarker> {
    let mut marks = vec![UnlabeledMarker::Blank];
    if options.unlabeled_marker.is_empty() {
        let words = ["unlabeled", "unlabelled"].map(|word| UnlabeledMarker::Word(word.to_owned()));
        let trained = model.card().check.iter().flat_map(|c| &c.labels.markers);
        marks.extend(trained.map(|count| count.marker.clone()).chain(words));
    } else {
        let given = options.unlabeled_marker.iter();
        marks.extend(given.map(|mark| UnlabeledMarker::parse(mark)));
    }
    marks
}

fn is_mark(marks: &[UnlabeledMarker], label: &str) -> bool {
    let number: Option<f64> = label.trim().parse().ok();
    marks.iter().any(|mark| match mark {
        UnlabeledMarker::Blank => label.trim().is_empty(),
        UnlabeledMarker::MinusOne => number == Some(-1.0),
        UnlabeledMarker::Zero => number == Some(0.0),
        UnlabeledMarker::Word(word) => word.eq_ignore_ascii_case(label.trim()),
    })
}

/// Rows whose true classes are all known.
fn judged(
    model: &Classifier,
    schema: &FeatureSchema,
    file: &Path,
    held: HeldOut,
) -> Result<ScoredRows> {
    let mut noticed = notice(model, schema, &held.features, &held.report)?;
    if !held.negative_names.is_empty() {
        let names = held.negative_names.iter();
        let names = names.map(|(name, n)| format!("{name} ({n} rows)"));
        let names = names.collect::<Vec<_>>().join(", ");
        let note = format!("taken as {}: {names}", model.unknown());
        noticed.notes.push(note);
    }
    if !held.absent.is_empty() {
        noticed.warnings.push(format!(
            "no row has class {}: it counts as 0 in the means over classes",
            held.absent.join(", ")
        ));
    }
    Ok(ScoredRows {
        rows: format!("{} rows of {}", held.classes.len(), file_name(file)),
        scores: model.scores(&held.features)?,
        known: Known::Truths(held.classes),
        noticed,
    })
}

/// Rows of which some are labelled and the others are the pool.
fn partly_labeled(
    model: &Classifier,
    schema: &FeatureSchema,
    file: &Path,
    options: &RowsOptions,
    marks: Vec<UnlabeledMarker>,
) -> Result<ScoredRows> {
    let encoding = options.encoding();
    let encoded = schema.encode(TableInput::file(file), &encoding)?;
    let is_categorical =
        |column: &&InputColumn| matches!(column.kind, ColumnKind::Categorical { .. });
    let categorical = schema.columns().iter().filter(is_categorical);
    let label_column = options.label_column.as_deref().or(schema.label_column());
    let no_features = encoded.report.ignored.iter().chain(schema.excluded());
    let mut understood = TableOptions {
        format: options.input_format,
        label_column: label_column.map(str::to_owned),
        id_column: schema.id_column().map(str::to_owned),
        exclude: no_features.cloned().collect(),
        categorical: categorical.map(|column| column.name.clone()).collect(),
        missing: Missing::Median,
        convention: LabelConvention::Marked(marks),
        labels: encoding.labels.clone(),
        delimiter: options.delimiter.or(schema.delimiter()),
        decimal: options.decimal.unwrap_or(schema.decimal()),
        class_words: schema.class_words().to_vec(),
        limits: options.limits,
        ..TableOptions::default()
    };
    let table = loop {
        match read_table(TableInput::file(file), &understood) {
            Err(TableError::AllUnlabeled { .. }) => {
                return pool_only(model, schema, file, &encoding);
            }
            // Columns that are no features need not be there.
            Err(TableError::UnknownColumn { wanted, .. })
                if understood.exclude.contains(&wanted) =>
            {
                understood.exclude.retain(|name| *name != wanted);
            }
            Err(TableError::UnknownColumn { wanted, .. })
                if understood.id_column.as_ref() == Some(&wanted) =>
            {
                understood.id_column = None;
            }
            table => break table?,
        }
    };
    let names = observed(model);
    let labels = table.labels.iter().map(|label| match *label {
        MpuLabel::Unlabeled => Ok(MpuLabel::Unlabeled),
        MpuLabel::Labeled(class) => {
            let name = &table.class_names[class];
            let class = names.iter().position(|known| known == name);
            class.map(MpuLabel::Labeled).with_context(|| {
                format!(
                    "{}: some rows have no label, and some have the label `{name}`, which is not a class of the model ({})\nhint: give every row its true class, or leave the label of such rows blank",
                    file.display(),
                    names.join(", ")
                )
            })
        }
    });
    let labels = labels.collect::<Result<Vec<_>>>()?;
    ensure!(
        encoded.features.n_rows() == labels.len(),
        "{} changed while it was read: {} rows, then {}",
        file.display(),
        labels.len(),
        encoded.features.n_rows()
    );
    let n_labeled = labels.iter().filter(|l| **l != MpuLabel::Unlabeled).count();
    let (pool, name) = (labels.len() - n_labeled, file_name(file));
    Ok(ScoredRows {
        rows: format!("{n_labeled} labelled and {pool} unlabelled rows of {name}"),
        noticed: notice(model, schema, &encoded.features, &encoded.report)?,
        scores: model.scores(&encoded.features)?,
        known: Known::Pu(labels),
    })
}

/// Rows without any label: the pool, beside the labelled rows that were held out of training.
fn pool_only(
    model: &Classifier,
    schema: &FeatureSchema,
    file: &Path,
    encoding: &EncodeOptions,
) -> Result<ScoredRows> {
    let held = model.held_out().with_context(|| {
        format!(
            "{} has no label, and {} kept no rows to judge by\nhint: add the labels, or train with data.validation-share above 0",
            file.display(),
            model.title()
        )
    })?;
    let k = model.card().class_names.len();
    let encoded = schema.encode(TableInput::file(file), encoding)?;
    let pool = encoded.features.n_rows();
    let mut noticed = notice(model, schema, &encoded.features, &encoded.report)?;
    let mut labels = vec![MpuLabel::Unlabeled; pool];
    let mut all = model.scores(&encoded.features)?;
    let rows = held.labels.iter().zip(held.scores.chunks(k));
    for (label, row) in rows.filter(|(label, _)| **label != MpuLabel::Unlabeled) {
        labels.push(*label);
        all.extend_from_slice(row);
    }
    noticed.warnings.push(format!(
        "{} has no labels: its rows are taken as a pool with the class shares of the training pool, and recall comes from labelled rows held out of training",
        file.display()
    ));
    Ok(ScoredRows {
        rows: format!(
            "{pool} unlabelled rows of {} and {} labelled rows held out of training",
            file_name(file),
            labels.len() - pool
        ),
        scores: all,
        known: Known::Pu(labels),
        noticed,
    })
}
