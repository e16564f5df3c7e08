//! Training on a large table: ours beside scikit-learn's gradient boosting, time and memory.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{folder, machine, number, page, program, scikit_learn};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Large {
    /// Rows of the table.
    #[arg(long, default_value_t = 500_000)]
    rows: usize,
    /// Columns of numbers.
    #[arg(long, default_value_t = 30)]
    columns: usize,
    /// Rounds; ours and the peer take turns. Rounds that this build has done are kept.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Write the section of docs/BENCHMARKS.md.
    #[arg(long)]
    write: bool,
}

/// Makes the table, runs both and keeps what it found.
const MEASURE: &str = include_str!("large.py");

pub(crate) fn run(root: &Path, args: &Large) -> Result<()> {
    ensure!(
        args.rows >= 1000 && args.columns >= 6 && args.rounds > 0,
        "at least 1000 rows, 6 columns and 1 round"
    );
    let ours = program(root, None)?;
    let folder = folder(root)?;
    let python = scikit_learn(&folder)?;
    let sizes = [args.rows, args.columns, args.rounds];
    let measured = Command::new(python)
        .args(["-c", MEASURE])
        .arg(ours)
        .arg(folder)
        .args(sizes.map(|size| size.to_string()))
        .stderr(Stdio::inherit())
        .output()
        .context("starting Python")?;
    ensure!(
        measured.status.success(),
        "the measurement failed\nhint: run it again; rounds that are done are kept"
    );
    let text = section(args, &String::from_utf8_lossy(&measured.stdout))?;
    page::show_section(root, ("BENCHMARKS.md", "large"), &text, args.write)
}

/// The section, from what was measured.
fn section(args: &Large, found: &str) -> Result<String> {
    let Large { rows, columns, .. } = args;
    let matrix = (rows * columns * 4) as f64 / 1e6;
    let of = |key: &str| number(found, key);
    let mut text = String::new();
    writeln!(
        text,
        "{rows} rows of {columns} numbers, 3 classes of which one is never labelled; the f32 matrix has {matrix:.0} MB.\n\n\
         | measure | figure |\n|---|---|\n\
         | `train --data`, CPU seconds, over those of HistGradientBoosting | {:.2} |\n\
         | the same in seconds on the clock | {:.2} |\n\
         | peak memory of `train`, over the f32 matrix | {:.2} |\n\
         | peak memory of `predict` on the same file, over the f32 matrix | {:.2} |\n\
         | accuracy on new rows | {:.2} % |\n\
         | accuracy of HistGradientBoosting that learned all true labels | {:.2} % |\n\
         | `train --data` on the first 1000 rows | {:.1} CPU seconds, {:.1} s on the clock |",
        of("cpu-ratio")?,
        of("wall-ratio")?,
        of("train-mb")? / matrix,
        of("predict-mb")? / matrix,
        100.0 * of("accuracy")?,
        100.0 * of("true-accuracy")?,
        of("small-cpu")?,
        of("small-wall")?,
    )?;
    writeln!(
        text,
        "\nOurs reads the CSV file, writes the run's folder and counts the whole process; the peer has the matrix in memory, and only its `fit` counts. \
         Measured on {}; rounds in turn: {}; medians, and of memory the worst.",
        machine(),
        args.rounds
    )?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_states_ratios_to_the_matrix() {
        let args = Large {
            rows: 500_000,
            columns: 30,
            rounds: 2,
            write: false,
        };
        let found = "cpu-ratio 2.5\nwall-ratio 2.25\ntrain-mb 120\npredict-mb 30\naccuracy 0.9\n\
                     true-accuracy 0.91\nsmall-cpu 3\nsmall-wall 2\n";
        let text = section(&args, found).unwrap();
        for figure in [
            "| 2.50 |",
            "| 2.25 |",
            "| 2.00 |",
            "| 0.50 |",
            "90.00 %",
            "rounds in turn: 2",
        ] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
        assert!(section(&args, "cpu-ratio 2.5\n").is_err());
    }
}
