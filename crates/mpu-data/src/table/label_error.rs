//! What can be wrong with labels: the place, the value, and the remedy.

use std::path::PathBuf;

use super::near::{list, shorten};
use super::place::{At, Place};

/// What was wrong with the labels of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// Every row has the same label.
    #[error(
        "{}: every one of the {rows} rows has the label `{}`, and none is unlabelled\n\
         hint: unlabelled rows are needed too: add them, give them in a separate file, or say how \
         they are marked",
        file.display(),
        shorten(class)
    )]
    OneClass {
        /// The file.
        file: PathBuf,
        /// The label.
        class: String,
        /// How many rows.
        rows: u64,
    },

    /// No row is unlabelled.
    #[error(
        "{}: no row is unlabelled; the labels are {}\n\
         hint: say which value marks unlabelled rows, or give them in a separate file",
        file.display(),
        list(labels)
    )]
    NoUnlabeled {
        /// The file.
        file: PathBuf,
        /// The labels found.
        labels: Vec<String>,
    },

    /// No row is labelled.
    #[error(
        "{}: all {rows} rows are unlabelled\n\
         hint: some rows of each class to be found must carry its name",
        file.display()
    )]
    AllUnlabeled {
        /// The file.
        file: PathBuf,
        /// How many rows.
        rows: u64,
    },

    /// A single labelled row.
    #[error(
        "{}{}: this is the only labelled row (class `{}`): at least 2 are needed\n\
         hint: label more rows; some tens in each class make a start",
        file.display(),
        at.map_or_else(String::new, |at| format!(", {at}")),
        shorten(class)
    )]
    OneLabeledRow {
        /// The file.
        file: PathBuf,
        /// Where in it, if that is known.
        at: Option<At>,
        /// Its class.
        class: String,
    },

    /// A row without a label where every row must have one.
    #[error("{place}, column `{column}`: the label is blank\nhint: {remedy}")]
    BlankLabel {
        /// Where.
        place: Place,
        /// The label column.
        column: String,
        /// What to do.
        remedy: &'static str,
    },

    /// So many different labels that they cannot be classes.
    #[error(
        "{}: column `{}` has more than {limit} different values\nhint: is it the label column?",
        file.display(),
        shorten(column)
    )]
    TooManyClasses {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// The most classes.
        limit: usize,
    },

    /// Positives that are not rows of the table.
    #[error(
        "{}: {missing} of {listed} listed positives are not in column `{key}` of {}: {}\n\
         hint: check that both files write the key in the same way",
        file.display(),
        table.display(),
        list(examples)
    )]
    PositivesNotFound {
        /// The list.
        file: PathBuf,
        /// The table.
        table: PathBuf,
        /// The key column.
        key: String,
        /// How many were not found.
        missing: usize,
        /// How many are listed.
        listed: usize,
        /// The first few.
        examples: Vec<String>,
    },

    /// A key that is not unique.
    #[error("{place}: key `{}` was already at {first}{}", shorten(key), detail)]
    DuplicateKey {
        /// Where it is found again.
        place: Place,
        /// The key.
        key: String,
        /// Where it was first.
        first: At,
        /// Why that matters, and a hint.
        detail: &'static str,
    },

    /// Labels in a file of their own that do not match the rows.
    #[error("{}: {labels} labels for {rows} rows", file.display())]
    LabelCount {
        /// The file of labels.
        file: PathBuf,
        /// How many labels.
        labels: u64,
        /// How many rows.
        rows: u64,
    },
}
