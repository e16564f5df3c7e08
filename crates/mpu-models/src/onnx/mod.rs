//! Trained networks and forests as ONNX models, for ONNX Runtime and whatever else reads the format.
//!
//! A model takes `features`, rows `[N, inputs]` as the user has them, and gives `scores` `[N, k]`; `N` is open.
//!
//! - A **network** is the network in evaluation mode. Images are flat rows too, in the order channel, row, column. If
//!   asked to, the model fills in missing values and scales the features first ([`Options::missing`], [`Affine`]).
//! - A **forest** takes encoded rows in which NaN is a missing value. Its scores are logarithms of the trees' votes
//!   ([`Votes`]).
//! - **Both** together give the mean of the forest's scores and of the logarithm of the network's softmax.
//!
//! If asked to, the model gives `probabilities` `[N, k]` beside the scores ([`Calibration`]).
//!
//! ```
//! use mpu_models::onnx::{self, Affine, Calibration, Model};
//! use mpu_models::{ModelSpec, Params};
//!
//! let params = Params::zeros(&ModelSpec::mlp5(2, 3))?;
//! let mut options = onnx::Options {
//!     input: Some(Affine {
//!         shift: vec![127.5, 0.0],
//!         scale: vec![1.0 / 127.5, 1.0],
//!     }),
//!     calibration: Some(Calibration {
//!         a: 2.0,
//!         b: vec![0.0, -0.5, 0.5],
//!     }),
//!     ..Default::default()
//! };
//! options.metadata.insert("classes".into(), "cat,dog,other".into());
//! let bytes = onnx::to_bytes(Model::Network(&params), &options)?;
//! assert!(bytes.len() > 4 * params.trainable().len());
//! # Ok::<(), mpu_models::Error>(())
//! ```

mod body;
mod forest;
mod graph;
mod input;
mod wire;

use std::collections::BTreeMap;

pub use self::forest::Votes;
use self::graph::{Attribute, Graph};
pub use self::input::Affine;
use crate::error::{Error, Result, check_length};
use crate::params::Params;
use crate::spec::ModelSpec;

/// The name of the input.
pub const FEATURES: &str = "features";

/// The name of the first output.
pub const SCORES: &str = "scores";

/// The name of the second output, which is there with a [`Calibration`].
pub const PROBABILITIES: &str = "probabilities";

/// The greatest number of single precision.
const SINGLE_MAX: f64 = f32::MAX as f64;

/// What scores rows in the model.
#[derive(Debug, Clone, Copy)]
pub enum Model<'a> {
    /// A network.
    Network(&'a Params),
    /// A forest.
    Forest(Votes<'a>),
    /// The mean of both: of the forest's scores, and of the logarithm of the network's softmax.
    Both(Votes<'a>, &'a Params),
}

/// What surrounds network and forest in the model; nothing by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// What a network takes where a feature is NaN, one for every feature. Forests take NaN as it is.
    pub missing: Option<Vec<f32>>,
    /// Scaling of the features for a network. Forests take them as they are.
    pub input: Option<Affine>,
    /// How scores become probabilities.
    pub calibration: Option<Calibration>,
    /// Names and texts kept in the model: names of classes, the version, the method.
    pub metadata: BTreeMap<String, String>,
}

/// Probabilities from scores.
///
/// ```text
/// p = softmax(a · f + b)
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The factor of all scores.
    pub a: f64,
    /// What is added, one for every class.
    pub b: Vec<f64>,
}

/// The bytes of an ONNX model.
///
/// Refuses vectors of the wrong length and numbers that are not finite, also among the parameters.
pub fn to_bytes(model: Model<'_>, options: &Options) -> Result<Vec<u8>> {
    let mut graph = Graph::default();
    let (name, inputs, outputs) = match model {
        Model::Network(params) => {
            add_network(&mut graph, params, options, SCORES)?;
            let name = match params.spec() {
                ModelSpec::Mlp(_) => "mlp",
                ModelSpec::ResNet(_) => "resnet",
                ModelSpec::Module(_) => "module",
            };
            (name, params.spec().inputs(), params.spec().outputs())
        }
        Model::Forest(votes) => {
            votes.add(&mut graph, SCORES)?;
            ("forest", votes.inputs(), votes.outputs())
        }
        Model::Both(votes, params) => {
            let (inputs, outputs) = (votes.inputs(), votes.outputs());
            check_length("a row of the network", params.spec().inputs(), inputs)?;
            let what = "the network's list of classes";
            check_length(what, params.spec().outputs(), outputs)?;
            let (by_forest, by_network) = ("forest.scores", "network.scores");
            votes.add(&mut graph, by_forest)?;
            add_network(&mut graph, params, options, by_network)?;
            add_mean(&mut graph, by_forest, by_network);
            ("both", inputs, outputs)
        }
    };
    let mut results = vec![(SCORES, outputs)];
    if let Some(calibration) = &options.calibration {
        calibration.add(&mut graph, outputs)?;
        results.push((PROBABILITIES, outputs));
    }
    let metadata = options.metadata.iter();
    let metadata = metadata.map(|(name, value)| (name.as_str(), value.as_str()));
    let bytes = graph.into_model(name, (FEATURES, inputs), &results, metadata);
    check_size(bytes.len())?;
    Ok(bytes)
}

/// Adds a network with what comes before it.
fn add_network(
    graph: &mut Graph,
    params: &Params,
    options: &Options,
    scores: &'static str,
) -> Result<()> {
    for (entry, values) in params.iter() {
        let values = values.iter().copied().map(f64::from);
        let hint = "the training diverged; take parameters of an earlier epoch";
        check_finite(&entry.name, values, SINGLE_MAX, hint)?;
    }
    let inputs = params.spec().inputs();
    let mut rows = FEATURES;
    if let Some(missing) = &options.missing {
        rows = input::fill(graph, rows, missing, inputs)?;
    }
    if let Some(affine) = &options.input {
        rows = affine.add(graph, rows, inputs)?;
    }
    body::add(graph, params, rows, scores)
}

/// Adds the mean of a forest's scores and of the logarithm of a network's softmax.
fn add_mean(graph: &mut Graph, by_forest: &str, by_network: &str) {
    let (logs, sum, half) = ("network.logs", "both.sum", "both.half");
    let axis = ("axis", Attribute::Int(1));
    graph.node("LogSoftmax", &[by_network], logs, &[axis]);
    graph.node("Add", &[by_forest, logs], sum, &[]);
    graph.floats(half, &[], &[0.5]);
    graph.node("Mul", &[sum, half], SCORES, &[]);
}

impl Calibration {
    /// Adds the way from [`SCORES`] to [`PROBABILITIES`].
    fn add(&self, graph: &mut Graph, outputs: usize) -> Result<()> {
        let hint = "fit the calibration to finite scores";
        check_finite("the calibration's a", [self.a], SINGLE_MAX, hint)?;
        let what = "the calibration's b";
        check_length(what, self.b.len(), outputs)?;
        let hint = "for a class that never occurs take a large negative number";
        check_finite(what, self.b.iter().copied(), SINGLE_MAX, hint)?;

        graph.floats("calibration.a", &[], &[self.a as f32]);
        graph.floats("calibration.b", &[outputs], &single(&self.b));
        let (scaled, moved) = ("calibration.scaled", "calibration.moved");
        graph.node("Mul", &[SCORES, "calibration.a"], scaled, &[]);
        graph.node("Add", &[scaled, "calibration.b"], moved, &[]);
        let axis = ("axis", Attribute::Int(1));
        graph.node("Softmax", &[moved], PROBABILITIES, &[axis]);
        Ok(())
    }
}

/// Readers of protocol buffers take messages of less than 2 GiB.
fn check_size(found: usize) -> Result<()> {
    let max = i32::MAX as usize;
    if found <= max {
        return Ok(());
    }
    Err(Error::ModelSize { found, max })
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn check_finite(
    what: &str,
    values: impl IntoIterator<Item = f64>,
    max: f64,
    hint: &'static str,
) -> Result<()> {
    let mut values = values.into_iter().enumerate();
    // Not a number is not at most anything.
    let fits = |value: f64| value.abs() <= max;
    match values.find(|&(_, value)| !fits(value)) {
        None => Ok(()),
        Some((index, found)) => Err(Error::NotFinite {
            what: what.to_owned(),
            index,
            found,
            max,
            hint,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_end_where_the_format_does() {
        assert!(check_size(0x7fff_ffff).is_ok());
        assert!(matches!(
            check_size(0x8000_0000),
            Err(Error::ModelSize { found, .. }) if found == 1 << 31
        ));
    }
}
