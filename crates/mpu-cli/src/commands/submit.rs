//! `mpu-cli submit`: the missing runs of a sweep as a job array of Slurm.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use mpu_report::store::Store;

use crate::args::Place;
use crate::args::runs::{Slurm, Submit};
use crate::commands::Answer;
use crate::commands::runs::missing;
use crate::plan::{self, Planned};

pub(crate) fn run(args: &Submit) -> anyhow::Result<Answer> {
    let runs = plan::read(&args.sweep.file)?;
    submit(&args.sweep.out, &runs, &args.slurm, &args.place)
}

/// Writes the missing runs and a script, and hands the script to `sbatch` unless it is only to be shown.
pub(crate) fn submit(
    out: &Path,
    runs: &[Planned],
    slurm: &Slurm,
    place: &Place,
) -> anyhow::Result<Answer> {
    anyhow::ensure!(
        slurm.task_minutes > 0.0 && slurm.task_cores > 0,
        "--task-minutes and --task-cores must be above 0"
    );
    let store = Store::open(out)?;
    let missing = missing(&store, runs, true)?;
    if missing.is_empty() {
        return Ok(Answer::good(
            "nothing to submit: every run is there\n".to_owned(),
        ));
    }
    let rate = seconds_per_cost(&store)?;
    let seconds: f64 = missing.iter().map(|run| rate * run.cost()).sum();
    let per_task = 60.0 * slurm.task_minutes * slurm.task_cores as f64;
    let n_tasks = ((seconds / per_task).ceil() as usize).clamp(1, missing.len());

    // Paths as the nodes see them.
    let out = std::path::absolute(out).with_context(|| format!("{}", out.display()))?;
    let program = std::env::current_exe().context("finding this program")?;
    let folder = out.join("slurm");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let plan_file = unused(&folder.join("plan.jsonl"));
    let script = Script {
        slurm,
        n_tasks,
        program: &program,
        plan_file: &plan_file,
        out: &out,
        place,
    };
    let text = script.text()?;
    if slurm.print {
        return Ok(Answer::good(text));
    }
    plan::write(&plan_file, &missing)?;
    let script_file = plan_file.with_extension("sh");
    mpu::files::write_atomic(&script_file, text.as_bytes())?;
    let output = Command::new("sbatch")
        .arg("--parsable")
        .arg(&script_file)
        .output()
        .context("starting sbatch\nhint: --print shows the script, to be submitted elsewhere")?;
    anyhow::ensure!(
        output.status.success(),
        "sbatch refused {}: {}",
        script_file.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let job = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(Answer::good(format!(
        "submitted {} runs in {n_tasks} tasks as job {job}\n",
        missing.len()
    )))
}

/// `plan.jsonl`, `plan-2.jsonl`, …: the first that is not there.
fn unused(path: &Path) -> PathBuf {
    let mut free = path.to_owned();
    let mut n = 2;
    while free.exists() {
        free = path.with_file_name(format!("plan-{n}.jsonl"));
        n += 1;
    }
    free
}

/// What a unit of cost took in the runs so far; 1 if there are none.
fn seconds_per_cost(store: &Store) -> anyhow::Result<f64> {
    let mut rates = Vec::new();
    for record in store.records()?.into_values() {
        if let Ok(config) = serde_json::from_value(record.config) {
            rates.push(record.seconds / Planned::new(config)?.cost());
        }
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates.get(rates.len() / 2).copied().unwrap_or(1.0))
}

struct Script<'a> {
    slurm: &'a Slurm,
    n_tasks: usize,
    program: &'a Path,
    plan_file: &'a Path,
    out: &'a Path,
    place: &'a Place,
}

impl Script<'_> {
    fn text(&self) -> anyhow::Result<String> {
        let slurm = self.slurm;
        let mut text = "#!/bin/bash\n#SBATCH --job-name=mpu\n".to_owned();
        writeln!(text, "#SBATCH --array=0-{}", self.n_tasks - 1)?;
        writeln!(text, "#SBATCH --cpus-per-task={}", slurm.task_cores)?;
        writeln!(text, "#SBATCH --time={}", slurm.time)?;
        if let Some(partition) = &slurm.partition {
            writeln!(text, "#SBATCH --partition={partition}")?;
        }
        if let Some(account) = &slurm.account {
            writeln!(text, "#SBATCH --account={account}")?;
        }
        // Two minutes before the end the program itself is told, and keeps the state of its runs.
        text += "#SBATCH --signal=B:TERM@120\n#SBATCH --requeue\n";
        writeln!(
            text,
            "#SBATCH --output={}",
            self.out.join("slurm").join("task-%A_%a.log").display()
        )?;
        let folder = self.place.folder();
        let folder = folder.map(std::path::absolute).transpose()?;
        if let Some(folder) = folder {
            writeln!(text, "export MPU_DATA_DIR={}", quoted(&folder))?;
        }
        // `exec`, so that the signal reaches the program and not a shell that waits for it.
        writeln!(
            text,
            "exec {} --quiet run {} --out {} --shards {} --jobs {} --retry-failed",
            quoted(self.program),
            quoted(self.plan_file),
            quoted(self.out),
            self.n_tasks,
            slurm.task_cores,
        )?;
        Ok(text)
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_of_the_shell() {
        assert_eq!(quoted(Path::new("/a b/c'd")), "'/a b/c'\\''d'");
    }

    #[test]
    fn plans_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("plan.jsonl");
        assert_eq!(unused(&first), first);
        std::fs::write(&first, "").unwrap();
        assert_eq!(unused(&first), folder.path().join("plan-2.jsonl"));
    }
}
