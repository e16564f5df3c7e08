//! The published figures of the paper, embedded as data.
//!
//! They are what was printed, errors included: in 11 of 66 rows of the accuracy tables the bold
//! entry is not the best, and the sigmoid row of the loss table (0.85) and the main table (90.59)
//! are the same cell.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const LOSS_VARIANTS: &str = include_str!("../data/loss_variants.csv");
const ACCURACY: &str = include_str!("../data/accuracy_tables.csv");
const MACRO_F1: &str = include_str!("../data/macro_f1_fmnist_k4_pi08.csv");

/// The priors of the negative class in Tables I–III.
pub const PRIORS: [f64; 3] = [0.2, 0.5, 0.8];

/// A row of the table of loss variants (fashion-mnist, k = 4, π_k = 0.5, csmpu-abs).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossVariant {
    /// The surrogate's slug.
    pub loss: String,
    /// Its scale γ.
    pub gamma: f64,
    /// `raw` or `sym`.
    pub form: String,
    /// Mean macro-F1.
    pub macro_f1_mean: f64,
    /// Its standard deviation.
    pub macro_f1_std: f64,
    /// Mean accuracy.
    pub accuracy_mean: f64,
    /// Its standard deviation.
    pub accuracy_std: f64,
    /// Largest deviation from the constant-sum condition.
    pub const_sum_max: f64,
    /// Its 99th percentile.
    pub const_sum_p99: f64,
}

/// A cell of Tables I–III.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyCell {
    /// 1, 2 or 3.
    pub table: u8,
    /// The prior of the negative class.
    pub pi_k: f64,
    /// The dataset's slug.
    pub dataset: String,
    /// The number of classes.
    pub k: usize,
    /// The method's slug.
    pub method: String,
    /// Mean accuracy in percent.
    pub accuracy_mean: f64,
    /// Its standard deviation.
    pub accuracy_std: f64,
    /// Whether it is printed in bold.
    #[serde(deserialize_with = "flag")]
    pub printed_bold: bool,
}

/// A row of the macro-F1 table (fashion-mnist, k = 4, π_k = 0.8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MacroF1Row {
    /// The method's slug.
    pub method: String,
    /// Mean macro-F1 in percent.
    pub macro_f1_mean: f64,
    /// Its standard deviation.
    pub macro_f1_std: f64,
    /// Lower end of the 95 % interval.
    pub ci95_low: f64,
    /// Upper end of the 95 % interval.
    pub ci95_high: f64,
    /// Median time in minutes.
    pub time_min_median: f64,
    /// Its median absolute deviation.
    pub time_min_mad: f64,
    /// Holm-adjusted p-value against the paper's method; none for that method itself.
    pub p_holm: Option<f64>,
    /// Cliff's delta of (baseline − the paper's method).
    pub cliffs_delta: Option<f64>,
}

/// The nine rows of the table of loss variants, in the paper's order.
pub fn loss_variants() -> Result<Vec<LossVariant>> {
    rows("loss_variants.csv", LOSS_VARIANTS)
}

/// The 396 cells of Tables I–III.
pub fn accuracy_cells() -> Result<Vec<AccuracyCell>> {
    rows("accuracy_tables.csv", ACCURACY)
}

/// The three rows of the macro-F1 table.
pub fn macro_f1_rows() -> Result<Vec<MacroF1Row>> {
    rows("macro_f1_fmnist_k4_pi08.csv", MACRO_F1)
}

fn rows<T: for<'de> Deserialize<'de>>(file: &'static str, text: &str) -> Result<Vec<T>> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<std::result::Result<_, _>>()
        .map_err(|source| Error::Published { file, source })
}

fn flag<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<bool, D::Error> {
    Ok(u8::deserialize(deserializer)? != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_published_figure_is_there() {
        assert_eq!(loss_variants().unwrap().len(), 9);
        assert_eq!(macro_f1_rows().unwrap().len(), 3);
        let cells = accuracy_cells().unwrap();
        assert_eq!(cells.len(), 396);
        let rows: BTreeSet<String> = cells
            .iter()
            .map(|c| format!("{} {} {}", c.table, c.dataset, c.k))
            .collect();
        assert_eq!(rows.len(), 66);
        let datasets: BTreeSet<&str> = cells.iter().map(|c| c.dataset.as_str()).collect();
        assert_eq!(datasets.len(), 8);
        let methods: BTreeSet<&str> = cells.iter().map(|c| c.method.as_str()).collect();
        assert_eq!(methods.len(), 6);
    }

    #[test]
    fn known_cells_are_as_printed() {
        let cells = accuracy_cells().unwrap();
        let cell = cells
            .iter()
            .find(|c| {
                c.dataset == "fashion-mnist" && c.k == 4 && c.table == 2 && c.method == "csmpu-abs"
            })
            .unwrap();
        assert_eq!(
            (cell.accuracy_mean, cell.accuracy_std, cell.printed_bold),
            (90.59, 1.14, true)
        );
        let ours = &macro_f1_rows().unwrap()[2];
        assert_eq!(
            (ours.method.as_str(), ours.macro_f1_mean, ours.p_holm),
            ("csmpu-abs", 89.9, None)
        );
    }

    #[test]
    fn the_bold_entry_is_not_the_best_in_eleven_rows() {
        let cells = accuracy_cells().unwrap();
        let wrong = cells
            .iter()
            .filter(|c| c.printed_bold)
            .filter(|bold| {
                let same = |c: &&AccuracyCell| {
                    (c.table, &c.dataset, c.k) == (bold.table, &bold.dataset, bold.k)
                };
                cells
                    .iter()
                    .filter(same)
                    .any(|c| c.accuracy_mean > bold.accuracy_mean)
            })
            .count();
        assert_eq!(wrong, 11);
    }
}
