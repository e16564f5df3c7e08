//! The runs that figures are drawn from, and what is said of them.

use super::{Lack, Missing};
use crate::cell::{CellRuns, Wanted};
use crate::record::Record;
use crate::wording::{count, list};
use std::collections::BTreeSet;

/// The runs of a cell that hold what a figure needs, or what is missing of it.
pub(super) fn find<'a>(
    records: &'a [Record],
    wanted: &Wanted<'_>,
    lack: Lack,
    holds: impl Fn(&Record) -> bool,
) -> Result<CellRuns<'a>, Missing> {
    CellRuns::choose_holding(records, wanted, holds).ok_or_else(|| Missing {
        dataset: wanted.dataset.to_owned(),
        classes: Some(wanted.classes),
        prior: wanted.prior,
        method: wanted.method.to_owned(),
        lack: if records.iter().any(|r| wanted.fits(r)) {
            lack
        } else {
            Lack::Runs
        },
    })
}

impl CellRuns<'_> {
    /// How many seeds and epochs.
    pub(super) fn extent(&self) -> String {
        format!(
            "{}, {}",
            count(self.n(), "seed"),
            count(self.epochs(), "epoch")
        )
    }
}

/// The fields of a setting, each with the text it is shown by; a swept rate may differ between seeds.
fn setting(record: &Record) -> Vec<String> {
    let (key, mark) = (&record.key, record.data_mark.as_ref());
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
        mark.map(|mark| format!("data: {mark}")).unwrap_or_default(),
    ]
}

/// What settings share, and what of each is its own.
fn told_apart(settings: &[Vec<String>]) -> (String, Vec<String>) {
    let first = settings.first().cloned().unwrap_or_default();
    let shared = |index: usize| settings.iter().all(|s| s.get(index) == first.get(index));
    let join = |fields: &[String], which: bool| {
        let kept = fields.iter().enumerate();
        let kept = kept.filter(|(i, f)| shared(*i) == which && !f.is_empty());
        list(kept.map(|(_, field)| field))
    };
    (
        join(&first, true),
        settings.iter().map(|s| join(s, false)).collect(),
    )
}

/// What stands below a figure: the settings of what is drawn, and how many runs are not.
pub(super) fn note<'a>(cells: impl IntoIterator<Item = &'a CellRuns<'a>>) -> String {
    let (mut settings, mut n_left_out) = (BTreeSet::new(), 0);
    let mut spread = false;
    for cell in cells {
        n_left_out += cell.left_out;
        spread |= cell.n() > 1;
        settings.extend(cell.records.first().map(|run| setting(run)));
    }
    let settings: Vec<Vec<String>> = settings.into_iter().collect();
    let (shared, own) = told_apart(&settings);
    let mut parts = Vec::new();
    if !shared.is_empty() {
        parts.push(format!("Runs: {shared}."));
    }
    if own.len() > 1 {
        let told = |own: &'_ String| match own.as_str() {
            "" => "as published".to_owned(),
            own => own.to_owned(),
        };
        let own: Vec<String> = own.iter().map(told).collect();
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
