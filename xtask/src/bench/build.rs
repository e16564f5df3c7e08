//! The first experience: a clean release build of `mpu-cli`, how many crates it takes, and what it cost before
//! link-time optimisation left the default profile.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::{folder, machine, output, page, removed};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    /// Write the section of docs/BENCHMARKS.md.
    #[arg(long)]
    write: bool,
}

/// What a clean build took.
struct Cost {
    minutes: f64,
    /// Of all processes together; robust against other load. Only Linux tells.
    cpu_minutes: Option<f64>,
}

pub(crate) fn run(root: &Path, args: &Build) -> Result<()> {
    let all = n_crates(root, &[])?;
    let fewest = n_crates(root, &["--no-default-features"])?;
    // Thin LTO, 4 units and level 3 everywhere was the profile `release` before it was `dist`, and there were no PNG figures.
    let former = "--profile dist --no-default-features --features fetch,images,parquet";
    let former = clean_build(root, former)?;
    let ours = clean_build(root, "--release")?;
    let bare = clean_build(root, "--release --no-default-features")?;
    let rows = [
        (
            "`--profile dist`, which `--release` was before, without PNG figures",
            &former,
        ),
        ("`--release`", &ours),
        ("`--release --no-default-features`", &bare),
    ];
    let rows = rows.map(|(name, cost)| {
        let cpu = |cost: &Cost| cost.cpu_minutes.unwrap_or(f64::NAN);
        format!(
            "| {name} | {:.1} | {:.2} | {:.1} | {:.2} |",
            cost.minutes,
            cost.minutes / former.minutes,
            cpu(cost),
            cpu(cost) / cpu(&former),
        )
    });
    let text = format!(
        "Crates of `mpu-cli` with default features: {all}; without: {fewest}.\n\n\
         | clean `cargo build -p mpu-cli` with | minutes | of the former | CPU minutes | of the former |\n\
         |---|---|---|---|---|\n{}\n\nMeasured on {}.\n",
        rows.join("\n"),
        machine()
    );
    page::show_section(root, ("BENCHMARKS.md", "build"), &text, args.write)
}

fn clean_build(root: &Path, flags: &str) -> Result<Cost> {
    let folder = folder(root)?.join("clean");
    removed(&folder)?;
    eprintln!("building with {flags}");
    let (start, cpu) = (Instant::now(), children_cpu_minutes());
    let mut build = Command::new("cargo");
    build.args(["build", "--package", "mpu-cli"]);
    build
        .args(flags.split(' '))
        .env("CARGO_TARGET_DIR", &folder);
    output(build.current_dir(root))?;
    let cpu = children_cpu_minutes().zip(cpu);
    let cost = Cost {
        minutes: start.elapsed().as_secs_f64() / 60.0,
        cpu_minutes: cpu.map(|(after, before)| after - before),
    };
    removed(&folder)?;
    Ok(cost)
}

/// User and system time of the processes that this one started and that have ended.
fn children_cpu_minutes() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, the second field, is in brackets and may hold spaces; times are hundredths of seconds.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / 100.0 / 60.0)
}

/// How many packages a build of `mpu-cli` compiles on this platform.
fn n_crates(root: &Path, flags: &[&str]) -> Result<usize> {
    let tree = "tree --package mpu-cli --edges normal,build --prefix none --format {p}";
    let mut command = Command::new("cargo");
    command.args(tree.split(' ')).args(flags);
    let text = output(command.current_dir(root))?;
    let names = text.lines().map(|line| line.trim_end_matches(" (*)"));
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    Ok(names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_children_is_counted() {
        let before = children_cpu_minutes().unwrap();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        output(Command::new("sh").args(["-c", script])).unwrap();
        assert!(children_cpu_minutes().unwrap() > before);
    }
}
