//! An ONNX graph and model, message by message; field numbers are those of `onnx.proto`.

use super::wire::Message;

/// The version of the file format: that of ONNX 1.8, of 2020, which every later reader takes.
const IR_VERSION: u64 = 7;

/// The version of the operators, of the same year.
const OPSET: u64 = 13;

/// The number of rows of a batch, which the model leaves open.
const BATCH: &str = "N";

/// What the numbers of a tensor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// Single precision.
    Float,
    /// Whole numbers of 64 bits.
    Int64,
    /// Double precision.
    Double,
}

impl Element {
    /// Its number in `TensorProto.DataType`.
    pub(super) fn code(self) -> u64 {
        match self {
            Self::Float => 1,
            Self::Int64 => 7,
            Self::Double => 11,
        }
    }
}

/// An attribute of a node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute<'a> {
    /// A float.
    Float(f32),
    /// A whole number.
    Int(u64),
    /// Several whole numbers.
    Ints(&'a [usize]),
    /// Several floats.
    Floats(&'a [f32]),
    /// Several texts.
    Texts(&'a [&'a str]),
}

/// The operators of classical models, and their version of the same year.
const CLASSICAL: (&str, u64) = ("ai.onnx.ml", 2);

/// Nodes in the order of computation, and the constants they read.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Message,
    constants: Message,
    /// Whether a node is of the classical operators.
    classical: bool,
}

impl Graph {
    /// Adds `output = op(inputs)`; the node is called as its output is.
    pub(super) fn node(
        &mut self,
        op: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute<'_>)],
    ) {
        let node = message(op, inputs, &[output], attributes);
        self.nodes.message(1, &node);
    }

    /// Adds a node of the classical operators, called as its first output is.
    pub(super) fn classical(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) {
        let mut node = message(op, inputs, outputs, attributes);
        node.text(7, CLASSICAL.0);
        self.nodes.message(1, &node);
        self.classical = true;
    }

    /// Adds a constant in single precision.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.constant(name, shape, Element::Float, bytes);
    }

    /// Adds a vector in double precision.
    pub(super) fn doubles(&mut self, name: &str, values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.constant(name, &[values.len()], Element::Double, bytes);
    }

    /// Adds a vector of whole numbers.
    pub(super) fn ints(&mut self, name: &str, values: &[usize]) {
        let bytes = values
            .iter()
            .flat_map(|&value| (value as u64).to_le_bytes());
        self.constant(name, &[values.len()], Element::Int64, bytes);
    }

    fn constant(
        &mut self,
        name: &str,
        shape: &[usize],
        element: Element,
        bytes: impl Iterator<Item = u8>,
    ) {
        let bytes: Vec<u8> = bytes.collect();
        let mut tensor = Message::default();
        for &size in shape {
            tensor.int(1, size as u64);
        }
        tensor.int(2, element.code()).text(8, name).bytes(9, &bytes);
        self.constants.message(5, &tensor);
    }

    /// The whole model: rows `[N, width]` go in and come out, both in single precision.
    pub(super) fn into_model<'a>(
        self,
        name: &str,
        input: (&str, usize),
        outputs: &[(&str, usize)],
        metadata: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Vec<u8> {
        let mut graph = self.nodes;
        graph.text(2, name).append(&self.constants);
        graph.message(11, &rows(input));
        for &output in outputs {
            graph.message(12, &rows(output));
        }
        let mut opset = Message::default();
        opset.text(1, "").int(2, OPSET);
        let mut model = Message::default();
        model
            .int(1, IR_VERSION)
            .text(2, "mpu")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &graph)
            .message(8, &opset);
        if self.classical {
            let mut opset = Message::default();
            opset.text(1, CLASSICAL.0).int(2, CLASSICAL.1);
            model.message(8, &opset);
        }
        for (name, value) in metadata {
            let mut entry = Message::default();
            entry.text(1, name).text(2, value);
            model.message(14, &entry);
        }
        model.into_bytes()
    }
}

/// A node, called as its first output is.
fn message(
    op: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, Attribute<'_>)],
) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node.text(1, input);
    }
    for output in outputs {
        node.text(2, output);
    }
    node.text(3, outputs.first().unwrap_or(&"")).text(4, op);
    for &(name, attribute) in attributes {
        let mut message = Message::default();
        message.text(1, name);
        match attribute {
            Attribute::Float(value) => message.float(2, value).int(20, 1),
            Attribute::Int(value) => message.int(3, value).int(20, 2),
            Attribute::Ints(values) => {
                for &value in values {
                    message.int(8, value as u64);
                }
                message.int(20, 7)
            }
            Attribute::Floats(values) => {
                for &value in values {
                    message.float(7, value);
                }
                message.int(20, 6)
            }
            Attribute::Texts(values) => {
                for value in values {
                    message.text(9, value);
                }
                message.int(20, 8)
            }
        };
        node.message(5, &message);
    }
    node
}

/// A named value of shape `[N, width]`.
fn rows((name, width): (&str, usize)) -> Message {
    let (mut batch, mut columns) = (Message::default(), Message::default());
    batch.text(2, BATCH);
    columns.int(1, width as u64);
    let mut shape = Message::default();
    shape.message(1, &batch).message(1, &columns);
    let mut tensor = Message::default();
    tensor.int(1, Element::Float.code()).message(2, &shape);
    let mut kind = Message::default();
    kind.message(1, &tensor);
    let mut value = Message::default();
    value.text(1, name).message(2, &kind);
    value
}
