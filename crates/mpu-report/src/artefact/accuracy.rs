//! Tables I–III: accuracy by dataset, number of classes and prior.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use super::published;
use crate::cell::{CellRuns, FULL, MAIN_LOSS, ORACLE, Wanted, shortfall};
use crate::error::Result;
use crate::page::Section;
use crate::paper;
use crate::record::{Record, RunKey, Scores};
use crate::stats::Spread;
use crate::table::{Cell, Table};
use crate::wording::signed;

/// The six methods of the paper, in its order.
pub const PAPER_METHODS: [&str; 6] = [
    "csmpu-abs",
    "csmpu-nn",
    "csmpu-ure",
    "area",
    "biased-super",
    "ure-ovr",
];

/// What we add to them; the last one sees the true labels.
pub const ADDED_METHODS: [&str; 8] = [
    "csmpu-exact-abs",
    "csmpu-exact-nn",
    "csmpu-exact-ure",
    "csmpu-ref-abs",
    "csmpu-ref-nn",
    "csmpu-ref-ure",
    "csmpu-st",
    ORACLE,
];

/// Two methods of the paper with the same gradients if the surrogate's two sides sum to a constant, as those of the main
/// loss do. Runs of the first may stand for the second.
const TWINS: [&str; 2] = ["area", "ure-ovr"];

/// How far apart two runs of such methods may be, as a share of the test rows.
const SAME: f64 = 0.005;

/// The cell whose runs stand for those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// That of a method with the same gradients.
    Method(&'static str),
    /// That of the oracle at another prior, where it sees the same rows and so ends as the same network, bit for bit.
    Prior(f64),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(method) => write!(f, "{method}"),
            Self::Prior(prior) => write!(f, "π_k = {prior}"),
        }
    }
}

/// What the runs of a cell gave, in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The other cell whose runs these are.
    pub carried_from: Option<Source>,
    /// How many seeds.
    pub n: usize,
    /// Epochs of each.
    pub epochs: usize,
    /// The rows of a batch, where the configuration says so.
    pub batch: Option<u64>,
    /// The learning rate; none where each seed chose its own on held-out rows.
    pub rate: Option<f64>,
    /// Accuracy at the last epoch.
    pub accuracy: Spread,
    /// Mean accuracy of the last ten epochs.
    pub last_ten: f64,
    /// Mean macro-F1 at the last epoch.
    pub f1: f64,
    /// Mean accuracy with prior-shift correction, where every run has it.
    pub shifted: Option<f64>,
    /// Mean calibration error in points, where every run has it.
    pub calibration_error: Option<f64>,
    /// How the data differ from the published ones, if they do.
    pub data_mark: Option<String>,
    /// Records of the same cell with other epochs or settings, left out.
    pub left_out: usize,
}

/// A method in a row: what was published and what we found.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodEntry {
    /// The method's slug.
    pub method: &'static str,
    /// What was published in percent; none of what we add.
    pub published: Option<Spread>,
    /// What our runs gave; none if there are none.
    pub found: Option<Outcome>,
}

/// A row of Tables I–III.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyRow {
    /// 1, 2 or 3.
    pub table: u8,
    /// The prior of the negative class.
    pub prior: f64,
    /// The dataset's slug.
    pub dataset: String,
    /// The number of classes.
    pub classes: usize,
    /// The six methods of the paper, then what we add.
    pub entries: Vec<MethodEntry>,
    /// What the oracle gave with the recipe of `csmpu-st`.
    pub same_recipe: Option<Outcome>,
}

impl AccuracyRow {
    /// What our runs of a method gave.
    pub fn found(&self, method: &str) -> Option<&Outcome> {
        self.entry(method)?.found.as_ref()
    }

    /// The same where the data are the published ones: other data say nothing of the published cells.
    pub fn comparable(&self, method: &str) -> Option<&Outcome> {
        self.found(method).filter(|o| o.data_mark.is_none())
    }

    /// How far a method lies below the better of the two oracles.
    pub fn gap(&self, method: &str) -> Option<f64> {
        Some(self.limit()?.accuracy.mean - self.found(method)?.accuracy.mean)
    }

    /// The better of the two oracles: what a method is measured against.
    pub fn limit(&self) -> Option<&Outcome> {
        let oracles = self.found(ORACLE).into_iter().chain(&self.same_recipe);
        oracles.max_by(|a, b| a.accuracy.mean.total_cmp(&b.accuracy.mean))
    }

    /// What was published of a method.
    pub fn published(&self, method: &str) -> Option<Spread> {
        self.entry(method)?.published
    }

    /// Our means of the six methods of the paper, in its order; none unless all are there.
    pub fn complete(&self) -> Option<Vec<f64>> {
        let means = PAPER_METHODS.map(|method| self.found(method).map(|o| o.accuracy.mean));
        means.into_iter().collect()
    }

    fn entry(&self, method: &str) -> Option<&MethodEntry> {
        self.entries.iter().find(|e| e.method == method)
    }

    /// The best of our means of the paper's methods; none unless there are two to compare.
    fn best(&self) -> Option<f64> {
        let found = PAPER_METHODS.iter().filter_map(|method| self.found(method));
        let means: Vec<f64> = found.map(|o| o.accuracy.mean).collect();
        (means.len() > 1).then(|| means.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    fn is_best(&self, entry: &MethodEntry) -> bool {
        let mean = entry.found.as_ref().map(|o| o.accuracy.mean);
        PAPER_METHODS.contains(&entry.method) && mean.is_some() && mean == self.best()
    }

    fn marks(&self) -> BTreeSet<&str> {
        let outcomes = self.entries.iter().filter_map(|e| e.found.as_ref());
        outcomes.filter_map(|o| o.data_mark.as_deref()).collect()
    }
}

/// The 66 rows in the paper's order, each with all methods.
pub fn rows(records: &[Record]) -> Result<Vec<AccuracyRow>> {
    let cells = paper::accuracy_cells()?;
    let same_row = |a: &paper::AccuracyCell, b: &paper::AccuracyCell| {
        (a.table, &a.dataset, a.k) == (b.table, &b.dataset, b.k)
    };
    let row = |cells: &[paper::AccuracyCell]| {
        let first = &cells[0];
        let recipe = Wanted::same_recipe(&first.dataset, first.k, first.pi_k);
        let entry = |method: &&'static str| {
            let cell = cells.iter().find(|c| c.method == *method);
            let wanted = Wanted::usual(&first.dataset, first.k, first.pi_k, method);
            MethodEntry {
                method,
                published: cell.map(|c| published(c.accuracy_mean, c.accuracy_std)),
                found: found(records, &wanted),
            }
        };
        AccuracyRow {
            table: first.table,
            prior: first.pi_k,
            dataset: first.dataset.clone(),
            classes: first.k,
            entries: PAPER_METHODS
                .iter()
                .chain(&ADDED_METHODS)
                .map(entry)
                .collect(),
            same_recipe: CellRuns::choose(records, &recipe).map(|runs| outcome(&runs)),
        }
    };
    Ok(cells.chunk_by(same_row).map(row).collect())
}

/// What the runs of a cell gave, or those of a cell with the same outcome if they have more epochs or seeds.
fn found(records: &[Record], wanted: &Wanted<'_>) -> Option<Outcome> {
    let own = CellRuns::choose(records, wanted);
    let size = |runs: &CellRuns<'_>| (runs.epochs(), runs.n());
    let more = |(_, others): &(Source, CellRuns<'_>)| {
        own.as_ref()
            .is_none_or(|own| own.mark() == others.mark() && size(own) < size(others))
    };
    let others = same_outcome(records, wanted).into_iter();
    let others = others.filter_map(|(source, cell)| {
        let runs = CellRuns::choose(records, &cell)?;
        Some((source, runs))
    });
    // The first of those that have most.
    let most = others
        .filter(more)
        .reduce(|a, b| if size(&b.1) > size(&a.1) { b } else { a });
    match most {
        Some((source, others)) => Some(Outcome {
            carried_from: Some(source),
            ..outcome(&others)
        }),
        None => own.map(|runs| outcome(&runs)),
    }
}

/// The cells whose runs end as those of `wanted` do, as far as the records show it.
fn same_outcome<'a>(records: &[Record], wanted: &Wanted<'a>) -> Vec<(Source, Wanted<'a>)> {
    let [first, second] = TWINS;
    match wanted.method {
        method if method == second && are_twins(records, wanted.dataset) => {
            let cell = Wanted {
                method: first,
                ..*wanted
            };
            vec![(Source::Method(first), cell)]
        }
        ORACLE => paper::PRIORS
            .into_iter()
            .filter(|prior| *prior != wanted.prior)
            .map(|prior| (Source::Prior(prior), Wanted { prior, ..*wanted }))
            .filter(|(_, other)| is_same_network(records, wanted, other))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether the oracle ends as the same network at two priors: runs of one seed on one machine are there, and none
/// of them differ in a bit.
fn is_same_network(records: &[Record], wanted: &Wanted<'_>, other: &Wanted<'_>) -> bool {
    let of = |cell: &Wanted<'_>| -> Vec<&Record> {
        let fits = |r: &&Record| cell.fits(r) && !r.model_sha256.is_empty();
        records.iter().filter(fits).collect()
    };
    let (own, others) = (of(wanted), of(other));
    let pairs = own.iter().flat_map(|a| {
        let same = |b: &&&Record| {
            let prior = b.key.prior;
            let key = a.key.clone();
            RunKey { prior, ..key } == b.key && (&a.program, &a.machine) == (&b.program, &b.machine)
        };
        let equal = |b: &&Record| a.model_sha256 == b.model_sha256;
        others.iter().filter(same).map(equal).collect::<Vec<_>>()
    });
    pairs.reduce(|all, equal| all && equal) == Some(true)
}

/// Whether runs of a dataset say so: there is a pair with the same setting and seed, and no pair is apart. Another version of the
/// program rounds otherwise, which a hundred epochs can make points of.
fn are_twins(records: &[Record], dataset: &str) -> bool {
    let [first, second] = TWINS.map(|method| {
        let of = |r: &&Record| r.key.dataset == dataset && r.key.method == method;
        records.iter().filter(of).collect::<Vec<_>>()
    });
    let pairs = first.iter().flat_map(|a| {
        let same = |b: &&&Record| {
            let method = b.key.method.clone();
            let key = a.key.clone();
            RunKey { method, ..key } == b.key
                && a.split_digest == b.split_digest
                && a.program == b.program
        };
        second.iter().filter(same).map(|b| (*a, *b))
    });
    let apart = pairs.filter_map(|(a, b)| {
        let (a, b) = (a.scores.as_ref()?, b.scores.as_ref()?);
        Some((a.accuracy - b.accuracy).abs())
    });
    apart.reduce(f64::max).is_some_and(|apart| apart <= SAME)
}

pub(super) fn outcome(runs: &CellRuns<'_>) -> Outcome {
    let mean = |score: fn(&Scores) -> f64| runs.spread(100.0, score).mean;
    // A run without the score makes the mean no number.
    let known = |score: fn(&Scores) -> f64| Some(mean(score)).filter(|mean| mean.is_finite());
    Outcome {
        carried_from: None,
        n: runs.n(),
        epochs: runs.epochs(),
        batch: runs.batch(),
        rate: runs.rate(),
        accuracy: runs.spread(100.0, |s| s.accuracy),
        last_ten: mean(|s| s.accuracy_last_ten),
        f1: mean(|s| s.f1),
        shifted: known(|s| s.shifted_accuracy.unwrap_or(f64::NAN)),
        calibration_error: known(|s| s.calibration_error.unwrap_or(f64::NAN)),
        data_mark: runs.mark().map(str::to_owned),
        left_out: runs.left_out,
    }
}

/// Footnotes in the order they are first needed.
#[derive(Default)]
struct Footnotes(Vec<String>);

impl Footnotes {
    /// The mark of a text: `a`, `b`, …, `z`, `aa`, ….
    fn mark(&mut self, text: String) -> String {
        let known = self.0.iter().position(|t| *t == text);
        let index = known.unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        let letter = char::from(b'a' + (index % 26) as u8);
        letter.to_string().repeat(index / 26 + 1)
    }

    fn notes(self) -> Vec<String> {
        let mut marks = Self::default();
        let note = |text: String| format!("mark [{}]: {text}", marks.mark(text.clone()));
        self.0.into_iter().map(note).collect()
    }
}

/// Table I, II or III (`table` 1, 2, 3) from [`rows`].
pub fn section(rows: &[AccuracyRow], table: u8) -> Section {
    let rows: Vec<&AccuracyRow> = rows.iter().filter(|row| row.table == table).collect();
    let prior = rows.first().map_or(f64::NAN, |row| row.prior);
    let numeral = "I".repeat(usize::from(table));
    let ours = ADDED_METHODS.map(|method| match method {
        ORACLE => format!("ours: {method} (oracle):"),
        _ => format!("ours: {method}:"),
    });
    let (paper, ours) = (PAPER_METHODS.join(": | "), ours.join(" | "));
    let mut out = Table::with(&format!("dataset | k: | {paper}: | {ours}"));
    let mut footnotes = Footnotes::default();
    for row in &rows {
        let marks: Vec<&str> = row.marks().into_iter().collect();
        let marks = (!marks.is_empty()).then(|| format!("data: {}", marks.join("; ")));
        let name = Cell::new(&row.dataset).with_any_detail(marks);
        let entries = row.entries.iter();
        let entries = entries.map(|entry| cell(row, entry, &mut footnotes));
        out.push(
            [name, Cell::new(row.classes.to_string())]
                .into_iter()
                .chain(entries),
        );
    }
    let outcomes = rows.iter().flat_map(|row| &row.entries);
    let outcomes: Vec<Option<&Outcome>> = outcomes.map(|e| e.found.as_ref()).collect();
    let left_out: usize = outcomes.iter().flatten().map(|o| o.left_out).sum();
    let missing = outcomes.iter().filter(|o| o.is_none()).count();
    let mut notes = footnotes.notes();
    let swept = outcomes.iter().flatten().filter(|o| o.rate.is_none());
    notes.extend(rates(swept.count(), outcomes.len() - missing));
    if left_out > 0 {
        notes.push(format!(
            "{left_out} records of these cells with fewer epochs, other settings or other data are left out"
        ));
    }
    if missing > 0 {
        notes.push(format!(
            "{missing} of {} cells are missing; the section on missing cells says how to get them",
            outcomes.len()
        ));
    }
    let (seeds, epochs) = FULL;
    Section {
        paragraphs: vec![format!(
            "Test accuracy in percent at the last epoch, mean ± sample standard deviation over seeds; n = {seeds} \
             seeds of {epochs} epochs where no mark says otherwise. Below it the published cell and ours less \
             published. Bold is the largest of our means among the paper's six methods that are there. Columns \
             headed \"ours\" are not in the paper's table; `supervised` sees every true label and is a limit, not \
             a competitor. Every method but `supervised` uses the surrogate `{}`, γ = {:.0}, {}.",
            MAIN_LOSS.0, MAIN_LOSS.1, MAIN_LOSS.2
        )],
        table: Some(out),
        notes,
        ..Section::new(
            format!("table-{table}"),
            format!("Table {numeral}: accuracy at π_k = {prior}"),
        )
    }
}

/// Where the learning rates come from, if there are runs at all.
fn rates(swept: usize, all: usize) -> Option<String> {
    let note = match swept {
        0 => "the learning rate is given in every cell".to_owned(),
        n if n == all => {
            "every run chose its learning rate on held-out rows, without hidden labels".to_owned()
        }
        n => format!(
            "in {n} of {all} cells every run chose its learning rate on held-out rows, without hidden labels; in the \
             others it is given"
        ),
    };
    (all > 0).then_some(note)
}

fn cell(row: &AccuracyRow, entry: &MethodEntry, footnotes: &mut Footnotes) -> Cell {
    let Some(found) = &entry.found else {
        let published = entry
            .published
            .map(|spread| format!("({})", spread.show(2)));
        return Cell::new("missing").with_any_detail(published);
    };
    let mut text = found.accuracy.show(2);
    let carried = found.carried_from.map(|source| match source {
        Source::Method(method) => format!("runs of `{method}`, which has the same gradients"),
        Source::Prior(_) => {
            format!("runs at {source}, which see the same rows and end as the same network")
        }
    });
    let short = shortfall(found.n, found.epochs, found.batch);
    let note: Vec<String> = short.into_iter().chain(carried).collect();
    if !note.is_empty() {
        let _ = write!(text, " [{}]", footnotes.mark(note.join("; ")));
    }
    let published = entry.published.map(|published| {
        let difference = signed(found.accuracy.mean - published.mean, 2);
        format!("({}; {difference})", published.show(2))
    });
    let cell = Cell::new(text).emphasised_if(row.is_best(entry));
    cell.with_any_detail(published)
}

/// Every cell as a row of plain numbers, for programs; what is missing is empty.
pub fn cells(rows: &[AccuracyRow]) -> Table {
    let mut table = Table::with(
        "table | prior | dataset | classes | method | in-paper | n | epochs | batch | lr | mean | \
         std | last-ten-mean | best | published-mean | published-std | difference | data-mark | \
         carried-from",
    );
    let number = |value: Option<f64>| value.map(|v| format!("{v:.4}")).unwrap_or_default();
    let yes = |condition: bool| if condition { "yes" } else { "no" }.to_owned();
    for row in rows {
        for entry in &row.entries {
            let found = entry.found.as_ref();
            let published = entry.published;
            let accuracy = found.map(|o| o.accuracy);
            let difference = accuracy
                .zip(published)
                .map(|(ours, theirs)| ours.mean - theirs.mean);
            table.push([
                row.table.to_string(),
                row.prior.to_string(),
                row.dataset.clone(),
                row.classes.to_string(),
                entry.method.to_owned(),
                yes(published.is_some()),
                found.map_or(0, |o| o.n).to_string(),
                found.map(|o| o.epochs.to_string()).unwrap_or_default(),
                found
                    .and_then(|o| o.batch)
                    .map(|rows| rows.to_string())
                    .unwrap_or_default(),
                found
                    .map(|o| o.rate.map_or("swept".to_owned(), |lr| format!("{lr:e}")))
                    .unwrap_or_default(),
                number(accuracy.map(|a| a.mean)),
                number(accuracy.and_then(|a| a.std)),
                number(found.map(|o| o.last_ten)),
                yes(row.is_best(entry)),
                number(published.map(|p| p.mean)),
                number(published.and_then(|p| p.std)),
                number(difference),
                found.and_then(|o| o.data_mark.clone()).unwrap_or_default(),
                found
                    .and_then(|o| o.carried_from)
                    .map(|source| source.to_string())
                    .unwrap_or_default(),
            ]);
        }
    }
    table
}
