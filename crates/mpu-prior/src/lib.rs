//! Class-prior estimation for multi-class positive-unlabeled learning.
//!
//! So far this crate holds the set of admissible priors and the exact projection onto it, on which
//! the point estimate of the paper's step 2 rests, and shifts of priors for the study of wrong ones
//! ([`perturb`]); the estimators follow.
//!
//! ```
//! use mpu_prior::FeasibleSet;
//!
//! // Class 0 makes up at least 10 % of the pool, class 1 at least 20 %.
//! let set = FeasibleSet::new(vec![0.1, 0.2])?;
//! let nearest = set.project(&[0.8, 0.6])?;
//! assert!((nearest[0] - 0.6).abs() < 1e-12 && (nearest[1] - 0.4).abs() < 1e-12);
//! # Ok::<(), mpu_prior::Error>(())
//! ```

mod error;
pub mod perturb;
pub mod simplex;

pub use error::{Error, Result};
pub use simplex::FeasibleSet;
