//! Losses that a matrix of costs weights, plain and as tensors.

use candle_core::Tensor;
use mpu_data::CostMatrix;

use crate::error::{During, Error, Result};
use crate::logits::Logits;
use crate::sample::class_indices;

/// The cost-sensitive squared error of outputs `o` where the truth is `y`, with `t` its one-hot
/// code (section II of the paper).
///
/// ```text
/// L(o, t; C) = Σ_j C_yj (t_j - o_j)²
/// ```
///
/// Because `C_yy = 0`, the output of the true class itself does not enter: only posteriors that
/// sum to one make this loss pull `o_y` up.
#[doc(alias = "eq:cs-squared-error")]
pub fn squared_error(costs: &CostMatrix, outputs: &[f64], class: usize) -> Result<f64> {
    let row = costs.row(class)?;
    costs.check_classes(outputs.len())?;
    if let Some(column) = outputs.iter().position(|o| !o.is_finite()) {
        return Err(Error::NonFiniteScore {
            row: 0,
            column,
            value: outputs[column],
        });
    }
    let target = |j| f64::from(u8::from(j == class));
    let terms = row.iter().zip(outputs).enumerate();
    Ok(terms.map(|(j, (c, o))| c * (target(j) - o).powi(2)).sum())
}

/// [`squared_error`] of every row, with gradient: a tensor of length `n`.
pub fn squared_error_tensor(
    costs: &CostMatrix,
    outputs: &Logits,
    classes: &[usize],
) -> Result<Tensor> {
    let costs = rows_tensor(costs, outputs, &class_indices(outputs, classes)?)?;
    // The one entry where t_j = 1 is where the cost is 0, so t may be left out.
    let error = || (outputs.tensor().sqr()? * costs)?.sum(1);
    error().during("the cost-sensitive squared error")
}

/// [`CostMatrix::expected_cost`] of every row, with gradient: a tensor of length `n`.
pub fn expected_cost_tensor(
    costs: &CostMatrix,
    posteriors: &Logits,
    classes: &[usize],
) -> Result<Tensor> {
    let costs = rows_tensor(costs, posteriors, &class_indices(posteriors, classes)?)?;
    (posteriors.tensor() * costs)
        .and_then(|c| c.sum(1))
        .during("the expected cost")
}

/// The cost rows of the given classes as an `(n, k)` tensor.
pub(crate) fn rows_tensor(costs: &CostMatrix, like: &Logits, indices: &Tensor) -> Result<Tensor> {
    costs.check_classes(like.n_classes())?;
    let (scores, k) = (like.tensor(), costs.n_classes());
    let rows = || {
        Tensor::from_slice(costs.as_slice(), (k, k), scores.device())?
            .to_dtype(scores.dtype())?
            .index_select(indices, 0)
    };
    rows().during("the cost rows")
}
