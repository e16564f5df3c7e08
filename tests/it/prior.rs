//! `mpu-cli prior`, `mpu-cli sensitivity` and `train --prior auto`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{mpu_cli, stderr, stdout};

fn products() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/products/products.csv")
}

fn json(args: &[&str]) -> Value {
    let output = mpu_cli(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn estimates_of_own_data_are_near_the_truth_and_margins_can_be_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = products().display().to_string();
    let scores = folder.path().join("margins.csv").display().to_string();
    let plot = folder.path().join("priors.svg").display().to_string();
    let source = [
        "prior",
        "--data",
        &file,
        "--label-column",
        "defect",
        "--id-column",
        "id",
    ];
    let rest = [
        "--replicates",
        "100",
        "--write-scores",
        &scores,
        "--plot",
        &plot,
    ];
    let output = mpu_cli(&[source.as_slice(), &rest].concat());
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for part in [
        "dent",
        "scratch",
        "loose",
        "detectable",
        "left for the negative class",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(std::fs::read_to_string(&plot).unwrap().starts_with("<svg"));

    let found = json(&[
        "prior",
        "--scores",
        &scores,
        "--replicates",
        "100",
        "--format",
        "json",
    ]);
    assert_eq!(
        found["classes"],
        serde_json::json!(["dent", "loose", "scratch"])
    );
    // 180, 120 and 150 of the 1300 rows of the pool.
    for (class, truth) in [(0, 0.138), (1, 0.092), (2, 0.115)] {
        let class = &found["estimates"][0]["classes"][class];
        let estimate = class["estimate"].as_f64().unwrap();
        assert!((estimate - truth).abs() < 0.06, "{estimate} {truth}");
        assert!(class["upper"].as_f64().unwrap() > truth);
    }
}

#[test]
fn a_benchmark_shows_the_true_priors_and_disagreement_is_told() {
    let found = json(&[
        "prior",
        "--dataset",
        "waveform1",
        "--classes",
        "3",
        "--prior",
        "0.5",
        "--offline",
        "--estimator",
        "bbe",
        "--replicates",
        "20",
        "--format",
        "json",
    ]);
    let truth = found["truth"].as_array().unwrap();
    assert_eq!(truth.len(), 2);
    assert!((truth[0].as_f64().unwrap() - 0.25).abs() < 0.01);
}

#[test]
fn bad_scores_are_told_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.csv");
    for (text, told) in [
        ("a,b\n1,2\n", "no column `label`"),
        ("label\n\n", "no column of margins"),
        ("label,a\nc,1\n,0\n", "line 2: the label `c`"),
        (
            "label,a\na,1\n,x\n",
            "line 3, column a: `x` is not a finite number",
        ),
        ("label,fold,a\na,one,1\n,0,0\n", "the fold `one`"),
        ("label,a\na,1\n", "pool"),
    ] {
        std::fs::write(&path, text).unwrap();
        let output = mpu_cli(&["prior", "--scores", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            stderr(&output).contains(told),
            "{told}: {}",
            stderr(&output)
        );
    }
    let output = mpu_cli(&["prior", "--estimator", "kmm"]);
    assert!(stderr(&output).contains("moments"), "{}", stderr(&output));
}

#[test]
fn training_with_estimated_priors_records_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let output = mpu_cli(&[
        "train",
        "--offline",
        "--prior",
        "auto",
        "--epochs",
        "2",
        "--set",
        "data.generated-rows=600",
        "--out",
        &out,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("run").join(name)).unwrap();
    let card: Value = serde_json::from_str(&read("model.json")).unwrap();
    let estimated = &card["estimated_priors"]["classes"];
    assert_eq!(estimated.as_array().unwrap().len(), 2);
    assert_eq!(card["priors"][0], estimated[0]["estimate"]);
    assert!(read("config.toml").contains("priors = \"auto\""));
}

#[test]
fn wrong_priors_are_studied_on_any_data() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("wrong.svg").display().to_string();
    let found = json(&[
        "sensitivity",
        "--offline",
        "--method",
        "csmpu-exact-nn",
        "--epochs",
        "5",
        "--seeds",
        "2",
        "--sizes",
        "0.1,0.3",
        "--set",
        "data.generated-rows=900",
        "--plot",
        &plot,
        "--format",
        "json",
    ]);
    assert_eq!(found["measured_on"], "test rows with true labels");
    let scores = found["study"]["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 2, "both schemes");
    for scheme in scores {
        assert_eq!(
            scheme["points"].as_array().unwrap().len(),
            3,
            "none, 0.1 and 0.3"
        );
    }
    let bound = &found["study"]["bounds"][0];
    for (empirical, theoretical) in bound["empirical"]
        .as_array()
        .unwrap()
        .iter()
        .zip(bound["theoretical"].as_array().unwrap())
    {
        assert!(empirical[1].as_f64().unwrap() <= theoretical[1].as_f64().unwrap() + 1e-12);
    }
    assert!(std::fs::read_to_string(&plot).unwrap().contains("<svg"));

    let file = products().display().to_string();
    let output = mpu_cli(&[
        "sensitivity",
        "--data",
        &file,
        "--label-column",
        "defect",
        "--id-column",
        "id",
        "--epochs",
        "10",
        "--seeds",
        "1",
        "--sizes",
        "0.1",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("held-out labelled rows and pool"));
}

#[test]
fn scaled_and_sampled_priors_are_propagated() {
    let base = [
        "sensitivity",
        "--offline",
        "--epochs",
        "3",
        "--seeds",
        "2",
        "--format",
        "json",
    ];
    let small = ["--set", "data.generated-rows=600"];
    let scaled = json(&[&base[..], &small, &["--wrong", "scaled", "--sizes", "0.2"]].concat());
    let scaled = scaled.as_array().unwrap();
    let names: Vec<&str> = scaled
        .iter()
        .map(|row| row["priors"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["as they are", "-20 %", "+20 %"]);
    let first = |row: &Value| row["values"][0].as_f64().unwrap();
    assert!((first(&scaled[2]) / first(&scaled[0]) - 1.2).abs() < 1e-9);
    assert!(scaled.iter().all(|row| row["deviation"].is_number()));

    let sampled = json(&[&base[..], &small, &["--wrong", "sampled", "--draws", "3"]].concat());
    assert_eq!(sampled.as_array().unwrap().len(), 4);
}
