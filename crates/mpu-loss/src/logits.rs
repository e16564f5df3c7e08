//! Scores as a tensor, checked once at the door.

use candle_core::{DType, Tensor};

use crate::error::{During, Error, Result};

/// Scores `f(x)` of a batch: an `(n, k)` float tensor with `n ≥ 1`, `k ≥ 2` and finite entries.
///
/// Column `k-1` (counted from 0) holds the scores of the negative class.
#[derive(Debug, Clone)]
pub struct Logits {
    scores: Tensor,
    n_rows: usize,
    n_classes: usize,
}

impl Logits {
    /// Checks shape, element type and finiteness. The graph of `scores` is kept.
    pub fn new(scores: &Tensor) -> Result<Self> {
        let logits = Self::unread(scores)?;
        check_finite(scores)?;
        Ok(logits)
    }

    /// Checks shape and element type alone. Whether entries are finite would have to be read back from the device,
    /// which a training step cannot wait for: who uses this looks later.
    pub fn unread(scores: &Tensor) -> Result<Self> {
        let dtype = scores.dtype();
        let (n_rows, n_classes) = match scores.dims() {
            &[n, k] if n >= 1 && k >= 2 && dtype.is_float() => (n, k),
            _ => {
                return Err(Error::ScoreShape {
                    shape: scores.shape().clone(),
                    dtype,
                });
            }
        };
        Ok(Self {
            scores: scores.clone(),
            n_rows,
            n_classes,
        })
    }

    /// The `(n, k)` tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.scores
    }

    /// The number of rows `n`.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of classes `k`.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }
}

/// A cheap pass on the device; the offender is looked for only if there is one.
fn check_finite(scores: &Tensor) -> Result<()> {
    let during = "the check for finite scores";
    let scores = scores.detach();
    // `0·x` is 0 for finite x and NaN otherwise; NaN survives the sum.
    let residue = (&scores * 0.0)
        .and_then(|zeros| zeros.sum_all())
        .during(during)?;
    let residue = residue
        .to_dtype(DType::F64)
        .and_then(|r| r.to_scalar::<f64>())
        .during(during)?;
    if residue == 0.0 {
        return Ok(());
    }
    let rows = scores
        .to_dtype(DType::F64)
        .and_then(|s| s.to_vec2::<f64>())
        .during(during)?;
    for (row, values) in rows.iter().enumerate() {
        if let Some(column) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFiniteScore {
                row,
                column,
                value: values[column],
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn only_finite_matrices_of_floats_pass() {
        let device = &Device::Cpu;
        assert!(Logits::new(&Tensor::new(&[[0f32, 1.0]], device).unwrap()).is_ok());
        for wrong in [
            Tensor::new(&[0f32, 1.0], device).unwrap(),
            Tensor::new(&[[0f32], [1.0]], device).unwrap(),
            Tensor::new(&[[0u32, 1]], device).unwrap(),
            Tensor::zeros((0, 3), DType::F32, device).unwrap(),
        ] {
            assert!(
                matches!(Logits::new(&wrong), Err(Error::ScoreShape { .. })),
                "{wrong:?}"
            );
        }
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let scores = Tensor::new(&[[0f32, 1.0], [2.0, bad]], device).unwrap();
            let error = Logits::new(&scores).unwrap_err().to_string();
            let told = format!("score {bad} in row 1, column 1: scores must be finite");
            assert!(error.contains(&told), "{error}");
        }
    }
}
