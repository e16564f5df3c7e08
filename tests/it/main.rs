//! The workspace as a user meets it: the built `mpu-cli`, and the documents' own commands.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accidents;
mod bad_input;
mod costs;
mod data;
mod evaluate;
mod export;
mod forests;
mod hostile;
mod losses;
mod own_model;
mod predict;
mod prior;
mod readme;
mod report;
mod reproduce;
mod results;
mod runs;
mod support;
mod train;
