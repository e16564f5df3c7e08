//! Reports for multi-class positive-unlabeled learning: no tensors, no training.
//!
//! - [`artefact`]: the paper's tables from records;
//! - [`page`]: sections, as Markdown and as one HTML page;
//! - [`chart`] and [`figures`]: drawings, as SVG;
//! - [`paper`]: the published figures, embedded as data;
//! - [`Record`]: what is kept of a run;
//! - [`run_report`]: the report of one run, or of several side by side;
//! - [`stats`]: means, intervals, tests and effect sizes of a handful of runs;
//! - [`store`]: a folder of records that many runners fill;
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

pub mod artefact;
mod atomic;
mod cell;
pub mod chart;
mod error;
pub mod figures;
#[cfg(test)]
mod fixture;
pub mod page;
pub mod paper;
mod record;
mod repeats;
pub mod run_report;
pub mod stats;
pub mod store;
pub mod table;
pub mod tensorboard;
mod wording;

pub use atomic::write_atomic;
pub use error::{Error, Result};
pub use page::Section;
pub use record::{Curves, Heat, RateResult, Record, RunKey, Scores};
pub use repeats::Repeats;
pub use table::{Align, Cell, Format, Table, csv_field, prose, render, visible};
