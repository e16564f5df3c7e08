//! ONNX models: what is in their bytes, and what ONNX Runtime makes of them.
//!
//! The second part needs a Python with `onnxruntime` and `numpy`: the one `MPU_PYTHON` names, or else
//! `python3`. Without it the tests say so and pass. With `onnx` there as well, its checker is asked.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; a skipped one says so"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use mpu_models::fused::Workspace;
use mpu_models::onnx::{Affine, Calibration, Options, to_bytes};
use mpu_models::{Error, Init, MlpSpec, ModelSpec, Params, ResNetSpec, Role, Threads};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

fn draws(rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| (rng.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

/// Parameters with nothing at its default; running variances from 0.05 to 20.
fn params_of(spec: &ModelSpec, rng: &mut ChaCha8Rng) -> Params {
    let mut params = Params::init(spec, Init::KaimingNormal, rng).unwrap();
    for entry in params.entries().to_vec() {
        let draws = draws(rng, entry.n_values());
        let values = params.get_mut(&entry.name).unwrap();
        for (value, u) in values.iter_mut().zip(draws) {
            match entry.role {
                Role::Weight { .. } => {}
                Role::Scale => *value = 1.0 + 0.5 * u,
                Role::RunningVar => *value = (3.0 * u).exp(),
                _ => *value = 0.5 * u,
            }
        }
    }
    params
}

fn mlp(inputs: usize, hidden: &[usize], outputs: usize) -> ModelSpec {
    ModelSpec::Mlp(MlpSpec {
        inputs,
        hidden: hidden.to_vec(),
        outputs,
    })
}

fn resnet(channels: usize, height: usize, width: usize, depth: usize, outputs: usize) -> ModelSpec {
    ModelSpec::ResNet(ResNetSpec {
        channels,
        height,
        width,
        depth,
        outputs,
    })
}

// What is in the bytes.

/// A message read back: its fields in order.
struct Fields<'a>(Vec<(u64, Field<'a>)>);

enum Field<'a> {
    Int(u64),
    Bytes(&'a [u8]),
    Fixed([u8; 4]),
}

impl<'a> Fields<'a> {
    fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Int(varint(&mut bytes)),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    Field::Bytes(bytes.split_off(..length).unwrap())
                }
                5 => Field::Fixed(bytes.split_off(..4).unwrap().try_into().unwrap()),
                other => panic!("wire type {other}"),
            };
            fields.push((key >> 3, field));
        }
        Self(fields)
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &Field<'a>> {
        let with_number = move |field: &&(u64, Field<'a>)| field.0 == number;
        self.0.iter().filter(with_number).map(|(_, field)| field)
    }

    fn ints(&self, number: u64) -> Vec<u64> {
        let int = |field: &Field<'_>| match field {
            Field::Int(value) => *value,
            _ => panic!("field {number} is no integer"),
        };
        self.all(number).map(int).collect()
    }

    fn bytes(&self, number: u64) -> Vec<&'a [u8]> {
        let bytes = |field: &Field<'a>| match field {
            Field::Bytes(bytes) => *bytes,
            _ => panic!("field {number} has no length"),
        };
        self.all(number).map(bytes).collect()
    }

    fn messages(&self, number: u64) -> Vec<Self> {
        self.bytes(number).into_iter().map(Fields::read).collect()
    }

    fn texts(&self, number: u64) -> Vec<&'a str> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        self.bytes(number).into_iter().map(text).collect()
    }

    fn float(&self, number: u64) -> f32 {
        match self.all(number).next() {
            Some(Field::Fixed(bytes)) => f32::from_le_bytes(*bytes),
            _ => panic!("field {number} is no float"),
        }
    }

    /// The name and width of a value `[N, width]` in single precision.
    fn rows(&self) -> (&'a str, u64) {
        let tensor = &self.messages(2)[0].messages(1)[0];
        assert_eq!(tensor.ints(1), [1]);
        let dims = tensor.messages(2)[0].messages(1);
        assert_eq!((dims.len(), dims[0].texts(2)), (2, vec!["N"]));
        (self.texts(1)[0], dims[1].ints(1)[0])
    }

    /// Operators, in order.
    fn operators(&self) -> Vec<&'a str> {
        self.messages(1).iter().map(|n| n.texts(4)[0]).collect()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first().unwrap();
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes")
}

/// Every input of a node exists when it is needed, no name is given twice, nothing is unused.
fn check_names(graph: &Fields<'_>) {
    let mut known = BTreeSet::from(["features"]);
    for constant in graph.messages(5) {
        assert!(known.insert(constant.texts(8)[0]), "{:?}", known.last());
    }
    let mut used = BTreeSet::new();
    for node in graph.messages(1) {
        for input in node.texts(1) {
            assert!(known.contains(input), "{input} before it is there");
            used.insert(input);
        }
        assert_eq!(node.texts(2), node.texts(3));
        assert!(known.insert(node.texts(2)[0]), "{:?} twice", node.texts(2));
    }
    used.extend(graph.messages(12).iter().map(|output| output.rows().0));
    assert_eq!(known, used);
}

#[test]
fn a_perceptron_holds_its_layers_and_its_numbers() {
    let spec = mlp(3, &[4, 2], 2);
    let params = params_of(&spec, &mut ChaCha8Rng::seed_from_u64(1));
    let options = Options {
        metadata: BTreeMap::from([
            ("classes".into(), "ä,b".into()),
            ("a".into(), String::new()),
        ]),
        ..Options::default()
    };
    let bytes = to_bytes(&params, &options).unwrap();
    assert_eq!(bytes, to_bytes(&params, &options).unwrap());
    let model = Fields::read(&bytes);
    assert_eq!((model.ints(1), model.texts(2)), (vec![7], vec!["mpu"]));
    let opsets = model.messages(8);
    assert_eq!((opsets.len(), opsets[0].ints(2)), (1, vec![13]));
    let metadata = model.messages(14);
    let metadata: Vec<_> = metadata.iter().map(|m| (m.texts(1), m.texts(2))).collect();
    assert_eq!(
        metadata,
        [(vec!["a"], vec![""]), (vec!["classes"], vec!["ä,b"])]
    );

    let graph = &model.messages(7)[0];
    check_names(graph);
    assert_eq!(graph.messages(11)[0].rows(), ("features", 3));
    let outputs = graph.messages(12);
    assert_eq!((outputs.len(), outputs[0].rows()), (1, ("scores", 2)));
    let hidden = ["Gemm", "Relu", "BatchNormalization"];
    let operators = [&hidden[..], &hidden, &["Gemm"]].concat();
    assert_eq!(graph.operators(), operators);
    let nodes = graph.messages(1);
    assert_eq!(
        nodes[0].texts(1),
        ["features", "fc1.weight", "fc1.bias"],
        "the weight as it is stored, transposed by the node"
    );
    let transposed = &nodes[0].messages(5)[0];
    assert_eq!(
        (transposed.texts(1), transposed.ints(3)),
        (vec!["transB"], vec![1])
    );
    let epsilon = &nodes[2].messages(5)[0];
    assert_eq!(
        (epsilon.texts(1), epsilon.float(2)),
        (vec!["epsilon"], 1e-5)
    );

    let constants = graph.messages(5);
    assert_eq!(constants.len(), params.entries().len());
    for (constant, (entry, values)) in constants.iter().zip(params.iter()) {
        assert_eq!(constant.texts(8), [&entry.name]);
        assert_eq!(constant.ints(2), [1]);
        let shape: Vec<u64> = entry.shape.iter().map(|&size| size as u64).collect();
        assert_eq!(constant.ints(1), shape);
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        assert_eq!(constant.bytes(9), [bytes]);
    }
}

#[test]
fn a_residual_network_holds_its_blocks() {
    let spec = resnet(3, 7, 5, 14, 2);
    let params = params_of(&spec, &mut ChaCha8Rng::seed_from_u64(2));
    let bytes = to_bytes(&params, &Options::default()).unwrap();
    let graph = &Fields::read(&bytes).messages(7)[0];
    check_names(graph);
    assert_eq!(graph.messages(11)[0].rows(), ("features", 105));
    let count = |op: &str| graph.operators().iter().filter(|&&o| o == op).count();
    assert_eq!(count("Conv"), 13);
    assert_eq!(count("BatchNormalization"), 13);
    assert_eq!((count("Add"), count("Relu")), (6, 13));
    assert_eq!((count("Slice"), count("Pad")), (2, 2));
    let find = |name: &str| {
        let constants = graph.messages(5).into_iter();
        let constant = constants.filter(|c| c.texts(8) == [name]).next().unwrap();
        assert_eq!(constant.ints(2), [7]);
        let numbers = constant.bytes(9)[0].chunks(8);
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
        numbers.map(number).collect::<Vec<_>>()
    };
    assert_eq!(find("images.shape"), [0, 3, 7, 5]);
    assert_eq!(find("block3.0.ends"), [4, 3]);
    assert_eq!(find("block3.0.pads"), [0, 16, 0, 0, 0, 16, 0, 0]);
}

#[test]
fn only_what_is_asked_for_is_added() {
    let params = params_of(&mlp(2, &[], 3), &mut ChaCha8Rng::seed_from_u64(3));
    let operators = |shift: Option<[f64; 2]>, b: Option<[f64; 3]>| {
        let scaled = |shift: [f64; 2]| Affine {
            shift: shift.to_vec(),
            scale: vec![1.0; 2],
        };
        let options = Options {
            input: shift.map(scaled),
            calibration: b.map(|b| Calibration {
                a: 1.0,
                b: b.to_vec(),
            }),
            ..Options::default()
        };
        let bytes = to_bytes(&params, &options).unwrap();
        let graph = &Fields::read(&bytes).messages(7)[0];
        check_names(graph);
        let outputs = graph.messages(12).len();
        (graph.operators().join(" "), outputs)
    };
    let check = |shift, b, text: &str, outputs| {
        assert_eq!(operators(shift, b), (text.to_owned(), outputs));
    };
    check(None, None, "Gemm", 1);
    check(Some([0.0, 0.5]), None, "Sub Mul Gemm", 1);
    check(Some([0.0, 0.1]), None, "Sub Sub Mul Gemm", 1);
    check(Some([0.0, 1e38]), None, "Cast Sub Mul Cast Gemm", 1);
    check(None, Some([0.0; 3]), "Gemm Mul Add Softmax", 2);
}

#[test]
fn what_cannot_be_exported_is_named() {
    let spec = mlp(2, &[3], 2);
    let params = params_of(&spec, &mut ChaCha8Rng::seed_from_u64(4));
    let affine = |shift: &[f64], scale: &[f64]| Options {
        input: Some(Affine {
            shift: shift.to_vec(),
            scale: scale.to_vec(),
        }),
        ..Options::default()
    };
    let calibration = |a: f64, b: &[f64]| Options {
        calibration: Some(Calibration { a, b: b.to_vec() }),
        ..Options::default()
    };
    let check = |params: &Params, options: &Options, part: &str| {
        let message = to_bytes(params, options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    check(&params, &affine(&[0.0; 3], &[1.0; 2]), "3 values: 2 are");
    check(&params, &affine(&[0.0; 2], &[1.0]), "1 values: 2 are");
    check(&params, &affine(&[0.0, f64::NAN], &[1.0; 2]), "value 1");
    let constant = affine(&[0.0; 2], &[1.0 / 0.0, 1.0]);
    check(
        &params,
        &constant,
        "value 0 of the scale of the features is inf",
    );
    check(
        &params,
        &constant,
        "hint: a feature that is constant takes scale 1",
    );
    check(&params, &calibration(1.0, &[0.0; 3]), "3 values: 2 are");
    check(&params, &calibration(1e300, &[0.0; 2]), "calibration's a");
    check(
        &params,
        &calibration(1.0, &[0.0, f64::NEG_INFINITY]),
        "-inf",
    );
    let mut diverged = params.clone();
    diverged.get_mut("bn1.running_mean").unwrap()[2] = f32::NAN;
    let error = to_bytes(&diverged, &Options::default()).unwrap_err();
    assert!(
        matches!(&error, Error::NotFinite { what, index: 2, .. } if what == "bn1.running_mean"),
        "{error}"
    );
}

// What ONNX Runtime makes of them.

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
    'scores': outputs['scores'].astype('f8').ravel().tolist(),
    'probabilities': outputs.get('probabilities', np.zeros(0)).astype('f8').ravel().tolist(),
}))
";

#[derive(Deserialize)]
struct Answer {
    checked: bool,
    shapes: Vec<(String, usize)>,
    metadata: BTreeMap<String, String>,
    scores: Vec<f64>,
    probabilities: Vec<f64>,
}

/// The Python to ask, if it has what is needed.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| {
        let python = std::env::var("MPU_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(&python);
        let probe = command.args(["-c", "import onnxruntime, numpy"]).output();
        probe.is_ok_and(|it| it.status.success()).then_some(python)
    });
    python.as_deref()
}

fn ask(python: &str, model: &[u8], rows: &[f32], inputs: usize) -> Answer {
    let mut command = Command::new(python);
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
    let Some(python) = python() else {
        println!("skipped: no Python with the packages onnxruntime and numpy");
        return;
    };
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
    };
    let answer = ask(python, &to_bytes(&params, &options).unwrap(), rows, inputs);
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

#[test]
fn perceptrons_score_as_ours_do() {
    check_plain(&mlp(5, &[7, 3], 4), 9, 10);
    check_plain(&mlp(4, &[], 2), 1, 11);
    check_plain(&mlp(1, &[1], 1), 3, 12);
    check_plain(&ModelSpec::mlp5(784, 10), 33, 13);
}

#[test]
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

#[test]
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
