//! `mpu-cli plan|run|status|collect`: a sweep of many runs and what came of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use mpu::RunFolder;
use mpu_data::source::resolve::Locations;
use mpu_report::store::Store;
use mpu_report::{Record, Repeats, Scores, Table, render, stats};
use serde::Serialize;

use crate::args::runs::{Collect, Local, Plan, Run, Shard, Status};
use crate::commands::Answer;
use crate::console::{cores, interrupts};
use crate::plan::{self, Planned};
use crate::runner::{Engine, Tally};

/// A runner that the user or the cluster stopped: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error(
    "stopped with {left} of {total} runs still to do\nhint: run the same command again to continue"
)]
pub(crate) struct Stopped {
    left: usize,
    total: usize,
}

pub(crate) fn plan(args: &Plan) -> anyhow::Result<Answer> {
    #[derive(Serialize)]
    struct PlannedRun {
        id: String,
        name: String,
        cost: f64,
    }
    let runs = plan::read(&args.file)?;
    if let Some(path) = &args.write {
        plan::write(path, &runs)?;
    }
    let mut table = Table::with("id | run | cost:");
    let mut rows = Vec::new();
    for run in &runs {
        table.push([run.id.clone(), run.name(), format!("{:.1}", run.cost())]);
        rows.push(PlannedRun {
            id: run.id.clone(),
            name: run.name(),
            cost: run.cost(),
        });
    }
    Ok(Answer::good(render(args.report.format, &table, &rows)?))
}

pub(crate) fn run(args: &Run) -> anyhow::Result<Answer> {
    let runs = plan::read(&args.sweep.file)?;
    let runs = part(runs, shard(args)?);
    let (tally, before) = make(&args.sweep.out, &runs, &args.local, &args.place.locations())?;
    let table = numbers(&[
        ("in the plan", runs.len()),
        ("done before", before),
        ("trained now", tally.trained),
        ("failed", tally.failed),
        ("being run by another process", tally.elsewhere),
    ]);
    let text = render(args.report.format, &table, &tally)?;
    Ok(Answer {
        text,
        good: tally.failed == 0,
    })
}

/// How many runs there are of each kind.
fn numbers(kinds: &[(&str, usize)]) -> Table {
    let mut table = Table::with("runs | number:");
    for (name, number) in kinds {
        table.push([(*name).to_owned(), number.to_string()]);
    }
    table
}

/// Makes what is missing of a list of runs; gives what became of it and how many were there before.
pub(crate) fn make(
    out: &Path,
    runs: &[Planned],
    local: &Local,
    locations: &Locations,
) -> anyhow::Result<(Tally, usize)> {
    let store = Store::open(out)?;
    let missing = missing(&store, runs, local.retry_failed)?;
    let before = runs.len() - missing.len();
    let interrupted = interrupts()?;
    let all = || (cores() / local.threads.max(1)).max(1);
    let jobs = local.jobs.unwrap_or_else(all);
    let engine = Engine {
        store: &store,
        locations,
        jobs,
        threads: local.threads,
        interrupted,
    };
    let tally = engine.run(&missing)?;
    if interrupted.asked() {
        let made = tally.trained + tally.failed + tally.elsewhere;
        let (left, total) = (missing.len() - made, runs.len());
        return Err(Stopped { left, total }.into());
    }
    Ok((tally, before))
}

/// The runs without a record; those that failed only if they are to be tried again.
pub(crate) fn missing(
    store: &Store,
    runs: &[Planned],
    retry_failed: bool,
) -> anyhow::Result<Vec<Planned>> {
    let records = store.records()?;
    let failures = store.failures()?;
    let missing = |run: &&Planned| {
        !records.contains_key(&run.id) && (retry_failed || !failures.contains_key(&run.id))
    };
    Ok(runs.iter().filter(missing).cloned().collect())
}

/// The part that flags or the environment ask for.
fn shard(args: &Run) -> anyhow::Result<Option<Shard>> {
    let Some(count) = args.shards else {
        return Ok(args.shard);
    };
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        if let Ok(text) = std::env::var(name) {
            let index: usize = text
                .parse()
                .with_context(|| format!("{name} is `{text}`: a whole number is needed"))?;
            anyhow::ensure!(
                index < count,
                "{name} is {index}, but there are {count} parts"
            );
            return Ok(Some(Shard { index, count }));
        }
    }
    anyhow::bail!(
        "--shards {count} needs SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX\nhint: name the part yourself, such as --shard 1/{count}"
    )
}

/// Every `count`-th run, so that parts cost about the same.
fn part(runs: Vec<Planned>, shard: Option<Shard>) -> Vec<Planned> {
    let Some(Shard { index, count }) = shard else {
        return runs;
    };
    runs.into_iter().skip(index).step_by(count).collect()
}

pub(crate) fn status(args: &Status) -> anyhow::Result<Answer> {
    #[derive(Serialize)]
    struct Progress {
        total: usize,
        done: usize,
        failed: Vec<(String, String)>,
        missing: Vec<String>,
    }
    let runs = plan::read(&args.sweep.file)?;
    let store = Store::read_only(&args.sweep.out);
    let (records, failures) = (store.records()?, store.failures()?);
    let (done, rest): (Vec<&Planned>, Vec<&Planned>) =
        runs.iter().partition(|run| records.contains_key(&run.id));
    let last_error = |run: &Planned| failures.get(&run.id)?.last().map(|f| f.error.clone());
    let failed = rest.iter();
    let failed = failed.filter_map(|run| Some((run.name(), last_error(run)?)));
    let failed: Vec<(String, String)> = failed.collect();
    let missing = rest.iter().filter(|run| !failures.contains_key(&run.id));
    let missing: Vec<String> = missing.map(|run| run.name()).collect();
    let table = numbers(&[
        ("in the plan", runs.len()),
        ("done", done.len()),
        ("failed", failed.len()),
        ("missing", missing.len()),
    ]);
    let report = Progress {
        total: runs.len(),
        done: done.len(),
        failed,
        missing,
    };
    let mut text = render(args.report.format, &table, &report)?;
    if args.report.format == mpu_report::Format::Table {
        for (name, error) in &report.failed {
            writeln!(text, "failed: {name}: {error}")?;
        }
    }
    Ok(Answer::good(text))
}

pub(crate) fn collect(args: &Collect) -> anyhow::Result<Answer> {
    #[derive(Serialize)]
    struct Group<'a> {
        run: &'a str,
        seeds: usize,
        accuracy_mean: Option<f64>,
        accuracy_std: Option<f64>,
        f1_mean: Option<f64>,
        f1_std: Option<f64>,
    }
    let (records, wanted) = records(args)?;
    let groups = Repeats::of(&records);
    let mut table = Table::with("run | seeds: | accuracy: | macro F1:");
    let mut rows = Vec::new();
    for Repeats { name, records } in &groups {
        // Without test rows there is no mean; one run has no deviation.
        let spread = |score: fn(&Scores) -> f64| {
            let scores = records.iter().filter_map(|record| record.scores.as_ref());
            let values: Vec<f64> = scores.map(|scores| 100.0 * score(scores)).collect();
            (stats::mean(&values), stats::std_dev(&values))
        };
        let shown = |spread: (Option<f64>, Option<f64>)| match spread {
            (Some(mean), Some(std)) => format!("{mean:.2} ± {std:.2}"),
            (Some(mean), None) => format!("{mean:.2}"),
            (None, _) => "–".to_owned(),
        };
        let (accuracy, f1) = (spread(|s| s.accuracy), spread(|s| s.f1));
        let seeds = records.len();
        table.push([name.clone(), seeds.to_string(), shown(accuracy), shown(f1)]);
        rows.push(Group {
            run: name,
            seeds,
            accuracy_mean: accuracy.0,
            accuracy_std: accuracy.1,
            f1_mean: f1.0,
            f1_std: f1.1,
        });
    }
    let mut text = render(args.report.format, &table, &rows)?;
    let missing = wanted - records.len();
    if missing > 0 {
        tracing::warn!("{missing} of {wanted} runs are missing");
        if args.report.format == mpu_report::Format::Table {
            writeln!(text, "{missing} of {wanted} runs are missing")?;
        }
    }
    Ok(Answer::good(text))
}

/// The records that are asked for and there, and how many are asked for. A run counts once.
fn records(args: &Collect) -> anyhow::Result<(Vec<Record>, usize)> {
    let (mut records, mut wanted) = (Vec::new(), BTreeSet::new());
    let stored = Store::read_only(&args.out).records()?;
    for path in &args.runs {
        if path.is_dir() {
            let found = records_in(path)?.into_iter();
            records.extend(found.filter(|record| wanted.insert(record.id.clone())));
        } else {
            let runs = plan::read(path)?.into_iter();
            let new = runs.filter(|run| wanted.insert(run.id.clone()));
            records.extend(new.filter_map(|run| stored.get(&run.id).cloned()));
        }
    }
    Ok((records, wanted.len()))
}

/// The record of a run's folder, or all records of a store.
pub(crate) fn records_in(folder: &Path) -> anyhow::Result<Vec<Record>> {
    if let Ok(run) = RunFolder::open(folder) {
        return Ok(vec![run.finished()?]);
    }
    let records = Store::read_only(folder).records()?;
    anyhow::ensure!(
        !records.is_empty(),
        "{} is neither the folder of a run (it has no config.toml) nor a store of runs (it has no records)",
        folder.display()
    );
    Ok(records.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpu::RunConfig;

    #[test]
    fn parts_cover_a_plan_once() {
        let config = |seed| RunConfig {
            seed,
            ..RunConfig::default()
        };
        let runs = plan::distinct((0..10).map(config)).unwrap();
        let mut seen: Vec<String> = (0..3)
            .flat_map(|index| part(runs.clone(), Some(Shard { index, count: 3 })))
            .map(|run| run.id)
            .collect();
        seen.sort();
        let mut all: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
        all.sort();
        assert_eq!(seen, all);
    }
}
