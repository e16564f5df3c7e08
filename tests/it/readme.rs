//! The README and the pages it leads to say what is true: their commands run, and print what is shown.

use std::path::Path;

use crate::support::{Folder, stderr, stdout};

const README: &str = include_str!("../../README.md");

const OWN_DATA: &str = include_str!("../../docs/OWN_DATA.md");

const LOSSES: &str = include_str!("../../docs/LOSSES.md");

const EXPERIMENTS: &str = include_str!("../../docs/EXPERIMENTS.md");

const PRIORS: &str = include_str!("../../docs/PRIORS.md");

/// The lines of all blocks of a page in a language.
fn blocks(page: &'static str, language: &str) -> Vec<&'static str> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(begins) => inside = begins == language,
            None if inside => lines.push(line),
            None => {}
        }
    }
    lines
}

/// The `mpu-cli` commands of all `sh` blocks of a page, as lines of arguments.
fn commands(page: &'static str) -> Vec<&'static str> {
    let command = |line: &'static str| {
        let through_cargo = line.split_once("-p mpu-cli -- ").map(|(_, args)| args);
        through_cargo.or_else(|| line.strip_prefix("mpu-cli "))
    };
    blocks(page, "sh").into_iter().filter_map(command).collect()
}

/// Whether a line of a page is what was really printed: numbers may be off a little, and `…` stands for anything.
fn is_shown(shown: &str, printed: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        let between = |c: char| c.is_whitespace() || "│┆,;:[]()".contains(c);
        let words = line.split(between).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let same = |a: &[String], b: &[String]| a.iter().zip(b).all(|(a, b)| is_near(a, b));
    let (shown, printed) = (words(shown), words(printed));
    match shown.iter().position(|word| word == "…") {
        None => shown.len() == printed.len() && same(&shown, &printed),
        Some(gap) => {
            let (head, tail) = (&shown[..gap], &shown[gap + 1..]);
            printed.len() >= head.len() + tail.len()
                && same(head, &printed)
                && same(tail, &printed[printed.len() - tail.len()..])
        }
    }
}

/// Equal, or numbers that differ by no more than a tenth: another processor rounds otherwise, and a network trained on it differs more.
fn is_near(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.1 * a.abs().max(b.abs()) + 0.005,
        _ => a == b,
    }
}

/// The sweep of the pages, and where a copy with fewer epochs lies in the folder of the commands.
const SWEEP: [&str; 2] = ["configs/sweeps/waveform1.toml", "sweep-of-one-epoch.toml"];

/// The same command with fewer epochs: that it runs does not depend on how long it trains.
fn shortened(line: &str) -> String {
    let line = line.replace(SWEEP[0], SWEEP[1]);
    if !line.starts_with("train") {
        line
    } else if line.contains("--epochs 20") {
        line.replace("--epochs 20", "--epochs 2")
    } else {
        line + " --set train.epochs=2"
    }
}

/// Runs them in a folder of its own, where runs may be left, without data files or network, and gives what they print.
fn run_in(folder: &Folder, commands: &[impl AsRef<str>]) -> String {
    let mut printed = String::new();
    for line in commands {
        let line = line.as_ref();
        let output = folder.bare(line).env("MPU_OFFLINE", "1").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        printed += &stdout(&output);
        printed += &stderr(&output);
    }
    printed
}

/// The same with fewer epochs.
fn run_all(commands: &[&str]) -> Folder {
    let folder = Folder::new();
    let sweep = include_str!("../../configs/sweeps/waveform1.toml");
    assert!(sweep.contains("\nepochs = 10\n"));
    folder.write(SWEEP[1], sweep.replace("\nepochs = 10\n", "\nepochs = 1\n"));
    let lines: Vec<String> = commands.iter().map(|line| shortened(line)).collect();
    run_in(&folder, &lines);
    folder
}

#[test]
fn every_command_runs() {
    let pages = [LOSSES, EXPERIMENTS, PRIORS].map(commands);
    let counts = pages.each_ref().map(Vec::len);
    let least = [1, 10, 1];
    assert!(
        counts.iter().zip(least).all(|(n, least)| *n >= least),
        "{counts:?}"
    );
    let folder = run_all(&pages.concat());
    assert!(folder.path("runs").exists());
}

#[test]
fn commands_print_what_is_shown() {
    assert!(is_shown("a │ 0.10,…,b", "a 0.103,7,8,b") && is_shown("…", ""));
    assert!(!is_shown("a 0.1 b", "a 0.2 b") && !is_shown("a,…,b", "a,b,c"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own_data = [
        "queue.csv",
        "shifted.jsonl",
        "products.onnx",
        "priors.svg",
        "why.csv",
    ];
    for (page, least, files) in [
        (README, 5, ["runs", "products/report.html"].as_slice()),
        (OWN_DATA, 11, &own_data),
    ] {
        let (folder, commands) = (Folder::new(), commands(page));
        assert!(commands.len() >= least, "{commands:?}");
        let printed = run_in(&folder, &commands);
        let mut printed = printed.replace(&format!("{}/", root.display()), "");
        for file in files {
            assert!(folder.path(file).exists(), "{file}");
        }
        let written = ["scored.csv", "why.csv"].map(|file| folder.path(file));
        let read = root.join("examples/products/costs.csv");
        for file in written.iter().chain([&read]) {
            printed += &std::fs::read_to_string(file).unwrap_or_default();
        }
        let is_printed = |shown: &str| printed.lines().any(|line| is_shown(shown, line));
        let mut untrue = blocks(page, "text");
        untrue.retain(|shown| !shown.starts_with('╞') && !is_printed(shown));
        assert!(untrue.is_empty(), "no command prints: {untrue:#?}");
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
