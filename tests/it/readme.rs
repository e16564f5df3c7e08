//! The README and the pages it leads to say what is true: their commands run, and the table of losses is what is printed.

use std::path::Path;

use crate::support::{Folder, stderr};

const README: &str = include_str!("../../README.md");

const OWN_DATA: &str = include_str!("../../docs/OWN_DATA.md");

const LOSSES: &str = include_str!("../../docs/LOSSES.md");

const EXPERIMENTS: &str = include_str!("../../docs/EXPERIMENTS.md");

const PRIORS: &str = include_str!("../../docs/PRIORS.md");

/// The `mpu-cli` commands of all `sh` blocks of a page, as lines of arguments.
fn commands(page: &'static str) -> Vec<&'static str> {
    let mut commands = Vec::new();
    let mut in_shell = false;
    for line in page.lines() {
        match line {
            "```sh" => in_shell = true,
            "```" => in_shell = false,
            _ if in_shell => {
                let through_cargo = line.split_once("-p mpu-cli -- ").map(|(_, args)| args);
                commands.extend(through_cargo.or_else(|| line.strip_prefix("mpu-cli ")));
            }
            _ => {}
        }
    }
    commands
}

/// The sweep of the pages, and where a copy with fewer epochs lies in the folder of the commands.
const SWEEP: [&str; 2] = ["configs/sweeps/waveform1.toml", "sweep-of-one-epoch.toml"];

/// The same command with fewer epochs: that it runs does not depend on how long it trains.
fn shortened(line: &str) -> String {
    let line = line.replace(SWEEP[0], SWEEP[1]);
    if !line.starts_with("train") {
        line
    } else if line.contains("--data ") {
        line + " --epochs 25"
    } else if line.contains("--epochs 20") {
        line.replace("--epochs 20", "--epochs 2")
    } else {
        line + " --set train.epochs=2"
    }
}

/// Runs them in a folder of its own, where runs may be left.
fn run_all(commands: &[&str]) -> Folder {
    let folder = Folder::new();
    let sweep = include_str!("../../configs/sweeps/waveform1.toml");
    assert!(sweep.contains("\nepochs = 10\n"));
    folder.write(SWEEP[1], sweep.replace("\nepochs = 10\n", "\nepochs = 1\n"));
    for line in commands {
        let line = shortened(line);
        let output = folder.command(&line).env("MPU_OFFLINE", "1").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    folder
}

#[test]
fn every_command_runs() {
    let pages = [README, LOSSES, EXPERIMENTS, PRIORS].map(commands);
    let counts = pages.each_ref().map(Vec::len);
    let least = [5, 1, 10, 1];
    assert!(
        counts.iter().zip(least).all(|(n, least)| *n >= least),
        "{counts:?}"
    );
    let folder = run_all(&pages.concat());
    for left in ["runs", "products/report.html", "scored.csv"] {
        assert!(folder.path(left).exists(), "{left}");
    }
}

#[test]
fn every_command_of_the_own_data_guide_runs() {
    let commands = commands(OWN_DATA);
    assert!(commands.len() >= 11, "{commands:?}");
    let folder = run_all(&commands);
    for left in ["queue.csv", "shifted.jsonl", "products.onnx", "priors.svg"] {
        assert!(folder.path(left).exists(), "{left}");
    }
}

#[test]
fn the_loss_table_is_what_the_command_prints() {
    let printed = Folder::new().told("losses --format md");
    assert!(
        LOSSES.contains(&printed),
        "the table of docs/LOSSES.md differs from:\n{printed}"
    );
}

#[test]
fn the_program_is_that_of_the_example() {
    let program = include_str!("../../examples/own_program/src/main.rs");
    assert!(README.contains(program), "README shows another program");
    assert!(program.lines().count() <= 25);
}

#[test]
fn the_test_command_is_the_one_that_ci_runs() {
    let ci = include_str!("../../.ci/run");
    assert!(README.contains("\ncargo test --workspace\n"));
    assert!(ci.lines().any(|line| line == "cargo test --workspace"));
}

#[test]
fn the_readme_leads_to_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in std::fs::read_dir(docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(README.contains(&format!("](docs/{name})")), "{name}");
    }
}
