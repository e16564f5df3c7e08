//! Encoding a later table with a learned schema, chunk by chunk in constant memory.

use std::collections::{BTreeMap, VecDeque};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::block::{Block, BlockSource, next_blocks};
use super::encoder::{Encoded, Encoder, Gap, Labeling, Target, Unseen};
use super::error::{NO_ROWS, Result, TableError};
use super::fill::check_matrix;
use super::format::InputFormat;
use super::input::TableInput;
use super::layout::{Layout, Role, check_readable};
use super::libsvm::Columns;
use super::open::{OpenOptions, open};
use super::options::{EncodeOptions, Missing};
use super::schema::FeatureSchema;
use crate::{Features, Shape};

/// Some consecutive rows of a later table.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedChunk {
    /// The number of the first row, counted from 0.
    pub first_row: u64,
    /// The encoded rows.
    pub features: Features,
    /// The id of each row, if the table has the schema's id column.
    pub ids: Option<Vec<String>>,
    /// The true class of each row, if it was asked for.
    pub(super) truths: Vec<String>,
}

/// What was noticed while a later table was encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EncodeReport {
    /// Rows so far.
    pub rows: u64,
    /// Columns with categories that the schema does not know; these are encoded as all zeros.
    pub unseen: Vec<UnseenCategories>,
    /// Columns with missing values, and how many; they were filled in, or kept, as the schema says.
    pub imputed: BTreeMap<String, u64>,
    /// Columns that were passed over because the schema does not know them.
    pub ignored: Vec<String>,
}

/// Categories of a column that the schema does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnseenCategories {
    /// The column.
    pub column: String,
    /// How many rows have such a category.
    pub rows: u64,
    /// The first of them by alphabet, with their rows.
    pub examples: BTreeMap<String, u64>,
}

/// A whole later table.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedTable {
    /// The encoded rows.
    pub features: Features,
    /// The id of each row, if the table has the schema's id column.
    pub ids: Option<Vec<String>>,
    /// What was noticed.
    pub report: EncodeReport,
    pub(super) truths: Vec<String>,
}

/// The chunks of a later table, in order. After an error there are no more.
pub struct EncodedChunks<'s> {
    schema: &'s FeatureSchema,
    rows: Rows<'s>,
    ready: VecDeque<EncodedChunk>,
    report: EncodeReport,
    unseen: BTreeMap<usize, Unseen>,
    gaps: Vec<u64>,
    ended: bool,
}

enum Rows<'s> {
    Table {
        source: Box<dyn BlockSource>,
        encoder: Encoder<'s>,
    },
    #[cfg(feature = "images")]
    Images(super::images::ImageRows),
}

impl FeatureSchema {
    /// Encodes a table chunk by chunk, so that memory does not grow with its rows.
    pub fn chunks(
        &self,
        input: impl Into<TableInput>,
        options: &EncodeOptions,
    ) -> Result<EncodedChunks<'_>> {
        EncodedChunks::open(self, &input.into(), options, Truths::Pass)
    }

    /// Encodes a whole table.
    pub fn encode(
        &self,
        input: impl Into<TableInput>,
        options: &EncodeOptions,
    ) -> Result<EncodedTable> {
        self.encode_whole(&input.into(), options, Truths::Pass)
    }

    pub(super) fn encode_whole(
        &self,
        input: &TableInput,
        options: &EncodeOptions,
        truths: Truths,
    ) -> Result<EncodedTable> {
        let mut chunks = EncodedChunks::open(self, input, options, truths)?;
        let given = input
            .as_frame()
            .and_then(|frame| frame.encoded_by(self))
            .filter(|_| self.missing() == Missing::Keep);
        let mut values = Vec::new();
        let mut ids: Option<Vec<String>> = None;
        let mut true_classes = Vec::new();
        for chunk in &mut chunks {
            let chunk = chunk?;
            let n_rows = chunk.first_row + chunk.features.n_rows() as u64;
            check_matrix(
                input.path(),
                n_rows,
                self.width(),
                options.limits.matrix_bytes,
            )?;
            if given.is_none() {
                values.extend_from_slice(chunk.features.values());
            }
            true_classes.extend(chunk.truths);
            if let Some(more) = chunk.ids {
                ids.get_or_insert_default().extend(more);
            }
        }
        Ok(EncodedTable {
            features: match given {
                Some(features) => features.clone(),
                None => features(values, self.shape(), input)?,
            },
            ids,
            report: chunks.report(),
            truths: true_classes,
        })
    }
}

/// What becomes of the label column of a later table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truths {
    /// It is passed over and need not be there.
    Pass,
    /// It must be there and have the true class in every row.
    Keep,
}

impl<'s> EncodedChunks<'s> {
    fn open(
        schema: &'s FeatureSchema,
        input: &TableInput,
        options: &EncodeOptions,
        truths: Truths,
    ) -> Result<Self> {
        let format = input.format(options.format)?;
        let mut report = EncodeReport::default();
        let is_images = format == InputFormat::Images;
        if is_images != schema.is_images() {
            let (learned, given) = if is_images {
                ("tables", "images")
            } else {
                ("images", "a table")
            };
            return Err(input.options(format!(
                "the schema was learned from {learned}, but this is {given}"
            )));
        }
        let rows = if is_images {
            Self::open_images(schema, input, options, truths)?
        } else {
            let (source, roles) = open_table(schema, input, format, options, truths, &mut report)?;
            let column = roles.iter().position(|role| *role == Role::Label);
            let labeling = match column.filter(|_| truths == Truths::Keep) {
                None => Labeling::None,
                Some(column) => Labeling::Truth {
                    column: source.header().columns[column].clone(),
                },
            };
            let gap = match schema.missing {
                Missing::Keep => Gap::Mark,
                _ => Gap::Schema,
            };
            Rows::Table {
                source,
                encoder: Encoder::new(
                    schema,
                    &roles,
                    labeling,
                    gap,
                    options.decimal.unwrap_or(schema.decimal),
                ),
            }
        };
        Ok(Self {
            schema,
            rows,
            ready: VecDeque::new(),
            report,
            unseen: BTreeMap::new(),
            gaps: vec![0; schema.columns().len()],
            ended: false,
        })
    }

    #[cfg(feature = "images")]
    fn open_images(
        schema: &FeatureSchema,
        input: &TableInput,
        options: &EncodeOptions,
        truths: Truths,
    ) -> Result<Rows<'s>> {
        let rows = super::images::ImageRows::open(schema, input, options.limits, truths)?;
        Ok(Rows::Images(rows))
    }

    #[cfg(not(feature = "images"))]
    fn open_images(
        _: &FeatureSchema,
        input: &TableInput,
        _: &EncodeOptions,
        _: Truths,
    ) -> Result<Rows<'s>> {
        Err(TableError::not_built(
            input.path(),
            InputFormat::Images,
            "images",
        ))
    }

    /// What was noticed so far.
    pub fn report(&self) -> EncodeReport {
        let name = |column: usize| self.schema.columns()[column].name.clone();
        let mut report = self.report.clone();
        report.unseen = self
            .unseen
            .iter()
            .map(|(column, unseen)| UnseenCategories {
                column: name(*column),
                rows: unseen.rows,
                examples: unseen.names.clone(),
            })
            .collect();
        report.imputed = self
            .gaps
            .iter()
            .enumerate()
            .filter(|(_, rows)| **rows > 0)
            .map(|(column, rows)| (name(column), *rows))
            .collect();
        report
    }

    /// Encodes the next few blocks.
    fn refill(&mut self) -> Result<()> {
        let shape = self.schema.shape();
        match &mut self.rows {
            Rows::Table { source, encoder } => {
                let blocks = next_blocks(source.as_mut())?;
                self.ended = blocks.is_empty();
                let encoded: Vec<Result<(EncodedChunk, Encoded)>> = blocks
                    .par_iter()
                    .map(|block| encode_block(block, encoder, shape))
                    .collect();
                for result in encoded {
                    let (mut chunk, encoded) = result?;
                    for (column, unseen) in &encoded.unseen {
                        self.unseen.entry(*column).or_default().merge(unseen);
                    }
                    for (rows, gap) in self.gaps.iter_mut().zip(&encoded.gaps) {
                        *rows += gap.rows;
                    }
                    if encoded.n_rows > 0 {
                        chunk.first_row = self.report.rows;
                        self.report.rows += encoded.n_rows as u64;
                        self.ready.push_back(chunk);
                    }
                }
            }
            #[cfg(feature = "images")]
            Rows::Images(images) => match images.next_chunk(self.report.rows)? {
                Some(chunk) => {
                    self.report.rows += chunk.features.n_rows() as u64;
                    self.ready.push_back(chunk);
                }
                None => self.ended = true,
            },
        }
        Ok(())
    }
}

impl Iterator for EncodedChunks<'_> {
    type Item = Result<EncodedChunk>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended {
            if let Err(error) = self.refill() {
                self.ended = true;
                self.ready.clear();
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

fn encode_block(
    block: &Block,
    encoder: &Encoder<'_>,
    shape: Shape,
) -> Result<(EncodedChunk, Encoded)> {
    let mut values = Vec::new();
    let mut encoded = encoder.encode(block, Target::Grow(&mut values))?;
    let chunk = EncodedChunk {
        first_row: 0,
        features: Features::new(values, shape)
            .map_err(|error| TableError::options(block.file(), error.to_string()))?,
        ids: encoder
            .carries_ids()
            .then(|| std::mem::take(&mut encoded.ids)),
        truths: std::mem::take(&mut encoded.truths),
    };
    Ok((chunk, encoded))
}

/// Opens a table and matches its columns with those of the schema.
fn open_table(
    schema: &FeatureSchema,
    input: &TableInput,
    format: InputFormat,
    options: &EncodeOptions,
    truths: Truths,
    report: &mut EncodeReport,
) -> Result<(Box<dyn BlockSource>, Vec<Role>)> {
    let mut layout = Layout::of(schema);
    if let Some(label) = &options.label_column {
        layout.label = Some(label.clone());
    }
    let known = layout
        .features
        .iter()
        .chain(&layout.excluded)
        .map(String::as_str);
    let open_options = OpenOptions {
        delimiter: options.delimiter.or(schema.delimiter()),
        labels: options.labels.clone(),
        libsvm: Columns::from_names(known.filter(|name| name.starts_with('f'))),
        limits: options.limits,
    };
    let source = open(input, format, &open_options)?;
    let header = source.header();
    if let Some(label) = header.label.filter(|_| options.label_column.is_none()) {
        layout.label = Some(header.columns[label].clone());
    }
    let roles = layout.roles(
        input.path(),
        &header.columns,
        options.column_order,
        options.extra_columns,
    )?;
    check_readable(input, header, &roles)?;
    if truths == Truths::Keep && !roles.contains(&Role::Label) {
        let wanted = layout.label.clone().unwrap_or_else(|| "label".to_owned());
        return Err(input.unknown_column("label column", &wanted, &header.columns));
    }
    report.ignored = header
        .columns
        .iter()
        .zip(&roles)
        .filter(|(name, role)| **role == Role::Skip && !layout.excluded.contains(name))
        .map(|(name, _)| name.clone())
        .collect();
    Ok((source, roles))
}

fn features(values: Vec<f32>, shape: Shape, input: &TableInput) -> Result<Features> {
    if values.is_empty() {
        return Err(input.refused(NO_ROWS));
    }
    Features::new(values, shape).map_err(|error| input.options(error.to_string()))
}
