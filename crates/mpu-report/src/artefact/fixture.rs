//! Hand-made records for tests.

use crate::record::{Record, RunKey, Scores};

/// A run with the main loss at a rate of 1e-3; F1 is its accuracy less 0.01, and it took as many
/// seconds as its seed.
pub(super) fn record(
    dataset: &str,
    classes: usize,
    prior: f64,
    method: &str,
    seed: u64,
    epochs: usize,
    accuracy: f64,
) -> Record {
    Record {
        version: Record::VERSION,
        id: format!("{dataset}-{classes}-{prior}-{method}-{seed}-{epochs}-{accuracy}"),
        key: RunKey {
            dataset: dataset.to_owned(),
            protocol: "first-k".to_owned(),
            classes,
            prior,
            method: method.to_owned(),
            surrogate: "sigmoid_prob".to_owned(),
            gamma: 1.0,
            form: "raw".to_owned(),
            lr: 1e-3,
            swept: false,
            epochs,
            seed,
        },
        config: serde_json::json!({ "seed": seed, "train": { "batch-size": 512 } }),
        program: "0.1.0".to_owned(),
        machine: "test".to_owned(),
        threads: 1,
        seconds: seed as f64,
        data_mark: None,
        split_digest: String::new(),
        model_sha256: String::new(),
        scores: Scores {
            f1: accuracy - 0.01,
            ..Scores::all(accuracy)
        },
        priors: Vec::new(),
        prior_gaps: Vec::new(),
        curves: None,
        heat: None,
    }
}
