//! Which runs make a cell, and their mean and spread.

use super::{Lack, Missing};
use crate::record::{Record, RunKey};
use crate::stats;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What a figure looks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) dataset: &'a str,
    pub(super) classes: usize,
    pub(super) prior: f64,
    pub(super) method: &'a str,
    /// All that are to be there; empty takes those that are.
    pub(super) seeds: &'a [u64],
}

impl Wanted<'_> {
    pub(super) fn missing(&self, lack: Lack, seeds: Vec<u64>) -> Missing {
        Missing {
            dataset: self.dataset.to_owned(),
            classes: Some(self.classes),
            prior: self.prior,
            method: self.method.to_owned(),
            seeds,
            lack,
        }
    }

    fn fits(&self, key: &RunKey) -> bool {
        key.dataset == self.dataset
            && key.classes == self.classes
            && (key.prior - self.prior).abs() < 1e-9
            && key.method == self.method
            && (self.seeds.is_empty() || self.seeds.contains(&key.seed))
    }
}

/// Runs that differ by nothing but their seeds, in the order of those.
#[derive(Debug)]
pub(super) struct Cell<'a> {
    pub(super) runs: Vec<&'a Record>,
    /// Runs that would also fit but differ in another setting.
    pub(super) n_left_out: usize,
    /// Seeds asked for that are not there.
    pub(super) absent: Vec<u64>,
}

impl Cell<'_> {
    /// How many seeds and epochs.
    pub(super) fn extent(&self) -> String {
        let n = self.runs.len();
        let epochs = self.runs.first().map_or(0, |run| run.key.epochs);
        let mut text = format!("{}, {}", count(n, "seed"), count(epochs, "epoch"));
        if !self.absent.is_empty() {
            text.push_str("; seeds not run: ");
            text.push_str(&list(&self.absent));
        }
        text
    }
}

/// A count with its noun.
pub(super) fn count(n: usize, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

/// Numbers with commas.
pub(super) fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

/// The fields of a setting, each with the text it is shown by; a swept rate may differ between seeds.
pub(super) fn setting(record: &Record) -> Vec<String> {
    let key = &record.key;
    vec![
        key.method.clone(),
        key.protocol.clone(),
        key.surrogate.clone(),
        format!("γ = {}", key.gamma),
        key.form.clone(),
        if key.swept {
            "swept rate".to_owned()
        } else {
            format!("rate {}", key.lr)
        },
        count(key.epochs, "epoch"),
        record
            .data_mark
            .as_ref()
            .map(|mark| format!("data: {mark}"))
            .unwrap_or_default(),
    ]
}

/// What settings share, and what of each is its own.
pub(super) fn told_apart(settings: &[Vec<String>]) -> (String, Vec<String>) {
    let first = settings.first().cloned().unwrap_or_default();
    let shared = |index: usize| settings.iter().all(|s| s.get(index) == first.get(index));
    let join = |fields: &[String], which: bool| {
        let kept = fields
            .iter()
            .enumerate()
            .filter(|(i, f)| shared(*i) == which && !f.is_empty());
        kept.map(|(_, field)| field.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    (
        join(&first, true),
        settings.iter().map(|s| join(s, false)).collect(),
    )
}

/// Sets of runs with one setting each, in the order of the settings; of two runs with one seed the one of
/// the later program is kept.
pub(super) fn by_setting<'a>(
    records: impl Iterator<Item = &'a Record>,
) -> BTreeMap<Vec<String>, BTreeMap<u64, &'a Record>> {
    let rank = |r: &Record| {
        let kept = (r.curves.is_some(), r.heat.is_some());
        (
            kept,
            r.program.clone(),
            r.id.clone(),
            r.model_sha256.clone(),
            r.machine.clone(),
        )
    };
    let mut sets: BTreeMap<Vec<String>, BTreeMap<u64, &Record>> = BTreeMap::new();
    for record in records {
        let seeds = sets.entry(setting(record)).or_default();
        let slot = seeds.entry(record.key.seed).or_insert(record);
        if rank(record) > rank(slot) {
            *slot = record;
        }
    }
    sets
}

/// The runs of a cell that hold what a figure needs, or what is missing of it.
pub(super) fn find<'a>(
    records: &'a [Record],
    wanted: &Wanted<'_>,
    lack: Lack,
    holds: impl Fn(&Record) -> bool,
) -> Result<Cell<'a>, Missing> {
    let fitting: Vec<&Record> = records.iter().filter(|r| wanted.fits(&r.key)).collect();
    let useful = fitting.iter().copied().filter(|r| holds(r));
    let sets = by_setting(useful);
    let best = sets.into_values().enumerate().max_by_key(|(index, seeds)| {
        let epochs = seeds.values().map(|run| run.key.epochs).max();
        (seeds.len(), epochs, Reverse(*index))
    });
    let Some((_, best)) = best else {
        let lack = if fitting.is_empty() { Lack::Runs } else { lack };
        return Err(wanted.missing(lack, wanted.seeds.to_vec()));
    };
    let asked: BTreeSet<u64> = wanted.seeds.iter().copied().collect();
    let absent = asked
        .into_iter()
        .filter(|seed| !best.contains_key(seed))
        .collect();
    let runs: Vec<&Record> = best.into_values().collect();
    Ok(Cell {
        n_left_out: fitting.len() - runs.len(),
        runs,
        absent,
    })
}

/// What stands below a figure: the settings of what is drawn, and how many runs are not.
pub(super) fn note<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>) -> String {
    let (mut settings, mut n_left_out) = (BTreeSet::new(), 0);
    let mut spread = false;
    for cell in cells {
        n_left_out += cell.n_left_out;
        spread |= cell.runs.len() > 1;
        settings.extend(cell.runs.first().map(|run| setting(run)));
    }
    let settings: Vec<Vec<String>> = settings.into_iter().collect();
    let (shared, own) = told_apart(&settings);
    let mut parts = Vec::new();
    if !shared.is_empty() {
        parts.push(format!("Runs: {shared}."));
    }
    if own.len() > 1 {
        let own: Vec<&str> = own
            .iter()
            .map(|o| {
                if o.is_empty() {
                    "as published"
                } else {
                    o.as_str()
                }
            })
            .collect();
        parts.push(format!("Settings drawn: {}.", own.join("; ")));
    }
    if spread {
        parts.push("Mean ± standard deviation over seeds.".to_owned());
    }
    if n_left_out > 0 {
        parts.push(format!(
            "Not drawn: {} with other settings.",
            count(n_left_out, "further run")
        ));
    }
    parts.join(" ")
}

/// The mean, and the sample standard deviation of two values or more.
pub(super) fn mean_std(values: &[f64]) -> (f64, Option<f64>) {
    let mean = stats::mean(values).unwrap_or(f64::NAN);
    (mean, stats::std_dev(values))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::record;
    use super::*;

    #[test]
    fn mean_and_spread_are_those_of_the_sample() {
        assert_eq!(mean_std(&[1.0, 3.0]), (2.0, Some(2.0_f64.sqrt())));
        assert_eq!(mean_std(&[5.0]), (5.0, None));
    }

    #[test]
    fn runs_of_other_settings_are_not_averaged_in() {
        let mut records: Vec<Record> = (0..3).map(|s| record("mnist", 4, 0.2, s)).collect();
        let mut odd = record("mnist", 4, 0.2, 9);
        odd.key.epochs += 100;
        records.push(odd);
        let wanted = Wanted {
            dataset: "mnist",
            classes: 4,
            prior: 0.2,
            method: "csmpu-abs",
            seeds: &[],
        };
        let cell = find(&records, &wanted, Lack::Curves, |_| true).unwrap();
        assert_eq!((cell.runs.len(), cell.n_left_out), (3, 1));
        assert!(note([&cell]).contains("1 further run with other settings"));
    }

    #[test]
    fn seeds_that_were_asked_for_are_missed() {
        let records = [record("mnist", 4, 0.2, 1)];
        let wanted = Wanted {
            dataset: "mnist",
            classes: 4,
            prior: 0.2,
            method: "csmpu-abs",
            seeds: &[1, 2],
        };
        let cell = find(&records, &wanted, Lack::Curves, |_| true).unwrap();
        assert_eq!(cell.absent, [2]);
        assert!(cell.extent().ends_with("; seeds not run: 2"));
        let none = find(&[], &wanted, Lack::Curves, |_| true).unwrap_err();
        assert_eq!(
            (none.lack, none.seeds.as_slice()),
            (Lack::Runs, [1, 2].as_slice())
        );
        let bare = find(&records, &wanted, Lack::Curves, |_| false).unwrap_err();
        assert_eq!(bare.lack, Lack::Curves);
        assert_eq!(
            bare.to_string(),
            "no curves kept: mnist, k = 4, πₖ = 0.2, csmpu-abs, seeds 1, 2"
        );
    }
}
