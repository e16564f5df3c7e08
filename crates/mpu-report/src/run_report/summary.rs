//! Scores and facts as tables: one column for each run.

use super::{Basis, Fact, RunReport, Score, ScoreKind};
use crate::table::{Align, Cell, Table};
use crate::wording::in_order;

/// Whether the scores of several runs were found on the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// On the same ones: the best stands out.
    Same,
    /// On different or unknown ones.
    Different,
}

/// On which rows a run's scores of a basis were found.
pub(super) fn judged_on(run: &RunReport, basis: Basis) -> &str {
    match basis {
        Basis::PuRows => &run.estimated_on,
        Basis::TrueLabels | Basis::HiddenLabels => &run.measured_on,
    }
}

impl Comparison {
    /// Of the runs that have scores of a basis.
    pub(super) fn of(runs: &[RunReport], basis: Basis) -> Self {
        let scored = |run: &&RunReport| run.scores.iter().any(|score| score.basis == basis);
        let mut places = runs.iter().filter(scored).map(|run| judged_on(run, basis));
        match places.next() {
            Some(first) if !first.is_empty() && places.all(|on| on == first) => Self::Same,
            _ => Self::Different,
        }
    }
}

/// Scores of one basis, one column for each run; the best of several shares stands out where they can be compared.
/// None if no run has any.
pub(super) fn table(
    runs: &[RunReport],
    labels: &[String],
    basis: Basis,
    kind: ScoreKind,
) -> Option<Table> {
    let mut table = columns(labels);
    let comparison = Comparison::of(runs, basis);
    let wanted = |score: &&Score| score.basis == basis && score.kind == kind;
    let names = runs.iter().flat_map(|run| &run.scores).filter(wanted);
    for name in in_order(names.map(|score| score.name.clone())) {
        let named = |score: &&Score| wanted(score) && score.name == name;
        let scores: Vec<Option<&Score>> = runs
            .iter()
            .map(|run| run.scores.iter().find(named))
            .collect();
        let best = best(&scores, comparison);
        let cells = scores.iter().map(|score| match score {
            Some(score) => cell(score).emphasised_if(best == Some(score.value)),
            None => Cell::new("–"),
        });
        table.push(std::iter::once(Cell::new(&name)).chain(cells));
    }
    (!table.rows().is_empty()).then_some(table)
}

/// Facts alone, one column for each run; none if no run has any.
pub(super) fn facts(
    runs: &[RunReport],
    labels: &[String],
    pick: impl Fn(&RunReport) -> &Vec<Fact>,
) -> Option<Table> {
    let mut table = columns(labels);
    let names = runs.iter().flat_map(&pick).map(|fact| fact.name.clone());
    for name in in_order(names) {
        let values = runs.iter().map(|run| {
            let fact = pick(run).iter().find(|fact| fact.name == name);
            Cell::new(fact.map_or("–", |fact| fact.value.as_str()))
        });
        table.push(std::iter::once(Cell::new(&name)).chain(values));
    }
    (!table.rows().is_empty()).then_some(table)
}

fn columns(labels: &[String]) -> Table {
    let headings = match labels {
        [_] => vec!["value".to_owned()],
        several => several.to_vec(),
    };
    let runs = headings.into_iter().map(|heading| (heading, Align::Left));
    Table::new(std::iter::once((String::new(), Align::Left)).chain(runs))
}

/// The best of several shares that differ.
fn best(scores: &[Option<&Score>], comparison: Comparison) -> Option<f64> {
    let shares = scores.iter().flatten();
    let shares = shares.filter(|s| {
        s.kind == ScoreKind::Share && s.basis != Basis::HiddenLabels && s.value.is_finite()
    });
    let values: Vec<f64> = shares.map(|s| s.value).collect();
    let high = values.iter().copied().reduce(f64::max)?;
    let low = values.iter().copied().reduce(f64::min)?;
    (comparison == Comparison::Same && high > low).then_some(high)
}

fn cell(score: &Score) -> Cell {
    let text = |value: f64| match score.kind {
        _ if !value.is_finite() => "–".to_owned(),
        ScoreKind::Share => format!("{:.1} %", 100.0 * value),
        ScoreKind::Number => format!("{value:.4}"),
    };
    let interval = score.interval;
    let interval = interval.map(|(low, high)| format!("{} to {}", text(low), text(high)));
    Cell::new(text(score.value)).with_any_detail(interval)
}
