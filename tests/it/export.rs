//! `mpu-cli export` and `mpu-cli completions`.

use crate::evaluate::items::{benchmark, complaint, items, told};

#[test]
fn an_export_comes_with_a_card() {
    let items = items();
    let run = items.text("run");
    let (onnx, card) = (
        items.text("out/model.onnx"),
        items.path("out/MODEL_CARD.md"),
    );
    std::fs::create_dir_all(items.path("out")).unwrap();
    let text = told(&["export", &run, "--onnx", &onnx]);
    assert!(
        text.contains("model.onnx") && text.contains("MODEL_CARD.md"),
        "{text}"
    );
    let card = std::fs::read_to_string(card).unwrap();
    for part in [
        "# Model card: items",
        "## Inputs",
        "`[N, 5]`",
        "`weight`, `length`, `colour=blue`, `colour=green`, `colour=red`",
        "one of blue, green, red",
        "The column `item` names rows",
        "## Outputs",
        "stain\\|odd",
        "## Class priors",
        "given by the user",
        "## Training data",
        "missing values are filled in",
        "## How good it is",
        "held out of training",
        "## Limits",
        "## Licence",
        "## How to cite",
        "arXiv:2510.25226",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
}

#[test]
fn an_export_replaces_only_what_an_export_wrote() {
    let items = items();
    let run = benchmark().display().to_string();
    std::fs::create_dir_all(items.path("again")).unwrap();
    let onnx = items.text("again/model.onnx");
    let args = ["export", &run, "--onnx", &onnx];
    told(&args);
    told(&args);
    let card = items.path("again/MODEL_CARD.md");
    assert!(
        std::fs::read_to_string(&card)
            .unwrap()
            .contains("There are no probabilities")
    );
    std::fs::write(&card, "mine\n").unwrap();
    let said = complaint(&args);
    assert!(
        said.contains("MODEL_CARD.md") && said.contains("--force"),
        "{said}"
    );
    told(&[&args[..], &["--force"]].concat());
    let said = complaint(&["export", &run, "--onnx", &items.text("missing/model.onnx")]);
    assert!(said.contains("missing"), "{said}");
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = told(&["completions", shell]);
        assert!(
            script.contains("train") && script.contains("mpu-cli"),
            "{shell}"
        );
    }
    assert!(complaint(&["completions", "cmd"]).contains("bash"));
}
