//! The workspace as a user meets it: the built `mpu-cli`, and the documents' own commands.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

mod bad_input;
#[path = "../../crates/mpu-report/tests/browser/mod.rs"]
mod browser;
mod data;
mod evaluate;
mod export;
mod losses;
mod predict;
mod prior;
mod readme;
mod report;
mod reproduce;
mod runs;
mod slurm;
mod support;
mod train;
