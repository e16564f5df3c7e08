//! `mpu-cli report`: one page about one run, or about several side by side.

use std::path::{Path, PathBuf};

use mpu::RunFolder;
use mpu::run_report::of_record;
use mpu_report::run_report::{self, RunReport};

use crate::args::report::{ReportArgs, ReportFormat};
use crate::commands::Answer;
use crate::commands::export::replace;
use crate::commands::runs::records_in;

/// How many runs of a store stand side by side at most.
const MOST: usize = 20;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Answer> {
    let runs = args.runs.iter().map(|path| reports(args, path));
    let runs = runs.collect::<anyhow::Result<Vec<_>>>()?.concat();
    let text = match args.format {
        ReportFormat::Html => run_report::to_html(&runs),
        ReportFormat::Md => run_report::to_md(&runs),
        ReportFormat::Json => run_report::to_json(&runs)?,
    };
    let Some(path) = place(args) else {
        return Ok(Answer::good(text));
    };
    replace(&path, text.as_bytes(), args.force, is_report)?;
    Ok(Answer::good(format!("report: {}\n", path.display())))
}

/// The report of a run's folder, or those of a store.
fn reports(args: &ReportArgs, path: &Path) -> anyhow::Result<Vec<RunReport>> {
    let data = args.rows.data.as_deref();
    if RunFolder::open(path).is_ok() {
        let report = mpu::run_report::of_folder(path, data, &args.rows.options()?)?;
        return Ok(vec![report]);
    }
    let place = path.display();
    let mut records = records_in(path)?;
    anyhow::ensure!(
        data.is_none(),
        "--data needs the model of a run, and {place} is a store, which keeps records only\nhint: name the folder of a run, made by `mpu-cli train`"
    );
    if !args.id.is_empty() {
        for id in &args.id {
            anyhow::ensure!(
                records.iter().any(|record| record.id.starts_with(id)),
                "{place} has no run with the id `{id}`\nhint: `mpu-cli plan SWEEP` shows the ids of a sweep's runs"
            );
        }
        records.retain(|record| args.id.iter().any(|id| record.id.starts_with(id)));
    }
    let n = records.len();
    anyhow::ensure!(
        n <= MOST,
        "{place}: {n} runs do not fit on one page, {MOST} do\nhint: choose runs with --id; `mpu-cli plan SWEEP` shows the ids of a sweep's runs"
    );
    Ok(records.iter().map(of_record).collect())
}

/// Where the report goes; none for standard output.
fn place(args: &ReportArgs) -> Option<PathBuf> {
    let usual = || match (args.format, args.runs.as_slice()) {
        (ReportFormat::Html, [run]) => Some(run.join("report.html")),
        (ReportFormat::Html, _) => Some(Path::new("report.html").to_owned()),
        _ => None,
    };
    args.out.clone().or_else(usual)
}

/// Whether a file is a report that was written here.
fn is_report(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    let html = head.contains("<title>Run report") || head.contains("<title>Report of ");
    let md = head.starts_with("# Run report") || head.starts_with("# Report of ");
    let json = head.starts_with("[\n") && head.contains("\"facts\"");
    html || md || json
}
