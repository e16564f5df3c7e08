//! What choosing the learning rate on held-out rows changes.

use std::collections::BTreeMap;

use super::{NEAR, OURS, PAPERS, RIVAL};
use crate::cell::{CellRuns, Wanted};
use crate::page::Section;
use crate::paper::{self, AccuracyCell};
use crate::record::Record;
use crate::stats::{self, Spread};
use crate::table::Table;
use crate::wording::{and_list, count, in_order, list, marked, or_dash, signed};

/// Whether rates are swept in a cell of Tables I–III: for the paper's method and its strongest rival in every row but
/// those of SVHN, which takes long, and for three methods in one row of each dataset, with the fewest classes at π_k = 0.5.
pub fn has(dataset: &str, classes: usize, prior: f64, method: &str) -> bool {
    let fewest = if dataset == "waveform1" { 3 } else { 4 };
    let is_first = classes == fewest && prior == 0.5;
    match method {
        PAPERS | RIVAL => is_first || dataset != "svhn",
        "area" => is_first,
        _ => false,
    }
}

/// Runs of one cell with the given rate and with chosen ones, seed by seed.
struct Pair {
    cell: AccuracyCell,
    data_mark: Option<String>,
    epochs: usize,
    rate: f64,
    seeds: Vec<OfSeed>,
}

/// The runs of one seed.
struct OfSeed {
    seed: u64,
    /// Accuracy in percent with the given rate.
    given: f64,
    /// The rate that was chosen.
    rate: f64,
    /// Accuracy in percent with that.
    chosen: f64,
}

impl Pair {
    fn row(&self) -> (&str, usize, f64) {
        (&self.cell.dataset, self.cell.k, self.cell.pi_k)
    }

    fn given(&self) -> Spread {
        Spread::of(&self.seeds.iter().map(|s| s.given).collect::<Vec<_>>())
    }

    fn chosen(&self) -> Spread {
        Spread::of(&self.seeds.iter().map(|s| s.chosen).collect::<Vec<_>>())
    }
}

/// Every cell that has both, by dataset, classes and prior.
fn pairs(records: &[Record], swept: &[Record]) -> Vec<Pair> {
    let mut cells = paper::accuracy_cells().unwrap_or_default();
    cells.retain(|cell| has(&cell.dataset, cell.k, cell.pi_k, &cell.method));
    cells.sort_by(|a, b| {
        let rows = (&a.dataset, a.k).cmp(&(&b.dataset, b.k));
        rows.then(a.pi_k.total_cmp(&b.pi_k))
    });
    let pair = |cell: AccuracyCell| {
        let wanted = Wanted::usual(&cell.dataset, cell.k, cell.pi_k, &cell.method);
        let given = CellRuns::choose(records, &wanted)?;
        let chosen = CellRuns::choose(swept, &wanted)?;
        let before = given.by_seed(100.0, |s| s.accuracy);
        let after = chosen.by_seed(100.0, |s| s.accuracy);
        let seeds = chosen.records.iter().filter_map(|record| {
            let seed = record.key.seed;
            Some(OfSeed {
                seed,
                given: *before.get(&seed)?,
                rate: record.key.lr,
                chosen: *after.get(&seed)?,
            })
        });
        let pair = Pair {
            data_mark: given.mark().map(str::to_owned),
            epochs: given.epochs(),
            rate: given.rate()?,
            seeds: seeds.collect(),
            cell,
        };
        (pair.epochs == chosen.epochs() && !pair.seeds.is_empty()).then_some(pair)
    };
    cells.into_iter().filter_map(pair).collect()
}

/// What chosen rates do to the paper's method where the data are the published ones.
pub(super) struct Chosen {
    datasets: Vec<Change>,
    /// For every row where its rival chose as well: whether it lies above that, and whether ours lies above both.
    above: Vec<(bool, bool)>,
}

/// Mean differences to the published cells of a dataset, over the same rows and seeds.
struct Change {
    dataset: String,
    rows: usize,
    given: f64,
    chosen: f64,
}

impl Chosen {
    pub(super) fn of(records: &[Record], swept: &[Record]) -> Self {
        let mut pairs = pairs(records, swept);
        pairs.retain(|pair| pair.data_mark.is_none());
        let (pairs, others): (Vec<Pair>, Vec<Pair>) = pairs
            .into_iter()
            .partition(|pair| pair.cell.method == PAPERS);
        let change = |dataset: &str| {
            let own = || pairs.iter().filter(|pair| pair.cell.dataset == dataset);
            let mean = |side: fn(&Pair) -> Spread| {
                let off = |pair: &Pair| side(pair).mean - pair.cell.accuracy_mean;
                stats::mean(&own().map(off).collect::<Vec<_>>())
            };
            Some(Change {
                dataset: dataset.to_owned(),
                rows: own().count(),
                given: mean(Pair::given)?,
                chosen: mean(Pair::chosen)?,
            })
        };
        // Ours, with the seeds of a pair.
        let ours = |pair: &Pair| {
            let (dataset, classes, prior) = pair.row();
            let wanted = Wanted::usual(dataset, classes, prior, OURS);
            let found = CellRuns::choose(records, &wanted)?.by_seed(100.0, |s| s.accuracy);
            let of_seeds = pair.seeds.iter().map(|s| found.get(&s.seed).copied());
            stats::mean(&of_seeds.collect::<Option<Vec<f64>>>()?)
        };
        let above = |pair: &Pair| {
            let row = pair.row();
            let is_rival = |other: &&Pair| other.cell.method == RIVAL && other.row() == row;
            let rival = others.iter().find(is_rival)?.chosen().mean;
            let own = pair.chosen().mean;
            let is_ours_above = ours(pair).is_some_and(|ours| ours > own.max(rival));
            Some((own > rival, is_ours_above))
        };
        let datasets = in_order(pairs.iter().map(|pair| pair.cell.dataset.as_str()));
        Self {
            datasets: datasets.into_iter().filter_map(change).collect(),
            above: pairs.iter().filter_map(above).collect(),
        }
    }

    /// The differences with given and with chosen rates.
    pub(super) fn differences(&self, dataset: &str) -> String {
        let change = self.datasets.iter().find(|c| c.dataset == dataset);
        change.map_or("–".to_owned(), |change| {
            let (given, chosen) = (signed(change.given, 2), signed(change.chosen, 2));
            format!("{given} → {chosen} ({})", count(change.rows, "row"))
        })
    }

    /// What it means; none where nothing was chosen.
    pub(super) fn in_short(&self) -> Option<String> {
        let of = |is_near: bool| {
            let is_so = |c: &&Change| (c.chosen.abs() <= NEAR) == is_near;
            let datasets = self.datasets.iter().filter(is_so);
            let datasets: Vec<&str> = datasets.map(|c| c.dataset.as_str()).collect();
            (!datasets.is_empty()).then(|| and_list(&datasets))
        };
        let verdict = match (of(true), of(false)) {
            (None, None) => return None,
            (Some(near), None) => format!("at most {NEAR} points on {near}"),
            (None, Some(far)) => format!("more than {NEAR} points on {far}"),
            (Some(near), Some(far)) => {
                format!("at most {NEAR} points on {near}, and more on {far}")
            }
        };
        let won = self.above.iter().filter(|above| above.0).count();
        let ours = self.above.iter().filter(|above| above.1).count();
        let against = match self.above.len() {
            0 => String::new(),
            n => format!(
                " It then lies above `{RIVAL}`, whose rates were chosen likewise, in {won} of {}. `{OURS}` lies above both in {ours} of them.",
                count(n, "row")
            ),
        };
        Some(format!(
            "These verdicts are for the rates of the authors' script. The paper says that it chose rates by validation. With rates \
             chosen on held-out rows, the mean difference of `{PAPERS}` to the published cells is {verdict}. The table has it with given and with \
             chosen rates, over the same rows and seeds.{against}"
        ))
    }
}

/// Runs with given rates beside those that chose theirs; none without any.
pub fn section(records: &[Record], swept: &[Record]) -> Option<Section> {
    let mut table = Table::with(
        "dataset | k: | π_k: | method | n: | epochs: | given rate: | accuracy with it: | \
         chosen rates (seeds): | accuracy with them: | change: | published:",
    );
    // By how much each run changed: those that chose the given rate, and the others.
    let (mut kept, mut moved) = (Vec::new(), Vec::new());
    for pair in pairs(records, swept) {
        let (cell, given, chosen) = (&pair.cell, pair.given(), pair.chosen());
        let mut rates: BTreeMap<String, usize> = BTreeMap::new();
        for of_seed in &pair.seeds {
            *rates.entry(format!("{:e}", of_seed.rate)).or_default() += 1;
            // What other data do says nothing about the rows of the paper.
            if pair.data_mark.is_none() {
                let is_given = of_seed.rate == pair.rate;
                let to = if is_given { &mut kept } else { &mut moved };
                to.push((of_seed.chosen - of_seed.given).abs());
            }
        }
        table.push([
            marked(&cell.dataset, pair.data_mark.as_deref()),
            cell.k.to_string(),
            cell.pi_k.to_string(),
            cell.method.clone(),
            pair.seeds.len().to_string(),
            pair.epochs.to_string(),
            format!("{:e}", pair.rate),
            given.show(2),
            list(rates.iter().map(|(rate, n)| format!("{rate} ({n})"))),
            chosen.show(2),
            signed(chosen.mean - given.mean, 2),
            format!("{:.2}", cell.accuracy_mean),
        ]);
    }
    if table.rows().is_empty() {
        return None;
    }
    let (of_kept, of_moved) = (stats::mean(&kept), stats::mean(&moved));
    // A point more than what runs change by that keep their rate.
    let noise = of_kept.unwrap_or(0.0) + 1.0;
    let verdict = if of_moved.is_some_and(|size| size > noise) {
        "Another rate changes more than that: rows that are not here would move as well"
    } else {
        "Another rate changes no more than that: rows that are not here would hardly move by it"
    };
    Some(Section {
        paragraphs: vec![format!(
            "The paper chooses the rate among 1e-3, 5e-4, 1e-5 and 1e-6 by validation. Tables I–III have the rate of the authors' script. Here the \
             two stand side by side, with the same seeds and in percent: `{PAPERS}` and `{RIVAL}` in every row that has been run, and `area` in one row of each dataset. The choice is made by the estimated accuracy of a tenth of the rows, held out, without hidden labels; these rows are then missing from \
             training. {} of {} runs with the published data chose the given rate; they changed by {} points on average in size, which is what other rows to train on do. \
             Those with another rate changed by {}. {verdict}.",
            kept.len(),
            kept.len() + moved.len(),
            or_dash(of_kept),
            or_dash(of_moved),
        )],
        table: Some(table),
        ..Section::new("rates", "Learning rates: given or chosen")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::record;

    #[test]
    fn seeds_are_paired_and_changes_counted() {
        let usps = |seed, lr, accuracy| {
            let mut record = record("usps", 4, 0.5, "area", seed, 100, accuracy);
            record.key.lr = lr;
            record
        };
        let given = [usps(1, 1e-4, 0.90), usps(2, 1e-4, 0.92), usps(3, 1e-4, 0.5)];
        assert_eq!(section(&given, &[]), None);
        let mut swept = [usps(1, 1e-3, 0.93), usps(2, 5e-4, 0.93)];
        for record in &mut swept {
            record.key.swept = true;
        }
        let text = section(&given, &swept).unwrap().to_md();
        for part in [
            "| usps | 4 | 0.5 | area | 2 | 100 | 1e-4 | 91.00 ± 1.41 | 1e-3 (1), 5e-4 (1) | 93.00 ± 0.00 | +2.00 | 93.11 |",
            "0 of 2 runs with the published data chose the given rate; they changed by – points",
            "Those with another rate changed by 2.00. Another rate changes more than that",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // Other data are shown, and counted for nothing.
        let (mut other, mut chosen) = (given.to_vec(), swept.to_vec());
        for record in other.iter_mut().chain(&mut chosen) {
            record.key.dataset = "svhn".to_owned();
            record.data_mark = Some("subset".to_owned());
        }
        other.extend(given.clone());
        chosen.extend(swept.clone());
        let text = section(&other, &chosen).unwrap().to_md();
        assert!(
            text.contains("| svhn (subset) | 4 | 0.5 | area | 2 |"),
            "{text}"
        );
        assert!(text.contains("0 of 2 runs with"), "{text}");
        // Runs of other epochs are not compared.
        for record in &mut swept {
            record.key.epochs = 10;
        }
        assert_eq!(section(&given, &swept), None);
    }

    #[test]
    fn the_papers_method_is_held_to_what_is_published_and_to_its_rival() {
        let runs = |method: &str, priors: &[f64], accuracy: f64| -> Vec<Record> {
            let at = |prior: &f64| record("mnist", 4, *prior, method, 1, 100, accuracy);
            priors.iter().map(at).collect()
        };
        let chosen = |method: &str, priors: &[f64], accuracy: f64| -> Vec<Record> {
            let mut runs = runs(method, priors, accuracy);
            for run in &mut runs {
                run.key.swept = true;
            }
            runs
        };
        // Published are 93.59 and 98.61.
        let both = [0.5, 0.8];
        let mut given = runs(PAPERS, &both, 0.91);
        let mut swept = chosen(PAPERS, &both, 0.93);
        let nothing = Chosen::of(&given, &chosen(RIVAL, &both, 0.93));
        assert_eq!(nothing.in_short(), None);
        assert_eq!(nothing.differences("mnist"), "–");
        let alone = Chosen::of(&given, &swept);
        assert_eq!(alone.differences("mnist"), "-5.10 → -3.10 (2 rows)");
        let told = alone.in_short().unwrap();
        assert!(
            told.contains("cells is more than 3 points on mnist. "),
            "{told}"
        );
        assert!(told.ends_with("the same rows and seeds."), "{told}");
        given.extend(runs(RIVAL, &both, 0.5));
        swept.extend(chosen(RIVAL, &[0.5], 0.92));
        swept.extend(chosen(RIVAL, &[0.8], 0.94));
        given.extend(runs(OURS, &[0.5], 0.935));
        // With another seed, and so not compared.
        given.push(record("mnist", 4, 0.8, OURS, 2, 100, 0.99));
        let told = Chosen::of(&given, &swept).in_short().unwrap();
        let against = "in 1 of 2 rows. `csmpu-st` lies above both in 1 of them.";
        assert!(told.ends_with(against), "{told}");
        // Published is 92.30.
        for (to, accuracy) in [(&mut given, 0.92), (&mut swept, 0.90)] {
            let mut run = record("usps", 4, 0.5, PAPERS, 1, 100, accuracy);
            run.key.lr = 1e-4;
            to.push(run);
        }
        let told = Chosen::of(&given, &swept).in_short().unwrap();
        let verdict = "cells is at most 3 points on usps, and more on mnist. ";
        assert!(told.contains(verdict), "{told}");
        let told = Chosen::of(&given[6..], &swept[4..]).in_short().unwrap();
        assert!(
            told.contains("cells is at most 3 points on usps. "),
            "{told}"
        );
    }
}
