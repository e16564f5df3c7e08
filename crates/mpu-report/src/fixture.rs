//! Made-up records of runs, for tests.

use crate::record::{Curves, Heat, Record, RunKey, Scores};

/// A run with the main loss at a rate of 1e-3; F1 is its accuracy less 0.01, and it took as many seconds as
/// its seed.
pub(crate) fn record(
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
        scores: Some(Scores {
            accuracy,
            accuracy_last_ten: accuracy,
            precision: accuracy,
            recall: accuracy,
            f1: accuracy - 0.01,
            shifted_accuracy: None,
            shifted_f1: None,
            calibration_error: None,
        }),
        priors: Vec::new(),
        told_priors: Vec::new(),
        kept_epoch: None,
        rates: Vec::new(),
        prior_gaps: Vec::new(),
        curves: None,
        heat: None,
    }
}

/// A run of `csmpu-abs` over 60 epochs with all that figures draw.
pub(crate) fn drawable(dataset: &str, classes: usize, prior: f64, seed: u64) -> Record {
    let curve = |start: f64, end: f64| -> Vec<f64> {
        let value = |epoch: u32| end + (start - end) * (-f64::from(epoch) / 8.0).exp();
        (0..60)
            .map(|epoch| value(epoch) + 0.001 * seed as f64)
            .collect()
    };
    let support = |row: usize, column: usize| match (row, column) {
        (row, column) if row == column => 960 + 10 * row as u64 + seed,
        (row, column) if (row + 2 * column) % 3 == 0 => 0,
        (row, column) => 3 * row as u64 + 5 * column as u64 + seed,
    };
    let margin = |row: usize, column: usize| {
        let sign = if row == column { 1.8 } else { -0.4 };
        (support(row, column) > 0).then(|| sign + 0.01 * (row + 2 * column) as f64)
    };
    let cells = 0..classes;
    Record {
        curves: Some(Curves {
            train_loss: curve(0.9, 0.2),
            test_loss: curve(0.95, 0.3),
            oracle_train_accuracy: curve(0.5, 0.95),
            test_accuracy: curve(0.5, 0.9),
        }),
        heat: Some(Heat {
            support: cells
                .clone()
                .map(|r| cells.clone().map(|c| support(r, c)).collect())
                .collect(),
            margin: cells
                .clone()
                .map(|r| cells.clone().map(|c| margin(r, c)).collect())
                .collect(),
        }),
        ..record(
            dataset,
            classes,
            prior,
            "csmpu-abs",
            seed,
            60,
            0.9 + 0.001 * seed as f64,
        )
    }
}

/// A run of a method on fashion-mnist, k = 4, π = 0.5, over 100 epochs.
pub(crate) fn fashion(id: &str, method: &str, seed: u64, accuracy: f64) -> Record {
    Record {
        id: id.to_owned(),
        ..record("fashion-mnist", 4, 0.5, method, seed, 100, accuracy)
    }
}
