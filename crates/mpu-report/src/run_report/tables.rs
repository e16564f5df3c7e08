//! The numbers behind the figures, as tables.

use super::{CheckedColumn, ClassScore};
use crate::figures::{
    Answers, ColumnWeight, ColumnWeights, CurveKind, ExpectedCount, ExpectedCounts,
    PrecisionRecall, PriorEstimates, PriorSensitivity, Reliability, RunCurve, RunCurves,
    ScoreHistograms, Thresholds,
};
use crate::table::{Align, Table};
use mpu_eval::abstain::ThresholdPoint;

/// A part of each run, under the run's name.
type Of<'a, T> = [(&'a str, &'a T)];

/// Rows of several runs in one table: the runs' names stand in a first column if there are several.
fn table<T>(
    several: bool,
    runs: &Of<'_, T>,
    columns: &str,
    rows: impl Fn(&T) -> Vec<Vec<String>>,
) -> Table {
    let run = if several { "run | " } else { "" };
    let mut table = Table::with(&format!("{run}{columns}"));
    for (name, part) in runs {
        for row in rows(part) {
            let run = several.then(|| (*name).to_owned());
            table.push(run.into_iter().chain(row));
        }
    }
    table
}

fn share(value: Option<f64>) -> String {
    number(value.map(|v| 100.0 * v), 1)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    let value = value.filter(|v| v.is_finite());
    or_dash(value.map(|value| format!("{value:.decimals$}")))
}

fn or_dash(text: Option<impl ToString>) -> String {
    text.map_or_else(|| "–".to_owned(), |text| text.to_string())
}

/// How each curve begins and ends, and its extreme; no epoch is selected by it.
pub(super) fn curves(several: bool, runs: &Of<'_, RunCurves>) -> Table {
    let columns = "curve | first: | last: | lowest loss, highest accuracy: | at epoch:";
    let row = |curve: &RunCurve| {
        let known = curve.values.iter().enumerate();
        let known = known.filter_map(|(epoch, v)| Some((epoch + 1, v.filter(|v| v.is_finite())?)));
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
            CurveKind::PuAccuracy => "accuracy estimated without true labels",
            CurveKind::OracleTrainAccuracy => "training accuracy by hidden labels",
            kind => kind.label(),
        };
        vec![
            label.to_owned(),
            text(known.first().map(|k| k.1)),
            text(known.last().map(|k| k.1)),
            text(best.map(|k| k.1)),
            or_dash(best.map(|k| k.0)),
        ]
    };
    table(several, runs, columns, |part| {
        part.curves.iter().map(row).collect()
    })
}

/// Precision, recall and F1 by class.
pub(super) fn class_scores(several: bool, runs: &Of<'_, Vec<ClassScore>>) -> Table {
    let columns = "class | precision (%): | recall (%): | F1 (%): | rows:";
    let with_ends = |value: Option<f64>, ends: Option<(f64, f64)>| {
        let ends = ends.map(|(low, high)| [low, high].map(|end| share(Some(end))));
        let ends = ends.map(|[low, high]| format!(" ({low} to {high})"));
        share(value) + &ends.unwrap_or_default()
    };
    let row = |score: &ClassScore| {
        vec![
            score.class.clone(),
            with_ends(score.precision, score.precision_interval),
            with_ends(score.recall, score.recall_interval),
            share(score.f1),
            or_dash(score.rows),
        ]
    };
    table(several, runs, columns, |scores| {
        scores.iter().map(row).collect()
    })
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
    let columns = "class | calibration error: | rows: | bins:";
    table(several, runs, columns, |reliability| {
        let classes = reliability.classes.iter().map(|class| {
            let filled = class.bins.iter().filter(|bin| bin.count > 0);
            let count: u64 = filled.clone().map(|bin| bin.count).sum();
            vec![
                class.class.clone(),
                number(class.ece, 4),
                count.to_string(),
                filled.count().to_string(),
            ]
        });
        let all = reliability.ece.map(|ece| number(Some(ece), 4));
        let all = all.map(|ece| vec!["all classes".to_owned(), ece]);
        classes.chain(all).collect()
    })
}

/// How many unlabelled rows are of each class.
pub(super) fn expected(several: bool, runs: &Of<'_, ExpectedCounts>) -> Table {
    let columns = "class | labelled rows: | expected among the unlabelled rows: | 95 % interval:";
    let range = |(low, high): (f64, f64)| format!("{low:.0} to {high:.0}");
    table(several, runs, columns, |expected| {
        let row = |class: &ExpectedCount| {
            vec![
                class.class.clone(),
                or_dash(class.labeled),
                number(Some(class.rows), 0),
                or_dash(class.interval.map(range)),
            ]
        };
        expected.classes.iter().map(row).collect()
    })
}

/// How many rows are in each bin.
pub(super) fn histograms(several: bool, runs: &Of<'_, ScoreHistograms>) -> Table {
    let columns = "class | probability (%): | labelled rows: | unlabelled rows:";
    table(several, runs, columns, |histograms| {
        let mut rows = Vec::new();
        for class in &histograms.classes {
            let n_bins = class.labeled.len();
            let edge = |bin: usize| 100.0 * bin as f64 / n_bins as f64;
            for (bin, (labeled, pool)) in class.labeled.iter().zip(&class.unlabeled).enumerate() {
                rows.push(vec![
                    class.class.clone(),
                    format!("{:.0} to {:.0}", edge(bin), edge(bin + 1)),
                    labeled.to_string(),
                    pool.to_string(),
                ]);
            }
        }
        rows
    })
}

/// Precision and recall at some thresholds of each class.
pub(super) fn precision_recall(several: bool, runs: &Of<'_, PrecisionRecall>) -> Table {
    let columns = "class | threshold: | precision (%): | recall (%):";
    table(several, runs, columns, |curves| {
        let mut rows = Vec::new();
        for class in &curves.classes {
            rows.extend(class.points.iter().map(|point| {
                vec![
                    class.class.clone(),
                    number(Some(point.threshold), 2),
                    share(Some(point.precision)),
                    share(Some(point.recall)),
                ]
            }));
        }
        rows
    })
}

/// What every column that was tried is worth.
pub(super) fn importances(several: bool, runs: &Of<'_, ColumnWeights>) -> Table {
    let columns = "column | rise of the loss: | standard error:";
    table(several, runs, columns, |weights| {
        let row = |column: &ColumnWeight| {
            vec![
                column.column.clone(),
                number(Some(column.rise), 4),
                number(Some(column.error), 4),
            ]
        };
        weights.columns.iter().map(row).collect()
    })
}

/// The columns of a user's table.
pub(super) fn columns(columns: &[CheckedColumn]) -> Table {
    let mut table = Table::with("column | type | missing values:");
    for column in columns {
        table.push([
            column.column.clone(),
            column.kind.clone(),
            column.missing.to_string(),
        ]);
    }
    table
}

/// Priors: a row for each class and estimator.
pub(super) fn priors(several: bool, runs: &Of<'_, PriorEstimates>) -> Table {
    let columns = "class | lower bound: | upper bound: | estimator | estimate: | interval: | \
                   used in training: | true value:";
    table(several, runs, columns, |priors| {
        let mut rows = Vec::new();
        for (index, class) in priors.classes.iter().enumerate() {
            let mut row = |estimator: &str, value: Option<f64>, interval: Option<(f64, f64)>| {
                let text =
                    |(low, high)| format!("{} to {}", number(Some(low), 3), number(Some(high), 3));
                rows.push(vec![
                    class.class.clone(),
                    number(class.lower, 3),
                    number(class.upper, 3),
                    estimator.to_owned(),
                    number(value, 3),
                    or_dash(interval.map(text)),
                    number(class.used, 3),
                    number(class.truth, 3),
                ]);
            };
            for estimator in &priors.estimators {
                let estimate = estimator.estimates.get(index).copied().flatten();
                let interval = estimate.and_then(|e| e.interval);
                row(&estimator.estimator, estimate.map(|e| e.value), interval);
            }
            if priors.estimators.is_empty() {
                row("–", None, None);
            }
        }
        rows
    })
}

/// Figures of merit under changed priors: a row for each change.
pub(super) fn sensitivity(several: bool, runs: &Of<'_, PriorSensitivity>) -> Table {
    let columns = "metric | change of priors (%): | value:";
    table(several, runs, columns, |sensitivity| {
        let mut rows = Vec::new();
        for curve in &sensitivity.curves {
            let mut points = curve.points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows.extend(points.into_iter().map(|(change, value)| {
                let change = format!("{:+.0}", 100.0 * change);
                vec![curve.metric.clone(), change, number(value, 4)]
            }));
        }
        rows
    })
}

/// Shares against the threshold.
pub(super) fn thresholds(several: bool, runs: &Of<'_, Thresholds>) -> Table {
    let columns = "threshold: | precision (%): | recall (%): | answered (%):";
    table(several, runs, columns, |thresholds| {
        let mut points = thresholds.points.clone();
        points.sort_by(|a, b| a.threshold.total_cmp(&b.threshold));
        let row = |point: &ThresholdPoint| {
            vec![
                number(Some(point.threshold), 2),
                share(point.precision),
                share(point.recall),
                share(point.answered),
            ]
        };
        points.iter().map(row).collect()
    })
}
