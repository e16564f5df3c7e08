//! Runs on tables with a forest, alone or beside a network: from training to every command that reads a run.

use std::process::Stdio;
use std::time::{Duration, Instant};

use mpu_data::source::content::sha256;

use crate::evaluate::items::{items, train};
use crate::support::{Folder, contains_all};

/// The files that make a model; which weights there are depends on what was chosen.
fn model_files(folder: &Folder, run: &str) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let files = [
        "model.json",
        "held-out.csv",
        "metrics.csv",
        "model.safetensors",
        "forest.safetensors",
    ];
    files
        .map(|file| (file, std::fs::read(folder.path(run).join(file)).ok()))
        .to_vec()
}

#[test]
fn a_forest_alone_is_a_run_like_any_other() {
    let items = items();
    train(
        items,
        "forest",
        "--set model={kind=\"forest\",trees=30} --test checked.csv",
    );
    assert!(!items.path("forest/model.safetensors").exists());
    let record = items.read_json("forest/record.json");
    let forest = std::fs::read(items.path("forest/forest.safetensors")).unwrap();
    assert_eq!(record["model-sha256"], sha256(&forest));
    assert!(record["seconds"].as_f64().unwrap() > 0.0);

    // What the record says of test rows is what `evaluate` says of them, and what `predict` answers.
    let judged = items.json("evaluate --model forest --data checked.csv");
    let accuracy = record["scores"]["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.7, "{accuracy}");
    let text = judged.to_string();
    assert!(text.contains(&accuracy.to_string()), "{accuracy} in {text}");
    items.told("predict --model forest --data checked.csv --ignore-extra --out forest/answers.csv");
    let answers = column(items, "forest/answers.csv", "answer");
    let truths = column(items, "checked.csv", "kind");
    let observed = ["dent", "scratch", "stain|odd"];
    let known = |name: &str| {
        let found = observed.iter().find(|class| **class == name);
        found.copied().unwrap_or("unknown").to_owned()
    };
    let right = answers.iter().zip(&truths);
    let right = right.filter(|(answer, truth)| **answer == known(truth));
    let share = right.count() as f64 / truths.len() as f64;
    assert!((share - accuracy).abs() < 1e-12, "{share} {accuracy}");

    // A missing value is not outside the range of the training rows.
    let outside = column(items, "forest/answers.csv", "outside");
    let lengths = column(items, "checked.csv", "length");
    assert!(lengths.iter().any(String::is_empty));
    for (length, outside) in lengths.iter().zip(&outside) {
        assert!(!length.is_empty() || outside != "length");
    }
    let lines = |file: &str| {
        items.told(&format!(
            "predict --model forest --data new.csv --out forest/{file}"
        ));
        items.path("forest").join(file)
    };
    let text = std::fs::read_to_string(lines("new.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 120);
    assert!(lines("new.parquet").is_file());

    contains_all(&items.told("show forest/config.toml"), &["forest"]);
    let collected = items.told("collect forest");
    contains_all(&collected, &["items", "accuracy"]);
    assert!(
        !collected.contains('±'),
        "one run has no deviation: {collected}"
    );
    items.told("report forest --out forest/page.html");
    contains_all(&items.read("forest/page.html"), &["forest of 30 trees"]);
    items.told("export forest --onnx forest/model.onnx");
    let card = items.read("forest/MODEL_CARD.md");
    contains_all(
        &card,
        &["forest of 30 trees", "The forest takes it as it is"],
    );
    let before = model_files(items, "forest");
    items.told("train --resume forest");
    assert!(before == model_files(items, "forest"), "another model");
}

/// A column of a CSV file.
fn column(folder: &Folder, file: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_path(folder.path(file)).unwrap();
    let header = reader.headers().unwrap().clone();
    let at = header.iter().position(|column| column == name).unwrap();
    let rows = reader.records();
    rows.map(|row| row.unwrap()[at].to_owned()).collect()
}

/// A forest beside a network that takes a while to train.
const AUTO: &str = "train --data items.csv --label-column kind --id-column item --epochs 100 \
     --set model={kind=\"auto\",hidden=[16]} --set train.checkpoint-every=1 --out";

#[test]
fn forest_and_network_come_out_the_same_killed_or_not_on_any_threads() {
    let items = items();
    items.told(&format!("{AUTO} auto --threads 1"));
    items.told(&format!("{AUTO} auto-threads --threads 2"));
    let mut child = items.command(&format!("{AUTO} auto-killed --threads 2"));
    let mut child = child
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !items.path("auto-killed/checkpoint.safetensors").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        assert!(begun.elapsed() < Duration::from_mins(3), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!items.path("auto-killed/record.json").exists(), "it ended");
    items.told("train --resume auto-killed");
    let first = model_files(items, "auto");
    assert_eq!(first[2].1.as_deref().map(<[u8]>::is_empty), Some(false));
    for other in ["auto-threads", "auto-killed"] {
        for (first, other) in first.iter().zip(model_files(items, other)) {
            assert!(*first == other, "{} differs", first.0);
        }
    }
    let digest = |run: &str| items.read_json(&format!("{run}/record.json"))["model-sha256"].clone();
    assert_eq!(digest("auto"), digest("auto-killed"));
    let choice = items.read_json("auto/model.json")["choice"].clone();
    assert_eq!(choice["candidates"].as_array().unwrap().len(), 3);
}

#[test]
fn a_folder_of_an_earlier_version_still_answers() {
    let items = items();
    std::fs::create_dir(items.path("old")).unwrap();
    for name in items.names("run") {
        std::fs::copy(items.path("run").join(&name), items.path("old").join(&name)).unwrap();
    }
    // The first version knew networks only, and no population beside the pool.
    let mut card = items.read_json("run/model.json");
    let fields = card.as_object_mut().unwrap();
    for later in ["forest", "choice", "scenario", "population"] {
        fields.remove(later);
    }
    assert!(fields.contains_key("model"));
    fields.insert("version".to_owned(), 1.into());
    items.write("old/model.json", card.to_string());
    let predict = |run: &str, more: &str| {
        items.told(&format!(
            "predict --model {run} --data new.csv --out - {more}"
        ))
    };
    assert_eq!(predict("old", ""), predict("run", "--target-priors pool"));
    contains_all(&items.told("evaluate --model old"), &["accuracy"]);
}
