//! What choosing the learning rate on held-out rows changes, in one row of each dataset.

use std::collections::BTreeMap;

use crate::cell::{CellRuns, Wanted};
use crate::page::Section;
use crate::paper;
use crate::record::Record;
use crate::stats::{self, Spread};
use crate::table::Table;
use crate::wording::{in_order, list, marked, or_dash, signed};

/// The methods whose rate is swept.
pub const METHODS: [&str; 3] = ["csmpu-abs", "area", "biased-super"];

/// Whether a row of Tables I–III is the one of its dataset: the fewest classes at π_k = 0.5.
pub fn has(dataset: &str, classes: usize, prior: f64) -> bool {
    let fewest = if dataset == "waveform1" { 3 } else { 4 };
    classes == fewest && prior == 0.5
}

/// Runs with given rates beside those that chose theirs, seed by seed; none without any.
pub fn section(records: &[Record], swept: &[Record]) -> Option<Section> {
    let mut table = Table::with(
        "dataset | k: | method | n: | epochs: | given rate: | accuracy with it: | \
         chosen rates (seeds): | accuracy with them: | change:",
    );
    // By how much each run changed: those that chose the given rate, and the others.
    let (mut kept, mut moved) = (Vec::new(), Vec::new());
    let cells = paper::accuracy_cells().ok()?.into_iter();
    let rows = cells.filter(|cell| has(&cell.dataset, cell.k, cell.pi_k));
    for (dataset, classes, prior) in in_order(rows.map(|cell| (cell.dataset, cell.k, cell.pi_k))) {
        for method in METHODS {
            let wanted = Wanted::usual(&dataset, classes, prior, method);
            let both = CellRuns::choose(records, &wanted).zip(CellRuns::choose(swept, &wanted));
            let Some((given, chosen)) = both.filter(|(a, b)| a.epochs() == b.epochs()) else {
                continue;
            };
            let (before, after) = (
                given.by_seed(100.0, |s| s.accuracy),
                chosen.by_seed(100.0, |s| s.accuracy),
            );
            let pairs: Vec<(f64, f64)> = before
                .iter()
                .filter_map(|(seed, before)| Some((*before, *after.get(seed)?)))
                .collect();
            let Some(change) = stats::mean(&pairs.iter().map(|(a, b)| b - a).collect::<Vec<_>>())
            else {
                continue;
            };
            let rate = given.rate().unwrap_or(f64::NAN);
            let mut rates: BTreeMap<String, usize> = BTreeMap::new();
            for record in &chosen.records {
                let seed = record.key.seed;
                let Some((before, after)) = before.get(&seed).zip(after.get(&seed)) else {
                    continue;
                };
                *rates.entry(format!("{:e}", record.key.lr)).or_default() += 1;
                // What other data do says nothing about the rows of the paper.
                if given.mark().is_some() {
                    continue;
                }
                let is_given = record.key.lr == rate;
                let to = if is_given { &mut kept } else { &mut moved };
                to.push((after - before).abs());
            }
            let show = |side: fn(&(f64, f64)) -> f64| {
                Spread::of(&pairs.iter().map(side).collect::<Vec<_>>()).show(2)
            };
            table.push([
                marked(&dataset, given.mark()),
                classes.to_string(),
                method.to_owned(),
                pairs.len().to_string(),
                given.epochs().to_string(),
                format!("{rate:e}"),
                show(|pair| pair.0),
                list(rates.iter().map(|(rate, n)| format!("{rate} ({n})"))),
                show(|pair| pair.1),
                signed(change, 2),
            ]);
        }
    }
    if table.rows().is_empty() {
        return None;
    }
    let (of_kept, of_moved) = (stats::mean(&kept), stats::mean(&moved));
    // A point more than what runs change by that keep their rate.
    let noise = of_kept.unwrap_or(0.0) + 1.0;
    let verdict = if of_moved.is_some_and(|size| size > noise) {
        "Another rate changes more than that: the other rows would move as well"
    } else {
        "Another rate changes no more than that: the other rows would hardly move by it"
    };
    Some(Section {
        paragraphs: vec![format!(
            "The paper chooses the rate among 1e-3, 5e-4, 1e-5 and 1e-6 by validation. Tables I–III have the rate of the authors' script; here the \
             two stand side by side for one row of each dataset (π_k = 0.5), with the same seeds, and epochs as stated, in percent. The choice is made by the \
             estimated accuracy of a tenth of the rows, held out, without hidden labels; these rows are then missing from training. {} of {} runs with the published data chose \
             the given rate; they changed by {} points on average in size, which is what other rows to train on do. Those with another rate \
             changed by {}. {verdict}.",
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
            "| usps | 4 | area | 2 | 100 | 1e-4 | 91.00 ± 1.41 | 1e-3 (1), 5e-4 (1) | 93.00 ± 0.00 | +2.00 |",
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
        assert!(text.contains("| svhn (subset) | 4 | area | 2 |"), "{text}");
        assert!(text.contains("0 of 2 runs with"), "{text}");
        // Runs of other epochs are not compared.
        for record in &mut swept {
            record.key.epochs = 10;
        }
        assert_eq!(section(&given, &swept), None);
    }
}
