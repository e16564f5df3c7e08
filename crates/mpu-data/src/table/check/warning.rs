//! Warnings: what the user should look at before training.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::super::labels::{LabelNote, sounds_negative};
use super::super::near::{list, shorten};
use super::{CheckInput, DataCheck, Leakage, LeakageKind};

/// Below so many labelled rows a class is called small.
const FEW_LABELED: u64 = 10;

/// Something that may be wrong, though the table can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "warning")]
#[non_exhaustive]
pub enum Warning {
    /// The labels could have been understood otherwise.
    #[error("{note}")]
    Label {
        /// How.
        note: LabelNote,
    },
    /// A class with few labelled rows.
    #[error("class `{}` has few labelled rows: {labeled}", shorten(class))]
    FewLabeled {
        /// The class.
        class: String,
        /// Its labelled rows.
        labeled: u64,
    },
    /// A class whose name sounds like the negative class.
    #[error(
        "class `{}` sounds like the negative class, which is never labelled; it is learned as one more class to be found",
        shorten(class)
    )]
    NegativeClass {
        /// The class.
        class: String,
    },
    /// Columns with one value.
    #[error(
        "the same value in every row: {}; such columns tell nothing",
        list(columns)
    )]
    Constant {
        /// The columns.
        columns: Vec<String>,
    },
    /// Classes whose names differ only in capitals, blanks, or how a letter is encoded.
    #[error(
        "classes with names that look alike are different classes: {}; if they are one, write them in one way",
        escaped(classes)
    )]
    AlikeClasses {
        /// The classes.
        classes: Vec<String>,
    },
    /// Rows whose id another row has, too.
    #[error(
        "{rows} rows have the id of an earlier row, such as `{}`; answers are told apart by their order only",
        shorten(example)
    )]
    RepeatedIds {
        /// How many have the id of an earlier row.
        rows: u64,
        /// One of these ids.
        example: String,
    },
    /// Columns with missing values.
    #[error("{values} missing value{}, in {}", if *values == 1 { "" } else { "s" }, list(columns))]
    Missing {
        /// The columns.
        columns: Vec<String>,
        /// How many values in all.
        values: u64,
    },
    /// Columns of numbers and texts, taken as categories.
    #[error("both numbers and texts, taken as categories: {}", list(columns))]
    Mixed {
        /// The columns.
        columns: Vec<String>,
    },
    /// A column of numbers with separators that are not read, taken as categories.
    #[error(
        "column `{}` is taken as categories, though `{}` looks like a number; {remedy}",
        shorten(column),
        shorten(example)
    )]
    Separated {
        /// The column.
        column: String,
        /// One of its values.
        example: String,
        /// What to do.
        remedy: String,
    },
    /// A column of numbers that may be codes: one begins with zeros, which are lost.
    #[error(
        "column `{0}` is taken as numbers, though `{1}` begins with a zero; if these are codes, say --categorical {0}",
        shorten(column),
        shorten(example)
    )]
    Padded {
        /// The column.
        column: String,
        /// The number.
        example: String,
    },
    /// Columns in which different values become one, because features have 32 bits.
    #[error(
        "different values become one in numbers of 32 bits: {}; subtract a constant from them, or exclude them",
        list(columns)
    )]
    Rounded {
        /// The columns.
        columns: Vec<String>,
    },
    /// Words such as `NA` that were taken as blank labels.
    #[error(
        "{rows} rows with the label `{0}` are taken as unlabelled; if it is a class, say --class-word {0}",
        shorten(word)
    )]
    BlankWord {
        /// The word.
        word: String,
        /// How many rows have it.
        rows: u64,
    },
    /// Folders within the folders of classes, whose images count to the uppermost one.
    #[error(
        "images in folders within folders count to the uppermost folder: {}",
        counted(folders)
    )]
    NestedFolders {
        /// The folders, with their images.
        folders: Vec<(String, u64)>,
    },
    /// Folders beside those of the classes that have no images.
    #[error("no images in {}: such a folder is no class", list(folders))]
    EmptyFolders {
        /// The folders.
        folders: Vec<String>,
    },
    /// Columns without a name.
    #[error("no name in the header for column {positions:?}; exclude it if it numbers the rows")]
    Unnamed {
        /// Their positions, counted from 1.
        positions: Vec<usize>,
    },
    /// A header that looks like a row.
    #[error("the header looks like a row of numbers; the first line must name the columns")]
    HeaderIsData,
    /// Rows that are alike.
    #[error("{rows} rows are like an earlier row")]
    Duplicates {
        /// How many are like an earlier one.
        rows: u64,
    },
    /// Labelled rows that are in the pool as well.
    #[error("{rows} labelled rows are in the unlabelled pool as well")]
    LabeledInPool {
        /// How many.
        rows: u64,
    },
    /// Rows that are alike and have different labels.
    #[error("{rows} labelled rows are like a row labelled with another class")]
    Contradictory {
        /// How many.
        rows: u64,
    },
    /// Files of a folder that are no images.
    #[error("{files} files are passed over: only .png, .jpg and .jpeg are read")]
    SkippedFiles {
        /// How many.
        files: u64,
    },
    /// A column that tells almost alone whether a row is labelled.
    #[error("column `{}`: {}tells labelled from unlabelled rows almost alone (AUC {:.3}); exclude it if it only records how the rows were gathered", shorten(&.0.column), if .0.kind == LeakageKind::Missing { "whether it is missing " } else { "" }, .0.auc)]
    Leakage(Leakage),
}

impl Warning {
    /// Whether somebody should look at the data before using them. The others only say what is done.
    pub fn needs_a_look(&self) -> bool {
        !matches!(
            self,
            Self::Constant { .. }
                | Self::Missing { .. }
                | Self::Mixed { .. }
                | Self::Duplicates { .. }
                | Self::SkippedFiles { .. }
        )
    }
}

/// Names in which blanks of other kinds, and accents that are no part of their letter, are visible.
fn escaped(names: &[String]) -> String {
    let shown = |c: char| {
        if is_combining_mark(c) {
            c.escape_unicode().to_string()
        } else {
            c.escape_debug().to_string()
        }
    };
    let seen = names.iter().map(|name| name.chars().map(shown).collect());
    list(&seen.collect::<Vec<String>>())
}

fn counted(folders: &[(String, u64)]) -> String {
    let named = folders.iter().map(|(folder, n)| format!("{folder} ({n})"));
    list(&named.collect::<Vec<String>>())
}

/// A name without what is easily overlooked: capitals, blanks of every kind, marks of no width, and whether an accent is part
/// of its letter or follows it.
fn plain(name: &str) -> String {
    let unseen = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{ad}')
    };
    name.nfkd()
        .filter(|c| !unseen(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// How many rows have the id of an earlier one, and one of these ids.
fn repeated(ids: &[String]) -> Option<(u64, String)> {
    let mut sorted: Vec<&String> = ids.iter().collect();
    sorted.sort_unstable();
    let mut pairs = sorted.windows(2).filter(|pair| pair[0] == pair[1]);
    let first = pairs.next()?;
    Some((1 + pairs.count() as u64, first[0].clone()))
}

/// Warnings of classes, and of ids.
fn of_classes(check: &DataCheck, input: &CheckInput<'_>, warnings: &mut Vec<Warning>) {
    for class in &check.classes {
        if class.labeled < FEW_LABELED {
            warnings.push(Warning::FewLabeled {
                class: class.name.clone(),
                labeled: class.labeled,
            });
        }
        if sounds_negative(&class.name) {
            warnings.push(Warning::NegativeClass {
                class: class.name.clone(),
            });
        }
    }
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for class in &check.classes {
        alike
            .entry(plain(&class.name))
            .or_default()
            .push(class.name.clone());
    }
    let alike = alike.into_values().filter(|classes| classes.len() > 1);
    warnings.extend(alike.map(|classes| Warning::AlikeClasses { classes }));
    if let Some((rows, example)) = repeated(input.ids) {
        warnings.push(Warning::RepeatedIds { rows, example });
    }
}

/// All warnings of a check.
pub(super) fn all(check: &DataCheck, input: &CheckInput<'_>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = check
        .labels
        .notes
        .iter()
        .map(|note| Warning::Label { note: *note })
        .collect();
    of_classes(check, input, &mut warnings);
    let named = |keep: &dyn Fn(&super::ColumnCheck) -> bool| -> Vec<String> {
        check
            .columns
            .iter()
            .filter(|c| keep(c))
            .map(|c| c.name.clone())
            .collect()
    };
    let some = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let constant = some(&named(&|column| column.constant));
    warnings.extend(constant.map(|columns| Warning::Constant { columns }));
    let (gaps, values) = (some(&named(&|c| c.missing > 0)), check.missing());
    warnings.extend(gaps.map(|columns| Warning::Missing { columns, values }));
    warnings.extend(some(input.mixed).map(|columns| Warning::Mixed { columns }));
    for (column, example, remedy) in &input.separated {
        warnings.push(Warning::Separated {
            column: column.clone(),
            example: example.clone(),
            remedy: (*remedy).to_owned(),
        });
    }
    for (column, example) in &input.padded {
        warnings.push(Warning::Padded {
            column: column.clone(),
            example: example.clone(),
        });
    }
    warnings.extend(some(&input.rounded).map(|columns| Warning::Rounded { columns }));
    // What programs write for a missing number is never a name.
    let is_gap = |word: &str| ["nan", "-nan", "<na>", "#n/a"].contains(&&*word.to_lowercase());
    let words = check.labels.blank_words.iter();
    for (word, rows) in words.filter(|(word, _)| !is_gap(word)) {
        warnings.push(Warning::BlankWord {
            word: word.clone(),
            rows: *rows,
        });
    }
    if !input.nested.is_empty() {
        warnings.push(Warning::NestedFolders {
            folders: input.nested.clone(),
        });
    }
    warnings.extend(some(&input.empty_folders).map(|folders| Warning::EmptyFolders { folders }));
    if !input.header.unnamed.is_empty() {
        warnings.push(Warning::Unnamed {
            positions: input.header.unnamed.clone(),
        });
    }
    let fraction = |name: &String| name.parse::<f64>().is_ok_and(|value| value.fract() != 0.0);
    if input.header.columns.iter().any(fraction) {
        warnings.push(Warning::HeaderIsData);
    }
    let some = |n: u64| (n > 0).then_some(n);
    let alike = &check.duplicates;
    warnings.extend(some(alike.rows).map(|rows| Warning::Duplicates { rows }));
    warnings.extend(some(alike.labeled_in_pool).map(|rows| Warning::LabeledInPool { rows }));
    warnings.extend(some(alike.contradictory).map(|rows| Warning::Contradictory { rows }));
    warnings.extend(some(input.skipped_files).map(|files| Warning::SkippedFiles { files }));
    warnings.extend(check.leakage.iter().cloned().map(Warning::Leakage));
    warnings
}
