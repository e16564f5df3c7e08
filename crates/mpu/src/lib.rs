//! Multi-class positive-unlabelled learning: you have labelled rows of some classes, an unlabelled pool in which
//! all classes are mixed, and no labelled negatives. You want a classifier that finds the classes you know and
//! calls everything else unknown.
//!
//! # From a CSV file to decisions
//!
//! A table has a column with labels; it is blank where nobody looked. [`read_table`] understands columns,
//! classes and gaps, [`Classifier::params`] has a default for every setting, and
//! [`fit`](ClassifierParams::fit) estimates how much of the pool each class makes up, trains, and calibrates
//! probabilities on rows it holds out.
//!
//! ```
//! use mpu::{Classifier, Method, TableOptions, read_table};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (parts, new, saved) =
//! #     (folder.path().join("parts.csv"), folder.path().join("new.csv"), folder.path().join("model"));
//! # let mut text = "id,length,weight,defect\n".to_owned();
//! # for i in 0..300 {
//! #     let (kind, u) = (i % 3, f64::from(i * 37 % 100) / 100.0);
//! #     let (length, weight) = [(1.0 + u, 5.0 + u), (5.0 + u, 1.0 + u), (8.0 + u, 8.0 - u)][kind as usize];
//! #     let label = if i % 2 == 0 { ["dent", "scratch", ""][kind as usize] } else { "" };
//! #     text += &format!("{i},{length},{weight},{label}\n");
//! # }
//! # std::fs::write(&parts, text)?;
//! # std::fs::write(&new, "id,length,weight\n900,1.5,5.5\n901,5.5,1.5\n902,8.5,7.5\n")?;
//! // Some parts are known to have a dent or a scratch; nobody looked at the others.
//! let options = TableOptions { label_column: Some("defect".into()), id_column: Some("id".into()), ..TableOptions::default() };
//! let table = read_table(&parts, &options)?;
//! println!("{} rows, {} of them unlabelled", table.check.rows, table.check.unlabeled);
//!
//! let model = Classifier::params().method(Method::CsmpuSt).seed(7).fit(&table)?;
//! println!("of the pool, {:.0} % are dents", 100.0 * model.priors().as_slice()[0]);
//!
//! // New parts: a class, or unknown, and how sure that is.
//! let rows = model.rows(&new)?;
//! let answers = model.predict(&rows)?;
//! for (row, &class) in answers.answers.iter().enumerate() {
//!     let p = answers.probabilities[row * model.names().len() + class];
//!     println!("part {row}: {} ({:.0} %)", model.names()[class], 100.0 * p);
//! }
//! assert_eq!(model.answers(&rows)?, ["dent", "scratch", "unknown"]);
//!
//! // The folder is what `mpu-cli predict --model` reads, too.
//! model.save(&saved)?;
//! assert_eq!(Classifier::load(&saved)?.predict(&rows)?, answers);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Watching, stopping, going on
//!
//! [`fit_with`](ClassifierParams::fit_with) takes any [`Observer`](train::Observer): it hears of every step,
//! can stop the fit, and gets states to [`resume`](ClassifierParams::resume) from.
//!
//! # The layers
//!
//! Each part is a crate of its own, re-exported here: [`data`] (tables, benchmarks, splits), [`loss`] and
//! [`risk`] (what is minimised), [`prior`] (class shares of the pool), [`models`] (networks), [`train`] (the
//! loop), [`eval`] (judging and deciding), [`report`] (tables, charts and pages).

mod classifier;
mod config;
mod costs;
mod data_check;
pub mod ensemble;
mod error;
mod explain;
pub mod export;
pub mod files;
mod fit;
mod folder;
pub mod judge;
mod label_selection;
mod params;
mod predictions;
mod prepared;
mod prior_estimate;
mod prior_summary;
mod record;
mod rows;
pub mod run_report;
mod scorer;
mod table_data;
mod target_sample;

pub use classifier::Classifier;
pub use config::{Auto, BenchmarkData, ModelConfig, RunConfig, SweepConfig, is_about_a_table};
pub use costs::NamedCosts;
pub use data_check::{HeldOutCheck, describe_check};
pub use error::{Error, Result};
pub use explain::{
    Background, ColumnImportance, Effect, Explanation, Importances, KeptRows, Shown,
};
pub use fit::Trained;
pub use folder::{HeldOutScores, ModelCard, ModelFiles, RunFolder, read_state, write_state};
pub use label_selection::Subgrouped;
pub use params::ClassifierParams;
pub use predictions::{Decided, Place, Predictions, Rule};
pub use prepared::{DataFacts, Grown, NEGATIVE, Prepared, Watcher, dataset};
pub use prior_estimate::{detector_margins, estimate_priors, priors_from_margins};
pub use prior_summary::{prior_calls, prior_chart, prior_interval, prior_sentence, prior_warnings};
pub use rows::{DROPOUT, MIN_STEPS, TableConfig, TableRows, warm_up_epochs};
pub use table_data::{TableData, TablePriors, TableScenario, delimiter};
pub use target_sample::{TargetEstimate, TargetSample};

pub use mpu_data as data;
pub use mpu_data::table::{MpuTable, TableOptions, read_table};
pub use mpu_eval as eval;
pub use mpu_loss as loss;
pub use mpu_models as models;
pub use mpu_prior as prior;
pub use mpu_report as report;
pub use mpu_risk as risk;
pub use mpu_train as train;
pub use mpu_train::Method;

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
