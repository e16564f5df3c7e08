//! Costs of mistakes at training time: kept with the model, and cheaper in the end.

use serde_json::Value;

use crate::support::Folder;

const TRAIN: &str =
    "train --data examples/products/products.csv --label-column defect --id-column id --epochs 25";

/// Trains on the products and judges by those that were checked; the true figures.
fn judged(folder: &Folder, out: &str, extra: &str) -> Value {
    folder.told(&format!("{TRAIN} --out {out} {extra}"));
    let found = folder.json(&format!(
        "evaluate --model {out} --data examples/products/checked.csv --label-column defect \
         --cost-matrix examples/products/costs.csv"
    ));
    found["true-labels"].clone()
}

#[test]
fn a_model_trained_with_costs_makes_cheaper_mistakes() {
    let folder = Folder::new();
    let cost = |found: &Value| found["mean-cost"].as_f64().unwrap();
    for method in ["csmpu-st", "csmpu-exact-nn"] {
        let costs = format!("--cost-matrix examples/products/costs.csv --method {method}");
        let found = judged(&folder, method, &costs);
        let plain = judged(
            &folder,
            &format!("plain-{method}"),
            &format!("--method {method}"),
        );
        // Of the model that knew no costs the likeliest classes are meant, not the cheapest.
        let likeliest = plain["mean-cost-likeliest"].as_f64().unwrap();
        assert!(
            cost(&found) < 0.8 * likeliest,
            "{method}: {} {likeliest}",
            cost(&found)
        );
        // The costs are kept: in the configuration, which trains the same again, and with the model.
        let config = folder.read(&format!("{method}/config.toml"));
        assert!(config.contains("[costs.dent]"), "{config}");
        let card = folder.read_json(&format!("{method}/model.json"));
        assert_eq!(card["costs"][0][3], 10.0);
    }
    // predict decides by them, too.
    let predict = "predict --model csmpu-st --data examples/products/new.csv --out scored.csv";
    assert_eq!(folder.json(predict)["decision"], "costs");
}

#[test]
fn a_method_with_costs_of_its_own_refuses_others() {
    let folder = Folder::new();
    let costs = "--cost-matrix examples/products/costs.csv --method csmpu-abs";
    folder.refuses(&format!("{TRAIN} --out run {costs}"), &["csmpu-exact"]);
    assert!(
        !folder.path("run").exists(),
        "a refused run leaves no folder"
    );
}
