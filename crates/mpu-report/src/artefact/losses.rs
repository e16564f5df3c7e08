//! The table of loss variants: fashion-mnist, k = 4, π_k = 0.5, csmpu-abs.

use super::{Context, published};
use crate::cell::{CellRuns, FULL, Wanted};
use crate::error::Result;
use crate::page::Section;
use crate::paper;
use crate::record::{Record, Scores};
use crate::stats::Spread;
use crate::table::{Cell, Table};
use crate::wording::signed;

const DATASET: &str = "fashion-mnist";

/// The nine rows of the paper's table of loss variants, ours beside the published ones.
pub fn section(records: &[Record], context: &Context) -> Result<Section> {
    let mut table = Table::with(
        "loss | γ: | form | n: | epochs: | macro-F1 (published; difference): | \
         accuracy (published; difference): | max |ℓ(z)+ℓ(-z)-1| (published): | \
         99th percentile (published):",
    );
    let (mut missing, mut notes) = (Vec::new(), Vec::new());
    for (index, row) in paper::loss_variants()?.iter().enumerate() {
        let wanted = Wanted {
            loss: Some((&row.loss, row.gamma, &row.form)),
            ..Wanted::usual(DATASET, 4, 0.5, "csmpu-abs")
        };
        let group = CellRuns::choose(records, &wanted);
        let name = format!("`{}` γ = {} {}", row.loss, row.gamma, row.form);
        let group = group.as_ref();
        if let Some(mark) = group.and_then(CellRuns::mark) {
            notes.push(format!("{name}: data: {mark}"));
        } else if group.is_none() {
            missing.push(name);
        }
        let f1 = published(row.macro_f1_mean, row.macro_f1_std);
        let accuracy = published(row.accuracy_mean, row.accuracy_std);
        let sums = context.constant_sums.get(index);
        table.push([
            Cell::new(&row.loss),
            Cell::new(format!("{:.1}", row.gamma)),
            Cell::new(&row.form),
            Cell::new(group.map_or(0, CellRuns::n).to_string()),
            Cell::new(group.map(|g| g.epochs().to_string()).unwrap_or_default()),
            compared(group, f1, |s| s.f1),
            compared(group, accuracy, |s| s.accuracy),
            diagnostic(sums.map(|s| s.0), row.const_sum_max),
            diagnostic(sums.map(|s| s.1), row.const_sum_p99),
        ]);
    }
    if !missing.is_empty() {
        let how = context.how_to_get(DATASET);
        notes.push(format!("missing: {}; {how}", missing.join(", ")));
    }
    Ok(Section {
        paragraphs: vec![format!(
            "Shares of test rows at the last epoch, mean ± sample standard deviation over n seeds ({DATASET}, k = 4, \
             π_k = 0.5, `csmpu-abs`; the paper has {} seeds of {} epochs). The two columns on the right say how far \
             a loss is from the constant-sum condition on a grid of z from -10 to 10 in single precision; they do not \
             depend on training. The paper's `sigmoid_prob` row (0.85) and its Table II (90.59 %) are the same \
             cell.",
            FULL.0, FULL.1
        )],
        table: Some(table),
        notes,
        ..Section::new("loss-variants", "Loss variants")
    })
}

fn compared(group: Option<&CellRuns<'_>>, published: Spread, score: fn(&Scores) -> f64) -> Cell {
    match group {
        None => Cell::new("missing").with_detail(format!("({})", published.show(2))),
        Some(group) => {
            let ours = group.spread(1.0, score);
            let difference = signed(ours.mean - published.mean, 3);
            let detail = format!("({}; {difference})", published.show(2));
            Cell::new(ours.show(3)).with_detail(detail)
        }
    }
}

fn diagnostic(ours: Option<f64>, published: f64) -> Cell {
    let ours = ours.map_or("missing".to_owned(), deviation);
    Cell::new(ours).with_detail(format!("({})", deviation(published)))
}

/// Two decimals, or powers of ten where those would hide the value.
fn deviation(value: f64) -> String {
    if value == 0.0 || value >= 0.005 {
        format!("{value:.2}")
    } else {
        format!("{value:.2e}")
    }
}
