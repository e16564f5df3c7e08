//! What is in the bytes of ONNX models, read back field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mpu_data::Seed;
use mpu_models::forest::{Bins, Column, Forest, ForestSpec, Layout, Targets};
use mpu_models::onnx::{Affine, Calibration, Model, Options, Votes, to_bytes};
use mpu_models::{Error, Params};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::networks::{mlp, params_of, resnet};

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
        assert_eq!(node.texts(2)[..1], node.texts(3));
        for output in node.texts(2) {
            assert!(known.insert(output), "{output} twice");
        }
        // The answers of trees come with the classes that have most votes, which nothing reads.
        used.extend(
            node.texts(2)
                .into_iter()
                .filter(|_| node.texts(2).len() > 1),
        );
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
    let bytes = to_bytes(Model::Network(&params), &options).unwrap();
    assert_eq!(bytes, to_bytes(Model::Network(&params), &options).unwrap());
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
    let bytes = to_bytes(Model::Network(&params), &Options::default()).unwrap();
    let graph = &Fields::read(&bytes).messages(7)[0];
    check_names(graph);
    assert_eq!(graph.messages(11)[0].rows(), ("features", 105));
    let count = |op: &str| graph.operators().iter().filter(|&&o| o == op).count();
    assert_eq!(count("Conv"), 13);
    assert_eq!(count("BatchNormalization"), 13);
    assert_eq!((count("Add"), count("Relu")), (6, 13));
    assert_eq!((count("Slice"), count("Pad")), (2, 2));
    let find = |name: &str| {
        let mut constants = graph.messages(5).into_iter();
        let constant = constants.find(|c| c.texts(8) == [name]).unwrap();
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
        let bytes = to_bytes(Model::Network(&params), &options).unwrap();
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

/// A small forest of a number and a category of two, with three classes.
fn forest() -> Forest {
    let layout = Layout::new(vec![Column::Numeric, Column::Categorical(2)]).unwrap();
    let row = |i: usize| [i as f32, (i % 2) as f32, ((i + 1) % 2) as f32];
    let rows: Vec<f32> = (0..60).flat_map(row).collect();
    let classes: Vec<usize> = (0..60).map(|i| i / 20).collect();
    let bins = Bins::learn(layout, &rows).unwrap();
    let spec = ForestSpec {
        trees: 8,
        ..ForestSpec::default()
    };
    let targets = Targets::hard(&classes, 3).unwrap();
    let binned = bins.encode(&rows).unwrap();
    let go_on = || ControlFlow::Continue(());
    let forest = Forest::fit(spec, bins, &binned, &targets, Seed(5), &go_on);
    forest.unwrap().unwrap()
}

#[test]
fn forests_and_networks_share_one_graph() {
    let forest = forest();
    let votes = Votes {
        forest: &forest,
        extra: 0.5,
    };
    let rng = &mut ChaCha8Rng::seed_from_u64(6);
    let params = params_of(&mlp(3, &[], 3), rng);
    let options = Options {
        missing: Some(vec![1.5, 0.0, 1.0]),
        input: Some(Affine {
            shift: vec![0.5; 3],
            scale: vec![2.0; 3],
        }),
        calibration: Some(Calibration {
            a: 1.0,
            b: vec![0.0; 3],
        }),
        ..Options::default()
    };
    let operators = |model: Model<'_>| {
        let bytes = to_bytes(model, &options).unwrap();
        let model = Fields::read(&bytes);
        let graph = &model.messages(7)[0];
        check_names(graph);
        let outputs = graph.messages(12);
        let outputs: Vec<_> = outputs.iter().map(Fields::rows).collect();
        assert_eq!(outputs, [("scores", 3), ("probabilities", 3)]);
        assert_eq!(graph.messages(11)[0].rows(), ("features", 3));
        (graph.operators().join(" "), model.messages(8).len())
    };
    let trees = "Slice MatMul ReduceMax Greater Where Concat TreeEnsembleClassifier Mul Add Log";
    let network = "IsNaN Where Sub Mul Gemm";
    let end = "Mul Add Softmax";
    assert_eq!(
        operators(Model::Network(&params)),
        (format!("{network} {end}"), 1)
    );
    assert_eq!(
        operators(Model::Forest(votes)),
        (format!("{trees} {end}"), 2)
    );
    assert_eq!(
        operators(Model::Both(votes, &params)),
        (format!("{trees} {network} LogSoftmax Add Mul {end}"), 2)
    );

    let other = params_of(&mlp(4, &[], 3), rng);
    let few = Options {
        missing: Some(vec![0.0]),
        ..Options::default()
    };
    let none = Votes {
        forest: &forest,
        extra: 0.0,
    };
    for (model, options, part) in [
        (Model::Both(votes, &other), &options, "4 values: 3 are"),
        (Model::Network(&params), &few, "1 values: 3 are"),
        (Model::Forest(none), &options, "above 0"),
    ] {
        let message = to_bytes(model, options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
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
        let message = to_bytes(Model::Network(params), options)
            .unwrap_err()
            .to_string();
        assert!(message.contains(part), "{message}");
    };
    check(&params, &affine(&[0.0; 3], &[1.0; 2]), "3 values: 2 are");
    check(&params, &affine(&[0.0; 2], &[1.0]), "1 values: 2 are");
    check(&params, &affine(&[0.0, f64::NAN], &[1.0; 2]), "value 1");
    let constant = affine(&[0.0; 2], &[f64::INFINITY, 1.0]);
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
    check(
        &params,
        &calibration(1e300, &[0.0; 2]),
        "a is 1e300: it must be finite, and at most 3.4e38",
    );
    check(
        &params,
        &calibration(1.0, &[0.0, f64::NEG_INFINITY]),
        "-inf",
    );
    let mut diverged = params.clone();
    diverged.get_mut("bn1.running_mean").unwrap()[2] = f32::NAN;
    let error = to_bytes(Model::Network(&diverged), &Options::default()).unwrap_err();
    assert!(
        matches!(&error, Error::NotFinite { what, index: 2, .. } if what == "bn1.running_mean"),
        "{error}"
    );
}
