//! Data for multi-class positive-unlabeled (MPU) learning.
//!
//! The light core, which every other crate may use without pulling in a reader or a network
//! client, holds four things:
//!
//! | module | what it keeps true |
//! |---|---|
//! | [`class`] | `k ≥ 2` classes, the last one negative and never labelled; a row is labelled or it is not |
//! | [`priors`] | class priors π that are in range and sum to one, or do not exist |
//! | [`features`] | rows of `f32` in one block that is a whole number of rows |
//! | [`seed`] | one seed, many named random streams that do not disturb one another |
//!
//! With the cargo feature `tables` there is also `table`: the user's own data, read and checked
//! (`parquet` and `images` add those formats).
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

pub mod class;
mod error;
pub mod features;
pub mod priors;
pub mod seed;
#[cfg(feature = "tables")]
pub mod table;

pub use class::{ClassCount, MpuLabel};
pub use error::{Error, Result};
pub use features::{Features, Shape};
pub use priors::Priors;
pub use seed::{Seed, Stream};
