//! Training and judging multi-class positive-unlabeled classifiers.
//!
//! So far this crate holds the metrics; the training loop follows.
//!
//! ```
//! use mpu_data::ClassCount;
//! use mpu_train::Confusion;
//!
//! let confusion = Confusion::new(ClassCount::new(3)?, &[0, 1, 2, 2], &[0, 1, 2, 1])?;
//! assert_eq!(confusion.accuracy(), 0.75);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod metrics;

pub use error::{Error, Result};
pub use metrics::{Confusion, Rates};
