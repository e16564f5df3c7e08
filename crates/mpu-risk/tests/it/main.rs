//! The estimators held to an independent form, to enumeration, to differences, and to bad input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::manual_clamp,
    reason = "the reference writes formulas as printed"
)]

mod agreement;
mod input;
mod population;
mod reference;
