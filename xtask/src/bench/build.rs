//! The first experience: a clean release build of `mpu-cli`, and how many crates it takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::{machine, output, page};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    /// Write the section of docs/BENCHMARKS.md.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(root: &Path, args: &Build) -> Result<()> {
    let all = n_crates(root, &[])?;
    let fewest = n_crates(root, &["--no-default-features"])?;
    let mut lines = vec![format!(
        "- crates of `mpu-cli` with default features: {all}; without: {fewest}"
    )];
    for (name, flags) in [
        ("default features", &[][..]),
        ("no default features", &["--no-default-features"]),
    ] {
        let folder = root.join("target").join("bench").join("clean");
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("removing {}", folder.display()))?;
        }
        eprintln!("building with {name}");
        let start = Instant::now();
        output(
            Command::new("cargo")
                .args(["build", "--release", "--package", "mpu-cli"])
                .args(flags)
                .current_dir(root)
                .env("CARGO_TARGET_DIR", &folder),
        )?;
        let minutes = start.elapsed().as_secs_f64() / 60.0;
        lines.push(format!(
            "- clean `cargo build --release -p mpu-cli`, {name}: {minutes:.1} minutes"
        ));
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let text = format!("Machine: {}.\n\n{}\n", machine(), lines.join("\n"));
    print!("{text}");
    if args.write {
        page::write_section(root, "build", &text)?;
    }
    Ok(())
}

/// How many packages a build of `mpu-cli` compiles on this platform.
fn n_crates(root: &Path, flags: &[&str]) -> Result<usize> {
    let tree = [
        "tree",
        "--package",
        "mpu-cli",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ];
    let format = ["--format", "{p}"];
    let text = output(
        Command::new("cargo")
            .args(tree)
            .args(format)
            .args(flags)
            .current_dir(root),
    )?;
    let names = text.lines().map(|line| line.trim_end_matches(" (*)"));
    Ok(names
        .filter(|name| !name.is_empty())
        .collect::<BTreeSet<_>>()
        .len())
}
