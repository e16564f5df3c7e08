//! `cargo xtask bench`: ours beside a peer, in one run on one machine. Only ratios are printed as results.

pub(crate) mod build;
pub(crate) mod csv;
pub(crate) mod forest;
pub(crate) mod large;
pub(crate) mod page;
pub(crate) mod predict;
pub(crate) mod prior;
pub(crate) mod prior_error;
pub(crate) mod tables;
pub(crate) mod train;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// What a reader must know of the machine to compare figures: cores and what kind.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = facts.lines().find(|line| line.starts_with(name))?;
        line.split_once(':')
            .map(|(_, value)| value.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let flags = field("flags").unwrap_or_default();
    let has = |flag: &str| flags.split(' ').any(|word| word == flag);
    let vectors = match (has("avx512f"), has("avx2")) {
        (true, _) => ", AVX-512",
        (false, true) => ", AVX2 without AVX-512",
        (false, false) => "",
    };
    format!("{cores} cores, {model}{vectors}, {}", std::env::consts::OS)
}

/// Runs a command to its end and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("starting {name}"))?;
    if !output.status.success() {
        bail!(
            "{name} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end; what it printed, and the most memory it had, where the system tells it.
fn watched(command: &mut Command) -> Result<(Output, Option<f64>)> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("starting mpu-cli")?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = None;
    while child.try_wait()?.is_none() {
        peak = peak_mb(&status).or(peak);
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((child.wait_with_output()?, peak))
}

/// The most memory that a process has had so far.
fn peak_mb(status: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

/// Removes what an earlier round has left.
pub(crate) fn removed(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(())
}

/// Where benchmarks keep their files.
fn folder(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target").join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// Builds a binary or an example with everything optimised, candle too, and says where it is.
fn built(root: &Path, package: &str, target: Target<'_>) -> Result<PathBuf> {
    let (kind, name, folder) = match target {
        Target::Binary(name) => ("--bin", name, "target/dist"),
        Target::Example(name) => ("--example", name, "target/dist/examples"),
    };
    eprintln!("building {name}");
    let mut build = Command::new("cargo");
    build.args([
        "build",
        "--profile",
        "dist",
        "--package",
        package,
        kind,
        name,
    ]);
    build.env("CARGO_TARGET_DIR", root.join("target"));
    output(build.current_dir(root))?;
    Ok(root.join(folder).join(name))
}

/// The given program, or `mpu-cli` built with everything optimised.
fn program(root: &Path, given: Option<&PathBuf>) -> Result<PathBuf> {
    let built = || built(root, "mpu-cli", Target::Binary("mpu-cli"));
    given.cloned().map_or_else(built, Ok)
}

/// What to build.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    Binary(&'a str),
    Example(&'a str),
}

/// The peer, or a word that it could not be had.
fn available<T>(name: &str, peer: Result<T>) -> Option<T> {
    peer.map_err(|error| eprintln!("no {name} to compare with: {error:#}"))
        .ok()
}

/// A Python with the given packages in a virtual environment below `folder`, made if it is not there.
pub(crate) fn python_with(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    let environment = folder.join("venv");
    let python = environment.join("bin").join("python");
    if !python.exists() {
        eprintln!("making a virtual environment with {}", packages.join(", "));
        let mut make = Command::new("python3");
        output(make.args(["-m", "venv"]).arg(&environment))?;
    }
    let install = ["-m", "pip", "install", "--quiet"];
    output(Command::new(&python).args(install).args(packages))?;
    Ok(python)
}

/// A Python with scikit-learn, which is what is compared with.
fn scikit_learn(folder: &Path) -> Result<PathBuf> {
    python_with(folder, &["numpy", "scikit-learn"]).context(
        "this compares with scikit-learn, from PyPI in a virtual environment\n\
         hint: install Python 3 with its module `venv` (Debian: `apt install python3-venv`)",
    )
}

/// Numbers of 64 bits from a fixed generator, of which the upper ones are the more random.
fn generator() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state
    }
}

/// The number after `key` in lines of `key value`.
pub(crate) fn number(text: &str, key: &str) -> Result<f64> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    let value = value.with_context(|| format!("no line `{key}` in:\n{text}"))?;
    let number = value.trim().parse();
    number.with_context(|| format!("`{value}` is not a number"))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_key() {
        let text = "rows 10\nseconds 1.5\nseconds-more 9\n";
        assert_eq!(number(text, "seconds").unwrap(), 1.5);
        assert!(number(text, "peak").is_err());
        assert!(number("seconds fast", "seconds").is_err());
    }

    #[test]
    fn medians_of_odd_and_even_lists() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
