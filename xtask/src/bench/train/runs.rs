//! Whole runs: `mpu-cli train` beside two PyTorch scripts, from the start of the process to its end.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, median};
use crate::bench::{number, output, program, removed};

const EPOCHS: &str = "10";

/// Who makes a run.
struct Runner {
    label: &'static str,
    /// What the script calls it; ours has no script.
    way: Option<&'static str>,
    runs: Vec<Run>,
}

/// What a run took, and how good its model is.
struct Run {
    /// Seconds of the process, and of the training in it.
    whole: f64,
    training: f64,
    accuracy: f64,
}

impl Bench<'_> {
    /// Runs of ten epochs on Fashion-MNIST with four classes.
    pub(super) fn runs(&self, threads: &[usize]) -> Result<String> {
        let ours = program(self.root, None)?;
        let verify = ["data", "verify", "fashion-mnist", "--format", "json"];
        let found = output(Command::new(&ours).args(verify));
        let found = found.and_then(|text| Ok(serde_json::from_str::<Value>(&text)?));
        let data = match &found {
            Ok(found) => found[0]["folder"].as_str(),
            Err(_) => None,
        };
        let Some(data) = data else {
            return Ok(
                "\nWhole runs: not measured, Fashion-MNIST is not on this machine (`mpu-cli data fetch fashion-mnist`).\n"
                    .to_owned(),
            );
        };
        let mut text = String::new();
        for &n in threads {
            text += &self.whole(&ours, data, n)?;
        }
        Ok(text)
    }

    fn whole(&self, ours: &Path, data: &str, threads: usize) -> Result<String> {
        let runner = |label, way| Runner {
            label,
            way,
            runs: Vec::new(),
        };
        let mut runners = vec![runner("`mpu-cli train`", None)];
        if self.python.is_some() {
            runners.push(runner("PyTorch with a DataLoader", Some("loader")));
            runners.push(runner(
                "PyTorch, tuned: tensors in memory, `torch.compile`, fused Adam",
                Some("tuned"),
            ));
        }
        // The first round fills the caches of files and of compiled code, and does not count.
        for round in 0..=self.rounds {
            eprint!(
                "\rwhole runs, {threads} thread(s): round {round} of {}",
                self.rounds
            );
            for runner in &mut runners {
                let run = match runner.way {
                    None => self.our_run(ours, threads, round)?,
                    Some(way) => self.their_run(way, data, threads, round)?,
                };
                if round > 0 {
                    runner.runs.push(run);
                }
            }
        }
        eprintln!();
        table(threads, &runners)
    }

    fn our_run(&self, ours: &Path, threads: usize, seed: usize) -> Result<Run> {
        let folder = self.root.join("target/bench/whole-run");
        removed(&folder)?;
        let options = "train --dataset fashion-mnist --classes 4 --prior 0.5 --quiet --epochs";
        let mut command = Command::new(ours);
        command.args(options.split(' ')).arg(EPOCHS);
        let (threads, seed) = (threads.to_string(), seed.to_string());
        command.args(["--threads", &threads, "--seed", &seed, "--out"]);
        let start = Instant::now();
        output(command.arg(&folder))?;
        let whole = start.elapsed().as_secs_f64();
        let record = std::fs::read_to_string(folder.join("record.json"))?;
        let record: Value = serde_json::from_str(&record)?;
        let accuracy = record["scores"]["accuracy"].as_f64();
        Ok(Run {
            whole,
            training: record["seconds"].as_f64().context("no seconds")?,
            accuracy: accuracy.context("no accuracy")?,
        })
    }

    fn their_run(&self, way: &str, data: &str, threads: usize, seed: usize) -> Result<Run> {
        let python = self.python.as_ref().context("no Python")?;
        let examples = self.root.join("crates/mpu-models/examples");
        let script = self.root.join("xtask/src/bench/train/run_torch.py");
        let mut command = Command::new(python);
        command.arg(script).arg(way).arg(examples);
        command.args([data, EPOCHS]);
        command.args([threads.to_string(), seed.to_string()]);
        let start = Instant::now();
        let text = output(&mut command)?;
        Ok(Run {
            whole: start.elapsed().as_secs_f64(),
            training: number(&text, "seconds")?,
            accuracy: number(&text, "accuracy")?,
        })
    }
}

/// Ratios to the first runner, round by round.
fn table(threads: usize, runners: &[Runner]) -> Result<String> {
    let plural = if threads == 1 { "" } else { "s" };
    let mut text = format!(
        "\n**Whole runs, {EPOCHS} epochs of Fashion-MNIST with k = 4, {threads} thread{plural}**\n\n\
         | run | mpu is … times as fast, the whole process | the training alone | test accuracy, mean and standard deviation over seeds |\n\
         |---|---|---|---|\n"
    );
    let ours = &runners.first().context("nothing was run")?.runs;
    for runner in runners {
        let ratio = |seconds: fn(&Run) -> f64| {
            let pairs = runner.runs.iter().zip(ours);
            let mut ratios: Vec<f64> = pairs
                .map(|(run, our)| seconds(run) / seconds(our))
                .collect();
            median(&mut ratios)
        };
        let n = runner.runs.len() as f64;
        let mean = runner.runs.iter().map(|run| run.accuracy).sum::<f64>() / n;
        let squares = runner.runs.iter().map(|run| (run.accuracy - mean).powi(2));
        let deviation = (squares.sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
        writeln!(
            text,
            "| {} | {:.2} | {:.2} | {:.1} ± {:.1} % |",
            runner.label,
            ratio(|run| run.whole),
            ratio(|run| run.training),
            100.0 * mean,
            100.0 * deviation,
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_round_by_round() {
        let run = |whole, training, accuracy| Run {
            whole,
            training,
            accuracy,
        };
        let runner = |label, runs| Runner {
            label,
            way: None,
            runs,
        };
        let ours = vec![run(1.0, 1.0, 0.9), run(2.0, 2.0, 0.92), run(1.0, 1.0, 0.91)];
        let theirs = vec![run(3.0, 2.0, 0.9), run(5.0, 3.0, 0.9), run(9.0, 1.0, 0.9)];
        let text = table(2, &[runner("a", ours), runner("b", theirs)]).unwrap();
        for part in [
            "2 threads",
            "| a | 1.00 | 1.00 | 91.0 ± 1.0 % |",
            "| b | 3.00 | 1.50 | 90.0 ± 0.0 % |",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
