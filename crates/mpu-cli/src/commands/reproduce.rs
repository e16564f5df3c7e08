//! `mpu-cli reproduce`: the paper's tables and figures, ours beside theirs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mpu_data::DatasetId;
use mpu_data::source::resolve::{Locations, Network, status};
use mpu_report::Record;
use mpu_report::store::{Store, bundle};

use crate::args::runs::{EngineKind, Pack, Reproduce};
use crate::commands::{Answer, runs, submit};
use crate::files;
use crate::plan::Planned;
use crate::reproduction::{self, Setting};

pub(crate) fn run(args: &Reproduce) -> anyhow::Result<Answer> {
    let planned = reproduction::runs(args)?;
    let locations = args.place.locations();
    let absent = absent(&planned, &locations, args.fetch);
    let (here, away): (Vec<Planned>, Vec<Planned>) = planned
        .into_iter()
        .partition(|run| !absent.contains_key(run.config.data.dataset.slug()));
    let mut text = String::new();
    if !args.report_only {
        if args.engine == EngineKind::Slurm {
            let answer = submit::submit(&args.out, &here, &args.slurm, &args.place)?;
            return Ok(answer);
        }
        let (tally, before) = runs::make(&args.out, &here, &args.local, &locations)?;
        writeln!(
            text,
            "runs: {} needed, {before} were there, {} trained, {} failed, {} not possible here",
            here.len() + away.len(),
            tally.trained,
            tally.failed,
            away.len()
        )?;
    }
    for (dataset, reason) in &absent {
        writeln!(text, "missing: {dataset}: {reason}")?;
    }
    Ok(Answer::good(text))
}

/// The datasets that cannot be had now, and what to do about it.
fn absent(runs: &[Planned], locations: &Locations, fetch: bool) -> BTreeMap<&'static str, String> {
    let mut absent = BTreeMap::new();
    for id in DatasetId::ALL {
        let needed = runs.iter().any(|run| run.config.data.dataset == id);
        let here = status(id, locations).here.is_some();
        let can = fetch && locations.network != Network::Offline;
        if needed && !here && !can {
            let slug = id.slug();
            absent.insert(
                slug,
                format!(
                    "not here; get it with `mpu-cli data fetch {slug}`, or name a folder that has it with --data-dir"
                ),
            );
        }
    }
    absent
}

/// Packs the records of a store into one file a dataset, without what no figure needs.
pub(crate) fn pack(args: &Pack) -> anyhow::Result<Answer> {
    let store = Store::open(&args.out)?;
    let mut by_dataset: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for mut record in store.records()?.into_values() {
        if !needed_by_a_figure(&record) {
            record.curves = None;
            record.heat = None;
        }
        let dataset = record.key.dataset.clone();
        by_dataset.entry(dataset).or_default().push(record);
    }
    let mut text = String::new();
    for (dataset, records) in &by_dataset {
        let path = args.out.join(format!("{dataset}.jsonl"));
        files::write_atomic(&path, bundle(records)?.as_bytes())?;
        writeln!(text, "{}: {} runs", path.display(), records.len())?;
    }
    // Only when every bundle is safe.
    for record in by_dataset.values().flatten() {
        store.forget(&record.id)?;
    }
    Ok(Answer::good(text))
}

/// Figures 1 and 4 draw single runs of the paper's method at k = 4 and π_k = 0.2.
fn needed_by_a_figure(record: &Record) -> bool {
    let key = &record.key;
    key.method == "csmpu-abs" && key.classes == 4 && key.prior == 0.2
}
