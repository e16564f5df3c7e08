//! Losses for multi-class positive-unlabeled (MPU) learning.
//!
//! This crate is the bottom layer of `mpu` and depends on candle alone. It holds, each as a plain
//! `f64` function and on candle tensors with gradients:
//!
//! 1. six **surrogates** `ℓ(z)` of a margin, raw or symmetrised: [`Loss`];
//! 2. **per-sample losses** `L(f, y)` of a row of `k` scores: [`SampleLoss`];
//! 3. **costs** of mistakes, at training and at decision time: [`CostMatrix`];
//! 4. a **diagnostic** of the constant-sum condition: [`constant_sum()`].
//!
//! # Symbols
//!
//! | in the paper | here | meaning |
//! |---|---|---|
//! | `k` | `n_classes` | number of classes; the last one, `k-1` counted from 0, is negative |
//! | `f(x)` | `scores`, [`Logits`] | `k` scores of a sample; the answer is the largest |
//! | `ℓ(z)`, `ℓ(z, y) = ℓ(yz)` | [`Loss`] | binary surrogate of the margin |
//! | `γ` | `gamma` | scale of a surrogate |
//! | `C` | [`CONSTANT_SUM`] | `ℓ(z) + ℓ(-z) = C`, with `C = 1` |
//! | `C_yj` | [`CostMatrix`] | cost of answering `j` where the truth is `y` |
//! | `i*` | [`top_observed`] | the observed class with the highest score |
//!
//! # In four steps
//!
//! Choose a surrogate, make it a loss of scores, and take its gradient:
//!
//! ```
//! use candle_core::{Device, Tensor, Var};
//! use mpu_loss::{Form, Logits, Loss, SampleLoss, Surrogate, observed_loss};
//!
//! // 1. A surrogate: the probability-style sigmoid, scale 1, as it is.
//! let loss = Loss::new(Surrogate::SigmoidProb, 1.0, Form::Raw)?;
//!
//! // 2. Scores of two samples for k = 3 classes: two observed ones and the negative one last.
//! let scores = Var::new(&[[2.0f32, 0.0, -1.0], [0.5, 0.0, 1.0]], &Device::Cpu)?;
//!
//! // 3. The first sample is known to be of class 0; the second is taken as negative (class 2).
//! let losses = SampleLoss::Csmpu.tensor(&loss, &Logits::new(&scores)?, &[0, 2])?;
//!
//! // 4. Gradients flow to the scores.
//! let gradients = losses.sum_all()?.backward()?;
//! let gradient = gradients.get(&scores).unwrap().to_vec2::<f32>()?;
//! assert!(gradient[0][0] < 0.0, "raising f_0 lowers the loss of a sample of class 0");
//! assert_eq!(gradient[0][1], 0.0, "the other observed class is left alone");
//! assert!(gradient[1][0] > 0.0, "i* = 0 is pushed down where the sample is negative");
//!
//! // The same in plain f64, without tensors: L_0 = ℓ(f_0) + ℓ(-f_k).
//! let by_hand = observed_loss(&loss, &[2.0, 0.0, -1.0], 0)?;
//! assert!((losses.to_vec1::<f32>()?[0] as f64 - by_hand).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Numerical care
//!
//! Values and gradients are finite for every finite score (tested to |z| = 100 in `f32`). At kinks
//! the slope is PyTorch's: 0 for `relu` at 0. Anything invalid (a scale of 0, a negative cost, a
//! score that is NaN) is an [`Error`] that names the value and what is allowed, never a panic.

mod constant_sum;
mod costs;
mod error;
mod facts;
mod logits;
mod loss;
mod sample;
mod stable;
mod surrogate;

/// The tensors of this interface, in the version that they are from.
pub use candle_core;
pub use constant_sum::{ConstantSum, Precision, constant_sum};
pub use costs::{expected_cost_tensor, squared_error, squared_error_tensor};
pub use error::{Error, Result};
pub use facts::Facts;
pub use logits::Logits;
pub use loss::{CONSTANT_SUM, Form, Loss};
pub use mpu_data::CostMatrix;
pub use sample::{
    SampleLoss, cost_sensitive, negative_loss, observed_loss, one_versus_rest, top_observed,
};
pub use surrogate::Surrogate;
