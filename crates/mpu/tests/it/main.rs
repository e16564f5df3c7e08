//! The classifier as another program meets it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod classifier;
mod explain;
mod label_selection;
mod own_network;
