//! Judging multi-class positive-unlabeled classifiers, and deciding by them.
//!
//! Everything here works on plain scores and probabilities, `k` to a row, whatever made them: no tensor
//! library, no disk.
//!
//! | module | question |
//! |---|---|
//! | [`metrics`] | how many answers are right, by true labels |
//! | [`auc`], [`margins`] | how well scores rank rows, how clear answers are |
//! | [`reliability`] | whether probabilities are as good as they say |
//! | [`pu_metrics`], [`pu_accuracy`] | the same questions without a single labelled negative |
//! | [`calibrate`] | from scores to probabilities, fitted on held-out labelled rows and pool |
//! | [`stack`] | what several detectors of labelled rows say together |
//! | [`shift`] | what if new rows come from other class proportions |
//! | [`decide`], [`thresholds`] | from probabilities to answers: likeliest, cheapest, or sure enough |
//! | [`abstain`] | what if unsure rows are left unanswered |
//! | [`training_range`] | which rows lie outside of what the model was trained on |
//! | [`importance`] | which columns matter, and which moved a row's answer |
//!
//! ```
//! use mpu_data::ClassCount;
//! use mpu_eval::{Confusion, Decision};
//!
//! let two = ClassCount::new(2)?;
//! let answers = Decision::Argmax.answers(two, &[0.9, 0.1, 0.4, 0.6, 0.7, 0.3])?;
//! let judged = Confusion::new(two, &[0, 1, 1], &answers)?;
//! assert_eq!(judged.accuracy(), 2.0 / 3.0);
//! # Ok::<(), mpu_eval::Error>(())
//! ```

pub mod abstain;
pub mod auc;
pub mod calibrate;
pub mod decide;
mod error;
mod held_out;
pub mod importance;
pub mod margins;
pub mod metrics;
mod newton;
mod proxy;
pub mod pu_metrics;
pub mod reliability;
pub mod shift;
pub mod stack;
#[cfg(test)]
mod testing;
pub mod thresholds;
pub mod training_range;

pub use calibrate::{Anchor, Calibration};
pub use decide::{Decision, Thresholds, top_classes};
pub use error::{Error, Result};
pub use importance::Importance;
pub use metrics::{Confusion, Rates};
pub use mpu_data::top_class;
pub use proxy::pu_accuracy;
pub use pu_metrics::PuJudgement;
pub use stack::Stack;
pub use training_range::TrainingRange;
