//! Training as a user of the crate sees it: both engines, self-training, open-set label shift, early stopping.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engines;
mod pulse;
mod self_training;
mod support;
