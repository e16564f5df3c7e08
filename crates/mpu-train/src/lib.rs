//! Training multi-class positive-unlabeled classifiers.
//!
//! A [`Run`] (architecture, method, priors, settings, seed) is trained on a [`Problem`] (rows, and what is known
//! of each) and returns an [`Outcome`] of plain values. It touches no disk, clock, environment
//! or screen: an [`Observer`] is told what happens and does what it likes with it.
//!
//! ```
//! use mpu_data::{Features, MpuLabel::{Labeled, Unlabeled}, Priors, Seed, Shape};
//! use mpu_models::ModelSpec;
//! use mpu_train::{Problem, Run, Sample, TrainSettings, Unobserved};
//!
//! // One observed class on the left of 0, everything else on the right; half of the pool is negative.
//! let values = vec![-1.0, -1.2, -0.9, -1.1, 1.0, 1.2, -1.0, 0.9];
//! let labels = vec![Labeled(0), Labeled(0), Labeled(0), Unlabeled, Unlabeled, Unlabeled, Unlabeled, Unlabeled];
//! let priors = Priors::from_observed(&[0.4])?;
//! let train = Sample { features: Features::new(values, Shape::Vector(1))?, labels };
//! let problem = Problem::new(priors.classes(), train)?;
//!
//! let run = Run {
//!     settings: TrainSettings { epochs: 20, ..TrainSettings::default() },
//!     seed: Seed(1),
//!     ..Run::new(ModelSpec::mlp5(1, 2), "csmpu-exact-nn".parse()?, priors)
//! };
//! let outcome = run.train(&problem, None, &mut Unobserved)?;
//! let scores = run.predict(outcome.params(), &[-1.05, 1.05])?;
//! assert!(scores[0] > scores[1], "left is the observed class");
//! assert!(scores[2] < scores[3], "right is negative");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod checkpoint;
mod cross_fit;
mod device;
mod engine;
mod error;
mod event;
mod figures;
mod outcome;
mod precision;
mod predictor;
mod problem;
mod procedure;
mod select;
mod settings;
mod teacher;
mod trainer;

/// The tensors of this interface, in the version that they are from.
pub use candle_core;
pub use checkpoint::{KeptModel, State, model_from_bytes, model_to_bytes};
pub use cross_fit::{CrossFit, OutOfFold};
pub use device::DeviceChoice;
pub use engine::EngineChoice;
pub use error::{Error, Result};
pub use event::{Control, Event, Observer, Unobserved};
pub use outcome::{EpochMetrics, Outcome};
pub use precision::Precision;
pub use predictor::Predictor;
pub use problem::{Judged, Problem, Sample};
pub use procedure::{Collapse, CostsEnter, Method, Pulse, SelfTraining};
pub use select::Selection;
pub use settings::{Batching, Keep, Schedule, TrainSettings};
pub use trainer::{Run, RunError};
