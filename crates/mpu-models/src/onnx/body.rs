//! The nodes of a network in evaluation mode.

use super::graph::{Attribute, Graph};
use crate::error::{Error, Result};
use crate::layout::Entry;
use crate::norm::EPS;
use crate::params::Params;
use crate::spec::{BlockShape, MlpSpec, ModelSpec, ResNetSpec};

/// Adds the parameters under their own names, and the nodes that lead from rows `x` to `scores`.
pub(super) fn add(graph: &mut Graph, params: &Params, x: &str, scores: &str) -> Result<()> {
    for (entry, values) in params.iter() {
        graph.floats(&entry.name, &entry.shape, values);
    }
    let mut body = Body {
        graph,
        entries: params.entries(),
    };
    match params.spec() {
        ModelSpec::Mlp(mlp) => body.mlp(mlp, x, scores),
        ModelSpec::ResNet(net) => body.resnet(net, x, scores),
        ModelSpec::Module(_) => Err(Error::OwnNetwork {
            what: "the export to ONNX",
            hint: "its operations are known to the program that wrote it alone: use it there",
        }),
    }
}

/// The graph, and the parameters not yet used: they are taken in order.
struct Body<'a> {
    graph: &'a mut Graph,
    entries: &'a [Entry],
}

impl<'a> Body<'a> {
    fn mlp(&mut self, spec: &MlpSpec, x: &str, scores: &str) -> Result<()> {
        let mut x = x.to_owned();
        for layer in 1..=spec.hidden.len() {
            let name = |step: &str| format!("hidden{layer}.{step}");
            let (linear, active, normal) = (name("linear"), name("relu"), name("norm"));
            self.linear(&x, &linear)?;
            self.graph.node("Relu", &[&linear], &active, &[]);
            self.norm(&active, &normal)?;
            x = normal;
        }
        self.linear(&x, scores)
    }

    fn resnet(&mut self, spec: &ResNetSpec, x: &str, scores: &str) -> Result<()> {
        // Zero keeps the size that is there: the number of rows.
        let shape = [0, spec.channels, spec.height, spec.width];
        self.graph.ints("images.shape", &shape);
        self.graph
            .node("Reshape", &[x, "images.shape"], "images", &[]);
        self.conv_norm("images", 1, "stem")?;
        self.graph.node("Relu", &["stem.norm"], "stem", &[]);
        let mut x = "stem".to_owned();
        for block in spec.blocks() {
            x = self.block(&block, &x)?;
        }
        self.graph.node("GlobalAveragePool", &[&x], "pool", &[]);
        let axis = ("axis", Attribute::Int(1));
        self.graph.node("Flatten", &["pool"], "planes", &[axis]);
        self.linear("planes", scores)
    }

    fn block(&mut self, block: &BlockShape, x: &str) -> Result<String> {
        let name = format!("block{}.{}", block.stage + 1, block.index);
        let (first, second) = (format!("{name}.first"), format!("{name}.second"));
        self.conv_norm(x, block.stride, &first)?;
        let normal = format!("{first}.norm");
        self.graph.node("Relu", &[&normal], &first, &[]);
        self.conv_norm(&first, 1, &second)?;
        let short = self.shortcut(block, x, &name);
        let (normal, sum) = (format!("{second}.norm"), format!("{name}.sum"));
        self.graph.node("Add", &[&normal, &short], &sum, &[]);
        self.graph.node("Relu", &[&sum], &name, &[]);
        Ok(name)
    }

    /// Option A: every second pixel, and planes of zeros, half before and half after.
    fn shortcut(&mut self, block: &BlockShape, x: &str, name: &str) -> String {
        if block.stride == 1 {
            return x.to_owned();
        }
        let [starts, ends, axes, steps, pads, pixels, short] = [
            "starts", "ends", "axes", "steps", "pads", "pixels", "shortcut",
        ]
        .map(|part| format!("{name}.{part}"));
        self.graph.ints(&starts, &[0, 0]);
        self.graph.ints(&ends, &[block.height, block.width]);
        self.graph.ints(&axes, &[2, 3]);
        self.graph.ints(&steps, &[block.stride; 2]);
        let inputs = [x, &starts, &ends, &axes, &steps];
        self.graph.node("Slice", &inputs, &pixels, &[]);
        let extra = block.planes - block.inputs;
        let (before, after) = (extra / 2, extra - extra / 2);
        self.graph.ints(&pads, &[0, before, 0, 0, 0, after, 0, 0]);
        self.graph.node("Pad", &[&pixels, &pads], &short, &[]);
        short
    }

    /// `output = x Wᵀ + b`.
    fn linear(&mut self, x: &str, output: &str) -> Result<()> {
        let [weight, bias] = self.take()?;
        let transposed = ("transB", Attribute::Int(1));
        self.graph
            .node("Gemm", &[x, weight, bias], output, &[transposed]);
        Ok(())
    }

    /// `NAME.conv`, a convolution, and `NAME.norm`, its normalisation.
    fn conv_norm(&mut self, x: &str, stride: usize, name: &str) -> Result<()> {
        let [weight] = self.take()?;
        let (conv, normal) = (format!("{name}.conv"), format!("{name}.norm"));
        let attributes = [
            ("kernel_shape", Attribute::Ints(&[3, 3])),
            ("pads", Attribute::Ints(&[1, 1, 1, 1])),
            ("strides", Attribute::Ints(&[stride; 2])),
        ];
        self.graph.node("Conv", &[x, weight], &conv, &attributes);
        self.norm(&conv, &normal)
    }

    fn norm(&mut self, x: &str, output: &str) -> Result<()> {
        let [scale, shift, mean, var] = self.take()?;
        let inputs = [x, scale, shift, mean, var];
        let epsilon = ("epsilon", Attribute::Float(EPS as f32));
        self.graph
            .node("BatchNormalization", &inputs, output, &[epsilon]);
        Ok(())
    }

    /// The names of the next parameters.
    fn take<const N: usize>(&mut self) -> Result<[&'a str; N]> {
        let Some((taken, rest)) = self.entries.split_first_chunk::<N>() else {
            return Err(Error::OtherModel { what: "graph" });
        };
        self.entries = rest;
        Ok(taken.each_ref().map(|entry| entry.name.as_str()))
    }
}
