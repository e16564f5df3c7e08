//! The numbers behind the figures, as tables.

use super::ClassScore;
use crate::figures::{
    Answers, CurveKind, PriorEstimates, PriorSensitivity, Reliability, RunCurves, Thresholds,
};
use crate::table::{Align, Cell, Table};

/// Rows of several runs in one table: the runs' names stand in a first column if there are several.
pub(super) struct Rows {
    table: Table,
    names: Option<String>,
    several: bool,
}

impl Rows {
    fn new(several: bool, columns: &[(&str, Align)]) -> Self {
        let run = several.then_some(("run", Align::Left));
        Self {
            table: Table::new(run.into_iter().chain(columns.iter().copied())),
            names: None,
            several,
        }
    }

    fn run(&mut self, name: &str) {
        self.names = self.several.then(|| name.to_owned());
    }

    fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let run = self.names.iter().map(Cell::new);
        let cells: Vec<Cell> = run.chain(cells.into_iter().map(Cell::new)).collect();
        self.table.push(cells);
    }

    fn finish(self) -> Table {
        self.table
    }
}

fn share(value: Option<f64>) -> String {
    number(value.map(|v| 100.0 * v), 2)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    match value.filter(|v| v.is_finite()) {
        Some(value) => format!("{value:.decimals$}"),
        None => "–".to_owned(),
    }
}

type Of<'a, T> = [(&'a str, &'a T)];

/// How each curve begins and ends, and its extreme; no epoch is selected by it.
pub(super) fn curves(several: bool, runs: &Of<'_, RunCurves>) -> Table {
    let mut rows = Rows::new(
        several,
        &[
            ("curve", Align::Left),
            ("first", Align::Right),
            ("last", Align::Right),
            ("lowest loss, highest accuracy", Align::Right),
            ("at epoch", Align::Right),
        ],
    );
    for (name, curves) in runs {
        rows.run(name);
        for curve in &curves.curves {
            let known = curve.values.iter().enumerate();
            let known =
                known.filter_map(|(epoch, v)| Some((epoch + 1, v.filter(|v| v.is_finite())?)));
            let known: Vec<(usize, f64)> = known.collect();
            let better = |a: f64, b: f64| if curve.kind.is_share() { a > b } else { a < b };
            let best = known
                .iter()
                .copied()
                .reduce(|a, b| if better(b.1, a.1) { b } else { a });
            let text = |value: Option<f64>| match value {
                Some(value) if curve.kind.is_share() => format!("{:.2} %", 100.0 * value),
                value => number(value, 4),
            };
            let label = match curve.kind {
                CurveKind::PuAccuracy => "accuracy estimated from PU rows",
                CurveKind::OracleTrainAccuracy => "training accuracy by hidden labels",
                kind => kind.label(),
            };
            rows.push([
                label.to_owned(),
                text(known.first().map(|k| k.1)),
                text(known.last().map(|k| k.1)),
                text(best.map(|k| k.1)),
                best.map_or_else(|| "–".to_owned(), |k| k.0.to_string()),
            ]);
        }
    }
    rows.finish()
}

/// Precision, recall and F1 by class.
pub(super) fn class_scores(several: bool, runs: &Of<'_, Vec<ClassScore>>) -> Table {
    let mut rows = Rows::new(
        several,
        &[
            ("class", Align::Left),
            ("precision (%)", Align::Right),
            ("recall (%)", Align::Right),
            ("F1 (%)", Align::Right),
            ("rows", Align::Right),
        ],
    );
    for (name, scores) in runs {
        rows.run(name);
        for score in *scores {
            let count = score.rows.map_or_else(|| "–".to_owned(), |n| n.to_string());
            rows.push([
                score.class.clone(),
                share(score.precision),
                share(score.recall),
                share(score.f1),
                count,
            ]);
        }
    }
    rows.finish()
}

/// Rows by true class and answer.
pub(super) fn answers(answers: &Answers) -> Table {
    let n_answers = answers.counts.iter().map(Vec::len).max().unwrap_or(0);
    let classes = (0..n_answers).map(|class| (answers.class(class), Align::Right));
    let corner = ("true class \\ answer".to_owned(), Align::Left);
    let mut table = Table::new(std::iter::once(corner).chain(classes));
    for (class, counts) in answers.counts.iter().enumerate() {
        let counts = counts.iter().map(ToString::to_string);
        table.push(std::iter::once(answers.class(class)).chain(counts));
    }
    table
}

/// Calibration errors by class.
pub(super) fn reliability(several: bool, runs: &Of<'_, Reliability>) -> Table {
    let mut rows = Rows::new(
        several,
        &[
            ("class", Align::Left),
            ("calibration error", Align::Right),
            ("rows", Align::Right),
            ("bins", Align::Right),
        ],
    );
    for (name, reliability) in runs {
        rows.run(name);
        for class in &reliability.classes {
            let filled = class.bins.iter().filter(|bin| bin.count > 0);
            let count: u64 = filled.clone().map(|bin| bin.count).sum();
            rows.push([
                class.class.clone(),
                number(class.ece, 4),
                count.to_string(),
                filled.count().to_string(),
            ]);
        }
        if let Some(ece) = reliability.ece {
            rows.push(["all classes".to_owned(), number(Some(ece), 4)]);
        }
    }
    rows.finish()
}

/// Priors: a row for each class and estimator.
pub(super) fn priors(several: bool, runs: &Of<'_, PriorEstimates>) -> Table {
    let mut rows = Rows::new(
        several,
        &[
            ("class", Align::Left),
            ("lower bound", Align::Right),
            ("upper bound", Align::Right),
            ("estimator", Align::Left),
            ("estimate", Align::Right),
            ("interval", Align::Right),
            ("used in training", Align::Right),
            ("true value", Align::Right),
        ],
    );
    for (name, priors) in runs {
        rows.run(name);
        for (index, class) in priors.classes.iter().enumerate() {
            let row = |estimator: &str, value: Option<f64>, interval: Option<(f64, f64)>| {
                let interval = interval.map_or_else(
                    || "–".to_owned(),
                    |(low, high)| format!("{} to {}", number(Some(low), 3), number(Some(high), 3)),
                );
                [
                    class.class.clone(),
                    number(class.lower, 3),
                    number(class.upper, 3),
                    estimator.to_owned(),
                    number(value, 3),
                    interval,
                    number(class.used, 3),
                    number(class.truth, 3),
                ]
            };
            for estimator in &priors.estimators {
                let estimate = estimator.estimates.get(index).copied().flatten();
                rows.push(row(
                    &estimator.estimator,
                    estimate.map(|e| e.value),
                    estimate.and_then(|e| e.interval),
                ));
            }
            if priors.estimators.is_empty() {
                rows.push(row("–", None, None));
            }
        }
    }
    rows.finish()
}

/// Figures of merit under changed priors: a row for each change.
pub(super) fn sensitivity(several: bool, runs: &Of<'_, PriorSensitivity>) -> Table {
    let columns = [
        ("metric", Align::Left),
        ("change of priors (%)", Align::Right),
        ("value", Align::Right),
    ];
    let mut rows = Rows::new(several, &columns);
    for (name, sensitivity) in runs {
        rows.run(name);
        for curve in &sensitivity.curves {
            let mut points = curve.points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (change, value) in points {
                let change = format!("{:+.0}", 100.0 * change);
                rows.push([curve.metric.clone(), change, number(value, 4)]);
            }
        }
    }
    rows.finish()
}

/// Shares against the threshold.
pub(super) fn thresholds(several: bool, runs: &Of<'_, Thresholds>) -> Table {
    let columns = [
        ("threshold", Align::Right),
        ("precision (%)", Align::Right),
        ("recall (%)", Align::Right),
        ("answered (%)", Align::Right),
    ];
    let mut rows = Rows::new(several, &columns);
    for (name, thresholds) in runs {
        rows.run(name);
        let mut points = thresholds.points.clone();
        points.sort_by(|a, b| a.threshold.total_cmp(&b.threshold));
        for point in points {
            rows.push([
                number(Some(point.threshold), 2),
                share(point.precision),
                share(point.recall),
                share(point.answered),
            ]);
        }
    }
    rows.finish()
}
