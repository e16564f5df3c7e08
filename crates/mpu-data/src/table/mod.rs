//! The user's own data: tables and images, understood and checked as an MPU problem.
//!
//! [`read_table`] reads a file for training and says what it understood ([`DataCheck`]).
//! The [`FeatureSchema`] it learns is stored with a model and encodes later tables in the same
//! way, whole or in chunks of constant memory; [`read_held_out`] reads one with true labels.
//!
//! ```
//! use mpu_data::MpuLabel;
//! use mpu_data::table::{EncodeOptions, Missing, TableInput, TableOptions, read_table};
//!
//! let items = "id,weight,colour,kind\n\
//!              a,1.5,red,dent\n\
//!              b,2.5,blue,scratch\n\
//!              c,1.0,red,\n\
//!              d,,blue,unknown\n";
//! let options = TableOptions {
//!     label_column: Some("kind".to_owned()),
//!     id_column: Some("id".to_owned()),
//!     missing: Missing::Mean,
//!     ..TableOptions::default()
//! };
//! let table = read_table(TableInput::from_bytes("items.csv", items.as_bytes()), &options)?;
//! assert_eq!(table.class_names, ["dent", "scratch"]);
//! assert_eq!(table.labels[1], MpuLabel::Labeled(1));
//! assert_eq!(table.check.unlabeled, 2);
//! assert_eq!(table.schema.feature_names(), ["weight", "colour=blue", "colour=red"]);
//!
//! let later = TableInput::from_bytes("new.csv", "id,weight,colour\ne,2.0,green\n".as_bytes());
//! let scored = table.schema.encode(later, &EncodeOptions::default())?;
//! assert_eq!(scored.features.row(0), [2.0, 0.0, 0.0]);
//! assert_eq!(scored.report.unseen[0].rows, 1);
//! # Ok::<(), mpu_data::table::TableError>(())
//! ```

mod block;
mod cell;
mod check;
mod csv;
mod csv_tokens;
mod encode;
mod encoder;
mod error;
mod fill;
mod format;
mod frame;
mod held_out;
#[cfg(feature = "images")]
mod images;
#[cfg(feature = "images")]
mod images_read;
mod input;
mod labels;
mod layout;
mod learn;
mod libsvm;
mod limits;
mod lines;
mod looks;
mod near;
mod npy;
mod npy_source;
mod open;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_pages;
mod place;
mod positives;
mod precision;
mod read;
mod scan;
mod schema;
mod stats;
#[cfg(test)]
mod tests;

pub use check::{
    ClassCheck, ColumnCheck, ColumnType, DataCheck, Duplicates, LEAKAGE_AUC, Leakage, LeakageKind,
    Sampling, SamplingScheme, Warning,
};
pub use encode::{EncodeReport, EncodedChunk, EncodedChunks, EncodedTable, UnseenCategories};
pub use error::{Result, TableError};
pub use format::InputFormat;
pub use frame::{Column, Frame};
pub use held_out::{HeldOut, read_held_out};
pub use input::TableInput;
pub use labels::{ConventionOrigin, LabelCheck, LabelNote, MarkerCount};
pub use limits::Limits;
pub use options::{
    ColumnOrder, Decimal, EncodeOptions, ExtraColumns, ImageSize, LabelConvention, Missing,
    Positives, TableOptions, UnlabeledMarker,
};
pub use place::{At, Place};
pub use read::{MpuTable, read_table};
pub use schema::{ColumnKind, FeatureSchema, InputColumn, SCHEMA_VERSION};
