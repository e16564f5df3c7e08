//! What comes before a network: missing values filled in, features scaled.

use super::graph::{Attribute, Element, Graph};
use super::{SINGLE_MAX, check_finite, single};
use crate::error::{Result, check_length};

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

/// Adds what stands in for NaN, one number for every feature, and gives the name of the result.
pub(super) fn fill(
    graph: &mut Graph,
    rows: &str,
    missing: &[f32],
    inputs: usize,
) -> Result<&'static str> {
    let what = "the list of what stands in for missing values";
    check_length(what, missing.len(), inputs)?;
    let hint = "take a value that the feature can have, such as its median";
    let values = missing.iter().copied().map(f64::from);
    check_finite(what, values, SINGLE_MAX, hint)?;
    let (is_missing, output) = ("input.is_missing", "input.filled");
    graph.floats("input.missing", &[inputs], missing);
    graph.node("IsNaN", &[rows], is_missing, &[]);
    graph.node("Where", &[is_missing, "input.missing", rows], output, &[]);
    Ok(output)
}

impl Affine {
    /// Adds the scaling of `rows` and gives the name of its result.
    pub(super) fn add(&self, graph: &mut Graph, rows: &str, inputs: usize) -> Result<&'static str> {
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
            graph.node("Cast", &[rows], "input.double", &[double]);
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
        graph.node("Sub", &[rows, "input.shift"], centred, &[]);
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

#[cfg(test)]
mod tests {
    use super::*;

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
