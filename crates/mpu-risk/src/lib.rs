//! Risk estimators for multi-class positive-unlabeled (MPU) learning.
//!
//! A user has labelled rows of classes `1..k-1`, a pool of unlabelled rows of all `k` classes, and no
//! labelled row of class `k`. Nobody can average a loss over negatives that nobody labelled; the
//! estimators here do it all the same, from labelled rows, the pool and the class priors.
//!
//! # A step of training
//!
//! ```
//! use candle_core::{Device, Var};
//! use mpu_data::{ClassCount, MpuLabel::{Labeled, Unlabeled}, Priors};
//! use mpu_loss::{Form, Loss, Surrogate};
//! use mpu_risk::{Correction, Estimator, Groups, Objective};
//!
//! // k = 3: two observed classes, which make up 30 % and 20 % of the pool; the rest is negative.
//! let priors = Priors::from_observed(&[0.3, 0.2])?;
//! let loss = Loss::new(Surrogate::SigmoidProb, 1.0, Form::Raw)?;
//! let estimator = Estimator::new(Objective::Csmpu(Correction::Abs), loss, priors);
//!
//! // A batch: what is known of each row, and the model's scores for it (any device, any graph).
//! let labels = [Labeled(0), Labeled(1), Unlabeled, Unlabeled];
//! let groups = Groups::batch(ClassCount::new(3)?, &labels)?;
//! let scores = Var::new(
//!     &[[2.0f32, -1.0, -1.0], [-1.0, 1.0, 0.0], [1.5, -1.0, 0.5], [-2.0, -1.0, 3.0]],
//!     &Device::Cpu,
//! )?;
//!
//! let risk = estimator.risk(&scores, &groups)?;
//! let gradients = risk.objective.backward()?;       // for the optimiser
//! assert!(gradients.get(&scores).is_some());
//! println!("raw {:.3}, corrected {:.3}", risk.terms.raw, risk.terms.corrected);
//! if risk.terms.active {
//!     println!("the correction was active: the raw estimate has a negative part");
//! }
//! # assert!((risk.objective.to_scalar::<f32>()? as f64 - risk.terms.corrected).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! "Why is my loss negative?" is what users of such estimators ask most: [`RiskTerms`] keeps every
//! part, the raw and the corrected value, and whether the correction was active.
//!
//! # Symbols
//!
//! | in the paper | here | meaning |
//! |---|---|---|
//! | `π_i`, `π_k` | [`Priors`](mpu_data::Priors) | share of each class in the pool; the negative one last |
//! | `X_i`, `X_u` | [`Groups`] | labelled rows of class `i`; the pool |
//! | `L_i`, `L_k` | [`SampleLoss`](mpu_loss::SampleLoss) | loss of a row as class `i`; as negative |
//! | `μ_i` | [`RiskTerms::labeled`] | mean of `L_i` over `X_i` |
//! | `ν_i` | [`RiskTerms::labeled_as_negative`] | mean of `L_k` over `X_i` |
//! | `μ_u` | [`RiskTerms::unlabeled`] | mean of `L_k` over the pool |
//! | `g` | [`Correction`], [`Placement`] | what keeps an estimate from turning negative, and where |
//! | `C` | [`CONSTANT_SUM`](mpu_loss::CONSTANT_SUM) | `ℓ(z) + ℓ(-z) = C = 1` |
//!
//! # Which objective?
//!
//! [`Objective`] lists them with their formulas. The paper's `csmpu-*` is reproduced as printed, but its
//! Theorem 1 is not exactly unbiased: it exceeds the true risk by [`unbiasedness_gap`], which is zero
//! only where the top observed score on class-`i` data is always `f_i`. `csmpu-exact-*` is unbiased for
//! every surrogate and every [`CostMatrix`](mpu_loss::CostMatrix), and its corrected part estimates
//! `π_k E_k[L_k] ≥ 0`, so that a negative value is certainly wrong. `mpu-ml` is a likelihood, with nothing to
//! subtract or to correct. `eulac-*` is the same idea as `csmpu-exact-*` from the literature on augmented classes, with
//! the square loss. `csmpu-st` is what self-training minimises, for rows of the pool with soft
//! targets ([`Groups::with_targets`]). `supervised` sees hidden labels and is a limit, not a competitor.
//!
//! # Without tensors
//!
//! [`Estimator::plain`] gives the same risk and its gradient in `f64` from a slice of scores.
//! [`bounds`] holds the theory: estimation error, misspecified priors, the corrected risk.

pub mod bounds;
mod correction;
mod cross_entropy;
mod diagnostics;
mod error;
mod estimator;
mod estimators;
mod group_tensors;
mod groups;
mod likelihood;
mod objective;
mod squared;
mod terms;

/// The tensors of this interface, in the version that they are from.
pub use candle_core;
pub use correction::{Correction, Placement};
pub use diagnostics::{area_offset, class_risk, unbiasedness_gap};
pub use error::{Error, Result};
pub use estimator::{Estimator, PlainRisk, Risk};
pub use group_tensors::GroupTensors;
pub use groups::Groups;
pub use likelihood::PoolSurprise;
pub use objective::Objective;
pub use terms::RiskTerms;
