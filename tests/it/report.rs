//! `mpu-cli report`: every part of a run on one page, as text and for programs; and in a browser.

use serde_json::Value;

use crate::evaluate::items::{items, train, with_benchmark};
use crate::support::{contains_all, sweep, without_time};

/// The sections of a report of a run that was judged by true labels.
const SECTIONS: [&str; 18] = [
    "In short",
    "How many rows of each class",
    "How good the answers are: measured with true labels",
    "How good the answers are: estimated without true labels",
    "Labelled rows against unlabelled ones",
    "Precision and recall (estimated)",
    "Which columns matter",
    "True classes and answers",
    "Are the probabilities right?",
    "Leaving unsure rows unanswered",
    "The data",
    "Details: how it was made",
    "Details: class shares (priors)",
    "Details: if the class shares were others",
    "Details: every epoch of the network",
    "Details: model",
    "Details: configuration",
    "How to cite",
];

#[test]
fn a_page_has_every_section_and_needs_no_other_file() {
    let items = items();
    let text = items.told("report run --data checked.csv --out page.html");
    assert_eq!(text, "report: page.html\n");
    let html = items.read("page.html");
    for section in SECTIONS {
        assert!(html.contains(&format!("<h2>{section}</h2>")), "{section}");
    }
    assert!(!html.contains("Not in this report"));
    for other in ["<script src", "<link", "<img src=\"http", "@import"] {
        assert!(!html.contains(other), "{other}");
    }
    assert!(html.matches("<svg").count() >= 8);

    let md = items.told("report run --data checked.csv --format md");
    for section in SECTIONS {
        assert!(md.contains(&format!("\n## {section}\n")), "{section}");
    }
    // A report goes to other people: no folder of this machine, no box of letters, no word of the method at first.
    let here = items.path("").display().to_string();
    for page in [&html, &md] {
        assert!(!page.contains(here.trim_end_matches('/')) && !page.contains('┆'));
    }
    let first = md.split("\n## How many rows").next().unwrap();
    contains_all(
        first,
        &["### What was found", "### How sure", "### What to do next"],
    );
    for jargon in ["prior", "pool", "bound", "negative"] {
        assert!(!first.contains(jargon), "{jargon} in {first}");
    }
    // JSON of the report has the numbers of `evaluate`.
    let report = items.json("report run --data checked.csv");
    let judged = items.json("evaluate --model run --data checked.csv");
    let scores = report[0]["scores"].as_array().unwrap();
    let accuracy = scores
        .iter()
        .find(|score| score["name"] == "accuracy")
        .unwrap();
    assert_eq!(accuracy["value"], judged["true-labels"]["accuracy"]);
    assert_eq!(
        report[0]["answers"]["given"]["counts"],
        judged["true-labels"]["confusion"]
    );
    let points = report[0]["thresholds"]["given"]["points"]
        .as_array()
        .unwrap();
    // At threshold 0 every row is answered, by the model's own answers; later ever fewer are.
    assert_eq!(points[0]["answered"], 1.0);
    let recall = |value: &Value| value.as_f64().unwrap();
    let first = recall(&points[0]["recall"]);
    assert!((first - recall(&judged["true-labels"]["macro-recall"])).abs() < 1e-12);
    let shares: Vec<f64> = points
        .iter()
        .map(|p| p["answered"].as_f64().unwrap())
        .collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

#[test]
fn without_true_labels_estimates_stand_in() {
    let items = items();
    contains_all(&items.told("report run"), &["report.html"]);
    let html = items.read("run/report.html");
    assert!(html.contains("Not in this report") && html.contains("--data"));
    let report = items.json("report run");
    let judged = items.json("evaluate --model run");
    assert!(report[0]["class-scores"].get("missing").is_some());
    let classes = report[0]["class-estimates"]["given"].as_array().unwrap();
    let of = |class: usize| &judged["pu-rows"]["judgement"]["classes"][class];
    for class in 0..4 {
        assert_eq!(classes[class]["recall"], of(class)["recall"]["value"]);
    }
    let points = report[0]["thresholds"]["given"]["points"]
        .as_array()
        .unwrap();
    let recall = points[0]["recall"].as_f64().unwrap();
    let mean = (0..4)
        .map(|class| of(class)["recall"]["value"].as_f64().unwrap())
        .sum::<f64>()
        / 4.0;
    assert!((recall - mean).abs() < 1e-12);
}

#[test]
fn runs_stand_side_by_side() {
    let items = with_benchmark();
    let second = "--method csmpu-exact-nn --seed 7 --test checked.csv";
    train(items, "second", second);
    let md = items.told("report run second benchmark --format md");
    assert!(md.starts_with("# Report of 3 runs"), "{md}");
    assert!(md.contains("| run | second | benchmark |"), "{md}");
    assert!(
        md.contains("csmpu-exact-nn") && md.contains("csmpu-st"),
        "{md}"
    );
    // Runs that one file judges can be compared, and the others cannot.
    let judged = items.told("report run second --data checked.csv --format md");
    assert!(
        judged.contains("All runs are measured on the same rows"),
        "{judged}"
    );
    assert!(md.contains("cannot be compared"), "{md}");
    // The test rows of a run are judged again.
    let report = items.json("report second");
    let judged = items.json("evaluate --model second --data checked.csv");
    assert_eq!(
        report[0]["answers"]["given"]["counts"],
        judged["true-labels"]["confusion"]
    );
    // The benchmark's test rows are here: it has answers by class, but no probabilities.
    let report = items.json("report benchmark");
    assert!(report[0]["answers"].get("given").is_some(), "{report}");
    assert!(
        report[0]["reliability"]["missing"]
            .as_str()
            .unwrap()
            .contains("validation-share")
    );
}

#[test]
fn a_store_is_reported_from_its_records() {
    let items = items();
    sweep(items, 1, 2);
    items.told("run sweep.toml --out store --offline");
    contains_all(&items.told("report store"), &["report.html"]);
    contains_all(
        &items.read("store/report.html"),
        &["<title>Report of 4 runs"],
    );

    let record = items.names("store/records").remove(0);
    let record = items.read_json(&format!("store/records/{record}"));
    let id = record["id"].as_str().unwrap();
    // The beginning of an id will do.
    let found = items.json(&format!("report store --id {}", &id[..8]));
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["scores"][0]["value"], record["scores"]["accuracy"]);
    assert_eq!(
        found[0]["answers"]["given"]["counts"],
        record["heat"]["support"]
    );
    let curves = found[0]["curves"]["given"]["curves"].as_array().unwrap();
    let curve = curves.iter().find(|curve| curve["kind"] == "train-loss");
    assert_eq!(curve.unwrap()["values"], record["curves"]["train-loss"]);
    // The mean of the classes' recalls is the macro recall.
    let classes = found[0]["class-scores"]["given"].as_array().unwrap();
    let recalls = classes
        .iter()
        .map(|class| class["recall"].as_f64().unwrap());
    let mean = recalls.sum::<f64>() / classes.len() as f64;
    assert!((mean - record["scores"]["recall"].as_f64().unwrap()).abs() < 1e-12);
    let why = found[0]["thresholds"]["missing"].as_str().unwrap();
    assert!(why.contains("record"), "{why}");

    items.refuses("report store --id zz", &["zz"]);
    items.refuses("report store --data checked.csv", &["--data"]);
}

#[test]
fn a_folder_of_an_earlier_version_is_read_and_brought_up_to_date() {
    let items = items();
    train(items, "earlier", "");
    let record = items.read_json("earlier/record.json");
    std::fs::remove_file(items.path("earlier/record.json")).unwrap();
    items.write("earlier/summary.json", "{\"version\": 1}");
    items.told("evaluate --model earlier");
    items.told("export earlier --onnx earlier.onnx --card EARLIER.md");
    items.refuses("report earlier", &["record.json", "--resume"]);
    items.told("train --resume earlier");
    items.told("report earlier");
    let again = items.read_json("earlier/record.json");
    assert_eq!(without_time(again), without_time(record));
}

#[test]
fn only_a_former_report_is_overwritten() {
    let items = items();
    items.write("mine.md", "# My notes\n");
    let report = "report run --format md --out mine.md";
    items.refuses(report, &["mine.md", "--force"]);
    assert_eq!(items.read("mine.md"), "# My notes\n");
    items.told(&format!("{report} --force"));
    items.told(report);
    items.refuses("report nowhere", &["nowhere"]);
}
