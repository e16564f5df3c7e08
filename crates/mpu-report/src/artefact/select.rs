//! From many records to those of one cell: one epoch count, one recipe, one record a seed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::record::{Record, Scores};
use crate::stats;

/// The seeds and epochs of the paper; cells with fewer say so.
pub(super) const FULL: (usize, usize) = (5, 100);

/// The loss of every method but the oracle, unless a table says otherwise: surrogate, scale, form.
pub(super) const MAIN_LOSS: (&str, f64, &str) = ("sigmoid_prob", 1.0, "raw");

/// What a cell asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) dataset: &'a str,
    pub(super) classes: usize,
    pub(super) prior: f64,
    pub(super) method: &'a str,
    /// Surrogate, scale and form; the oracle has none.
    pub(super) loss: Option<(&'a str, f64, &'a str)>,
}

impl Wanted<'_> {
    fn fits(&self, record: &Record) -> bool {
        let key = &record.key;
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        key.dataset == self.dataset
            && key.protocol == "first-k"
            && key.classes == self.classes
            && same(key.prior, self.prior)
            && key.method == self.method
            && self.loss.is_none_or(|(surrogate, gamma, form)| {
                key.surrogate == surrogate && same(key.gamma, gamma) && key.form == form
            })
    }
}

/// The records of one cell, by seed.
#[derive(Debug)]
pub(super) struct Group<'a> {
    records: Vec<&'a Record>,
    /// Records of the same cell that were left out.
    pub(super) left_out: usize,
}

impl<'a> Group<'a> {
    /// The records that `wanted` asks for, or none if there are none.
    ///
    /// Of several epoch counts the largest is taken, and nothing else with it. Records of that count
    /// that differ in anything but their seed are not mixed either: published data come before marked
    /// data, then the recipe with most seeds, then a swept rate before a given one.
    pub(super) fn choose(records: &'a [Record], wanted: &Wanted<'_>) -> Option<Self> {
        let found: Vec<&Record> = records.iter().filter(|r| wanted.fits(r)).collect();
        let epochs = found.iter().map(|r| r.key.epochs).max()?;
        let mut recipes: BTreeMap<String, BTreeMap<u64, &Record>> = BTreeMap::new();
        for &record in found.iter().filter(|r| r.key.epochs == epochs) {
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
        let records: Vec<&Record> = recipes
            .into_values()
            .min_by_key(preference)?
            .into_values()
            .collect();
        Some(Self {
            left_out: found.len() - records.len(),
            records,
        })
    }

    /// How many seeds there are.
    pub(super) fn n(&self) -> usize {
        self.records.len()
    }

    /// The epochs of all of them.
    pub(super) fn epochs(&self) -> usize {
        self.records.first().map_or(0, |r| r.key.epochs)
    }

    /// How their data differ from the published ones.
    pub(super) fn mark(&self) -> Option<&'a str> {
        self.records.first()?.data_mark.as_deref()
    }

    /// The learning rate of all of them; none where each chose its own.
    pub(super) fn rate(&self) -> Option<f64> {
        let key = &self.records.first()?.key;
        (!key.swept).then_some(key.lr)
    }

    /// One figure of each, by seed.
    pub(super) fn by_seed(&self, figure: impl Fn(&Record) -> f64) -> BTreeMap<u64, f64> {
        let pairs = self.records.iter().map(|r| (r.key.seed, figure(r)));
        pairs.collect()
    }

    /// One figure of each, in the order of seeds.
    pub(super) fn values(&self, figure: impl Fn(&Record) -> f64) -> Vec<f64> {
        self.by_seed(figure).into_values().collect()
    }

    /// Mean and deviation of one score, times `scale`.
    pub(super) fn spread(&self, scale: f64, score: impl Fn(&Scores) -> f64) -> Spread {
        let values = self.values(|r| scale * score(&r.scores));
        Spread {
            // A group is never empty.
            mean: stats::mean(&values).unwrap_or(f64::NAN),
            std: stats::std_dev(&values),
        }
    }
}

/// `n=2, 30 epochs`, unless it is what the paper has.
pub(super) fn shortfall(n: usize, epochs: usize) -> Option<String> {
    ((n, epochs) != FULL).then(|| format!("n={n}, {epochs} epochs"))
}

/// Mean and sample standard deviation; the latter needs two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) std: Option<f64>,
}

impl Spread {
    pub(super) fn published(mean: f64, std: f64) -> Self {
        Self {
            mean,
            std: Some(std),
        }
    }

    /// `90.59 ± 1.14`, without the deviation where there is none.
    pub(super) fn show(&self, decimals: usize) -> String {
        match self.std {
            Some(std) => format!("{:.decimals$} ± {std:.decimals$}", self.mean),
            None => format!("{:.decimals$}", self.mean),
        }
    }
}

/// A difference with its sign; what rounds to zero is `+0.00`.
pub(super) fn signed(difference: f64, decimals: usize) -> String {
    let text = format!("{difference:+.decimals$}");
    if text.bytes().any(|b| b.is_ascii_digit() && b != b'0') {
        text
    } else {
        text.replace('-', "+")
    }
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
fn identity(record: &Record) -> (&str, &str, [u64; 4]) {
    let scores = &record.scores;
    let figures = [
        scores.accuracy,
        scores.accuracy_last_ten,
        scores.f1,
        record.seconds,
    ];
    (&record.id, &record.model_sha256, figures.map(f64::to_bits))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::record;
    use super::*;

    const WANTED: Wanted<'_> = Wanted {
        dataset: "mnist",
        classes: 4,
        prior: 0.5,
        method: "area",
        loss: Some(MAIN_LOSS),
    };

    fn at(seed: u64, epochs: usize, accuracy: f64) -> Record {
        record("mnist", 4, 0.5, "area", seed, epochs, accuracy)
    }

    #[test]
    fn the_largest_epoch_count_wins_and_nothing_is_mixed() {
        let records = [
            at(1, 30, 0.1),
            at(2, 30, 0.1),
            at(1, 100, 0.8),
            at(2, 60, 0.2),
        ];
        let group = Group::choose(&records, &WANTED).unwrap();
        assert_eq!((group.n(), group.epochs(), group.left_out), (1, 100, 3));
        assert_eq!(shortfall(1, 100).unwrap(), "n=1, 100 epochs");
        assert_eq!(shortfall(5, 100), None);
    }

    #[test]
    fn other_cells_losses_and_protocols_do_not_count() {
        let mut records = vec![at(1, 100, 0.8); 4];
        records[0].key.gamma = 2.0;
        records[1].key.protocol = "residual".to_owned();
        records[2].key.prior = 0.2;
        records[3].key.classes = 6;
        assert!(Group::choose(&records, &WANTED).is_none());
        let oracle = Wanted {
            loss: None,
            ..WANTED
        };
        assert_eq!(Group::choose(&records, &oracle).unwrap().n(), 1);
    }

    #[test]
    fn recipes_are_kept_apart() {
        let mut records = vec![at(1, 100, 0.8), at(2, 100, 0.8), at(1, 100, 0.4)];
        records[2].config = serde_json::json!({"seed": 1, "train": {"batch-size": 64}});
        let group = Group::choose(&records, &WANTED).unwrap();
        assert_eq!(group.values(|r| r.scores.accuracy), [0.8, 0.8]);
        // Published data come first, however few their seeds.
        records[0].data_mark = Some("other rows".to_owned());
        records[1].data_mark = Some("other rows".to_owned());
        let group = Group::choose(&records, &WANTED).unwrap();
        assert_eq!(group.values(|r| r.scores.accuracy), [0.4]);
        // Seeds and swept rates are no part of a recipe.
        let mut swept = vec![at(1, 100, 0.8), at(2, 100, 0.8)];
        for (record, lr) in swept.iter_mut().zip([1e-3, 1e-5]) {
            (record.key.swept, record.key.lr) = (true, lr);
        }
        assert_eq!(Group::choose(&swept, &WANTED).unwrap().n(), 2);
    }

    #[test]
    fn a_seed_counts_once_whatever_the_order() {
        let mut twice = [at(1, 100, 0.8), at(1, 100, 0.7)];
        let first = Group::choose(&twice, &WANTED)
            .unwrap()
            .values(|r| r.scores.accuracy);
        twice.reverse();
        let second = Group::choose(&twice, &WANTED)
            .unwrap()
            .values(|r| r.scores.accuracy);
        assert_eq!((first.len(), &first), (1, &second));
    }

    #[test]
    fn signs_are_shown_but_not_of_nothing() {
        assert_eq!(signed(-1.234, 2), "-1.23");
        assert_eq!(signed(0.5, 1), "+0.5");
        assert_eq!(signed(-0.001, 2), "+0.00");
    }
}
