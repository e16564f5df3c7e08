//! How far estimated class priors are from the true ones on the benchmarks, by every estimator.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{output, page, program};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct PriorError {
    /// Datasets.
    #[arg(long, value_delimiter = ',', default_values_t = ["mnist", "pendigits", "usps", "fashion-mnist"].map(str::to_owned))]
    datasets: Vec<String>,
    /// Numbers of classes.
    #[arg(long, value_delimiter = ',', default_values_t = [4, 6, 8])]
    classes: Vec<usize>,
    /// Seeds of split, detector and bootstrap.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    seeds: Vec<u64>,
    /// A built mpu-cli; without it one is built.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Write the tables into docs/PRIORS.md.
    #[arg(long)]
    write: bool,
}

const PRIORS: [f64; 3] = [0.2, 0.5, 0.8];
/// Every estimator with its bootstrap replicates; that of the kernel mean takes long and is the worst.
const ESTIMATORS: [(&str, usize); 6] = [
    (DEFAULT, 200),
    ("bbe", 200),
    ("pen-l1", 200),
    ("elkan-noto", 200),
    ("dedpul", 200),
    ("km2", 2),
];
const DEFAULT: &str = "moments";

/// What one estimator did on one split.
struct Found {
    /// Mean absolute error over the observed classes.
    error: f64,
    /// Classes whose interval holds the truth, and classes.
    held: (usize, usize),
}

/// Measures and prints the tables.
pub(crate) fn run(root: &Path, args: &PriorError) -> Result<()> {
    let program = program(root, args.program.as_ref())?;
    let mut found: BTreeMap<(usize, &str), Vec<Found>> = BTreeMap::new();
    let scores = std::env::temp_dir().join(format!("mpu-margins-{}.csv", std::process::id()));
    let mut cells = String::new();
    for (place, dataset) in args.datasets.iter().enumerate() {
        for k in &args.classes {
            for prior in PRIORS {
                let mut errors = Vec::new();
                for seed in &args.seeds {
                    for (name, one) in split(&program, &scores, dataset, *k, prior, *seed)? {
                        errors.extend((name == DEFAULT).then_some(one.error));
                        found.entry((place, name)).or_default().push(one);
                    }
                }
                let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
                eprintln!("{dataset} k = {k}, negative share {prior}: moments {mean:.4}");
                let _ = writeln!(cells, "| {dataset} | {k} | {prior} | {mean:.4} |");
            }
        }
    }
    let mut text = format!(
        "`cargo xtask bench prior-error --write`: protocol first-k, k = {:?}, negative share {PRIORS:?}, seeds {:?}. Mean\nabsolute error per observed class, that of the worst split, and how many intervals at 95 % hold the truth (`km2` with two replicates: none\nto speak of):\n\n| data |",
        args.classes, args.seeds
    );
    for (name, _) in ESTIMATORS {
        let _ = write!(text, " `{name}` |");
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(ESTIMATORS.len()));
    for (place, dataset) in args.datasets.iter().enumerate() {
        let _ = write!(text, "| {dataset} |");
        for (name, _) in ESTIMATORS {
            let splits = found.get(&(place, name)).context("a split is missing")?;
            let mean = splits.iter().map(|s| s.error).sum::<f64>() / splits.len() as f64;
            let worst = splits.iter().map(|s| s.error).fold(0.0, f64::max);
            let held: usize = splits.iter().map(|s| s.held.0).sum();
            let of: usize = splits.iter().map(|s| s.held.1).sum();
            let _ = write!(text, " {mean:.4}, worst {worst:.4}, {held} of {of} |");
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "\nEvery split, `moments`:\n\n| data | k | negative share | mean absolute error |\n|---|---|---|---|\n{cells}"
    );
    text.push('\n');
    page::show_section(root, ("PRIORS.md", "prior-benchmark"), &text, args.write)
}

/// What every estimator makes of one split; they share its out-of-fold margins.
fn split(
    program: &Path,
    scores: &Path,
    dataset: &str,
    k: usize,
    prior: f64,
    seed: u64,
) -> Result<Vec<(&'static str, Found)>> {
    let mut truth = Vec::new();
    let mut found = Vec::new();
    for (name, replicates) in ESTIMATORS {
        let mut command = Command::new(program);
        command.args(["--quiet", "prior", "--estimator", name, "--format", "json"]);
        command.args(["--replicates", &replicates.to_string()]);
        command.args(["--seed", &seed.to_string()]);
        if name == DEFAULT {
            command.args(["--dataset", dataset, "--classes", &k.to_string()]);
            command.args(["--prior", &prior.to_string(), "--write-scores"]);
            command.arg(scores);
        } else {
            command.arg("--scores").arg(scores);
        }
        let json: serde_json::Value = serde_json::from_str(&output(&mut command)?)?;
        if name == DEFAULT {
            truth = numbers(&json["truth"])?;
        }
        found.push((name, judged(&json["estimates"][0], &truth)?));
    }
    std::fs::remove_file(scores).context("removing the margins")?;
    Ok(found)
}

fn judged(report: &serde_json::Value, truth: &[f64]) -> Result<Found> {
    let classes = report["classes"].as_array().context("no classes")?;
    let (mut error, mut held) = (0.0, 0);
    for (class, truth) in classes.iter().zip(truth) {
        let estimate = class["estimate"].as_f64().context("no estimate")?;
        let low = class["interval"]["low"].as_f64().context("no interval")?;
        let high = class["interval"]["high"].as_f64().context("no interval")?;
        error += (estimate - truth).abs() / classes.len() as f64;
        held += usize::from((low..=high).contains(truth));
    }
    Ok(Found {
        error,
        held: (held, classes.len()),
    })
}

fn numbers(value: &serde_json::Value) -> Result<Vec<f64>> {
    let list = value.as_array().context("no list of numbers")?;
    let number = |one: &serde_json::Value| one.as_f64().context("not a number");
    list.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_intervals_by_hand() {
        let report = serde_json::json!({"classes": [
            {"estimate": 0.2, "interval": {"low": 0.1, "high": 0.25}},
            {"estimate": 0.4, "interval": {"low": 0.38, "high": 0.45}},
        ]});
        let found = judged(&report, &[0.24, 0.3]).unwrap();
        assert!((found.error - 0.07).abs() < 1e-12);
        assert_eq!(found.held, (1, 2));
    }
}
