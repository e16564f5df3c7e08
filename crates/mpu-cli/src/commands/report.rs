//! `mpu-cli report`: one page about one run, or about several side by side.

use std::path::{Path, PathBuf};

use mpu_report::run_report::{self, RunReport};

use crate::args::report::{ReportArgs, ReportFormat};
use crate::commands::Answer;
use crate::commands::export::replace;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Answer> {
    let (data, options) = (args.rows.data.as_deref(), args.rows.options());
    let runs = args.runs.iter();
    let runs = runs.map(|run| mpu::run_report::of_folder(run, data, &options));
    let runs = runs.collect::<mpu::Result<Vec<RunReport>>>()?;
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
