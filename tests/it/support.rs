//! Running the built binary.

use std::process::Output;

use assert_cmd::Command;

/// `mpu-cli` with the given arguments.
pub(crate) fn mpu_cli(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .args(args)
        .output()
        .unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
