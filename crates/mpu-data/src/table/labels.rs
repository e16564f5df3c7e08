//! Labels: which rows are unlabelled, and what the classes are called.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{Result, TableError};
use super::near::{list, shorten};
use super::options::{LabelConvention, UnlabeledMarker};
use super::place::{At, Place};
use crate::MpuLabel;

/// The most different values a label column may have.
pub(super) const MAX_LABELS: usize = 1000;

/// Words that mark an unlabelled row without being asked to, in any case.
pub(super) const UNLABELED_WORDS: [&str; 7] = [
    "unlabeled",
    "unlabelled",
    "unknown",
    "unl",
    "not labeled",
    "not labelled",
    "pool",
];

/// Class names that sound like the negative class, which is never labelled.
const NEGATIVE_WORDS: [&str; 8] = [
    "negative",
    "neg",
    "none",
    "other",
    "others",
    "background",
    "normal",
    "ok",
];

/// The name of the class when positives come without one.
pub(super) const POSITIVE: &str = "positive";

/// What was understood of the labels.
///
/// When the convention is found out, not given, the rule is: blank cells and the words
/// `unlabeled`, `unlabelled`, `unknown`, `unl`, `not labeled`, `not labelled` and `pool` mark
/// unlabelled rows; if there are none, -1 does; if there is none, 0 does. Where a file of
/// unlabelled rows is given, -1 and 0 are classes. Whenever -1 or 0 could have been the other
/// thing, a [`LabelNote`] says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LabelCheck {
    /// Whether the convention was given or found out.
    pub origin: ConventionOrigin,
    /// The marks that occur, with the rows that have them.
    pub markers: Vec<MarkerCount>,
    /// Rows that are unlabelled because of the file they are in, or because no list names them.
    pub unlabeled_by_file: u64,
    /// What could have been understood otherwise.
    pub notes: Vec<LabelNote>,
    /// Words such as `NA` that were taken as blank labels, with the rows that have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blank_words: BTreeMap<String, u64>,
}

/// Where a label convention comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConventionOrigin {
    /// From the options.
    Given,
    /// From the labels themselves.
    Detected,
    /// From a file of unlabelled rows, a list of positives, or the folders of images.
    Files,
}

/// How often a mark of unlabelled rows occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkerCount {
    /// The mark.
    pub marker: UnlabeledMarker,
    /// How many rows have it.
    pub rows: u64,
}

/// A reading of the labels that could have been another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum LabelNote {
    /// 0 was taken as unlabelled.
    #[error("label 0 is taken as unlabelled; if it is a class, say how unlabelled rows are marked")]
    ZeroIsUnlabeled,
    /// 0 was taken as a class, since other rows are marked as unlabelled.
    #[error("label 0 is taken as a class; if it marks unlabelled rows, say so")]
    ZeroIsClass,
    /// -1 was taken as unlabelled, though in a file of -1 and 1 it may be a known negative.
    #[error("label -1 is taken as unlabelled; rows known to be negative are of no other use here")]
    MinusOneIsUnlabeled,
    /// -1 was taken as a class, since other rows are marked as unlabelled.
    #[error("label -1 is taken as a class; if it marks unlabelled rows, say so")]
    MinusOneIsClass,
}

/// The labels of a table as written, counted.
#[derive(Debug, Clone, Default)]
pub(super) struct LabelScan {
    /// Each text with its rows and the first place it was seen.
    pub(super) texts: BTreeMap<String, (u64, At)>,
    pub(super) blank: u64,
    /// The words, such as `NA`, among the blank ones.
    pub(super) blank_words: BTreeMap<String, u64>,
    pub(super) first_blank: Option<At>,
    /// Whether there were more texts than [`MAX_LABELS`].
    pub(super) too_many: bool,
}

impl LabelScan {
    pub(super) fn see(&mut self, text: &str, at: At) {
        if let Some((rows, _)) = self.texts.get_mut(text) {
            *rows += 1;
        } else if self.texts.len() < MAX_LABELS {
            self.texts.insert(text.to_owned(), (1, at));
        } else {
            self.too_many = true;
        }
    }

    pub(super) fn see_blank(&mut self, text: &str, at: At) {
        self.blank += 1;
        if let Some(rows) = self.blank_words.get_mut(text) {
            *rows += 1;
        } else if !text.is_empty() && self.blank_words.len() < MAX_LABELS {
            self.blank_words.insert(text.to_owned(), 1);
        }
        self.first_blank.get_or_insert(at);
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (text, (rows, at)) in other.texts {
            if let Some((seen, _)) = self.texts.get_mut(&text) {
                *seen += rows;
            } else if self.texts.len() < MAX_LABELS {
                self.texts.insert(text, (rows, at));
            } else {
                self.too_many = true;
            }
        }
        self.blank += other.blank;
        for (word, rows) in other.blank_words {
            *self.blank_words.entry(word).or_default() += rows;
        }
        self.first_blank = self.first_blank.or(other.first_blank);
        self.too_many |= other.too_many;
    }
}

/// What each text in the label column means.
#[derive(Debug, Clone)]
pub(super) struct LabelPlan {
    /// The observed classes: numbers by size, then words by alphabet.
    pub(super) classes: Vec<String>,
    /// Labelled rows of each class.
    pub(super) labeled: Vec<u64>,
    /// The meaning of each text as written.
    pub(super) codes: BTreeMap<String, MpuLabel>,
    pub(super) check: LabelCheck,
}

/// The name of a class as written: whole numbers lose `+` and `.0`, so that `1` and `1.0` are one
/// class. A number with leading zeros stays as it is.
pub(super) fn canonical(text: &str) -> String {
    let digits = text.trim_start_matches(['+', '-']);
    let leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    // Numbers of more digits are not read exactly: two of them could become one class.
    let exact = text.bytes().filter(u8::is_ascii_digit).count() <= 15;
    match text.parse::<f64>() {
        Ok(value) if exact && !leading_zero && value.fract() == 0.0 && value.abs() < 1e15 => {
            format!("{}", value as i64)
        }
        _ => text.to_owned(),
    }
}

/// Decides what the labels mean. `pool_given` says that unlabelled rows have a file of their own.
pub(super) fn plan(
    scan: &LabelScan,
    convention: &LabelConvention,
    pool_given: bool,
    file: &Path,
    column: &str,
) -> Result<LabelPlan> {
    if scan.too_many {
        return Err(TableError::too_many_classes(file, column, MAX_LABELS));
    }
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (text, (rows, _)) in &scan.texts {
        *names.entry(canonical(text)).or_default() += rows;
    }
    let (origin, markers, notes) = match convention {
        LabelConvention::Marked(markers) => (ConventionOrigin::Given, markers.clone(), Vec::new()),
        LabelConvention::Auto => {
            let (markers, notes) = detect(&names, scan.blank, pool_given);
            let by_files = pool_given && markers.is_empty();
            let origin = if by_files {
                ConventionOrigin::Files
            } else {
                ConventionOrigin::Detected
            };
            (origin, markers, notes)
        }
    };
    if let Some(at) = scan
        .first_blank
        .filter(|_| !markers.contains(&UnlabeledMarker::Blank))
    {
        return Err(TableError::BlankLabel {
            place: Place::new(file, at),
            column: column.to_owned(),
            remedy: "fill it in, or name `blank` among the marks of unlabelled rows",
        });
    }
    let marker_of = |name: &str| {
        markers.iter().find(|marker| match marker {
            UnlabeledMarker::Blank => false,
            UnlabeledMarker::MinusOne => name == "-1",
            UnlabeledMarker::Zero => name == "0",
            UnlabeledMarker::Word(word) => name.to_lowercase() == word.to_lowercase(),
        })
    };
    let mut classes: Vec<String> = names
        .keys()
        .filter(|name| marker_of(name).is_none())
        .cloned()
        .collect();
    classes.sort_by(|a, b| number_first(a).total_cmp(&number_first(b)).then(a.cmp(b)));
    let labeled = classes
        .iter()
        .map(|name| names.get(name).copied().unwrap_or(0))
        .collect();
    let codes = scan
        .texts
        .keys()
        .map(|text| {
            let name = canonical(text);
            let class = classes.iter().position(|class| *class == name);
            (
                text.clone(),
                class.map_or(MpuLabel::Unlabeled, MpuLabel::Labeled),
            )
        })
        .collect();
    let markers = markers
        .iter()
        .map(|marker| MarkerCount {
            marker: marker.clone(),
            rows: match marker {
                UnlabeledMarker::Blank => scan.blank,
                _ => names
                    .iter()
                    .filter(|(name, _)| marker_of(name) == Some(marker))
                    .map(|(_, rows)| rows)
                    .sum(),
            },
        })
        .collect();
    Ok(LabelPlan {
        classes,
        labeled,
        codes,
        check: LabelCheck {
            origin,
            markers,
            unlabeled_by_file: 0,
            notes,
            blank_words: scan.blank_words.clone(),
        },
    })
}

/// The rule of [`LabelCheck`].
fn detect(
    names: &BTreeMap<String, u64>,
    blank: u64,
    pool_given: bool,
) -> (Vec<UnlabeledMarker>, Vec<LabelNote>) {
    let has = |name: &str| names.contains_key(name);
    let (mut markers, mut notes) = (Vec::new(), Vec::new());
    if blank > 0 {
        markers.push(UnlabeledMarker::Blank);
    }
    for name in names.keys() {
        if UNLABELED_WORDS.contains(&name.to_lowercase().as_str()) {
            markers.push(UnlabeledMarker::Word(name.clone()));
        }
    }
    if !markers.is_empty() || pool_given {
        notes.extend(has("-1").then_some(LabelNote::MinusOneIsClass));
        notes.extend(has("0").then_some(LabelNote::ZeroIsClass));
    } else if has("-1") {
        markers.push(UnlabeledMarker::MinusOne);
        let binary = names.len() == 2 && has("1");
        notes.extend(binary.then_some(LabelNote::MinusOneIsUnlabeled));
        notes.extend(has("0").then_some(LabelNote::ZeroIsClass));
    } else if has("0") {
        markers.push(UnlabeledMarker::Zero);
        notes.push(LabelNote::ZeroIsUnlabeled);
    }
    (markers, notes)
}

/// A number to sort class names by: numbers come first, in order.
fn number_first(name: &str) -> f64 {
    name.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .unwrap_or(f64::INFINITY)
}

/// Whether a class name sounds like the negative class.
pub(super) fn sounds_negative(name: &str) -> bool {
    NEGATIVE_WORDS.contains(&name.to_lowercase().as_str())
}

/// Where the first labelled row is, and its class.
pub(super) fn first_labeled(scan: &LabelScan, plan: &LabelPlan) -> Option<At> {
    let labeled = |text: &str| matches!(plan.codes.get(text), Some(MpuLabel::Labeled(_)));
    scan.texts
        .iter()
        .filter(|(text, _)| labeled(text))
        .map(|(_, (_, at))| *at)
        .min()
}

/// Refuses a table from which nothing can be learned.
pub(super) fn check_counts(
    file: &Path,
    classes: &[String],
    labeled: u64,
    n_rows: u64,
    first: Option<At>,
) -> Result<()> {
    let refused = |what: String| Err(TableError::file(file, what));
    match (labeled, classes) {
        (0, _) => Err(TableError::AllUnlabeled {
            file: file.to_path_buf(),
            rows: n_rows,
        }),
        (_, [class]) if labeled == n_rows => refused(format!(
            "every one of the {n_rows} rows has the label `{}`, and none is unlabelled\n\
             hint: unlabelled rows are needed too: add them, give them in a separate file, or say how \
             they are marked",
            shorten(class)
        )),
        _ if labeled == n_rows => refused(format!(
            "no row is unlabelled; the labels are {}\n\
             hint: say which value marks unlabelled rows, or give them in a separate file",
            list(classes)
        )),
        (1, _) => {
            let at = first.map_or_else(String::new, |at| format!(", {at}"));
            let what = format!(
                "this is the only labelled row (class `{}`): at least 2 are needed\n\
                 hint: label more rows; some tens in each class make a start",
                shorten(classes.first().map_or("", String::as_str))
            );
            Err(TableError::at(format_args!("{}{at}", file.display()), what))
        }
        _ => Ok(()),
    }
}
