//! `csmpu-st` beside the best of everything else, row by row.

use super::OURS;
use super::accuracy::{AccuracyRow, Outcome, PAPER_METHODS};
use crate::cell::{ORACLE, shortfall};
use crate::page::Section;
use crate::stats;
use crate::table::Table;
use crate::wording::{marked, or_dash};

/// Every row of Tables I–III in which `csmpu-st` was run; none without such a row.
pub fn section(rows: &[AccuracyRow]) -> Option<Section> {
    let run: Vec<(&AccuracyRow, &Outcome)> = rows
        .iter()
        .filter_map(|row| Some((row, row.found(OURS)?)))
        .collect();
    if run.is_empty() {
        return None;
    }
    let mut table = Table::with(
        "dataset | k: | π_k: | csmpu-st: | n: | epochs: | best published: | \
         best of ours of the paper's six: | supervised (oracle): | \
         supervised, same recipe (oracle): | with prior-shift correction: | macro-F1: | \
         calibration error:",
    );
    for (row, found) in &run {
        let own = row.best_own();
        table.push([
            marked(&row.dataset, found.data_mark.as_deref()),
            row.classes.to_string(),
            row.prior.to_string(),
            found.accuracy.show(2),
            found.n.to_string(),
            found.epochs.to_string(),
            or_dash(row.best_published()),
            own.map_or("–".to_owned(), |(found, method)| {
                format!("{} {method}", told(found))
            }),
            row.found(ORACLE).map_or("–".to_owned(), told),
            row.same_recipe.as_ref().map_or("–".to_owned(), told),
            or_dash(found.shifted),
            format!("{:.2}", found.f1),
            or_dash(found.calibration_error),
        ]);
    }
    let count = |beaten: &dyn Fn(&AccuracyRow) -> Option<f64>| {
        let pairs = run
            .iter()
            .filter_map(|(row, o)| Some(o.accuracy.mean > beaten(row)?));
        let won: Vec<bool> = pairs.collect();
        (won.iter().filter(|won| **won).count(), won.len())
    };
    let (published, of_published) = count(&|row| row.comparable(OURS).and(row.best_published()));
    let (own, of_own) = count(&|row| {
        row.complete()
            .and(row.best_own())
            .map(|(found, _)| found.accuracy.mean)
    });
    let gaps = |value: &dyn Fn(&Outcome) -> Option<f64>| {
        let (published, others): (Vec<_>, Vec<_>) =
            run.iter().partition(|(_, o)| o.data_mark.is_none());
        let told = |rows: &[(&AccuracyRow, &Outcome)]| {
            let gap =
                |(row, o): &(&AccuracyRow, &Outcome)| Some(row.limit()?.accuracy.mean - value(o)?);
            let gaps: Vec<f64> = rows.iter().filter_map(gap).collect();
            Some(format!(
                "{:.2} points over {} rows",
                stats::mean(&gaps)?,
                gaps.len()
            ))
        };
        let published = told(&published).unwrap_or_else(|| "not known".to_owned());
        let others = told(&others).map(|gap| format!(" ({gap} of other data)"));
        published + &others.unwrap_or_default()
    };
    let (plain, shifted) = (gaps(&|o| Some(o.accuracy.mean)), gaps(&|o| o.shifted));
    Some(Section {
        paragraphs: vec![
            format!(
                "One setting for all rows: 80 epochs, or 40 on the large image sets, unless the table says otherwise, at a rate of 1e-3 with a cosine, ten of them of `mpu-ml`, or targets of a teacher \
                 where fewer than 60 rows of an observed class are labelled (semeion with k = 6 and 8 at π_k = 0.2); a quarter of the hidden values left out \
                 in every step (dropout; not in the ResNet-20 of svhn); stratified \
                 batches of 512 rows, smaller where an epoch would have fewer than five steps, and of 64 for that ResNet; pixels divided by 255, other features \
                 scaled to [0, 1]. Accuracy in percent at the last epoch. It lies above the best published \
                 cell in {published} of {of_published} rows with the published data, and above the best of our own runs of the paper's six methods in \
                 {own} of the {of_own} rows where all six have been run. The mean gap to the better `supervised` is {plain}. One of these networks trains as the \
                 paper's methods do (raw features, the authors' constant rate); the other, \"same recipe\", has the scaling, cosine, \
                 dropout, batches and epochs of `csmpu-st`, and is there in {} of these rows.",
                run.iter()
                    .filter(|(row, _)| row.same_recipe.is_some())
                    .count()
            ),
            format!(
                "The benchmark's test rows have other class proportions than the pool. The column \"with prior-shift correction\" \
                 estimates them from the test rows' features by EM, without labels, and decides again; no other column uses it. \
                 The mean gap to the better `supervised`, which is not corrected, is then {shifted}. Calibration error is that of the \
                 probability of the answer, in points, under the pool's priors."
            ),
        ],
        table: Some(table),
        ..Section::new("self-training", "Beyond the paper: csmpu-st")
    })
}

impl AccuracyRow {
    /// The best published mean.
    fn best_published(&self) -> Option<f64> {
        let means = PAPER_METHODS
            .iter()
            .filter_map(|m| Some(self.published(m)?.mean));
        means.max_by(f64::total_cmp)
    }

    /// The best of ours of the paper's methods, and whose it is.
    fn best_own(&self) -> Option<(&Outcome, &'static str)> {
        let found = PAPER_METHODS
            .iter()
            .filter_map(|m| Some((self.found(m)?, *m)));
        found.max_by(|a, b| a.0.accuracy.mean.total_cmp(&b.0.accuracy.mean))
    }
}

/// A mean, with its seeds and epochs if they are not the paper's, and where else its runs are from.
fn told(found: &Outcome) -> String {
    let mean = format!("{:.2}", found.accuracy.mean);
    let short = shortfall(found.n, found.epochs, found.batch);
    let carried = found.carried_from.map(|source| format!("runs of {source}"));
    let notes: Vec<String> = short.into_iter().chain(carried).collect();
    match notes.as_slice() {
        [] => mean,
        notes => format!("{mean} ({})", notes.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::accuracy_rows;
    use super::*;
    use crate::fixture::fashion as record;

    #[test]
    fn wins_and_gaps_are_counted_where_they_can_be() {
        assert_eq!(section(&accuracy_rows(&[]).unwrap()), None);
        let mut records = vec![record("a", OURS, 1, 0.97), record("b", ORACLE, 1, 0.98)];
        records[0].scores.as_mut().unwrap().shifted_accuracy = Some(0.975);
        let text = section(&accuracy_rows(&records).unwrap()).unwrap().to_md();
        for part in [
            "best published cell in 1 of 1 rows with",
            "in 0 of the 0 rows",
            "is 1.00 points over 1 rows",
            "is then 0.50 points over 1 rows",
            "| 97.00 |",
            "| 98.00 (n=1, 100 epochs) |",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // The better of two limits counts, whichever that is.
        let mut same = record("c", ORACLE, 1, 0.99);
        same.config = serde_json::json!({"train": {"schedule": "cosine"}});
        records.push(same);
        let text = section(&accuracy_rows(&records).unwrap()).unwrap().to_md();
        for part in [
            "is 2.00 points over 1 rows",
            "there in 1 of these rows",
            "| 98.00 (n=1, 100 epochs) | 99.00 (n=1, 100 epochs) |",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        records.extend(PAPER_METHODS.iter().map(|m| record(m, m, 1, 0.9)));
        let text = section(&accuracy_rows(&records).unwrap()).unwrap().to_md();
        assert!(text.contains("in 1 of the 1 rows"), "{text}");
        // Other data are named, and not held to the published cells.
        records[0].data_mark = Some("subset".to_owned());
        let text = section(&accuracy_rows(&records).unwrap()).unwrap().to_md();
        for part in [
            "| fashion-mnist (subset) | 4 | 0.5 | 97.00 | 1 | 100 |",
            "best published cell in 0 of 0 rows with",
            "is not known (2.00 points over 1 rows of other data).",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
