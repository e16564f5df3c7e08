//! What ONNX Runtime makes of the models.
//!
//! This needs a Python with `onnxruntime` and `numpy`: the one `MPU_PYTHON` names, or else `python3`.
//! With `onnx` there as well, its checker is asked.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use mpu_models::fused::Workspace;
use mpu_models::onnx::{Affine, Calibration, Model, Options, to_bytes};
use mpu_models::{ModelSpec, Threads};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Deserialize;

use crate::need::{Need, python};
use crate::networks::{draws, mlp, params_of, resnet};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Onnx => perceptrons_score_as_ours_do,
        Need::Onnx => residual_networks_score_as_ours_do,
        Need::Onnx => features_are_scaled_as_ours_are,
    }
}

/// Reads `bytes rows inputs`, the model and the rows; answers with what it found.
const SCRIPT: &str = "
import json, sys
import numpy as np
import onnxruntime as ort
size, n, inputs = map(int, sys.stdin.buffer.readline().split())
model = sys.stdin.buffer.read(size)
rows = np.frombuffer(sys.stdin.buffer.read(), '<f4').reshape(n, inputs)
try:
    import onnx
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    checked = True
except ImportError:
    checked = False
settings = ort.SessionOptions()
settings.intra_op_num_threads = 1
session = ort.InferenceSession(model, settings, providers=['CPUExecutionProvider'])
outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, {'features': rows})))
print(json.dumps({
    'checked': checked,
    'shapes': [o.shape for o in session.get_inputs() + session.get_outputs()],
    'metadata': session.get_modelmeta().custom_metadata_map,
    'scores': outputs.get('scores', np.zeros(0)).astype('f8').ravel().tolist(),
    'probabilities': outputs.get('probabilities', np.zeros(0)).astype('f8').ravel().tolist(),
}))
";

#[derive(Deserialize)]
pub(crate) struct Answer {
    pub(crate) checked: bool,
    pub(crate) shapes: Vec<(String, usize)>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) scores: Vec<f64>,
    pub(crate) probabilities: Vec<f64>,
}

pub(crate) fn ask(model: &[u8], rows: &[f32], inputs: usize) -> Answer {
    let mut command = Command::new(python());
    command.args(["-c", SCRIPT]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // It reads everything before it writes.
    let mut stdin = child.stdin.take().unwrap();
    let n_rows = rows.len() / inputs;
    writeln!(stdin, "{} {n_rows} {inputs}", model.len()).unwrap();
    stdin.write_all(model).unwrap();
    let rows: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
    stdin.write_all(&rows).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The largest gap between two lists, relative to the largest number wanted.
fn gap(got: &[f64], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1e-3f32, |scale, w| scale.max(w.abs()));
    let gaps = got.iter().zip(want).map(|(g, w)| (g - f64::from(*w)).abs());
    // Not `max`, which passes over NaN.
    let worst = gaps.fold(0.0, |worst, gap| if gap <= worst { worst } else { gap });
    worst / f64::from(scale)
}

/// ONNX Runtime on `rows` as they are, against our own prediction on rows scaled in `f64`.
fn check(spec: &ModelSpec, rows: &[f32], input: Option<Affine>, seed: u64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let params = params_of(spec, rng);
    let (inputs, k) = (spec.inputs(), spec.outputs());
    let scaled: Vec<f32> = match &input {
        None => rows.to_vec(),
        Some(Affine { shift, scale }) => {
            let row = |row: &[f32]| {
                let numbers = row.iter().zip(shift).zip(scale);
                let scaled = numbers.map(|((&x, m), s)| ((f64::from(x) - m) * s) as f32);
                scaled.collect::<Vec<_>>()
            };
            rows.chunks(inputs).flat_map(row).collect()
        }
    };
    assert!(scaled.iter().all(|x| x.is_finite() && x.abs() < 100.0));
    let mut want = vec![0.0; rows.len() / inputs * k];
    Workspace::new(spec, 16, Threads::ONE)
        .unwrap()
        .predict(&params, &scaled, &mut want)
        .unwrap();

    let b: Vec<f64> = draws(rng, k).into_iter().map(f64::from).collect();
    let a = 1.0 / f64::from(want.iter().fold(0f32, |most, f| most.max(f.abs())));
    let options = Options {
        input,
        calibration: Some(Calibration { a, b: b.clone() }),
        metadata: BTreeMap::from([("classes".to_owned(), "α,β".to_owned())]),
        ..Options::default()
    };
    let answer = ask(
        &to_bytes(Model::Network(&params), &options).unwrap(),
        rows,
        inputs,
    );
    let found = gap(&answer.scores, &want);
    println!("{spec:?}: gap {found:.1e}, checked {}", answer.checked);
    assert!(found < 1e-4, "{spec:?}: {found:e}");
    let shapes = [inputs, k, k].map(|width| ("N".to_owned(), width));
    assert_eq!(answer.shapes, shapes);
    assert_eq!(answer.metadata, options.metadata);

    let mut probabilities = Vec::new();
    for f in want.chunks(k) {
        let powers = f.iter().zip(&b).map(|(&f, b)| (a * f64::from(f) + b).exp());
        let powers: Vec<f64> = powers.collect();
        let sum: f64 = powers.iter().sum();
        probabilities.extend(powers.iter().map(|power| (power / sum) as f32));
    }
    let found = gap(&answer.probabilities, &probabilities);
    assert!(found < 1e-4, "{spec:?}: probabilities {found:e}");
    for row in answer.probabilities.chunks(k) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{row:?}");
    }
}

fn check_plain(spec: &ModelSpec, n_rows: usize, seed: u64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(100 + seed);
    let rows = draws(rng, n_rows * spec.inputs());
    check(spec, &rows, None, seed);
}

fn perceptrons_score_as_ours_do() {
    check_plain(&mlp(5, &[7, 3], 4), 9, 10);
    check_plain(&mlp(4, &[], 2), 1, 11);
    check_plain(&mlp(1, &[1], 1), 3, 12);
    check_plain(&ModelSpec::mlp5(784, 10), 33, 13);
}

fn residual_networks_score_as_ours_do() {
    check_plain(&resnet(1, 9, 7, 8, 3), 5, 20);
    check_plain(&resnet(3, 6, 11, 14, 2), 1, 21);
    check_plain(&resnet(1, 1, 2, 8, 2), 4, 22);
    check_plain(&resnet(3, 13, 12, 20, 10), 3, 23);
}

/// Rows around `shift` with a spread of `1 / scale`.
fn check_scaled(spec: &ModelSpec, columns: &[(f64, f64)], seed: u64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(200 + seed);
    let columns = columns.iter().copied().cycle().take(spec.inputs());
    let (shift, scale): (Vec<f64>, Vec<f64>) = columns.unzip();
    let mut rows = Vec::new();
    for _ in 0..8 {
        for (shift, scale) in shift.iter().zip(&scale) {
            let spread = if *scale == 0.0 { 1.0 } else { 1.0 / scale };
            let x = shift + spread * f64::from(draws(rng, 1)[0]);
            rows.push(x.clamp(-3e38, 3e38) as f32);
        }
    }
    check(spec, &rows, Some(Affine { shift, scale }), seed);
}

fn features_are_scaled_as_ours_are() {
    // Far from zero; a constant; one left out; very small and very large.
    let columns = [
        (1e6 + 0.3, 1.0),
        (-16_777_215.7, 0.25),
        (0.1, 1.0),
        (5.0, 0.0),
        (1e-20, 1e20),
        (0.0, 1e-25),
    ];
    check_scaled(&mlp(6, &[8], 3), &columns, 30);
    check_scaled(&resnet(2, 5, 3, 8, 3), &columns, 31);
    // Beyond single precision: a range of twice its greatest number, and of its smallest.
    let extreme = [(-3e38, 1.0 / 6e38), (1e-40, 1e41), (3.0, 0.5)];
    check_scaled(&mlp(3, &[8], 3), &extreme, 32);
}
