//! `mpu-cli reproduce`: the paper's tables and figures, ours beside theirs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mpu_data::DatasetId;
use mpu_data::source::resolve::{Locations, Network, status};
use mpu_report::artefact::{self, Context, Cost};
use mpu_report::figures::{Drawn, HeatMaps, Misspecification, PriorSweep, TrainingCurves};
use mpu_report::store::Store;
use mpu_report::{Record, Section};

use crate::args::runs::{Artefact, EngineKind, Pack, Reproduce};
use crate::commands::{Answer, losses, runs, submit};
use crate::misspecification::Study;
use crate::plan::Planned;
use crate::reproduction::{self, Setting};
use mpu::files;

pub(crate) fn run(args: &Reproduce) -> anyhow::Result<Answer> {
    let planned = reproduction::runs(args)?;
    let locations = args.place.locations();
    let stored = Store::read_only(&args.out).records()?;
    let absent = absent(&planned, &stored, &locations, args.fetch);
    let (here, away): (Vec<Planned>, Vec<Planned>) = planned.into_iter().partition(|run| {
        stored.contains_key(&run.id) || !absent.contains_key(run.config.data.dataset.slug())
    });
    let mut text = String::new();
    if !args.report_only {
        if args.engine == EngineKind::Slurm {
            let answer = submit::submit(&args.out, &here, &args.slurm, &args.place)?;
            return Ok(answer);
        }
        let (mut tally, before) = runs::make(&args.out, &here, &args.local, &locations)?;
        // Which wrong priors are worst is known only when the runs with the true ones are there.
        let study = Study::asked(args, &Store::read_only(&args.out).records()?)?;
        let shifted = study.runs();
        let more = runs::make(&args.out, &shifted, &args.local, &locations)?;
        let before = before + more.1;
        tally.trained += more.0.trained;
        tally.failed += more.0.failed;
        let n_needed = here.len() + away.len() + shifted.len();
        writeln!(
            text,
            "runs: {} needed, {before} were there, {} trained, {} failed, {} not possible here",
            n_needed,
            tally.trained,
            tally.failed,
            away.len()
        )?;
    }
    for (dataset, reason) in &absent {
        writeln!(text, "missing: {dataset}: {reason}")?;
    }
    text += &report(args, &absent)?;
    Ok(Answer::good(text))
}

/// Writes every document and figure from the records of the store; gives the tables that were asked for.
fn report(args: &Reproduce, absent: &BTreeMap<&'static str, String>) -> anyhow::Result<String> {
    let setting = Setting::of(args);
    let stored = Store::read_only(&args.out).records()?;
    let study = Study::stored(args, &stored)?.figure(&stored)?;
    let cost = Cost::of(stored.values());
    let (mut records, mut swept) = (Vec::new(), Vec::new());
    for record in stored.into_values() {
        if setting.owns(&record) {
            records.push(record);
        } else if record.key.swept && setting.swept().owns(&record) {
            swept.push(record);
        }
    }
    let wanted = reproduction::artefacts(args);
    let mut further = Vec::new();
    for (artefact, slug, title) in FIGURES {
        // A figure that was drawn before stays in the documents.
        let is_there = args.out.join(format!("figures/{slug}.svg")).exists();
        if is_there || wanted.contains(&artefact) {
            let drawn = draw(artefact, &records, &study);
            further.push(figure(args, slug, title, &drawn)?);
        }
    }
    let how = absent.iter();
    let how = how.map(|(dataset, how)| ((*dataset).to_owned(), how.clone()));
    let context = Context {
        how_to_get: how.collect(),
        constant_sums: losses::measured()?,
        swept,
        cost,
        further,
    };
    std::fs::create_dir_all(&args.out)?;
    for document in artefact::documents(&records, &context)? {
        files::write_atomic(&args.out.join(&document.name), document.text.as_bytes())?;
    }
    let mut text = String::new();
    for section in artefact::sections(&records, &context)? {
        let mut asked = wanted.iter().map(|artefact| slug(*artefact));
        let asked = asked.any(|slug| slug == section.slug);
        if let Some(table) = section.table.as_ref().filter(|_| asked) {
            writeln!(text, "\n{}\n{}", section.title, table.to_terminal())?;
        }
    }
    writeln!(text, "\nwritten: {}", args.out.join("RESULTS.md").display())?;
    writeln!(text, "written: {}", args.out.join("results.html").display())?;
    Ok(text)
}

/// The figures.
const FIGURES: [(Artefact, &str, &str); 4] = [
    (
        Artefact::Figure1,
        "figure1",
        "Figure 1: loss and accuracy against epochs",
    ),
    (
        Artefact::Figure2,
        "figure2",
        "Figure 2: scores against the prior of the negative class",
    ),
    (Artefact::Figure3, "figure3", "Figure 3: wrong priors"),
    (
        Artefact::Figure4,
        "figure4",
        "Figure 4: margins and support by class",
    ),
];

fn draw(artefact: Artefact, records: &[Record], study: &Misspecification) -> Drawn {
    match artefact {
        Artefact::Figure3 => study.draw(),
        Artefact::Figure1 => TrainingCurves::default().draw(records),
        Artefact::Figure2 => PriorSweep::default().draw(records),
        _ => HeatMaps::default().draw(records),
    }
}

/// Writes a figure as SVG, and as PNG where this program was built with it.
fn figure(args: &Reproduce, slug: &str, title: &str, drawn: &Drawn) -> anyhow::Result<Section> {
    let folder = args.out.join("figures");
    std::fs::create_dir_all(&folder)?;
    let svg = drawn.svg();
    files::write_atomic(&folder.join(format!("{slug}.svg")), svg.as_bytes())?;
    #[cfg(feature = "png")]
    {
        let png = mpu_report::chart::png(&svg, 2.0)?;
        files::write_atomic(&folder.join(format!("{slug}.png")), &png)?;
    }
    let mut section = Section::new(slug, title);
    section.images.push(format!("figures/{slug}.svg"));
    let missing = drawn.missing.iter();
    section.notes = missing.map(|lack| format!("missing: {lack}")).collect();
    section.figures.push(drawn.figure.to_html());
    Ok(section)
}

/// The slug of a table's section.
fn slug(artefact: Artefact) -> &'static str {
    match artefact {
        Artefact::Table1 => "table-1",
        Artefact::Table2 => "table-2",
        Artefact::Table3 => "table-3",
        Artefact::Losses => "loss-variants",
        Artefact::MacroF1 => "macro-f1",
        Artefact::Rivals => "rivals",
        Artefact::Rates => "rates",
        _ => "",
    }
}

/// The datasets of runs without a record that cannot be had now, and what to do about it.
fn absent(
    runs: &[Planned],
    stored: &BTreeMap<String, Record>,
    locations: &Locations,
    fetch: bool,
) -> BTreeMap<&'static str, String> {
    let mut absent = BTreeMap::new();
    for id in DatasetId::ALL {
        let needs = |run: &Planned| run.config.data.dataset == id && !stored.contains_key(&run.id);
        let needed = runs.iter().any(needs);
        let here = status(id, locations).here.is_some();
        let can = fetch && locations.network != Network::Offline;
        if needed && !here && !can {
            let slug = id.slug();
            let how = format!(
                "not here; get it with `mpu-cli data fetch {slug}`, or name a folder that has it with --data-dir"
            );
            absent.insert(slug, how);
        }
    }
    absent
}

/// Packs the records of a store into one file a dataset, without what no figure needs.
pub(crate) fn pack(args: &Pack) -> anyhow::Result<Answer> {
    anyhow::ensure!(
        args.out.is_dir(),
        "there is no store in {}\nhint: name the folder that `mpu-cli run` or `mpu-cli reproduce` wrote to",
        args.out.display()
    );
    let store = Store::open(&args.out)?;
    let bundles = store.pack(|mut record| {
        if !needed_by_a_figure(&record) {
            record.curves = None;
            record.heat = None;
        }
        record
    })?;
    let mut text = String::new();
    for (path, runs) in bundles {
        writeln!(text, "{}: {runs} runs", path.display())?;
    }
    Ok(Answer::good(text))
}

/// Figures 1 and 4 draw single runs of the paper's method at k = 4 and π_k = 0.2.
fn needed_by_a_figure(record: &Record) -> bool {
    let key = &record.key;
    key.method == "csmpu-abs" && key.classes == 4 && key.prior == 0.2
}
