//! Tests that need more than one module: real files, downloads from a local server.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "clippy takes helpers of an integration test for library code"
)]

mod real;
