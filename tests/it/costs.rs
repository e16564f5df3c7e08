//! Costs of mistakes at training time: kept with the model, and cheaper in the end.

use serde_json::Value;

use crate::support::{mpu_cli, stderr, stdout};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/products");

/// Trains on the products and judges by those that were checked; the true figures.
fn judged(out: &str, extra: &[&str]) -> Value {
    let (table, checked) = (
        format!("{FOLDER}/products.csv"),
        format!("{FOLDER}/checked.csv"),
    );
    let columns = ["--label-column", "defect", "--id-column", "id"];
    let train = [
        &["train", "--data", &table, "--out", out],
        &columns[..],
        extra,
    ]
    .concat();
    let output = mpu_cli(&train);
    assert!(output.status.success(), "{}", stderr(&output));
    let costs = format!("{FOLDER}/costs.csv");
    let evaluate = [
        "evaluate",
        "--model",
        out,
        "--data",
        &checked,
        "--label-column",
        "defect",
    ];
    let output = mpu_cli(
        &[
            &evaluate[..],
            &["--cost-matrix", &costs, "--format", "json"],
        ]
        .concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    found["true-labels"].clone()
}

#[test]
fn a_model_trained_with_costs_makes_cheaper_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let costs = format!("{FOLDER}/costs.csv");
    let plain = judged(&out("plain"), &[]);
    let cost = |found: &Value| found["mean-cost"].as_f64().unwrap();
    for method in ["csmpu-st", "csmpu-exact-nn"] {
        let careful = out(method);
        let found = judged(&careful, &["--cost-matrix", &costs, "--method", method]);
        assert!(
            cost(&found) < 0.8 * cost(&plain),
            "{method}: {} {}",
            cost(&found),
            cost(&plain)
        );
        // The costs are kept: in the configuration, which trains the same again, and with the model.
        let config = std::fs::read_to_string(format!("{careful}/config.toml")).unwrap();
        assert!(config.contains("[costs.dent]"), "{config}");
        let card = std::fs::read_to_string(format!("{careful}/model.json")).unwrap();
        let card: Value = serde_json::from_str(&card).unwrap();
        assert_eq!(card["costs"][0][3], 10.0);
    }
    // predict decides by them, too.
    let (model, scored) = (out("csmpu-st"), out("scored.csv"));
    let new = format!("{FOLDER}/new.csv");
    let predict = [
        "predict", "--model", &model, "--data", &new, "--out", &scored,
    ];
    let output = mpu_cli(&[&predict[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["decision"], "costs");
}

#[test]
fn a_method_with_costs_of_its_own_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let costs = format!("{FOLDER}/costs.csv");
    let table = format!("{FOLDER}/products.csv");
    let mut args = vec![
        "train",
        "--data",
        &table,
        "--label-column",
        "defect",
        "--id-column",
        "id",
    ];
    args.extend([
        "--out",
        &out,
        "--cost-matrix",
        &costs,
        "--method",
        "csmpu-abs",
    ]);
    let output = mpu_cli(&args);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("csmpu-exact"),
        "{}",
        stderr(&output)
    );
    assert!(
        !folder.path().join("run").exists(),
        "a refused run leaves no folder"
    );
}
