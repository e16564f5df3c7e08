//! The results in short: where the paper's method is reproduced, where not, and which method to use.

use super::accuracy::{AccuracyRow, PAPER_METHODS};
use super::overview::{best_count, within_two};
use super::rates::Chosen;
use super::{Context, Cost, NEAR, OURS, PAPERS};
use crate::page::Section;
use crate::record::Record;
use crate::stats;
use crate::table::Table;
use crate::wording::{and_list, count, in_order, or_dash, signed};

/// One line for each dataset, and what follows from them.
pub fn section(records: &[Record], context: &Context, rows: &[AccuracyRow]) -> Section {
    let mut table = Table::with(
        "dataset | rows run: | csmpu-abs, ours less published: | \
         within two published deviations: | csmpu-abs less published, given → chosen rates: | best of the six most often, ours | csmpu-st: | \
         better supervised: | gap:",
    );
    let chosen = Chosen::of(records, &context.swept);
    let (mut met, mut near, mut far, mut marked) = (vec![], vec![], vec![], vec![]);
    for dataset in in_order(rows.iter().map(|row| row.dataset.as_str())) {
        let own: Vec<&AccuracyRow> = rows.iter().filter(|row| row.dataset == dataset).collect();
        let differences: Vec<f64> = own
            .iter()
            .filter_map(|row| {
                Some(row.comparable(PAPERS)?.accuracy.mean - row.published(PAPERS)?.mean)
            })
            .collect();
        let run = own.iter().filter(|row| row.found(PAPERS).is_some());
        let rows_run = format!("{} of {}", run.clone().count(), own.len());
        if run.count() == 0 {
            table.push([dataset.to_owned(), rows_run]);
            continue;
        }
        let (within, compared) = within_two(own.iter().copied(), PAPERS);
        let difference = stats::mean(&differences);
        let to = match difference {
            None => &mut marked,
            Some(_) if 2 * within >= compared => &mut met,
            Some(difference) if difference.abs() <= NEAR => &mut near,
            Some(_) => &mut far,
        };
        to.push(dataset);
        let held_to_published = match difference {
            Some(difference) => [signed(difference, 2), format!("{within} of {compared}")],
            None => ["–".to_owned(), "–".to_owned()],
        };
        let [difference, within] = held_to_published;
        let mean = |value: &dyn Fn(&AccuracyRow) -> Option<f64>| {
            let pairs = own.iter().filter_map(|row| value(row));
            stats::mean(&pairs.collect::<Vec<_>>())
        };
        table.push([
            dataset.to_owned(),
            rows_run,
            difference,
            within,
            chosen.differences(dataset),
            most_often(&own),
            or_dash(mean(&|row| Some(row.found(OURS)?.accuracy.mean))),
            or_dash(mean(&|row| Some(row.limit()?.accuracy.mean))),
            or_dash(mean(&|row| row.gap(OURS))),
        ]);
    }
    let near_by =
        format!("nearly: fewer rows do, but the mean difference is at most {NEAR} points.");
    let verdicts = [
        (
            &met,
            "yes: at least half of our rows of `csmpu-abs` lie within two published standard deviations.",
        ),
        (&near, near_by.as_str()),
        (
            &far,
            "no: the mean difference is larger. The table says by how much.",
        ),
        (
            &marked,
            "we cannot say: our data are not the published ones.",
        ),
    ];
    let verdicts = verdicts
        .iter()
        .filter(|(datasets, _)| !datasets.is_empty())
        .map(|(datasets, verdict)| format!(" On {}, {verdict}", and_list(datasets)));
    let mut paragraphs = vec![format!(
        "Is the paper's method reproduced?{}",
        verdicts.collect::<String>()
    )];
    paragraphs.extend(chosen.in_short());
    paragraphs.extend([
            format!(
                "Which method to use? `{OURS}`, which is ours and not the paper's: it lies above the best of the paper's six in {}. Of the six, the one that is \
                 best most often in our runs is {}. If you need costs or another surrogate: {}.",
                above_the_six(rows),
                most_often(&rows.iter().collect::<Vec<_>>()),
                best_exact(rows)
            ),
            format!(
                "The table has means over the rows of a dataset that have been run. Rows with fewer seeds or epochs than the paper's count too; \
                 the tables below mark them. The gap is to the better of two networks that know all labels. {}",
                spent(context.cost)
            ),
        ]);
    Section {
        paragraphs,
        table: Some(table),
        ..Section::new("summary", "In short")
    }
}

fn spent(cost: Cost) -> String {
    format!(
        "The {} behind this page took {:.0} core hours: hours by the clock times threads, on machines that did other work as well.",
        count(cost.runs, "run"),
        cost.core_hours
    )
}

/// In how many of the rows where all have been run ours is above the best of the paper's six, and in how many with the
/// published data if there are others.
fn above_the_six(rows: &[AccuracyRow]) -> String {
    let both = rows.iter().filter_map(|row| {
        let best = row.complete()?.into_iter().fold(f64::MIN, f64::max);
        let found = row.found(OURS)?;
        Some((found.accuracy.mean > best, found.data_mark.is_none()))
    });
    let (published, others): (Vec<_>, Vec<_>) = both.partition(|(_, is_published)| *is_published);
    let above = |rows: &[(bool, bool)]| rows.iter().filter(|(above, _)| *above).count();
    let all = above(&published) + above(&others);
    let text = format!("{all} of {} rows", published.len() + others.len());
    match others.len() {
        0 => text,
        _ => format!(
            "{text} ({} of {} with the published data)",
            above(&published),
            published.len()
        ),
    }
}

/// The form of the exact risk with the largest mean over the rows where all three have been run.
fn best_exact(rows: &[AccuracyRow]) -> String {
    let methods = ["csmpu-exact-abs", "csmpu-exact-nn", "csmpu-exact-ure"];
    let all = rows.iter().filter_map(|row| {
        let means = methods.map(|method| Some(row.found(method)?.accuracy.mean));
        means.into_iter().collect()
    });
    let all: Vec<Vec<f64>> = all.collect();
    let means = (0..methods.len()).filter_map(|form| {
        let values: Vec<f64> = all.iter().map(|means| means[form]).collect();
        Some((stats::mean(&values)?, methods[form]))
    });
    match means.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((mean, method)) => format!(
            "of the exact forms `{method}` has the largest mean, {mean:.2} over {} rows",
            all.len()
        ),
        None => "the exact forms (`csmpu-exact-*`), which have not all been run".to_owned(),
    }
}

/// Which of the paper's six is best in most of the rows where all have been run, and in how many.
fn most_often(rows: &[&AccuracyRow]) -> String {
    let complete: Vec<Vec<f64>> = rows.iter().filter_map(|row| row.complete()).collect();
    let wins = |index: usize| best_count(&complete, index);
    // The first of those that are best equally often.
    let first = (0..PAPER_METHODS.len())
        .rev()
        .max_by_key(|&index| wins(index));
    match first.filter(|_| !complete.is_empty()) {
        Some(index) => format!(
            "{} ({} of {})",
            PAPER_METHODS[index],
            wins(index),
            complete.len()
        ),
        None => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::accuracy_rows;
    use super::*;
    use crate::fixture::record;

    #[test]
    fn datasets_are_judged_by_their_own_rows() {
        // Published: usps, k = 4, π_k = 0.5; the published cell itself, and one far from it.
        let rows = accuracy_rows(&[]).unwrap();
        let published = |dataset: &str| {
            let row = rows.iter().find(|r| r.dataset == dataset && r.prior == 0.5);
            row.unwrap().published(PAPERS).unwrap().mean / 100.0
        };
        let mut records: Vec<_> = PAPER_METHODS
            .iter()
            .map(|method| record("usps", 4, 0.5, method, 1, 100, 0.5))
            .collect();
        records[0] = record("usps", 4, 0.5, PAPERS, 1, 100, published("usps"));
        let far = published("mnist") - 0.2;
        records.push(record("mnist", 4, 0.5, PAPERS, 1, 100, far));
        records.push(record("usps", 4, 0.5, OURS, 1, 40, 0.95));
        records.push(record("usps", 4, 0.5, "supervised", 1, 100, 0.96));
        for (method, accuracy) in [("abs", 0.7), ("nn", 0.8), ("ure", 0.6)] {
            let method = format!("csmpu-exact-{method}");
            records.push(record("usps", 4, 0.5, &method, 1, 100, accuracy));
        }
        records[0].seconds = 3600.0;
        records[0].threads = 2;
        let context = Context {
            cost: Cost::of(&records),
            ..Context::default()
        };
        let shown = |records: &[Record]| {
            let rows = accuracy_rows(records).unwrap();
            section(records, &context, &rows).to_md()
        };
        let text = shown(&records);
        for part in [
            "reproduced? On usps, yes: ",
            "deviations. On mnist, no: ",
            "| usps | 1 of 9 | +0.00 | 1 of 1 | – | csmpu-abs (1 of 1) | 95.00 | 96.00 | 1.00 |",
            "| mnist | 1 of 9 | -20.00 | 0 of 1 | – | – | – | – | – |",
            "| svhn | 0 of 9 |",
            "lies above the best of the paper's six in 1 of 1 rows",
            "`csmpu-exact-nn` has the largest mean, 80.00 over 1 rows",
            "The 12 runs behind this page took 2 core hours: ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for record in &mut records {
            record.data_mark = Some("subset".to_owned());
        }
        let text = shown(&records);
        for part in [
            "in 1 of 1 rows (0 of 0 with the published data)",
            "reproduced? On mnist and usps, we cannot say: ",
            "| usps | 1 of 9 | – | – | – | csmpu-abs (1 of 1) | 95.00 | 96.00 | 1.00 |",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
