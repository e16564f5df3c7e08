//! Running the built binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// A sweep of small runs on generated rows.
pub(crate) fn sweep(folder: &Path, seeds: usize, epochs: usize) -> PathBuf {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        "method = [\"csmpu-abs\", \"area\"]\nseed = [{}]\n[data]\ngenerated-rows = 300\nprior = [0.2, 0.5]\n\
         [model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = {epochs}\nbatch-size = 64\ncheckpoint-every = 1\n",
        seeds.join(", ")
    );
    let path = folder.join("sweep.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// A command on a sweep and its folder.
pub(crate) fn on(command: &str, sweep: &Path, out: &Path, extra: &[&str]) -> Output {
    let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    let fixed = [command, sweep, "--out", out];
    mpu_cli(&[&fixed[..], extra].concat())
}

/// The table of a finished sweep, with every digit.
pub(crate) fn table(sweep: &Path, out: &Path) -> String {
    let output = on("collect", sweep, out, &["--format", "csv"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stderr(&output).contains("missing"), "{}", stderr(&output));
    stdout(&output)
}
