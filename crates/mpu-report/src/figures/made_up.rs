//! Made-up records of runs, for tests and for the gallery.

use crate::{Curves, Heat, Record, RunKey, Scores};

/// A number between -1 and 1 that looks random and is not.
fn noise(seed: u64, index: u64) -> f64 {
    let mut z = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(index << 7);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z >> 11) as f64 / (1_u64 << 53) as f64) * 2.0 - 1.0
}

/// A run of 60 epochs that learns and overfits a little.
pub(crate) fn record(dataset: &str, classes: usize, prior: f64, seed: u64) -> Record {
    let epochs = 60;
    let hard = dataset.len() as f64 / 60.0 + 0.02 * classes as f64 + 0.1 * (1.0 - prior);
    let curve = |start: f64, end: f64, drift: f64, stream: u64| -> Vec<f64> {
        (0..epochs as u64)
            .map(|epoch| {
                let t = epoch as f64 / 8.0;
                let calm = end + (start - end) * (-t).exp() + drift * epoch as f64;
                calm + 0.02 * noise(seed + 1, 1000 * stream + epoch)
            })
            .collect()
    };
    let test_accuracy = curve(0.5, 1.0 - 0.3 * hard, -0.0004, 4);
    let accuracy = test_accuracy[epochs - 1];
    let shift = |index: u64| accuracy + 0.02 * noise(seed + 7, index) - 0.01 * index as f64;
    let support = |row: usize, column: usize| match (row, column) {
        (row, column) if row == column => 960 + 10 * row as u64 + seed,
        (row, column) if (row + 2 * column) % 3 == 0 => 0,
        (row, column) => 3 * row as u64 + 5 * column as u64 + seed,
    };
    let margin = |row: usize, column: usize| {
        let sign = if row == column { 1.8 } else { -0.4 };
        sign + 0.3 * noise(seed, (row * 31 + column) as u64)
    };
    let square = 0..classes;
    Record {
        version: Record::VERSION,
        id: format!("{dataset}-{classes}-{prior}-{seed}"),
        key: RunKey {
            dataset: dataset.to_owned(),
            protocol: "first-k".to_owned(),
            classes,
            prior,
            method: "csmpu-abs".to_owned(),
            surrogate: "sigmoid-prob".to_owned(),
            gamma: 1.0,
            form: "raw".to_owned(),
            lr: 0.001,
            swept: false,
            epochs,
            seed,
        },
        config: serde_json::Value::Null,
        program: "0.1.0".to_owned(),
        machine: "made up".to_owned(),
        threads: 1,
        seconds: 1.0,
        data_mark: None,
        split_digest: String::new(),
        model_sha256: String::new(),
        scores: Scores {
            precision: shift(1),
            recall: shift(2),
            f1: shift(3),
            accuracy,
            accuracy_last_ten: accuracy,
            shifted_accuracy: None,
            shifted_f1: None,
            calibration_error: None,
        },
        priors: Vec::new(),
        prior_gaps: Vec::new(),
        curves: Some(Curves {
            train_loss: curve(0.9, 0.15 + 0.2 * hard, 0.0, 1),
            test_loss: curve(0.95, 0.2 + 0.3 * hard, 0.0008, 2),
            oracle_train_accuracy: curve(0.5, 0.99 - 0.2 * hard, 0.0, 3),
            test_accuracy,
        }),
        heat: Some(Heat {
            support: square
                .clone()
                .map(|r| square.clone().map(|c| support(r, c)).collect())
                .collect(),
            margin: square
                .clone()
                .map(|r| {
                    square
                        .clone()
                        .map(|c| (support(r, c) > 0).then(|| margin(r, c)))
                        .collect()
                })
                .collect(),
        }),
    }
}
