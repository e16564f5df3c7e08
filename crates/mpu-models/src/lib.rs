//! Networks for multi-class positive-unlabeled learning: what they are, their parameters, and two
//! ways to train them. And forests, for tables.
//!
//! | module | what is in it |
//! |---|---|
//! | [`spec`] | the architectures: MLP of any widths, ResNet of depth 6n + 2 |
//! | [`params`] | named parameters in a fixed order, trainable ones apart from buffers |
//! | [`init`] | initial weights from the caller's generator |
//! | [`network`] | networks as candle modules: plain operations on any device |
//! | [`module`] | networks of the user's own, written for candle |
//! | [`fused`] | the fast path: whole training steps on the CPU in reused buffers |
//! | [`optim`] | Adam and gradient descent with momentum, in place |
//! | [`forest`] | trees for tables: soft targets, categories and missing values as they are |
//! | [`onnx`] | trained networks as ONNX models |
//!
//! The crate computes. It reads no file, clock, environment variable or random source of its own,
//! and prints nothing.
//!
//! A few steps of a small perceptron, with the loss and its gradient written out by the caller:
//!
//! ```
//! use mpu_models::fused::Workspace;
//! use mpu_models::{Init, Mode, ModelSpec, OptimSpec, Optimizer, Params, Threads};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let spec = ModelSpec::mlp5(4, 2);
//! let mut rng = ChaCha8Rng::seed_from_u64(7);
//! let mut params = Params::init(&spec, Init::KaimingNormal, &mut rng)?;
//! let mut workspace = Workspace::new(&spec, 8, Threads::ONE)?;
//! let mut optimizer = Optimizer::new(OptimSpec::ADAM, params.trainable().len())?;
//!
//! let rows: Vec<f32> = (0..8 * 4).map(|i| (i % 7) as f32).collect();
//! let mut losses = Vec::new();
//! for _ in 0..20 {
//!     workspace.batch_mut(8)?.copy_from_slice(&rows);
//!     let logits = workspace.forward(&mut params, Mode::Train)?;
//!     // Half the mean squared distance of the scores from one.
//!     let dlogits: Vec<f32> = logits.iter().map(|f| (f - 1.0) / 16.0).collect();
//!     losses.push(logits.iter().map(|f| (f - 1.0).powi(2)).sum::<f32>() / 32.0);
//!     let gradient = workspace.backward(&params, &dlogits)?;
//!     optimizer.step(params.trainable_mut(), gradient, 1e-3)?;
//! }
//! assert!(losses[19] < losses[0] / 2.0);
//! # Ok::<(), mpu_models::Error>(())
//! ```

mod device_optim;
mod dropout;
mod error;
pub mod forest;
pub mod fused;
pub mod init;
mod kernels;
mod layout;
mod mlp;
pub mod module;
pub mod network;
mod norm;
pub mod onnx;
pub mod optim;
pub mod params;
mod resnet;
pub mod spec;
mod threads;

/// The tensors of this interface, in the version that they are from.
pub use candle_core;
/// The layers, in the version that they are from.
pub use candle_nn;
pub use device_optim::DeviceOptimizer;
pub use dropout::Dropout;
pub use error::{Error, Result};
pub use init::Init;
pub use layout::{Entry, Role};
pub use module::Module;
pub use network::Network;
pub use optim::{OptimSpec, OptimState, Optimizer};
pub use params::Params;
pub use spec::{MlpSpec, Mode, ModelSpec, ModuleSpec, ResNetSpec, allow_weights};
pub use threads::Threads;
