//! Automation of the workspace, run as `cargo xtask <command>`.
//!
//! Exit codes: 0 success, 1 a check failed, 2 bad usage or an error.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool: findings go to stdout, conversation to stderr"
)]

mod bench;
mod check_cuda;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Automation of the mpu workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the house rules that neither the compiler nor clippy can see.
    Tidy,
    /// Reproduce the paper's tables and figures: builds `mpu-cli` and passes everything on to its
    /// `reproduce`; `cargo xtask reproduce tables --help` lists the flags.
    #[command(disable_help_flag = true)]
    Reproduce {
        /// What to reproduce (tables, figures or all) and flags.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Attack the built `mpu-cli`: killed processes, disk faults, hostile servers, damaged input. The same tries as in
    /// `cargo test`, and more of them.
    Attack(Attack),
    /// Build for CUDA without a card and count what crosses the bus: a toolkit from PyPI, stubs for the driver.
    CheckCuda(check_cuda::CheckCuda),
    /// Measure ours beside a peer on this machine.
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Debug, clap::Args)]
struct Attack {
    /// How many tries: so many killed processes and servers, twice as many faults of the disk, twelve times as many
    /// damaged files.
    #[arg(long, default_value_t = 50)]
    tries: usize,
    /// What the tries are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Load a large CSV: our reader beside pandas.
    Csv(bench::csv::Size),
    /// Score a large CSV: ours beside scikit-learn.
    Predict(bench::csv::Size),
    /// Make training steps: ours beside PyTorch, candle and the bare matrix products.
    Train(bench::train::Train),
    /// Build `mpu-cli` from nothing, with the former profile and the present one.
    Build(bench::build::Build),
    /// Grow forests: ours beside scikit-learn.
    Forest(bench::forest::Forest),
    /// Train on a large table: ours beside scikit-learn, time and memory.
    Large(bench::large::Large),
    /// Bootstrap the moments of margins: ours beside NumPy.
    Prior(bench::prior::Prior),
    /// Estimate the priors of benchmarks by every estimator: how far from the truth.
    PriorError(bench::prior_error::PriorError),
    /// Learn from real tables: our default beside scikit-learn and pulearn.
    Tables(bench::tables::Tables),
}

fn main() -> ExitCode {
    run(Args::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn run(command: Command) -> Result<ExitCode> {
    let root = &workspace_root()?;
    match command {
        Command::Tidy => return run_tidy(root),
        Command::Reproduce { args } => return reproduce(root, &args),
        Command::Attack(args) => return attack(root, &args),
        Command::CheckCuda(args) => check_cuda::run(root, &args)?,
        Command::Bench(bench) => match bench {
            Bench::Csv(size) => bench::csv::run(root, &size)?,
            Bench::Predict(size) => bench::predict::run(root, &size)?,
            Bench::Train(train) => bench::train::run(root, &train)?,
            Bench::Build(build) => bench::build::run(root, &build)?,
            Bench::Forest(forest) => bench::forest::run(root, &forest)?,
            Bench::Large(large) => bench::large::run(root, &large)?,
            Bench::Prior(prior) => bench::prior::run(root, &prior)?,
            Bench::PriorError(error) => bench::prior_error::run(root, &error)?,
            Bench::Tables(tables) => bench::tables::run(root, &tables)?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the command line as users do and lets it do the work.
fn reproduce(root: &Path, args: &[String]) -> Result<ExitCode> {
    let status = std::process::Command::new("cargo")
        .args(["build", "--release", "--package", "mpu-cli"])
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    anyhow::ensure!(status.success(), "mpu-cli does not build");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let status = std::process::Command::new(target.join("release").join("mpu-cli"))
        .arg("reproduce")
        .args(args)
        .status()
        .context("starting mpu-cli")?;
    Ok(ExitCode::from(status.code().map_or(2, |code| code as u8)))
}

/// The suite of `tests/attack` with a larger budget.
fn attack(root: &Path, args: &Attack) -> Result<ExitCode> {
    let status = std::process::Command::new("cargo")
        .args(["test", "--package", "mpu-cli", "--test", "attack"])
        .env("MPU_ATTACK_TRIES", args.tries.to_string())
        .env("MPU_ATTACK_SEED", args.seed.to_string())
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    Ok(ExitCode::from(u8::from(!status.success())))
}

fn run_tidy(root: &Path) -> Result<ExitCode> {
    let report = tidy::run(root)?;
    for finding in &report.findings {
        println!("{finding}");
    }
    match report.findings.len() {
        0 => {
            println!("{}", report.summary());
            Ok(ExitCode::SUCCESS)
        }
        n_findings => {
            let plural = if n_findings == 1 { "" } else { "s" };
            eprintln!("tidy: {n_findings} finding{plural}");
            Ok(ExitCode::from(1))
        }
    }
}

/// The directory above this package. Cargo says where the package is at run time; the place of
/// compilation serves when the binary is started by hand.
fn workspace_root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.parent().map(Path::to_path_buf);
    root.with_context(|| format!("{} has no parent directory", package.display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
