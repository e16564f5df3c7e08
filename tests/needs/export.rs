//! An exported model as ONNX Runtime runs it, against the run that it is from.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use serde_json::Value;

use crate::items::{items, train};
use crate::need::{Need, python};
use crate::support::{Folder, contains_all};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Onnx => the_exported_model_scores_as_the_run_does,
        Need::Onnx => forests_networks_and_both_answer_as_predict_does,
    }
}

/// Reads the model's path and rows as JSON; answers with its outputs and metadata.
const SCRIPT: &str = "
import json, sys
import numpy as np
import onnxruntime as ort
asked = json.load(sys.stdin)
session = ort.InferenceSession(asked['model'], providers=['CPUExecutionProvider'])
names = [o.name for o in session.get_outputs()]
rows = np.array(asked['rows'], dtype=np.float32)
found = dict(zip(names, session.run(None, {'features': rows})))
print(json.dumps({
    'scores': found['scores'].astype('f8').tolist(),
    'probabilities': found['probabilities'].astype('f8').tolist(),
    'metadata': session.get_modelmeta().custom_metadata_map,
}))
";

fn ask(model: &Path, rows: &[Vec<f64>]) -> Value {
    let mut command = Command::new(python());
    command.args(["-c", SCRIPT]).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = serde_json::json!({ "model": model, "rows": rows });
    child
        .stdin
        .take()
        .unwrap()
        .write_all(asked.to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Rows of a file encoded as a schema says, written anew here.
fn encoded(schema: &Value, path: &std::path::Path) -> Vec<Vec<f64>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        let mut features = Vec::new();
        for column in schema["columns"].as_array().unwrap() {
            let at = header
                .iter()
                .position(|name| column["name"] == name)
                .unwrap();
            let cell = &row[at];
            if let Some(kind) = column["kind"].get("numeric") {
                let value = cell.parse().ok().or(kind["impute"].as_f64());
                features.push(value.unwrap());
            } else {
                let kind = &column["kind"]["categorical"];
                let names = kind["categories"].as_array().unwrap();
                let own = match cell {
                    "" => kind["impute"].as_u64().map(|at| at as usize),
                    cell => names.iter().position(|name| name == cell),
                };
                features.extend((0..names.len()).map(|at| f64::from(u8::from(own == Some(at)))));
            }
        }
        features
    });
    rows.collect()
}

/// Numbers of a list of lists, in a row.
fn flat(value: &Value) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(value.clone()).unwrap();
    rows.concat()
}

fn the_exported_model_scores_as_the_run_does() {
    let items = items();
    items.told("export run --onnx scored.onnx");
    let model = items.read_json("run/model.json");
    // The rows that were held out of training, whose scores the run wrote down: found by their scores.
    let rows = encoded(&model["schema"], &items.path("items.csv"));
    let answer = ask(&items.path("scored.onnx"), &rows);
    let scores = flat(&answer["scores"]);
    let mut reader = csv::Reader::from_path(items.path("run/held-out.csv")).unwrap();
    let held: Vec<Vec<f64>> = reader
        .records()
        .map(|row| {
            row.unwrap()
                .iter()
                .skip(1)
                .map(|cell| cell.parse().unwrap())
                .collect()
        })
        .collect();
    assert!(held.len() > 90, "{}", held.len());
    for own in &held {
        let close = |row: &[f64]| row.iter().zip(own).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(scores.chunks(4).any(close), "{own:?}");
    }
    // Probabilities as the model's calibration says, moved from the pool to the population.
    let probabilities = flat(&answer["probabilities"]);
    let a = model["calibration"]["a"].as_f64().unwrap();
    let [b, pool, population] = [
        &model["calibration"]["b"],
        &model["priors"],
        &model["population"],
    ]
    .map(|list| serde_json::from_value::<Vec<f64>>(list.clone()).unwrap());
    let moved = pool.iter().zip(&population).map(|(p, q)| (q / p).ln());
    let b: Vec<f64> = b.iter().zip(moved).map(|(b, moved)| b + moved).collect();
    for (f, p) in scores.chunks(4).zip(probabilities.chunks(4)) {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-5);
        let z: Vec<f64> = f.iter().zip(&b).map(|(f, b)| a * f + b).collect();
        let most = z.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = z.iter().map(|z| (z - most).exp()).sum();
        for (z, p) in z.iter().zip(p) {
            assert!(((z - most).exp() / sum - p).abs() < 1e-4);
        }
    }
    let metadata = &answer["metadata"];
    let classes: Vec<String> = serde_json::from_str(metadata["classes"].as_str().unwrap()).unwrap();
    assert_eq!(classes, ["dent", "scratch", "stain|odd", "negative"]);
}

/// Rows of a file as a schema encodes them where missing values are kept: NaN in every feature of the column.
fn encoded_with_gaps(schema: &Value, path: &Path) -> Vec<Vec<f64>> {
    let mut filled = encoded(schema, path);
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    for (row, features) in reader.records().zip(&mut filled) {
        let row = row.unwrap();
        let mut first = 0;
        for column in schema["columns"].as_array().unwrap() {
            let categories = column["kind"]["categorical"]["categories"].as_array();
            let end = first + categories.map_or(1, Vec::len);
            let at = header.iter().position(|name| column["name"] == name);
            if row[at.unwrap()].is_empty() {
                features[first..end].fill(f64::NAN);
            }
            first = end;
        }
    }
    filled
}

/// Makes `both` of the runs `forest` and `network`, which were trained on the same rows.
fn combine(items: &Folder) {
    std::fs::create_dir(items.path("both")).unwrap();
    for (run, file) in [
        ("network", "config.toml"),
        ("network", "model.safetensors"),
        ("forest", "forest.safetensors"),
    ] {
        let bytes = std::fs::read(items.path(run).join(file)).unwrap();
        items.write(&format!("both/{file}"), bytes);
    }
    let mut card = items.read_json("network/model.json");
    card["forest"] = items.read_json("forest/model.json")["forest"].clone();
    items.write("both/model.json", card.to_string());
}

fn forests_networks_and_both_answer_as_predict_does() {
    let items = items();
    for (run, model) in [
        ("forest", "{kind=\"forest\",trees=40}"),
        ("network", "{kind=\"mlp\",hidden=[24,24]}"),
    ] {
        train(items, run, &format!("--set model={model}"));
    }
    combine(items);
    let names = ["dent", "scratch", "stain|odd", "unknown"];
    for (run, said) in [
        ("forest", "forest of 40 trees"),
        ("network", "The model fills in"),
        ("both", "the mean of a forest"),
    ] {
        items.told(&format!(
            "export {run} --onnx {run}/model.onnx --card {run}/card.md"
        ));
        let text = items.read(&format!("{run}/card.md"));
        contains_all(&text, &[said, "A missing value is NaN"]);
        let schema = &items.read_json(&format!("{run}/model.json"))["schema"];
        assert_eq!(schema["missing"], "keep");
        let rows = encoded_with_gaps(schema, &items.path("new.csv"));
        assert!(rows.iter().flatten().any(|value| value.is_nan()));
        let answer = ask(&items.path(&format!("{run}/model.onnx")), &rows);
        let theirs = flat(&answer["probabilities"]);

        items.told(&format!(
            "predict --model {run} --data new.csv --out {run}/answers.csv"
        ));
        let path = items.path(&format!("{run}/answers.csv"));
        let mut reader = csv::Reader::from_path(path).unwrap();
        let header = reader.headers().unwrap().clone();
        let place = |name: &str| header.iter().position(|column| column == name).unwrap();
        let columns = names.map(|name| place(&format!("probability:{name}")));
        let (answers, mut worst) = (place("answer"), 0.0f64);
        let mut n_rows = 0;
        for (row, theirs) in reader.records().zip(theirs.chunks(4)) {
            let row = row.unwrap();
            for (&at, p) in columns.iter().zip(theirs) {
                let gap = (row[at].parse::<f64>().unwrap() - p).abs();
                assert!(gap < 1e-5, "{run}: {row:?} {theirs:?}");
                worst = worst.max(gap);
            }
            let best = (0..4).max_by(|&a, &b| theirs[a].total_cmp(&theirs[b]));
            assert_eq!(names[best.unwrap()], &row[answers], "{run}: {row:?}");
            n_rows += 1;
        }
        assert_eq!(n_rows, 120);
        println!("{run}: gap {worst:.1e}");
    }
}
