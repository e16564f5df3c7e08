//! The cells of Tables I–III that no record fills, and how to get them.

use std::collections::BTreeMap;

use super::Context;
use super::accuracy::AccuracyRow;
use crate::page::Section;
use crate::wording::{code_list, list};

/// The priors at which these methods are missing with so many classes.
type Gaps<'a> = BTreeMap<(Vec<&'a str>, usize), Vec<String>>;

/// What is missing, by dataset; none if nothing is.
pub fn section(rows: &[AccuracyRow], context: &Context) -> Option<Section> {
    // Methods that are missing in the same rows are named together.
    let mut datasets: BTreeMap<&str, Gaps<'_>> = BTreeMap::new();
    let (mut missing, mut all) = (0, 0);
    for row in rows {
        let empty = row.entries.iter().filter(|e| e.found.is_none());
        let methods: Vec<&str> = empty.map(|e| e.method).collect();
        missing += methods.len();
        all += row.entries.len();
        if methods.is_empty() {
            continue;
        }
        let of_dataset = datasets.entry(&row.dataset).or_default();
        let priors = of_dataset.entry((methods, row.classes)).or_default();
        priors.push(row.prior.to_string());
    }
    if missing == 0 {
        return None;
    }
    let all_methods = rows.first().map_or(0, |row| row.entries.len());
    let note = |(dataset, cells): (&str, Gaps<'_>)| {
        // So are numbers of classes with the same gaps.
        let mut alike: BTreeMap<(Vec<&str>, Vec<String>), Vec<usize>> = BTreeMap::new();
        for ((methods, classes), priors) in cells {
            alike.entry((methods, priors)).or_default().push(classes);
        }
        let cells = alike.into_iter().map(|((methods, priors), classes)| {
            let methods = if methods.len() == all_methods {
                "every method".to_owned()
            } else {
                code_list(methods)
            };
            let (classes, priors) = (list(classes), priors.join(", "));
            format!("k = {classes} at π_k = {priors}: {methods}")
        });
        let cells: Vec<String> = cells.collect();
        let how = context.how_to_get(dataset);
        format!("{dataset} ({how}): {}", cells.join("; "))
    };
    Some(Section {
        paragraphs: vec![format!(
            "{missing} of {all} cells of Tables I–III, ours included, have no run yet."
        )],
        notes: datasets.into_iter().map(note).collect(),
        ..Section::new("missing", "Missing cells")
    })
}
