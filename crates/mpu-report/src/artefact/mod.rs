//! The paper's artefacts from records of runs: tables, an overview, and whole documents of them.
//!
//! Everything here is a function of the records: no clock, no files, no environment. The same records
//! in another order give the same bytes.
//!
//! Figures choose the records of a cell by the same rule: those of one epoch count, the largest there is,
//! and of one recipe; records that differ in anything but their seed are never mixed. Records are told apart
//! by [`crate::RunKey`] and their configuration; runs of other studies (wrong priors, say) should not be
//! handed in.

mod accuracy;
mod losses;
mod macro_f1;
mod missing;
mod overview;
pub mod rates;
pub mod rivals;
mod self_training;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::page::{self, Section, Tables};
use crate::record::Record;
use crate::stats::Spread;

pub use accuracy::{
    ADDED_METHODS, AccuracyRow, MethodEntry, Outcome, PAPER_METHODS, Source,
    cells as accuracy_cells, rows as accuracy_rows, section as accuracy_table,
};
pub use losses::section as loss_table;
pub use macro_f1::section as macro_f1_table;
pub use missing::section as missing_cells;
pub use overview::{baselines, section as overview};
pub use self_training::section as self_training;
pub use summary::section as summary;

/// The paper's method.
const PAPERS: &str = "csmpu-abs";
/// The best of the paper's six in most rows, as we run them.
const RIVAL: &str = "biased-super";
/// The method that users should pick.
const OURS: &str = "csmpu-st";

/// A mean difference to published cells of so many points is called near.
const NEAR: f64 = 3.0;

/// The title of every document made here.
const TITLE: &str = "Results: cost-sensitive multi-class positive-unlabelled learning";

/// What the caller knows beyond the records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// Why cells of a dataset are missing and how to get them, by the dataset's slug.
    pub how_to_get: BTreeMap<String, String>,
    /// For each row of [`crate::paper::loss_variants`] the largest deviation from the constant-sum
    /// condition and its 99th percentile, as measured here.
    pub constant_sums: Vec<(f64, f64)>,
    /// Runs that chose their learning rate, where the others were given theirs.
    pub swept: Vec<Record>,
    /// What all runs took, those of no table among them.
    pub cost: Cost,
    /// Sections to put after the tables, such as figures; slugs must differ from those of the tables.
    pub further: Vec<Section>,
}

impl Context {
    fn how_to_get(&self, dataset: &str) -> &str {
        let how = self.how_to_get.get(dataset);
        how.map_or("not run yet", String::as_str)
    }
}

/// What runs took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// How many there are.
    pub runs: usize,
    /// Hours by the clock times threads.
    pub core_hours: f64,
}

impl Cost {
    /// That of some runs; the sum is rounded in their order.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut cost = Self::default();
        for record in records {
            cost.runs += 1;
            cost.core_hours += record.seconds * record.threads as f64 / 3600.0;
        }
        cost
    }
}

/// A published mean and deviation.
fn published(mean: f64, std: f64) -> Spread {
    let std = Some(std);
    Spread { mean, std }
}

/// A file to be written: its name and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The file's name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Every section in the order of the documents, the summary first.
pub fn sections(records: &[Record], context: &Context) -> Result<Vec<Section>> {
    let rows = accuracy_rows(records)?;
    let summary = summary(records, context, &rows);
    let mut sections = vec![summary, overview(&rows), baselines(&rows)];
    sections.extend(self_training(&rows));
    sections.extend(rivals::section(records, &rows));
    sections.extend([1, 2, 3].map(|table| accuracy_table(&rows, table)));
    sections.push(loss_table(records, context)?);
    sections.push(macro_f1_table(records, context)?);
    sections.extend(rates::section(records, &context.swept));
    sections.extend(context.further.iter().cloned());
    sections.extend(missing_cells(&rows, context));
    Ok(sections)
}

/// All documents: `RESULTS.md`, `results.html`, each table as `.tex` and `.csv` under its section's
/// slug, and `accuracy-cells.csv` with every cell of Tables I–III as plain numbers.
pub fn documents(records: &[Record], context: &Context) -> Result<Vec<Document>> {
    let sections = sections(records, context)?;
    let document = |name: String, text: String| Document { name, text };
    let mut documents = vec![
        document("RESULTS.md".to_owned(), page::to_md(TITLE, &sections)),
        document(
            "results.html".to_owned(),
            page::render(TITLE, Tables::Numbers, &sections),
        ),
    ];
    for section in &sections {
        if let Some(table) = &section.table {
            let name = |extension: &str| format!("{}.{extension}", section.slug);
            documents.push(document(name("tex"), table.to_latex()));
            documents.push(document(name("csv"), table.to_csv()?));
        }
    }
    let cells = accuracy_cells(&accuracy_rows(records)?).to_csv()?;
    documents.push(document("accuracy-cells.csv".to_owned(), cells));
    Ok(documents)
}
