//! The rows to score, some at a time.

use mpu_data::table::{
    ColumnOrder, EncodeOptions, EncodeReport, EncodedChunks, ExtraColumns, FeatureSchema,
    TableError, TableInput,
};

use crate::args::predict::Predict;

/// Rows and numbers of a block: enough for every thread, few enough for memory to stay as it is.
const BLOCK_ROWS: usize = 1 << 14;
const BLOCK_NUMBERS: usize = 1 << 21;

/// Some consecutive rows.
pub(super) struct Block {
    /// The number of the first row, counted from 0.
    pub(super) first_row: u64,
    pub(super) n_rows: usize,
    /// Encoded rows, not scaled.
    pub(super) values: Vec<f32>,
    /// The id of each row, if the table has ids.
    pub(super) ids: Option<Vec<String>>,
}

/// The blocks of a table, from its beginning to its end.
pub(super) struct Blocks<'s> {
    chunks: EncodedChunks<'s>,
    width: usize,
}

impl<'s> Blocks<'s> {
    pub(super) fn open(schema: &'s FeatureSchema, args: &Predict) -> anyhow::Result<Self> {
        let options = EncodeOptions {
            format: args.input_format,
            column_order: if args.any_order {
                ColumnOrder::Any
            } else {
                ColumnOrder::Schema
            },
            extra_columns: if args.ignore_extra {
                ExtraColumns::Ignore
            } else {
                ExtraColumns::Refuse
            },
            delimiter: args.text.delimiter()?,
            decimal: args.text.decimal(),
            limits: args.text.limits()?,
            ..EncodeOptions::default()
        };
        let chunks = schema.chunks(TableInput::file(&args.data), &options);
        Ok(Self {
            chunks: chunks.map_err(with_flag)?,
            width: schema.width(),
        })
    }

    /// What was noticed so far.
    pub(super) fn report(&self) -> EncodeReport {
        self.chunks.report()
    }

    /// The next rows; none at the end.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Block>> {
        let mut block: Option<Block> = None;
        let full =
            |block: &Block| block.n_rows >= BLOCK_ROWS || block.values.len() >= BLOCK_NUMBERS;
        while !block.as_ref().is_some_and(full) {
            let Some(chunk) = self.chunks.next().transpose()? else {
                break;
            };
            let block = block.get_or_insert_with(|| Block {
                first_row: chunk.first_row,
                n_rows: 0,
                values: Vec::new(),
                ids: None,
            });
            block.n_rows += chunk.features.n_rows();
            if block.values.is_empty() {
                block.values = chunk.features.into_values();
            } else {
                block.values.extend_from_slice(chunk.features.values());
            }
            if let Some(ids) = chunk.ids {
                block.ids.get_or_insert_default().extend(ids);
            }
        }
        Ok(block)
    }

    /// The numbers of an encoded row.
    pub(super) fn width(&self) -> usize {
        self.width
    }
}

/// Adds the flag that allows what was refused.
fn with_flag(error: TableError) -> anyhow::Error {
    let flag = match &error {
        TableError::ColumnOrder { .. } => "--any-order matches columns by name",
        TableError::ColumnsDiffer { missing, .. } if missing.is_empty() => {
            "--ignore-extra ignores columns that the model does not know"
        }
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}\nhint: {flag}")
}
