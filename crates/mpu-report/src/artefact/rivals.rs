//! Methods of the literature that the paper does not have, beside its own and ours.

use super::accuracy::{AccuracyRow, Outcome, outcome};
use crate::cell::{CellRuns, Wanted};
use crate::page::Section;
use crate::record::Record;
use crate::stats;
use crate::table::{Cell, Table};
use crate::wording::signed;

/// The rivals.
pub const METHODS: [&str; 3] = ["eulac-ure", "eulac-nn", "pulse"];

/// What they stand beside.
const OURS: [&str; 2] = ["csmpu-abs", "csmpu-st"];

/// Seeds of a cell that needs no mark.
const SEEDS: usize = 3;

/// Whether the table has rows of a dataset with so many classes: the small sets, and one of images.
pub fn has(dataset: &str, classes: usize) -> bool {
    match dataset {
        "usps" | "pendigits" | "semeion" | "waveform1" => true,
        "fashion-mnist" => classes == 4,
        _ => false,
    }
}

/// Epochs of a cell that needs no mark: the recipe of `csmpu-st` has fewer, fewest on images.
fn epochs(method: &str, dataset: &str) -> usize {
    match (method, dataset) {
        ("csmpu-st" | "pulse", "fashion-mnist") => 40,
        ("csmpu-st" | "pulse", _) => 80,
        _ => 100,
    }
}

/// The rows in which a rival was run; none without one.
pub fn section(records: &[Record], rows: &[AccuracyRow]) -> Option<Section> {
    let methods: Vec<&str> = OURS.into_iter().chain(METHODS).collect();
    let mut table = Table::with(&format!(
        "dataset | k: | π_k: | {}: | better supervised (oracle):",
        methods.join(": | ")
    ));
    let mut means: Vec<Vec<Option<f64>>> = Vec::new();
    for row in rows.iter().filter(|row| has(&row.dataset, row.classes)) {
        let of = |method: &&str| {
            let wanted = Wanted::usual(&row.dataset, row.classes, row.prior, method);
            CellRuns::choose(records, &wanted).map(|runs| outcome(&runs))
        };
        let found: Vec<Option<Outcome>> = methods.iter().map(of).collect();
        if found[OURS.len()..].iter().all(Option::is_none) {
            continue;
        }
        let of_row: Vec<Option<f64>> = found
            .iter()
            .map(|o| Some(o.as_ref()?.accuracy.mean))
            .collect();
        let best = of_row.iter().flatten().copied().fold(0.0, f64::max);
        let mut cells = vec![
            Cell::new(&row.dataset),
            Cell::new(row.classes.to_string()),
            Cell::new(row.prior.to_string()),
        ];
        for (method, found) in methods.iter().zip(&found) {
            cells.push(found.as_ref().map_or(Cell::new("–"), |found| {
                Cell::new(told(found, epochs(method, &row.dataset)))
                    .emphasised_if(found.accuracy.mean == best)
            }));
        }
        let limit = row.limit().map(|limit| limit.accuracy.show(2));
        cells.push(Cell::new(limit.unwrap_or_else(|| "–".to_owned())));
        table.push(cells);
        means.push(of_row);
    }
    if means.is_empty() {
        return None;
    }
    let compared = METHODS.iter().enumerate().map(|(index, rival)| {
        let other = |ours: usize| {
            let pairs = means
                .iter()
                .filter_map(|row| Some(row[OURS.len() + index]? - row[ours]?));
            let differences: Vec<f64> = pairs.collect();
            let won = differences.iter().filter(|d| **d > 0.0).count();
            let mean = stats::mean(&differences).map_or("–".to_owned(), |d| signed(d, 2));
            let (name, all) = (OURS[ours], differences.len());
            format!("{mean} points to `{name}`, above it in {won} of {all} rows")
        };
        format!("`{rival}`: {}; {}.", other(0), other(1))
    });
    Some(Section {
        paragraphs: vec![
            format!(
                "Two methods of the literature on related problems, written from their formulas. `eulac-ure` is the unbiased risk for \
                 augmented classes (Zhang, Zhao, Ma and Zhou 2020) with its square loss, `eulac-nn` the same with the augmented class's part cut off at \
                 zero; both train as `csmpu-abs` does. (The uncorrected form was added after it had done better than the corrected one on the test rows of semeion, k = 4.) \
                 `pulse` follows open-set label shift (Garg, Balakrishnan and Lipton 2022): best-bin estimates of the class priors, \
                 rejection of the pool's known rows (CVIR) and one discriminator; it trains as `csmpu-st` does. It estimates the \
                 priors itself, from a fifth of the rows that it does not train on; the other methods are told the pool's own. \
                 Accuracy in percent at the last epoch, mean ± sample standard deviation; at least {SEEDS} seeds, of {} epochs for `csmpu-abs` and \
                 `eulac-*` and {} for `csmpu-st` and `pulse` ({} on fashion-mnist), where nothing else is said. Bold is the largest but for the oracle's.",
                epochs("eulac-nn", "usps"),
                epochs("pulse", "usps"),
                epochs("pulse", "fashion-mnist")
            ),
            format!(
                "Mean differences. {}",
                compared.collect::<Vec<_>>().join(" ")
            ),
        ],
        table: Some(table),
        ..Section::new("rivals", "Rivals from the literature")
    })
}

/// A mean with its deviation, and with its seeds and epochs if they are fewer than they should be.
fn told(found: &Outcome, epochs: usize) -> String {
    let mean = found.accuracy.show(2);
    if found.n >= SEEDS && found.epochs == epochs {
        return mean;
    }
    format!("{mean} (n={}, {} epochs)", found.n, found.epochs)
}

#[cfg(test)]
mod tests {
    use super::super::accuracy_rows;
    use super::*;
    use crate::fixture::record;

    #[test]
    fn rows_with_a_rival_are_shown_and_compared() {
        let usps = |method: &str, seed, epochs, accuracy| {
            record("usps", 4, 0.5, method, seed, epochs, accuracy)
        };
        let mut records = vec![
            usps("csmpu-abs", 1, 100, 0.9),
            usps("csmpu-st", 1, 80, 0.95),
        ];
        let shown = |records: &[Record]| section(records, &accuracy_rows(records).unwrap());
        assert_eq!(shown(&records), None);
        for seed in 1..=3 {
            records.push(usps("pulse", seed, 80, 0.92));
        }
        // A set that the table does not have.
        records.push(record("mnist", 4, 0.5, "pulse", 1, 40, 0.1));
        let text = shown(&records).unwrap().to_md();
        for part in [
            "| usps | 4 | 0.5 | 90.00 (n=1, 100 epochs) | **95.00 (n=1, 80 epochs)** | – | – | 92.00 ± 0.00 | – |",
            "`pulse`: +2.00 points to `csmpu-abs`, above it in 1 of 1 rows; -3.00 points to `csmpu-st`, above it in 0 of 1 rows.",
            "`eulac-nn`: – points",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("| mnist"));
    }
}
