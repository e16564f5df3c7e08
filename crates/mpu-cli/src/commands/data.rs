//! `mpu-cli data`: what is here, whether it is as published, and getting what is not.

use std::fmt::Write as _;

use mpu_data::DatasetId;
use mpu_data::source::resolve::status;
use mpu_data::source::unpack::Limit;
use mpu_data::source::verify::{FileCheck, Verification, verify};
use mpu_data::source::{acquire, resolve};
use mpu_report::{Format, Table, render};
use serde::Serialize;

use crate::args;
use crate::commands::Answer;
use crate::console::Downloads;

pub(crate) fn list(args: &args::DataList) -> anyhow::Result<Answer> {
    #[derive(Serialize)]
    struct DatasetStatus {
        name: &'static str,
        rows: usize,
        shape: String,
        classes: usize,
        source: String,
        here: bool,
        citation: &'static str,
        licence: &'static str,
    }
    let locations = args.place.locations();
    let mut table = Table::with("name | rows: | shape: | classes: | here | source");
    let mut rows = Vec::new();
    for id in DatasetId::ALL {
        let (card, status) = (id.card(), status(id, &locations));
        let here = status.here.is_some();
        table.push([
            id.slug().to_owned(),
            card.n_rows().to_string(),
            card.shape.to_string(),
            card.n_classes().to_string(),
            if here { "yes" } else { "no" }.to_owned(),
            status.source.clone(),
        ]);
        rows.push(DatasetStatus {
            name: id.slug(),
            rows: card.n_rows(),
            shape: card.shape.to_string(),
            classes: card.n_classes(),
            source: status.source,
            here,
            citation: card.citation,
            licence: card.licence,
        });
    }
    Ok(Answer::good(render(args.report.format, &table, &rows)?))
}

pub(crate) fn check(args: &args::DataVerify) -> anyhow::Result<Answer> {
    let locations = args.place.locations();
    let asked = if args.names.is_empty() {
        DatasetId::ALL.to_vec()
    } else {
        args.names.clone()
    };
    let mut verified: Vec<Verification> = Vec::new();
    let (mut text, mut all_good) = (String::new(), true);
    for id in asked {
        let here = resolve::locate(id, &locations).is_some() || id == DatasetId::Waveform1;
        if !here && args.names.is_empty() {
            let _ = writeln!(text, "{id}: not here");
            continue;
        }
        match verify(id, &locations, Limit::DEFAULT) {
            Ok(found) => {
                text += &describe(&found);
                verified.push(found);
            }
            Err(error) => {
                all_good = false;
                let _ = writeln!(text, "{id}: FAILED: {error}");
            }
        }
    }
    if args.report.format == Format::Json {
        text = serde_json::to_string_pretty(&verified)? + "\n";
    }
    Ok(Answer {
        text,
        good: all_good,
    })
}

fn describe(found: &Verification) -> String {
    let verdict = if found.is_as_published() {
        "as published"
    } else {
        "usable, with a mark"
    };
    let mut text = format!("{}: {verdict} ({})\n", found.id, found.origin.slug());
    for file in &found.files {
        let check = match file.check {
            FileCheck::SameBytes => "checksum holds",
            FileCheck::SameRows => "packed otherwise, same rows",
            FileCheck::SameCounts => "packed otherwise, same counts",
            FileCheck::Differs => "differs from the published file",
        };
        let _ = writeln!(text, "  {}: {} bytes, {check}", file.name, file.size);
    }
    for part in &found.parts {
        let total: usize = part.class_counts.iter().sum();
        let _ = writeln!(
            text,
            "  {}: {total} rows, {:?}",
            part.part.slug(),
            part.class_counts
        );
    }
    for deviation in &found.deviations {
        let _ = writeln!(text, "  warning: {deviation}");
    }
    text
}

pub(crate) fn fetch(args: &args::DataFetch) -> anyhow::Result<Answer> {
    let locations = args.place.locations();
    let mut text = String::new();
    for &id in &args.names {
        let located = match resolve::locate(id, &locations) {
            Some(located) => located,
            None if id == DatasetId::Waveform1 => {
                let _ = writeln!(text, "{id}: generated when needed, nothing to fetch");
                continue;
            }
            None => acquire::fetch(id, &locations, &Downloads::default())?,
        };
        let _ = writeln!(text, "{id}: {}", located.folder.display());
    }
    Ok(Answer::good(text))
}
