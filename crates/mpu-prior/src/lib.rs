//! Class-prior estimation for multi-class positive-unlabeled learning.
//!
//! Everything starts from out-of-fold [`Margins`] of labelled rows and of the pool. [`estimate`] does the paper's three
//! steps in one call:
//!
//! | step | module | what it gives |
//! |---|---|---|
//! | 1 | [`np_bound`] | the printed lower bound, with its assumption in its name, and a rigorous upper bound |
//! | 2 | [`matching`], [`moments`], [`system`], [`solver`] | the point estimate by moment matching, on margins that negatives hardly reach |
//! | 2, other methods | [`binary`] | best-bin, Elkan–Noto, KM2, penalised L1, DEDPUL: one class at a time |
//! | 2, without its assumption | [`subgroups`](mod@subgroups), [`scar`] | estimates by sub-groups, and whether labelled rows are a random draw |
//! | 3 | [`bootstrap`](mod@bootstrap), [`propagate`] | intervals, and priors to train with under uncertainty |
//!
//! [`settle`](mod@settle) recognises priors about which the rows say almost nothing, and draws them towards a careful guess.
//!
//! Underneath are the set of admissible priors with the exact projection onto it ([`simplex`]) and shifts of
//! priors for the study of wrong ones ([`perturb`]).
//!
//! ```
//! use mpu_data::Seed;
//! use mpu_prior::{EstimateOptions, EstimatorKind, Margins, Rows, estimate};
//!
//! // One observed class: its labelled rows have margin about 3, three tenths of the pool as well.
//! let margin = |i: i32| 3.0 + f64::from(i % 10) / 10.0;
//! let class: Vec<f64> = (0..200).map(margin).collect();
//! let pool: Vec<f64> = (0..1000).map(|i| if i < 300 { margin(i) } else { -3.0 }).collect();
//! let margins = Margins::new(vec![Rows::of_one_fold(class)], Rows::of_one_fold(pool))?;
//!
//! let estimator = EstimatorKind::default().build();
//! let report = estimate(&margins, estimator.as_ref(), &EstimateOptions::default(), Seed(1))?;
//! assert!((report.classes[0].estimate - 0.3).abs() < 0.01);
//! assert!(report.classes[0].interval.low < 0.3 && report.classes[0].interval.high > 0.3);
//! # Ok::<(), mpu_prior::Error>(())
//! ```

pub mod binary;
pub mod binomial;
pub mod bootstrap;
mod error;
pub mod estimator;
pub mod few_rows;
pub mod labeling_rate;
mod linear;
pub mod margins;
pub mod matching;
pub mod moments;
pub mod np_bound;
pub mod perturb;
pub mod propagate;
pub mod report;
pub mod scar;
pub mod settle;
pub mod simplex;
pub mod solver;
pub mod subgroups;
pub mod system;
mod tail;
#[cfg(test)]
mod testing;

pub use bootstrap::{BootstrapOptions, bootstrap};
pub use error::{Error, Result};
pub use estimator::{EstimatorKind, Prepared, PriorEstimator};
pub use few_rows::allow_for_few_rows;
pub use labeling_rate::{LabelingRate, Rates};
pub use margins::{Counts, Group, Margins, Rows};
pub use matching::Matching;
pub use np_bound::{NpBound, NpOptions, np_bounds};
pub use report::{ClassReport, EstimateOptions, PriorReport, estimate};
pub use scar::{GroupedReport, Selection, estimate_by_subgroups};
pub use settle::settle;
pub use simplex::FeasibleSet;
pub use subgroups::{SubgroupOptions, subgroups};
