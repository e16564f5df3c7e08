//! Estimators from the literature on two classes, applied to one observed class at a time: the class against
//! everything else in the pool. Their estimates need not sum to at most one.

mod best_bin;
mod dedpul;
mod elkan_noto;
mod kernel_mean;
mod penalized_l1;

pub use best_bin::BestBin;
pub use dedpul::Dedpul;
pub use elkan_noto::{ElkanNoto, elkan_noto};
pub use kernel_mean::KernelMean;
pub use penalized_l1::{PenalizedL1, penalized_l1};
