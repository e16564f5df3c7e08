//! Training as a user of the crate sees it: both engines, self-training, early stopping.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engines;
mod self_training;
