//! Tests that need something from outside: the benchmark files, Python, ONNX Runtime, scikit-learn, Chromium, Slurm,
//! TensorBoard.
//!
//! Where it is missing a test is reported as ignored, with what it needs. `MPU_REQUIRE=all`, or a list such as
//! `MPU_REQUIRE=data,onnx`, makes that a failure. Rust's own harness cannot ignore a test while it runs, so this
//! target has one of its own; each module lists its tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test shows what it measured")]

/// The tests of a module by what they need, each under its own name.
macro_rules! trials {
    ($($need:expr => $test:ident),+ $(,)?) => {
        vec![$($need.test(concat!(module_path!(), "::", stringify!($test)), $test)),+]
    };
}

mod browser;
mod commands;
mod downloads;
mod export;
mod forest;
mod need;
mod onnx;
mod real;
mod slurm;
mod tables;

// Shared with the tests of `tests/it`, of mpu-data, mpu-models and mpu-report.
#[path = "../../crates/mpu-data/src/source/hub_parquet/made_up.rs"]
mod hub_files;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/evaluate/items.rs"]
mod items;
#[path = "../../crates/mpu-report/src/run_report/made_up.rs"]
mod made_up;
#[path = "../../crates/mpu-models/tests/it/networks.rs"]
mod networks;
#[allow(
    dead_code,
    unreachable_pub,
    clippy::field_reassign_with_default,
    clippy::needless_pass_by_value,
    reason = "a program of its own"
)]
#[path = "../../examples/own_model/src/main.rs"]
mod own_model;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../crates/mpu-data/src/source/server.rs"]
mod server;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/support.rs"]
mod support;

// Where `made_up` looks for them.
use mpu_report::{chart, figures, run_report};

fn main() -> std::process::ExitCode {
    let tests = [
        browser::tests(),
        commands::tests(),
        downloads::tests(),
        export::tests(),
        forest::tests(),
        onnx::tests(),
        real::tests(),
        slurm::tests(),
        tables::tests(),
    ];
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit_code()
}
