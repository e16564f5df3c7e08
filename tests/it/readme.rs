//! The README says what is true: its commands run, and its table is what they print.

use std::path::Path;
use std::process::Command;

use crate::support::{mpu_cli, stderr, stdout};

const README: &str = include_str!("../../README.md");

/// The `mpu-cli` commands of all `sh` blocks, as argument lists.
fn commands() -> Vec<Vec<&'static str>> {
    let mut commands = Vec::new();
    let mut in_shell = false;
    for line in README.lines() {
        match line {
            "```sh" => in_shell = true,
            "```" => in_shell = false,
            _ if in_shell => {
                if let Some((_, args)) = line.split_once("-p mpu-cli -- ") {
                    commands.push(args.split_whitespace().collect());
                }
            }
            _ => {}
        }
    }
    commands
}

#[test]
fn every_command_runs() {
    let commands = commands();
    assert!(commands.len() >= 7, "{commands:?}");
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for args in commands {
        // In a folder of its own, where runs may be left, with the repository's configurations.
        let args = args.iter().map(|&arg| match arg.strip_prefix("configs/") {
            Some(name) => root.join("configs").join(name).display().to_string(),
            None => arg.to_owned(),
        });
        let args: Vec<String> = args.collect();
        let output = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
            .args(&args)
            .current_dir(folder.path())
            .env("MPU_OFFLINE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
    assert!(folder.path().join("runs").is_dir());
}

#[test]
fn the_loss_table_is_what_the_command_prints() {
    let printed = stdout(&mpu_cli(&["losses", "--format", "md"]));
    assert!(
        README.contains(&printed),
        "the README's table differs from:\n{printed}"
    );
}

#[test]
fn the_test_command_is_the_one_that_ci_runs() {
    let ci = include_str!("../../.ci/run");
    assert!(README.contains("\ncargo test --workspace\n"));
    assert!(ci.lines().any(|line| line == "cargo test --workspace"));
}
