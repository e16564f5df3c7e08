//! `mpu-cli report`: every part of a run on one page, as text and for programs; and in a browser.

use std::fs;

use serde_json::Value;

use crate::evaluate::items::{benchmark, complaint, items, json, told, train};
use crate::support::{on, stderr, sweep};

/// The sections of a report of a run that was judged by true labels.
const SECTIONS: [&str; 12] = [
    "Summary",
    "Learning curves",
    "Answers by class",
    "Scores by class",
    "Calibration",
    "Thresholds",
    "Class priors",
    "Sensitivity to priors",
    "Data check",
    "Model",
    "Configuration",
    "How to cite",
];

#[test]
fn a_page_has_every_section_and_needs_no_other_file() {
    let items = items();
    let (run, file) = (items.text("run"), items.text("checked.csv"));
    let page = items.path("page.html");
    let out = page.display().to_string();
    let text = told(&["report", &run, "--data", &file, "--out", &out]);
    assert_eq!(text, format!("report: {out}\n"));
    let html = fs::read_to_string(&page).unwrap();
    for section in SECTIONS {
        assert!(html.contains(&format!("<h2>{section}</h2>")), "{section}");
    }
    assert!(!html.contains("Not in this report"));
    for other in ["<script src", "<link", "<img src=\"http", "@import"] {
        assert!(!html.contains(other), "{other}");
    }
    assert!(html.matches("<svg").count() >= 8);

    let md = told(&["report", &run, "--data", &file, "--format", "md"]);
    for section in SECTIONS {
        assert!(md.contains(&format!("\n## {section}\n")), "{section}");
    }
    // JSON of the report has the numbers of `evaluate`.
    let args = ["--data", &file, "--format", "json"];
    let report = json(&[&["report", &run][..], &args].concat());
    let judged = json(&[&["evaluate", "--model", &run][..], &args].concat());
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
    let run = items.text("run");
    let told = told(&["report", &run]);
    assert!(told.contains("report.html"), "{told}");
    let html = fs::read_to_string(items.path("run/report.html")).unwrap();
    assert!(html.contains("Not in this report") && html.contains("--data"));
    let report = json(&["report", &run, "--format", "json"]);
    let judged = json(&["evaluate", "--model", &run, "--format", "json"]);
    let classes = report[0]["class-scores"]["given"].as_array().unwrap();
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
    let items = items();
    let checked = items.text("checked.csv");
    train(
        items,
        "second",
        &[
            "--method",
            "csmpu-exact-nn",
            "--seed",
            "7",
            "--test",
            &checked,
        ],
    );
    let (first, second) = (items.text("run"), items.text("second"));
    let other = benchmark().display().to_string();
    let md = told(&["report", &first, &second, &other, "--format", "md"]);
    assert!(md.starts_with("# Report of 3 runs"), "{md}");
    assert!(md.contains("| run | second | benchmark |"), "{md}");
    assert!(
        md.contains("csmpu-exact-nn") && md.contains("csmpu-st"),
        "{md}"
    );
    // The test rows of a run are judged again.
    let report = json(&["report", &second, "--format", "json"]);
    let judged = json(&[
        "evaluate", "--model", &second, "--data", &checked, "--format", "json",
    ]);
    assert_eq!(
        report[0]["answers"]["given"]["counts"],
        judged["true-labels"]["confusion"]
    );
    // The benchmark's test rows are here: it has answers by class, but no probabilities.
    let report = json(&["report", &other, "--format", "json"]);
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
    let folder = items.path("stored");
    fs::create_dir_all(&folder).unwrap();
    let (config, store) = (sweep(&folder, 1, 2), folder.join("store"));
    let run = on("run", &config, &store, &["--offline"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let store_name = store.display().to_string();
    let text = told(&["report", &store_name]);
    assert!(text.contains("report.html"), "{text}");
    let html = fs::read_to_string(store.join("report.html")).unwrap();
    assert!(html.contains("<title>Report of 4 runs"), "{html}");

    let record = fs::read_dir(store.join("records")).unwrap().next();
    let record: Value =
        serde_json::from_slice(&fs::read(record.unwrap().unwrap().path()).unwrap()).unwrap();
    let id = record["id"].as_str().unwrap();
    // The beginning of an id will do.
    let found = json(&["report", &store_name, "--id", &id[..8], "--format", "json"]);
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

    assert!(complaint(&["report", &store_name, "--id", "zz"]).contains("zz"));
    let checked = items.text("checked.csv");
    assert!(complaint(&["report", &store_name, "--data", &checked]).contains("--data"));
}

#[test]
fn a_folder_of_an_earlier_version_is_read_and_brought_up_to_date() {
    let items = items();
    let run = items.path("earlier");
    train(items, "earlier", &[]);
    let record = fs::read(run.join("record.json")).unwrap();
    fs::remove_file(run.join("record.json")).unwrap();
    fs::write(run.join("summary.json"), "{\"version\": 1}").unwrap();
    let name = run.display().to_string();
    told(&["evaluate", "--model", &name]);
    let onnx = items.text("earlier.onnx");
    told(&[
        "export",
        &name,
        "--onnx",
        &onnx,
        "--card",
        &items.text("EARLIER.md"),
    ]);
    let said = complaint(&["report", &name]);
    assert!(
        said.contains("record.json") && said.contains("--resume"),
        "{said}"
    );
    told(&["train", "--resume", &name]);
    told(&["report", &name]);
    let read = |bytes: &[u8]| -> Value {
        let mut record: Value = serde_json::from_slice(bytes).unwrap();
        for place in ["seconds", "threads"] {
            record.as_object_mut().unwrap().remove(place);
        }
        record
    };
    assert_eq!(
        read(&fs::read(run.join("record.json")).unwrap()),
        read(&record)
    );
}

#[test]
fn only_a_former_report_is_overwritten() {
    let items = items();
    let run = items.text("run");
    let out = items.text("mine.md");
    fs::write(items.path("mine.md"), "# My notes\n").unwrap();
    let args = ["report", &run, "--format", "md", "--out", &out];
    let said = complaint(&args);
    assert!(
        said.contains("mine.md") && said.contains("--force"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(items.path("mine.md")).unwrap(),
        "# My notes\n"
    );
    told(&[&args[..], &["--force"]].concat());
    told(&args);
    assert!(complaint(&["report", &items.text("nowhere")]).contains("nowhere"));
}
