//! Trained networks and forests as ONNX models, for ONNX Runtime and whatever else reads the format.
//!
//! A forest's model is described at [`forest_to_bytes`]. A network's is the network in evaluation mode. It takes `features`, rows `[N, inputs]` as the user
//! has them, and gives `scores` `[N, k]`; `N` is open. Images are flat rows too, in the order
//! channel, row, column. If asked to, it scales the features first ([`Affine`]), and gives
//! `probabilities` `[N, k]` beside the scores ([`Calibration`]).
//!
//! ```
//! use mpu_models::onnx::{self, Affine, Calibration};
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
//! let bytes = onnx::to_bytes(&params, &options)?;
//! assert!(bytes.len() > 4 * params.trainable().len());
//! # Ok::<(), mpu_models::Error>(())
//! ```

mod body;
mod forest;
mod graph;
mod wire;

use std::collections::BTreeMap;

pub use self::forest::forest_to_bytes;
use self::graph::{Attribute, Element, Graph};
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

/// What surrounds the network in the model; nothing by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Scaling of the features.
    pub input: Option<Affine>,
    /// How scores become probabilities.
    pub calibration: Option<Calibration>,
    /// Names and texts kept in the model: names of classes, the version, the method.
    pub metadata: BTreeMap<String, String>,
}

/// A scaling of every feature by itself.
///
/// ```text
/// x' = (x - shift) · scale
/// ```
///
/// A feature that was constant in training has no spread to divide by: its scale is 1, or 0 to
/// leave it out.
///
/// The model computes it in single precision, with the part of `shift` that does not fit
/// subtracted on its own: features far from zero lose nothing. Where a shift or a scale comes near
/// the limits of single precision, the model computes in double precision, which not every
/// accelerator can.
#[derive(Debug, Clone, PartialEq)]
pub struct Affine {
    /// What is subtracted, one for every feature.
    pub shift: Vec<f64>,
    /// What the difference is multiplied with, one for every feature.
    pub scale: Vec<f64>,
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

/// The bytes of an ONNX model of the network with these parameters.
///
/// Refuses vectors of the wrong length and numbers that are not finite, also among the parameters.
pub fn to_bytes(params: &Params, options: &Options) -> Result<Vec<u8>> {
    for (entry, values) in params.iter() {
        let values = values.iter().copied().map(f64::from);
        let hint = "the training diverged; take parameters of an earlier epoch";
        check_finite(&entry.name, values, SINGLE_MAX, hint)?;
    }
    let (inputs, outputs) = (params.spec().inputs(), params.spec().outputs());
    let mut graph = Graph::default();
    let rows = match &options.input {
        Some(affine) => affine.add(&mut graph, inputs)?,
        None => FEATURES,
    };
    body::add(&mut graph, params, rows, SCORES)?;
    let mut results = vec![(SCORES, outputs)];
    if let Some(calibration) = &options.calibration {
        calibration.add(&mut graph, outputs)?;
        results.push((PROBABILITIES, outputs));
    }
    let name = match params.spec() {
        ModelSpec::Mlp(_) => "mlp",
        ModelSpec::ResNet(_) => "resnet",
    };
    let metadata = options.metadata.iter();
    let metadata = metadata.map(|(name, value)| (name.as_str(), value.as_str()));
    let bytes = graph.into_model(name, (FEATURES, inputs), &results, metadata);
    check_size(bytes.len())?;
    Ok(bytes)
}

impl Affine {
    /// Adds the scaling of [`FEATURES`] and gives the name of its result.
    fn add(&self, graph: &mut Graph, inputs: usize) -> Result<&'static str> {
        let Self { shift, scale } = self;
        let what = "the shift of the features";
        check_length(what, shift.len(), inputs)?;
        let hint = "fit the scaling to finite features";
        check_finite(what, shift.iter().copied(), SINGLE_MAX, hint)?;
        let what = "the scale of the features";
        check_length(what, scale.len(), inputs)?;
        // Features that hardly differ take scales beyond single precision.
        let hint = "a feature that is constant takes scale 1";
        check_finite(what, scale.iter().copied(), f64::MAX, hint)?;

        let output = "input.scaled";
        if !self.fits_single() {
            graph.doubles("input.shift", shift);
            graph.doubles("input.scale", scale);
            let double = ("to", Attribute::Int(Element::Double.code()));
            let single = ("to", Attribute::Int(Element::Float.code()));
            graph.node("Cast", &[FEATURES], "input.double", &[double]);
            let (centred, scaled) = ("input.centred", "input.scaled_double");
            graph.node("Sub", &["input.double", "input.shift"], centred, &[]);
            graph.node("Mul", &[centred, "input.scale"], scaled, &[]);
            graph.node("Cast", &[scaled], output, &[single]);
            return Ok(output);
        }
        let high = single(shift);
        let parts = shift.iter().zip(&high);
        let low: Vec<f32> = parts
            .map(|(&shift, &high)| (shift - f64::from(high)) as f32)
            .collect();
        graph.floats("input.shift", &[inputs], &high);
        graph.floats("input.scale", &[inputs], &single(scale));
        let mut centred = "input.centred";
        graph.node("Sub", &[FEATURES, "input.shift"], centred, &[]);
        if low.iter().any(|&low| low != 0.0) {
            // Near the shift the first difference is exact; this brings it to the shift's own.
            let exact = "input.centred_exactly";
            graph.floats("input.shift_rest", &[inputs], &low);
            graph.node("Sub", &[centred, "input.shift_rest"], exact, &[]);
            centred = exact;
        }
        graph.node("Mul", &[centred, "input.scale"], output, &[]);
        Ok(output)
    }

    /// Whether single precision gives what double precision would.
    ///
    /// The greatest number of single precision is just below `2^128` and its neighbour `2^104`
    /// away, so that a shift of at most `2^100` takes no finite feature beyond it. A difference
    /// too small to be kept in full, below `2^-126`, counts for nothing with a scale up to `2^100`.
    fn fits_single(&self) -> bool {
        let most = 2f64.powi(100);
        let shift = self.shift.iter().all(|shift| shift.abs() <= most);
        let good = |scale: f64| scale == 0.0 || (1.0 / most..=most).contains(&scale.abs());
        shift && self.scale.iter().all(|&scale| good(scale))
    }
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

    #[test]
    fn only_extreme_scalings_need_double_precision() {
        let affine = |shift: f64, scale: f64| Affine {
            shift: vec![0.0, shift],
            scale: vec![1.0, scale],
        };
        for (shift, scale, fits) in [
            (1e9 + 0.123, 1e-3, true),
            (-7.0, 0.0, true),
            (0.0, -1e30, true),
            (-3e38, 1.0, false),
            (0.0, 1e31, false),
            (0.0, 1.6e-39, false),
        ] {
            assert_eq!(affine(shift, scale).fits_single(), fits, "{shift} {scale}");
        }
        // What the limit rests on: the greatest number stays finite.
        assert!((f32::MAX + 2f32.powi(100)).is_finite());
    }
}
