//! Answers by true class of one run.

use crate::chart::{Figure, HeatMap, Shading};
use serde::{Deserialize, Serialize};

/// Rows by true class (outer lists) and answer (inner lists).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Answers {
    /// Which rows were counted, such as `test rows`.
    pub rows: String,
    /// The classes' names, the negative class last; missing ones are numbers counted from zero.
    #[serde(default)]
    pub classes: Vec<String>,
    /// How many rows.
    pub counts: Vec<Vec<u64>>,
    /// Mean of the true class's score less its strongest rival's, none where there are no rows; empty if it
    /// was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub margins: Vec<Vec<Option<f64>>>,
}

impl Answers {
    /// The name of a class.
    pub fn class(&self, index: usize) -> String {
        let name = self.classes.get(index).cloned();
        name.unwrap_or_else(|| index.to_string())
    }

    /// Of the rows of each true class, the share with each answer, in per cent; none where the class has no
    /// rows.
    pub fn row_shares(&self) -> Vec<Vec<Option<f64>>> {
        let share = |row: &Vec<u64>| {
            let total: u64 = row.iter().sum();
            let of_total = |&n: &u64| (total > 0).then(|| 100.0 * n as f64 / total as f64);
            row.iter().map(of_total).collect()
        };
        self.counts.iter().map(share).collect()
    }

    /// Confusion with counts and shares, and the margins where they were measured.
    pub fn figure(&self, title: &str) -> Figure {
        let n_classes = self.counts.iter().map(Vec::len).max().unwrap_or(0);
        let n_classes = n_classes.max(self.counts.len());
        let names: Vec<String> = (0..n_classes).map(|i| self.class(i)).collect();
        let map = |title: &str, shading, decimals, cells| {
            HeatMap::new(title, shading, decimals, cells)
                .axes("true class", "answer")
                .names(&names, &names)
                .subtitle(&self.rows)
                .roomy()
        };
        let counts = |prefix: &str| -> Vec<Vec<String>> {
            let row = |row: &Vec<u64>| row.iter().map(|n| format!("{prefix}{n}")).collect();
            self.counts.iter().map(row).collect()
        };
        let shares = self.row_shares();
        let confusion = map("Confusion", Shading::Sequential, 0, shares)
            .unit("%")
            .darkest(100.0)
            .silent_zeros()
            .second_lines(counts(""));
        let mut figure = Figure::new(title).columns(2).with(confusion);
        let mut note =
            "Confusion: share of the true class's rows, and their number below it; none where nothing is \
                        written.".to_owned();
        if !self.margins.is_empty() {
            let margins = map("Mean margin", Shading::Diverging, 2, self.margins.clone());
            figure = figure.with(margins.second_lines(counts("")));
            note.push_str(
                " Margin: the true class's score less its strongest rival's, and the number of rows below it; \
                 below zero the rival wins.",
            );
        }
        figure.note(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_true_class() {
        let answers = Answers {
            rows: "test rows".to_owned(),
            classes: vec!["a".to_owned()],
            counts: vec![vec![3, 1], vec![0, 0]],
            margins: Vec::new(),
        };
        assert_eq!(
            answers.row_shares(),
            [[Some(75.0), Some(25.0)], [None, None]]
        );
        assert_eq!([answers.class(0), answers.class(1)], ["a", "1"]);
        let svg = answers.figure("One").to_svg();
        for text in [">75%<", ">3<", "blank: no rows"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("Mean margin"));
    }
}
