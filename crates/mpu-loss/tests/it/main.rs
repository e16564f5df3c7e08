//! Losses held to independent formulas, to differences and to known facts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::manual_clamp, reason = "the formulas as printed")]

mod sample_losses;
mod surrogates;
