//! `mpu-cli export` and `mpu-cli completions`.

use crate::evaluate::items::{items, with_benchmark};
use crate::support::{Folder, contains_all};

#[test]
fn an_export_comes_with_a_card() {
    let items = items();
    std::fs::create_dir_all(items.path("out")).unwrap();
    let text = items.told("export run --onnx out/model.onnx");
    contains_all(&text, &["model.onnx", "MODEL_CARD.md"]);
    let parts = [
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
        "missing values, in",
        "## How good it is",
        "held out of training",
        "## Limits",
        "## Licence",
        "## How to cite",
        "arXiv:2510.25226",
    ];
    contains_all(&items.read("out/MODEL_CARD.md"), &parts);
}

#[test]
fn an_export_replaces_only_what_an_export_wrote() {
    let items = with_benchmark();
    std::fs::create_dir_all(items.path("again")).unwrap();
    let export = "export benchmark --onnx again/model.onnx";
    items.told(export);
    items.told(export);
    let card = items.read("again/MODEL_CARD.md");
    contains_all(&card, &["There are no probabilities"]);
    items.write("again/MODEL_CARD.md", "mine\n");
    items.refuses(export, &["MODEL_CARD.md", "--force"]);
    items.told(&format!("{export} --force"));
    items.refuses("export benchmark --onnx missing/model.onnx", &["missing"]);
}

#[test]
fn every_shell_gets_completions() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.told(&format!("completions {shell}"));
        contains_all(&script, &["train", "mpu-cli"]);
    }
    folder.refuses("completions cmd", &["bash"]);
}
