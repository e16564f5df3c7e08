//! Opening: from an input and its format to a source of blocks.

use super::block::BlockSource;
use super::csv::CsvSource;
use super::error::Result;
use super::format::InputFormat;
use super::frame::FrameSource;
use super::input::TableInput;
use super::libsvm::{Columns, LibsvmSource};
use super::limits::Limits;
use super::npy_source::NpySource;

/// What a source needs to know besides its bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenOptions {
    pub(super) delimiter: Option<u8>,
    pub(super) labels: Option<TableInput>,
    pub(super) libsvm: Option<Columns>,
    pub(super) limits: Limits,
}

/// Opens a table at its first row.
pub(super) fn open(
    input: &TableInput,
    format: InputFormat,
    options: &OpenOptions,
) -> Result<Box<dyn BlockSource>> {
    let limits = &options.limits;
    Ok(match format {
        InputFormat::Csv => Box::new(CsvSource::open(input, options.delimiter, limits)?),
        InputFormat::Tsv => {
            let delimiter = options.delimiter.unwrap_or(b'\t');
            Box::new(CsvSource::open(input, Some(delimiter), limits)?)
        }
        InputFormat::Libsvm => Box::new(LibsvmSource::open(input, options.libsvm, limits)?),
        InputFormat::Npy => Box::new(NpySource::open_npy(input, options.labels.as_ref(), limits)?),
        InputFormat::Npz => Box::new(NpySource::open_npz(input, limits)?),
        #[cfg(feature = "parquet")]
        InputFormat::Parquet => Box::new(super::parquet::ParquetSource::open(input, limits)?),
        #[cfg(not(feature = "parquet"))]
        InputFormat::Parquet => {
            return Err(super::TableError::not_built(
                input.path(),
                format,
                "parquet",
            ));
        }
        InputFormat::Memory => match input.as_frame() {
            Some(frame) => Box::new(FrameSource::open(input, frame)?),
            None => {
                return Err(input.options(format!(
                    "the format memory is for tables in memory, not for files\nhint: one of {}",
                    InputFormat::FILES.map(InputFormat::slug).join(", ")
                )));
            }
        },
        InputFormat::Images => {
            return Err(input.options("a table is wanted here, not a folder of images"));
        }
    })
}
