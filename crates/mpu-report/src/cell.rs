//! Which stored runs make a cell, for tables and figures alike.
//!
//! A cell is asked for by dataset, number of classes, prior, method and loss ([`Wanted`]). Of the records
//! that fit, all of protocol `first-k`, those of one setting are taken ([`CellRuns`]):
//!
//! 1. the largest epoch count there is, and nothing else with it;
//! 2. one recipe: records that differ in anything but their seed and where they ran are never mixed.
//!    Published data come before marked data, then the recipe with most seeds, then a swept rate before a
//!    given one;
//! 3. one record for each seed, whatever the order of the records.
//!
//! A figure may also ask that records hold what it draws, such as curves; the others then count as left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::record::{Record, Scores};
use crate::stats::Spread;

/// The seeds and epochs of the paper; cells with fewer say so.
pub(crate) const FULL: (usize, usize) = (5, 100);
/// The paper's rows of a batch; cells with other batches say so.
const BATCH: u64 = 512;

/// Surrogate, scale and form.
pub(crate) type LossKey<'a> = (&'a str, f64, &'a str);

/// The loss of every method but the oracle, unless a table says otherwise.
pub(crate) const MAIN_LOSS: LossKey<'_> = ("sigmoid_prob", 1.0, "raw");

/// The method that is trained on the true labels of all rows.
pub(crate) const ORACLE: &str = "supervised";

/// What a cell asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) dataset: &'a str,
    pub(crate) classes: usize,
    pub(crate) prior: f64,
    pub(crate) method: &'a str,
    /// The oracle has none.
    pub(crate) loss: Option<LossKey<'a>>,
    /// How the rate changes, where a method has been trained in two ways: the oracle.
    pub(crate) schedule: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// A cell of a method with the loss that it usually has.
    pub(crate) fn usual(dataset: &'a str, classes: usize, prior: f64, method: &'a str) -> Self {
        Self {
            dataset,
            classes,
            prior,
            method,
            loss: (method != ORACLE).then_some(MAIN_LOSS),
            schedule: (method == ORACLE).then_some("constant"),
        }
    }

    /// The oracle with the recipe of `csmpu-st`: inputs of one size, a cosine, its batches and epochs.
    pub(crate) fn same_recipe(dataset: &'a str, classes: usize, prior: f64) -> Self {
        Self {
            schedule: Some("cosine"),
            ..Self::usual(dataset, classes, prior, ORACLE)
        }
    }

    /// Whether a record is of this cell and was measured, whatever its epochs, seed and recipe.
    pub(crate) fn fits(&self, record: &Record) -> bool {
        let key = &record.key;
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        record.scores.is_some()
            && key.dataset == self.dataset
            && key.protocol == "first-k"
            && key.classes == self.classes
            && same(key.prior, self.prior)
            && key.method == self.method
            && self.loss.is_none_or(|(surrogate, gamma, form)| {
                key.surrogate == surrogate && same(key.gamma, gamma) && key.form == form
            })
            && self.schedule.is_none_or(|schedule| {
                let of_run = record.config["train"]["schedule"].as_str();
                of_run.unwrap_or("constant") == schedule
            })
    }
}

/// The records of one cell, by seed; there is at least one.
#[derive(Debug)]
pub(crate) struct CellRuns<'a> {
    pub(crate) records: Vec<&'a Record>,
    /// Records of the same cell that were left out.
    pub(crate) left_out: usize,
}

impl<'a> CellRuns<'a> {
    /// The records that `wanted` asks for, or none if there are none.
    pub(crate) fn choose(records: &'a [Record], wanted: &Wanted<'_>) -> Option<Self> {
        Self::choose_holding(records, wanted, |_| true)
    }

    /// The same of those records only that hold what is needed.
    pub(crate) fn choose_holding(
        records: &'a [Record],
        wanted: &Wanted<'_>,
        holds: impl Fn(&Record) -> bool,
    ) -> Option<Self> {
        let fitting: Vec<&Record> = records.iter().filter(|r| wanted.fits(r)).collect();
        let useful = || fitting.iter().copied().filter(|r| holds(r));
        let epochs = useful().map(|r| r.key.epochs).max()?;
        let mut recipes: BTreeMap<String, BTreeMap<u64, &Record>> = BTreeMap::new();
        for record in useful().filter(|r| r.key.epochs == epochs) {
            let seeds = recipes.entry(recipe(record)).or_default();
            let kept = seeds.entry(record.key.seed).or_insert(record);
            if identity(record) < identity(kept) {
                *kept = record;
            }
        }
        let preference = |seeds: &BTreeMap<u64, &Record>| {
            let first = seeds.values().next();
            (
                first.is_some_and(|r| r.data_mark.is_some()),
                Reverse(seeds.len()),
                first.is_some_and(|r| !r.key.swept),
            )
        };
        let chosen = recipes.into_values().min_by_key(preference)?;
        let records: Vec<&Record> = chosen.into_values().collect();
        Some(Self {
            left_out: fitting.len() - records.len(),
            records,
        })
    }

    /// How many seeds there are.
    pub(crate) fn n(&self) -> usize {
        self.records.len()
    }

    /// The epochs of all of them.
    pub(crate) fn epochs(&self) -> usize {
        self.records.first().map_or(0, |r| r.key.epochs)
    }

    /// The rows of their batches.
    pub(crate) fn batch(&self) -> Option<u64> {
        self.records.first()?.config["train"]["batch-size"].as_u64()
    }

    /// How their data differ from the published ones.
    pub(crate) fn mark(&self) -> Option<&'a str> {
        self.records.first()?.data_mark.as_deref()
    }

    /// The learning rate of all of them; none where each chose its own.
    pub(crate) fn rate(&self) -> Option<f64> {
        let key = &self.records.first()?.key;
        (!key.swept).then_some(key.lr)
    }

    /// One score of each, times `scale`, by seed.
    pub(crate) fn by_seed(&self, scale: f64, score: impl Fn(&Scores) -> f64) -> BTreeMap<u64, f64> {
        let scored = |r: &&Record| Some((r.key.seed, scale * score(r.scores.as_ref()?)));
        self.records.iter().filter_map(scored).collect()
    }

    /// One score of each, times `scale`, in the order of seeds.
    pub(crate) fn values(&self, scale: f64, score: impl Fn(&Scores) -> f64) -> Vec<f64> {
        self.by_seed(scale, score).into_values().collect()
    }

    /// Mean and deviation of one score, times `scale`.
    pub(crate) fn spread(&self, scale: f64, score: impl Fn(&Scores) -> f64) -> Spread {
        Spread::of(&self.values(scale, score))
    }
}

/// `n=2, 30 epochs, batches of 64`, unless it is what the paper has.
pub(crate) fn shortfall(n: usize, epochs: usize, batch: Option<u64>) -> Option<String> {
    let size = ((n, epochs) != FULL).then(|| format!("n={n}, {epochs} epochs"));
    let batches = batch
        .filter(|rows| *rows != BATCH)
        .map(|rows| format!("batches of {rows}"));
    let notes: Vec<String> = size.into_iter().chain(batches).collect();
    (!notes.is_empty()).then(|| notes.join(", "))
}

/// Everything that decides a run but its seeds and where it ran, as one comparable text. Of a swept run
/// the rate is an outcome.
fn recipe(record: &Record) -> String {
    let key = &record.key;
    let lr = if key.swept { 0.0 } else { key.lr };
    let mut text = format!("{:?} {} {lr:e} ", record.data_mark, key.swept);
    canonical(&record.config, key.swept, &mut text);
    text
}

/// JSON with sorted keys, so that no order of insertion shows.
fn canonical(value: &Value, swept: bool, into: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            into.push('{');
            for (name, value) in sorted {
                let skipped = match name.as_str() {
                    "seed" | "split-seed" | "device" | "threads" => true,
                    "lr" => swept,
                    _ => false,
                };
                if !skipped {
                    *into += name;
                    into.push(':');
                    canonical(value, swept, into);
                    into.push(',');
                }
            }
            into.push('}');
        }
        Value::Array(values) => {
            into.push('[');
            for value in values {
                canonical(value, swept, into);
                into.push(',');
            }
            into.push(']');
        }
        plain => *into += &plain.to_string(),
    }
}

/// An order of records of one seed that does not depend on where they stood.
fn identity(record: &Record) -> (&str, &str, Option<[u64; 3]>, u64) {
    let figures = |s: &Scores| [s.accuracy, s.accuracy_last_ten, s.f1].map(f64::to_bits);
    let scores = record.scores.as_ref().map(figures);
    let seconds = record.seconds.to_bits();
    (&record.id, &record.model_sha256, scores, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::record;

    const WANTED: Wanted<'_> = Wanted {
        dataset: "mnist",
        classes: 4,
        prior: 0.5,
        method: "area",
        loss: Some(MAIN_LOSS),
        schedule: None,
    };

    fn at(seed: u64, epochs: usize, accuracy: f64) -> Record {
        record("mnist", 4, 0.5, "area", seed, epochs, accuracy)
    }

    fn accuracies(records: &[Record]) -> Vec<f64> {
        let group = CellRuns::choose(records, &WANTED).unwrap();
        group.values(1.0, |s| s.accuracy)
    }

    #[test]
    fn the_largest_epoch_count_wins_and_nothing_is_mixed() {
        let records = [
            at(1, 30, 0.1),
            at(2, 30, 0.1),
            at(1, 100, 0.8),
            at(2, 60, 0.2),
        ];
        let group = CellRuns::choose(&records, &WANTED).unwrap();
        assert_eq!((group.n(), group.epochs(), group.left_out), (1, 100, 3));
        assert_eq!(shortfall(1, 100, None).unwrap(), "n=1, 100 epochs");
        assert_eq!(shortfall(5, 100, None), None);
        assert_eq!(shortfall(5, 100, Some(512)), None);
        assert_eq!(
            shortfall(1, 6, Some(64)).unwrap(),
            "n=1, 6 epochs, batches of 64"
        );
    }

    #[test]
    fn other_cells_losses_and_protocols_do_not_count() {
        let mut records = vec![at(1, 100, 0.8); 4];
        records[0].key.gamma = 2.0;
        records[1].key.protocol = "residual".to_owned();
        records[2].key.prior = 0.2;
        records[3].key.classes = 6;
        assert!(CellRuns::choose(&records, &WANTED).is_none());
        let oracle = Wanted {
            loss: None,
            ..WANTED
        };
        assert_eq!(CellRuns::choose(&records, &oracle).unwrap().n(), 1);
    }

    #[test]
    fn the_oracle_of_another_recipe_is_a_cell_of_its_own() {
        let mut records = [at(1, 100, 0.8), at(1, 40, 0.9)];
        for record in &mut records {
            record.key.method = ORACLE.to_owned();
        }
        records[1].config = serde_json::json!({"train": {"schedule": "cosine"}});
        let usual = Wanted::usual("mnist", 4, 0.5, ORACLE);
        let found = |wanted| {
            let runs = CellRuns::choose(&records, wanted).unwrap();
            (runs.epochs(), runs.left_out)
        };
        assert_eq!(found(&usual), (100, 0));
        assert_eq!(found(&Wanted::same_recipe("mnist", 4, 0.5)), (40, 0));
    }

    #[test]
    fn recipes_are_kept_apart() {
        let mut records = vec![at(1, 100, 0.8), at(2, 100, 0.8), at(1, 100, 0.4)];
        records[2].config = serde_json::json!({"seed": 1, "train": {"batch-size": 64}});
        assert_eq!(accuracies(&records), [0.8, 0.8]);
        // Published data come first, however few their seeds.
        records[0].data_mark = Some("other rows".to_owned());
        records[1].data_mark = Some("other rows".to_owned());
        assert_eq!(accuracies(&records), [0.4]);
        assert_eq!(
            CellRuns::choose(&records, &WANTED).unwrap().batch(),
            Some(64)
        );
        // Seeds and swept rates are no part of a recipe.
        let mut swept = vec![at(1, 100, 0.8), at(2, 100, 0.8)];
        for (record, lr) in swept.iter_mut().zip([1e-3, 1e-5]) {
            (record.key.swept, record.key.lr) = (true, lr);
        }
        assert_eq!(CellRuns::choose(&swept, &WANTED).unwrap().n(), 2);
    }

    #[test]
    fn a_run_without_test_rows_makes_no_cell() {
        let mut records = vec![at(1, 100, 0.8), at(2, 100, 0.9)];
        records[1].scores = None;
        assert_eq!(accuracies(&records), [0.8]);
    }

    #[test]
    fn a_seed_counts_once_whatever_the_order() {
        let mut twice = [at(1, 100, 0.8), at(1, 100, 0.7)];
        let first = accuracies(&twice);
        twice.reverse();
        let second = accuracies(&twice);
        assert_eq!((first.len(), &first), (1, &second));
    }

    #[test]
    fn a_record_that_lacks_what_is_drawn_is_left_out() {
        let mut records = vec![at(1, 100, 0.8), at(2, 100, 0.7), at(1, 100, 0.6)];
        records[1].prior_gaps = vec![0.1];
        records[2].key.protocol = "residual".to_owned();
        records[2].prior_gaps = vec![0.1];
        let holds = |r: &Record| !r.prior_gaps.is_empty();
        let found = CellRuns::choose_holding(&records, &WANTED, holds).unwrap();
        assert_eq!(found.values(1.0, |s| s.accuracy), [0.7]);
        assert_eq!(found.left_out, 1);
        assert!(CellRuns::choose_holding(&records, &WANTED, |_| false).is_none());
    }
}
