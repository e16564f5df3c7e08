//! What a classifier says of rows.

use std::path::Path;

use mpu_data::Priors;
use mpu_eval::Decision;

/// Some consecutive rows with the classifier's answers. Probabilities are kept as `f32`, as they are written,
/// and answers are decided on these.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predictions {
    /// `k` scores a row.
    pub scores: Vec<f32>,
    /// `k` probabilities a row.
    pub probabilities: Vec<f32>,
    /// The class answered, an index into [`Classifier::names`](crate::Classifier::names); the last one means
    /// none of the observed classes.
    pub answers: Vec<usize>,
    /// The highest probability less the second highest.
    pub margins: Vec<f32>,
    /// The feature that is furthest outside the training range, if one is.
    pub outside: Vec<Option<usize>>,
}

impl Predictions {
    /// One of the rows.
    #[must_use]
    pub fn row(&self, row: usize, k: usize) -> Self {
        Self {
            scores: self.scores[row * k..(row + 1) * k].to_vec(),
            probabilities: self.probabilities[row * k..(row + 1) * k].to_vec(),
            answers: vec![self.answers[row]],
            margins: vec![self.margins[row]],
            outside: vec![self.outside[row]],
        }
    }

    /// Adds further rows.
    pub fn extend(&mut self, more: Self) {
        self.scores.extend(more.scores);
        self.probabilities.extend(more.probabilities);
        self.answers.extend(more.answers);
        self.margins.extend(more.margins);
        self.outside.extend(more.outside);
    }
}

/// How probabilities become answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rule {
    /// The class shares of the rows to score, if they are not the pool's.
    pub target: Option<Priors>,
    /// The decision.
    pub decision: Decision,
}

/// What a rule makes of scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// `k` probabilities a row, under the class shares that the rule names.
    pub probabilities: Vec<f64>,
    /// The class answered.
    pub answers: Vec<usize>,
}

/// Where rows are from, for errors.
pub struct Place<'a> {
    /// The file; none for rows in memory.
    pub file: Option<&'a Path>,
    /// The number in the file, counted from 1, of each row of a part.
    pub number: &'a dyn Fn(usize) -> u64,
}

impl Place<'_> {
    /// Rows in memory, counted from 1.
    pub const MEMORY: Place<'static> = Place {
        file: None,
        number: &|row| row as u64 + 1,
    };

    /// `FILE: row N`, or `row N`.
    pub(crate) fn of(&self, row: usize) -> String {
        let number = (self.number)(row);
        match self.file {
            Some(file) => format!("{}: row {number}", file.display()),
            None => format!("row {number}"),
        }
    }
}
