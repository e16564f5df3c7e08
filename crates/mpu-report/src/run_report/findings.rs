//! The sections that a report begins with: what was found, how sure that is, and by which columns.

use super::sections::Runs;
use super::summary::{self, Comparison, judged_on};
use super::{Basis, RunReport, ScoreKind, tables};
use crate::figures::{ColumnWeights, ExpectedCounts, PrecisionRecall, ScoreHistograms};
use crate::page::{Folded, Points, Section};

/// How far apart the class shares of two runs may be for their estimates to be compared without a word.
const APART: f64 = 0.01;

/// The verdict of each run in plain words; none if no run has one and there is nothing to mind.
pub(super) fn verdict(runs: &Runs<'_>) -> Option<Section> {
    let mut section = Section {
        warnings: runs.told(|run| &run.warnings),
        ..Section::new("verdict", "In short")
    };
    for (label, run) in runs.labels.iter().zip(runs.runs) {
        let Some(verdict) = &run.verdict else {
            continue;
        };
        for (what, sentences) in [
            ("What was found", &verdict.found),
            ("How sure", &verdict.sure),
            ("What to do next", &verdict.next),
        ] {
            if !sentences.is_empty() {
                section.points.push(Points {
                    heading: runs.named(label, what),
                    items: sentences.clone(),
                });
            }
        }
    }
    (!section.warnings.is_empty() || !section.points.is_empty()).then_some(section)
}

pub(super) fn expected(runs: &Runs<'_>) -> Option<Section> {
    let parts = runs.with(|run| &run.expected);
    let table = tables::expected(runs.several(), &parts);
    (!table.rows().is_empty()).then(|| Section {
        table: Some(table),
        figures: runs.figures("Expected rows", &parts, ExpectedCounts::figure),
        ..Section::new("expected", "How many rows of each class")
    })
}

/// Scores of one basis, and by class; estimated and measured ones never stand in one table.
pub(super) fn scores(runs: &Runs<'_>, basis: Basis) -> Option<Section> {
    let (found, title, heading) = match basis {
        Basis::PuRows => (
            "estimated",
            "How good the answers are: estimated without true labels",
            "Estimated, by class",
        ),
        _ => (
            "measured",
            "How good the answers are: measured with true labels",
            "Measured, by class",
        ),
    };
    let classes = runs.with(|run| match basis {
        Basis::PuRows => &run.class_estimates,
        _ => &run.class_scores,
    });
    let table = summary::table(runs.runs, &runs.labels, basis, ScoreKind::Share);
    if table.is_none() && classes.is_empty() {
        return None;
    }
    let mut section = Section {
        table,
        ..Section::new(found, title)
    };
    if !classes.is_empty() {
        section.captioned.push(Folded {
            caption: heading.to_owned(),
            table: tables::class_scores(runs.several(), &classes),
        });
    }
    let scored = |run: &&RunReport| run.scores.iter().any(|score| score.basis == basis);
    if basis == Basis::PuRows {
        section.paragraphs.push(
            "No true label was used for these figures. They hold if the labelled rows of a class look like its other \
             rows, and if the class shares are about right."
                .to_owned(),
        );
    }
    let named = runs.labels.iter().zip(runs.runs);
    let scored: Vec<_> = named.filter(|(_, run)| scored(run)).collect();
    match (scored.as_slice(), Comparison::of(runs.runs, basis)) {
        ([], _) => {}
        ([(_, run)], _) => {
            let on = judged_on(run, basis);
            if !on.is_empty() {
                section.notes.push(format!("On {on}."));
            }
        }
        ([(_, first), ..], Comparison::Same) => {
            section.notes.push(format!(
                "All runs are {found} on the same rows, so they can be compared: {}. The best share is bold.",
                judged_on(first, basis)
            ));
            if basis == Basis::PuRows && shares_differ(&scored) {
                section.notes.push(
                    "The runs assume different class shares; part of the difference between their estimates comes \
                     from that."
                        .to_owned(),
                );
            }
        }
        (_, Comparison::Different) => {
            section.notes.extend(
                scored
                    .iter()
                    .map(|(label, run)| match judged_on(run, basis) {
                        "" => format!("{label}: rows not named."),
                        on => format!("{label}: {found} on {on}."),
                    }),
            );
            section.notes.push(
                "The runs are not judged by the same rows: their figures cannot be compared. `--data FILE` judges all \
                 of them by the rows of one file."
                    .to_owned(),
            );
        }
    }
    Some(section)
}

/// Whether runs were told clearly different class shares.
fn shares_differ(runs: &[(&String, &RunReport)]) -> bool {
    let shares = |run: &RunReport| -> Vec<f64> {
        let classes = run.priors.given().map(|priors| &priors.classes);
        let classes = classes.into_iter().flatten();
        classes.filter_map(|class| class.used).collect()
    };
    let Some((_, first)) = runs.first() else {
        return false;
    };
    let first = shares(first);
    runs.iter().any(|(_, run)| {
        let own = shares(run);
        let mut pairs = own.iter().zip(&first);
        own.len() != first.len() || pairs.any(|(a, b)| (a - b).abs() > APART)
    })
}

pub(super) fn histograms(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section {
            paragraphs: vec![
                "One chart for each class: how probable the model thinks the class is, for rows labelled with it and \
                 for unlabelled rows. Where labelled rows are far to the right and most unlabelled ones far to the \
                 left, the class is easy to tell."
                    .to_owned(),
            ],
            ..Section::new("histograms", "Labelled rows against unlabelled ones")
        },
        ("Probability of each class", "Numbers of rows"),
        |run| &run.histograms,
        ScoreHistograms::figure,
        tables::histograms,
    )
}

pub(super) fn precision_recall(runs: &Runs<'_>) -> Option<Section> {
    runs.drawn(
        Section {
            paragraphs: vec![
                "A stricter threshold makes more of the answers right (precision) and finds less of the class \
                 (recall)."
                    .to_owned(),
            ],
            ..Section::new("precision-recall", "Precision and recall (estimated)")
        },
        ("Precision and recall", "Numbers by threshold"),
        |run| &run.precision_recall,
        PrecisionRecall::figure,
        tables::precision_recall,
    )
}

pub(super) fn importances(runs: &Runs<'_>) -> Option<Section> {
    let mut section = runs.drawn(
        Section {
            paragraphs: vec![
                "The values of one column are mixed up among rows that were held out, and the model gets so much worse \
                 at telling the classes apart. A column near 0 is of no use, or another one tells the same."
                    .to_owned(),
            ],
            ..Section::new("importances", "Which columns matter")
        },
        ("Columns that matter most", "All columns that were tried"),
        |run| &run.importances,
        ColumnWeights::figure,
        tables::importances,
    )?;
    for (label, weights) in runs.with(|run| &run.importances) {
        if weights.not_tried > 0 {
            let text = format!(
                "{} further columns were not tried: in them labelled rows and unlabelled ones are most alike.",
                weights.not_tried
            );
            section.notes.push(runs.named(label, &text));
        }
    }
    Some(section)
}
