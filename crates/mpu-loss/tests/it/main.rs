//! Losses held to independent formulas, to differences and to known facts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::manual_clamp, reason = "the formulas as printed")]

mod sample_losses;
mod surrogates;

/// What must be refused, and say so.
#[track_caller]
fn refused<T>(result: Result<T, impl std::fmt::Display>, told: &str) {
    let Err(error) = result else {
        panic!("it must be refused");
    };
    assert!(error.to_string().contains(told), "{error}");
}
