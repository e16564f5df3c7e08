//! Data for multi-class positive-unlabeled (MPU) learning.
//!
//! The light core, which every other crate may use without pulling in a heavy reader or a network
//! client (`default-features = false`), holds these:
//!
//! | module | what it keeps true |
//! |---|---|
//! | [`class`] | `k ≥ 2` classes, the last one negative and never labelled; a row is labelled or it is not |
//! | [`costs`] | what each mistake costs, and the answer that is cheapest on average |
//! | [`priors`] | class priors π that are in range and sum to one, or do not exist |
//! | [`features`] | rows of `f32` in one block that is a whole number of rows |
//! | [`seed`] | one seed, many named random streams that do not disturb one another |
//! | [`dataset`] | rows with classes, and test rows set apart |
//! | [`provenance`] | where rows came from; what is not as published is marked |
//! | [`prep`] | scaling that is fitted on training rows only |
//! | [`split`] | MPU problems: labelled rows, pool, validation and test rows that never overlap |
//! | [`source`] | the nine benchmarks: catalogue, readers, verified downloads (features `fetch`, `parquet`) |
//!
//! With the cargo feature `tables` there is also `table`: the user's own data, read and checked
//! (`parquet` and `images` add those formats); with `candle-datasets` there is `candle_datasets`, which makes
//! datasets of candle's and gives them back.
//!
//! ```
//! use mpu_data::{ClassCount, MpuLabel, Priors};
//!
//! // Three observed classes and the negative class: k = 4.
//! let classes = ClassCount::new(4)?;
//! assert_eq!(classes.negative(), 3);
//! assert_eq!(classes.label(1)?, MpuLabel::Labeled(1));
//! assert!(classes.label(3).is_err(), "the negative class is never labelled");
//!
//! let priors = Priors::from_observed(&[0.2, 0.2, 0.1])?;
//! assert_eq!(priors.negative(), 0.5);
//! # Ok::<(), mpu_data::Error>(())
//! ```

#[cfg(feature = "candle-datasets")]
pub mod candle_datasets;
pub mod class;
#[cfg(feature = "parquet")]
mod contain;
pub mod costs;
pub mod dataset;
mod error;
pub mod features;
mod named;
pub mod prep;
pub mod priors;
pub mod provenance;
pub mod seed;
pub mod source;
pub mod split;
#[cfg(feature = "tables")]
pub mod table;

pub use class::{ClassCount, MpuLabel, top_class};
#[cfg(feature = "parquet")]
pub use contain::panics_are_contained;
pub use costs::CostMatrix;
pub use dataset::{Dataset, Holdout, Rows, TrainTest};
pub use error::{Error, Result, bad_setting, mismatch};
pub use features::{Features, LentBlock, Shape};
pub use named::UnknownName;
pub use prep::{Scaler, Scaling};
pub use priors::Priors;
pub use provenance::{Deviation, Origin, Provenance};
pub use seed::{Seed, Stream, scramble};
pub use source::DatasetId;
pub use split::{Split, SplitSpec};

// What `named!` writes refers to these.
#[doc(hidden)]
pub use {named::assert_distinct, serde};
