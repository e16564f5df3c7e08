//! The results that are kept with the code: every run has the id of its configuration, every table and figure is made from
//! the runs, and README shows what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mpu_report::artefact::PAPER_METHODS;
use serde_json::Value;

use crate::support::{Folder, stderr};

fn stored(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("results").join(name)
}

/// Files of these endings below the results, by their names.
fn files(below: &str, endings: &[&str]) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(stored(below)).unwrap();
    let files = entries.filter_map(|entry| {
        let path = entry.unwrap().path();
        let ending = path.extension()?.to_str()?.to_owned();
        let name = path.file_name()?.to_str()?.to_owned();
        let is_asked = endings.contains(&ending.as_str());
        is_asked.then(|| (name, std::fs::read_to_string(&path).unwrap()))
    });
    files.collect()
}

#[test]
fn every_run_has_the_id_of_its_configuration() {
    let (mut ids, mut configs) = (BTreeSet::new(), Vec::new());
    for text in files(".", &["jsonl"]).values() {
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            configs.push(record["config"].to_string());
            ids.insert(record["id"].as_str().unwrap().to_owned());
        }
    }
    assert!(ids.len() > 3000, "{}", ids.len());
    let folder = Folder::new();
    folder.write("plan.jsonl", configs.join("\n"));
    let planned = folder.json("plan plan.jsonl");
    let planned = planned.as_array().unwrap().iter();
    let planned: BTreeSet<String> = planned
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    let strangers: Vec<&String> = ids.difference(&planned).collect();
    assert!(
        strangers.is_empty(),
        "not of their configuration: {strangers:?}"
    );
}

#[test]
fn tables_and_figures_are_made_from_the_runs() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("r")).unwrap();
    for (name, text) in files(".", &["jsonl"]) {
        folder.write(&format!("r/{name}"), text);
    }
    let line = "reproduce all --report-only --offline --out r";
    let output = folder.bare(line).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for below in [".", "figures"] {
        let kept = files(below, &["csv", "tex", "svg"]);
        assert!(kept.len() >= 4, "{below}");
        for (name, text) in kept {
            let made = folder.read(&format!("r/{below}/{name}"));
            assert!(
                made == text,
                "results/{name} is of other runs than the bundles: `mpu-cli pack --out results`, then `cargo xtask reproduce all \
                 --report-only --out results`"
            );
        }
    }
}

#[test]
fn readme_shows_what_the_runs_say() {
    // For each dataset and row: csmpu-st, the best published figure, the best of the six in our runs.
    let mut rows: BTreeMap<(String, String), [f64; 3]> = BTreeMap::new();
    let mut cells = csv::Reader::from_path(stored("accuracy-cells.csv")).unwrap();
    let headers = cells.headers().unwrap().clone();
    for cell in cells.records() {
        let cell = cell.unwrap();
        let field = |name: &str| &cell[headers.iter().position(|header| header == name).unwrap()];
        let number = |name: &str| field(name).parse().unwrap_or(f64::NEG_INFINITY);
        let row = format!("k = {}, π_k = {}", field("classes"), field("prior"));
        let best = rows
            .entry((field("dataset").to_owned(), row))
            .or_insert([f64::NEG_INFINITY; 3]);
        if field("method") == "csmpu-st" {
            best[0] = number("mean");
        } else if PAPER_METHODS.contains(&field("method")) {
            best[1] = best[1].max(number("published-mean"));
            best[2] = best[2].max(number("mean"));
        }
    }
    let mut summary = csv::Reader::from_path(stored("summary.csv")).unwrap();
    let place = |headers: &csv::StringRecord| headers.iter().position(|h| h == "better supervised");
    let limit = place(summary.headers().unwrap()).unwrap();
    let readme = include_str!("../../README.md").replace(" ³", "");
    let mut shown = 0;
    for line in summary.records() {
        let line = line.unwrap();
        let of_dataset = rows.iter().filter(|((dataset, _), _)| dataset == &line[0]);
        let of_dataset: Vec<&[f64; 3]> = of_dataset.map(|(_, best)| best).collect();
        let [st, published, ours] = [0, 1, 2].map(|i| {
            let sum: f64 = of_dataset.iter().map(|best| best[i]).sum();
            sum / of_dataset.len() as f64
        });
        // SVHN is told of in words: its runs are of other data.
        if &line[0] != "svhn" {
            let told = format!(
                "| {} | {st:.2} | {published:.2} | {ours:.2} | {} |",
                &line[0], &line[limit]
            );
            assert!(readme.contains(&told), "README lacks {told}");
            shown += 1;
        }
    }
    assert_eq!(shown, 7);
}
