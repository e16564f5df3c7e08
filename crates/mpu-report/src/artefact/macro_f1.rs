//! The macro-F1 table: fashion-mnist, k = 4, π_k = 0.8, with intervals and tests.

use super::{Context, published};
use crate::cell::{CellRuns, FULL, Wanted};
use crate::error::Result;
use crate::page::Section;
use crate::paper::{self, MacroF1Row};
use crate::record::{Record, Scores};
use crate::stats;
use crate::table::{Cell, Table};
use crate::wording::{code_list, signed};

const DATASET: &str = "fashion-mnist";
const REFERENCE: &str = "csmpu-abs";

/// What a row is compared with the paper's method by.
struct Comparison {
    pairs: usize,
    p: Option<f64>,
    delta: Option<f64>,
}

/// The paper's macro-F1 table with its statistics, ours beside the published ones.
pub fn section(records: &[Record], context: &Context) -> Result<Section> {
    let mut table = Table::with(
        "method | n: | epochs: | macro-F1 in percent (published; difference): | \
         95 % t-interval (published): | Wilcoxon p against csmpu-abs: | \
         p after Holm (published): | \
         Cliff's delta of method less csmpu-abs: positive where the method is better (published): | \
         seconds, median ± MAD (published minutes):",
    );
    let published = paper::macro_f1_rows()?;
    let groups: Vec<Option<CellRuns<'_>>> = published
        .iter()
        .map(|row| CellRuns::choose(records, &wanted(&row.method)))
        .collect();
    let reference = CellRuns::choose(records, &wanted(REFERENCE));
    let comparisons: Vec<Option<Comparison>> = published
        .iter()
        .zip(&groups)
        .map(|(row, group)| match (group, &reference) {
            (Some(group), Some(reference)) if row.method != REFERENCE => compare(group, reference),
            _ => None,
        })
        .collect();
    let p_values = comparisons.iter().flatten().filter_map(|c| c.p);
    let mut adjusted = stats::holm(&p_values.collect::<Vec<f64>>()).into_iter();
    let mut notes = Vec::new();
    let mut missing = Vec::new();
    for ((row, group), comparison) in published.iter().zip(&groups).zip(&comparisons) {
        let p = comparison.as_ref().and_then(|c| c.p);
        let holm = p.and_then(|_| adjusted.next());
        table.push(cells(row, group.as_ref(), comparison.as_ref(), holm));
        if let Some(mark) = group.as_ref().and_then(CellRuns::mark) {
            notes.push(format!("`{}`: data: {mark}", row.method));
        } else if group.is_none() {
            missing.push(row.method.as_str());
        }
        if row.method != REFERENCE && group.is_some() && reference.is_some() && comparison.is_none()
        {
            notes.push(format!(
                "`{}` is not compared with `{REFERENCE}`: their epochs differ or they share no seed",
                row.method
            ));
        }
    }
    if let Some(pairs) = comparisons.iter().flatten().map(|c| c.pairs).max() {
        let least = 2.0 / (pairs as f64).exp2();
        notes.push(format!(
            "With {pairs} pairs the two-sided test cannot go below p = {least:.4}"
        ));
    }
    if !missing.is_empty() {
        let how = context.how_to_get(DATASET);
        notes.push(format!("missing: {}; {how}", code_list(missing)));
    }
    Ok(Section {
        paragraphs: vec![format!(
            "Macro-F1 in percent at the last epoch ({DATASET}, k = 4, π_k = 0.8; the paper has {} seeds of {} epochs), mean \
             ± sample standard deviation over n seeds. The Wilcoxon signed-rank test is two-sided, exact, and pairs the \
             seeds that a method shares with `{REFERENCE}`; Holm's adjustment is over the rows of this table. Our times \
             are of another machine than the paper's.",
            FULL.0, FULL.1
        )],
        table: Some(table),
        notes,
        ..Section::new("macro-f1", "Macro-F1 with intervals and tests")
    })
}

fn wanted(method: &str) -> Wanted<'_> {
    Wanted::usual(DATASET, 4, 0.8, method)
}

/// None where the two cannot be compared.
fn compare(group: &CellRuns<'_>, reference: &CellRuns<'_>) -> Option<Comparison> {
    let f1 = |s: &Scores| s.f1;
    let theirs = reference.by_seed(100.0, f1);
    let shared: Vec<(f64, f64)> = group
        .by_seed(100.0, f1)
        .into_iter()
        .filter_map(|(seed, value)| Some((value, *theirs.get(&seed)?)))
        .collect();
    if group.epochs() != reference.epochs() || shared.is_empty() {
        return None;
    }
    let differences: Vec<f64> = shared.iter().map(|(a, b)| a - b).collect();
    Some(Comparison {
        pairs: shared.len(),
        p: stats::wilcoxon(&differences).map(|test| test.p),
        delta: stats::cliffs_delta(&group.values(100.0, f1), &reference.values(100.0, f1)),
    })
}

fn cells(
    row: &MacroF1Row,
    group: Option<&CellRuns<'_>>,
    comparison: Option<&Comparison>,
    holm: Option<f64>,
) -> [Cell; 9] {
    let published = published(row.macro_f1_mean, row.macro_f1_std);
    let published_interval = format!("([{:.1}, {:.1}])", row.ci95_low, row.ci95_high);
    let published_time = format!("({:.1} ± {:.1})", row.time_min_median, row.time_min_mad);
    let (f1, interval, time) = match group {
        None => (
            Cell::new("missing").with_detail(format!("({})", published.show(1))),
            Cell::new("missing"),
            Cell::new("missing"),
        ),
        Some(group) => {
            let ours = group.spread(100.0, |s| s.f1);
            let difference = signed(ours.mean - published.mean, 2);
            let values = group.values(100.0, |s| s.f1);
            let interval = stats::t_interval(&values, 0.95);
            let seconds: Vec<f64> = group.records.iter().map(|r| r.seconds).collect();
            let time = stats::median(&seconds).zip(stats::mad(&seconds));
            (
                Cell::new(ours.show(2))
                    .with_detail(format!("({}; {difference})", published.show(1))),
                Cell::new(interval.map_or("needs two seeds".to_owned(), |i| {
                    format!("[{:.2}, {:.2}]", i.low, i.high)
                })),
                Cell::new(time.map_or(String::new(), |(median, mad)| {
                    format!("{median:.1} ± {mad:.1}")
                })),
            )
        }
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let p = |value: Option<f64>| or_dash(value.map(|p| format!("{p:.4}")));
    let beside = |text: String, published: Option<String>| {
        Cell::new(text).with_any_detail(published.map(|published| format!("({published})")))
    };
    [
        Cell::new(&row.method),
        Cell::new(group.map_or(0, CellRuns::n).to_string()),
        Cell::new(group.map(|g| g.epochs().to_string()).unwrap_or_default()),
        f1,
        interval.with_detail(published_interval),
        Cell::new(p(comparison.and_then(|c| c.p))),
        beside(p(holm), row.p_holm.map(|p| format!("{p:.0}"))),
        beside(
            or_dash(comparison.and_then(|c| c.delta).map(|d| signed(d, 2))),
            row.cliffs_delta.map(|d| signed(d, 2)),
        ),
        time.with_detail(published_time),
    ]
}
