//! What the 66 rows of Tables I–III say together, and what the baselines tell of the paper.

use super::accuracy::{ADDED_METHODS, AccuracyRow, Outcome, PAPER_METHODS};
use super::{PAPERS, RIVAL};
use crate::cell::{FULL, ORACLE};
use crate::page::Section;
use crate::stats;
use crate::table::Table;
use crate::wording::or_dash;

/// The means of the paper's methods in one row, in the paper's order.
type Means = Vec<f64>;

/// How often each method is best, its mean rank, its distance from the oracle, and how often we meet the
/// published cell.
pub fn section(rows: &[AccuracyRow]) -> Section {
    let complete: Vec<&AccuracyRow> = rows.iter().filter(|r| r.complete().is_some()).collect();
    let ours: Vec<Means> = complete.iter().filter_map(|r| r.complete()).collect();
    let published: Vec<Means> = rows.iter().filter_map(published_means).collect();
    let mut table = Table::with(&format!(
        "method | best, ours (of {} rows): | best, published (of {} rows): | mean rank, ours: | \
         mean rank, published: | points below the better supervised, mean (rows): | \
         within two published deviations (rows):",
        ours.len(),
        published.len()
    ));
    for (index, method) in PAPER_METHODS.iter().enumerate() {
        let (met, compared) = within_two(rows, method);
        table.push([
            (*method).to_owned(),
            best_count(&ours, index).to_string(),
            best_count(&published, index).to_string(),
            mean_rank(&ours, index),
            mean_rank(&published, index),
            gap(rows, method),
            format!("{met} of {compared}"),
        ]);
    }
    for method in ADDED_METHODS.iter().filter(|m| **m != ORACLE) {
        let (name, gap) = (format!("ours: {method}"), gap(rows, method));
        table.push([name.as_str(), "–", "–", "–", "–", &gap, "–"]);
    }
    let rows_with = |fits: fn(&Outcome) -> bool| {
        let any = |row: &&&AccuracyRow| {
            let mut outcomes = PAPER_METHODS.iter().filter_map(|method| row.found(method));
            outcomes.any(fits)
        };
        complete.iter().filter(any).count()
    };
    let short = rows_with(|o| o.n < FULL.0 || o.epochs < FULL.1);
    let marked = rows_with(|o| o.data_mark.is_some());
    let (met, compared) = within_two(rows, PAPERS);
    let (seeds, epochs) = FULL;
    Section {
        paragraphs: vec![
            format!(
                "Tables I–III have {} rows. All six methods of the paper have been run in {} of them, and only those rows \
                 count for \"best\" and for ranks; {short} of these rest on fewer than {seeds} seeds or {epochs} epochs in some \
                 cell, {marked} on data other than the published. Best is by the numbers, not by what is printed in bold (in 11 \
                 of the 66 published rows the bold entry is not the largest); methods that share the best figure of a row \
                 each count; rank 1 is best, and ties share the middle rank.",
                rows.len(),
                ours.len()
            ),
            format!(
                "Our `csmpu-abs` mean lies within two published standard deviations of the published cell in {met} of \
                 {compared} rows that have been run with the published data. Only such rows count where a figure is held to a \
                 published cell or to the better supervised."
            ),
        ],
        table: Some(table),
        ..Section::new("overview", "Overview")
    }
}

/// What note 3.5 on the paper implies for its baselines, with what our runs say of it.
pub fn baselines(rows: &[AccuracyRow]) -> Section {
    let mut paragraphs = vec![
        "With a surrogate whose two sides sum to a constant, `ℓ(z) + ℓ(-z) = C`, the objectives of `area` and `ure-ovr` \
         differ only by the number `k/(k-1)·C·(1-π_k)`, which does not depend on the model. They have the same gradients \
         and the same minimiser, so that runs of the two from the same seed part only through rounding. The paper \
         reports very different accuracies for them; its `ure-ovr` can therefore not have been trained with the \
         surrogate of the other methods, or not with the objective it prints. Here all methods use the same surrogate."
            .to_owned(),
    ];
    let pairs: Vec<(f64, f64)> = rows.iter().filter_map(baseline_distances).collect();
    let (ours, published): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    paragraphs.push(match (stats::mean(&ours), stats::mean(&published)) {
        (Some(found), Some(printed)) => format!(
            "In the {} rows where both have been run for as many epochs, our means of `area` and `ure-ovr` are {found:.2} \
             points apart on average; the published ones are {printed:.2} points apart in the same rows.",
            ours.len()
        ),
        _ => "No row has both `area` and `ure-ovr` yet, so our runs say nothing of this.".to_owned(),
    });
    let carried = |row: &AccuracyRow| row.found("ure-ovr")?.carried_from;
    let carried = rows.iter().filter_map(carried).count();
    if carried > 0 {
        paragraphs.push(format!(
            "In {carried} rows the runs of `area` therefore stand for `ure-ovr`, which has been run for fewer epochs or seeds there, or \
             not at all. These cells are marked. It is only done on datasets where runs of both from the same seed ended with the \
             same accuracy."
        ));
    }
    let differences: Vec<f64> = rows
        .iter()
        .filter_map(|row| Some(row.comparable(RIVAL)?.accuracy.mean - row.published(RIVAL)?.mean))
        .collect();
    let above = differences.iter().filter(|d| **d > 0.0).count();
    let measured = stats::mean(&differences).map_or_else(
        || "No row of it has been run with the published data yet.".to_owned(),
        |mean| {
            format!(
                "In our runs with the published data it lies above the published cell in {above} of {} rows, by {mean:.2} points on average.",
                differences.len()
            )
        },
    );
    paragraphs.push(format!(
        "`biased-super` takes the pool as negative and gives every labelled class the weight 1, which suits separable \
         data. {measured} An independent PyTorch implementation of the paper's definitions (one seed; fashion-mnist, k = 4, \
         π_k = 0.5) gave 94.2 for it (published 39.1), 90.2 for `area` (80.9) and 90.1 for `ure-ovr` (50.3): as they \
         are defined, the baselines are far better there than the paper reports. Comparisons with the published \
         baselines should be read with this in mind."
    ));
    Section {
        paragraphs,
        ..Section::new("baselines", "What the baselines say")
    }
}

fn published_means(row: &AccuracyRow) -> Option<Means> {
    let means = PAPER_METHODS.map(|method| row.published(method).map(|p| p.mean));
    means.into_iter().collect()
}

/// In how many rows a method is best, or shares the best figure.
pub(super) fn best_count(rows: &[Means], index: usize) -> usize {
    let is_best = |means: &&Means| means.iter().all(|mean| means[index] >= *mean);
    rows.iter().filter(is_best).count()
}

fn mean_rank(rows: &[Means], index: usize) -> String {
    let ranks: Vec<f64> = rows
        .iter()
        .map(|means| {
            let turned: Vec<f64> = means.iter().map(|m| -m).collect();
            stats::ranks(&turned)[index]
        })
        .collect();
    or_dash(stats::mean(&ranks))
}

fn gap(rows: &[AccuracyRow], method: &str) -> String {
    let gaps: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.comparable(method).and(row.gap(method)))
        .collect();
    stats::mean(&gaps).map_or("– (0)".to_owned(), |gap| {
        format!("{gap:.2} ({})", gaps.len())
    })
}

/// In how many rows our mean lies within two published deviations of the published one, and how many
/// rows have been run with the published data.
pub(super) fn within_two<'a>(
    rows: impl IntoIterator<Item = &'a AccuracyRow>,
    method: &str,
) -> (usize, usize) {
    let met: Vec<bool> = rows
        .into_iter()
        .filter_map(|row| {
            let published = row.published(method)?;
            let distance = (row.comparable(method)?.accuracy.mean - published.mean).abs();
            Some(distance <= 2.0 * published.std?)
        })
        .collect();
    (met.iter().filter(|met| **met).count(), met.len())
}

/// How far `area` and `ure-ovr` are apart, ours and published.
fn baseline_distances(row: &AccuracyRow) -> Option<(f64, f64)> {
    let (area, ovr) = (row.found("area")?, row.found("ure-ovr")?);
    let published = row.published("area")?.mean - row.published("ure-ovr")?.mean;
    let ours = area.accuracy.mean - ovr.accuracy.mean;
    let both = ovr.carried_from.is_none() && area.epochs == ovr.epochs;
    both.then_some((ours.abs(), published.abs()))
}
