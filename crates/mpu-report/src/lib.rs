//! Reports for multi-class positive-unlabeled learning: no tensors, no training.
//!
//! - [`chart`] and [`figures`]: drawings, as SVG;
//! - [`paper`]: the published figures, embedded as data;
//! - [`Record`]: what is kept of a run;
//! - [`table`]: one table model and the formats it is written in;
//! - [`tensorboard`]: event files.
//!
//! ```
//! use mpu_report::{Align, Table, paper};
//!
//! let mut table = Table::new([("loss", Align::Left), ("published max", Align::Right)]);
//! for row in paper::loss_variants()? {
//!     table.push([row.loss, format!("{:.2}", row.const_sum_max)]);
//! }
//! assert!(table.to_md().contains("| hinge | 10.00 |"));
//! # Ok::<(), mpu_report::Error>(())
//! ```

pub mod chart;
mod error;
pub mod figures;
pub mod paper;
mod record;
pub mod table;
pub mod tensorboard;

pub use error::{Error, Result};
pub use record::{Curves, Heat, Record, RunKey, Scores};
pub use table::{Align, Format, Table, render};
