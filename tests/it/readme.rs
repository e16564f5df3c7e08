//! The README says what is true: its commands run, and its table is what they print.

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
fn every_command_runs_or_is_said_not_to() {
    let commands = commands();
    assert!(commands.len() >= 3, "{commands:?}");
    for args in commands {
        let output = mpu_cli(&args);
        if args == ["train"] {
            // Until the trainer is here the README must say so; then this branch goes.
            assert!(README.contains("The first does not work yet"));
            assert_eq!(output.status.code(), Some(2));
        } else {
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        }
    }
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
