//! Cross-entropy: with true classes (the supervised limit, which sees labels that a user of MPU learning does
//! not have), and with soft targets (self-training).

use candle_core::{D, Tensor};

/// The cross-entropy of one row of scores where the truth is `class`.
///
/// ```text
/// -log softmax(f)_y = log Σ_j e^{f_j} - f_y
/// ```
///
/// The risk is its mean over all rows; the result is a limit, never a competitor.
#[doc(alias = "eq:risk-supervised")]
pub(crate) fn cross_entropy(scores: &[f64], class: usize) -> f64 {
    let (top, sum) = normalizer(scores);
    top + sum.ln() - scores[class]
}

/// Adds `weight · (softmax(f) - e_y)` to `gradient`.
pub(crate) fn add_gradient(scores: &[f64], class: usize, weight: f64, gradient: &mut [f64]) {
    let (top, sum) = normalizer(scores);
    for (g, f) in gradient.iter_mut().zip(scores) {
        *g += weight * (f - top).exp() / sum;
    }
    gradient[class] -= weight;
}

fn normalizer(scores: &[f64]) -> (f64, f64) {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (top, scores.iter().map(|f| (f - top).exp()).sum())
}

/// [`cross_entropy`] of every row, with gradient: a tensor of length `n`.
pub(crate) fn cross_entropy_tensor(
    scores: &Tensor,
    classes: &Tensor,
) -> candle_core::Result<Tensor> {
    let top = scores.detach().max_keepdim(D::Minus1)?;
    let shifted = scores.broadcast_sub(&top)?;
    let normalizer = shifted.exp()?.sum_keepdim(D::Minus1)?.log()?;
    let own = shifted.gather(&classes.unsqueeze(1)?, 1)?;
    (normalizer - own)?.squeeze(1)
}

/// The cross-entropy of one row of scores against weighted soft targets `t`.
///
/// ```text
/// -Σ_j t_j log softmax(f)_j = (Σ_j t_j) log Σ_j e^{f_j} - Σ_j t_j f_j
/// ```
pub(crate) fn soft_cross_entropy(scores: &[f64], targets: &[f64]) -> f64 {
    let (top, sum) = normalizer(scores);
    let weight: f64 = targets.iter().sum();
    let expected: f64 = scores.iter().zip(targets).map(|(f, t)| t * f).sum();
    weight * (top + sum.ln()) - expected
}

/// Adds `weight · ((Σ_j t_j) softmax(f) - t)` to `gradient`.
pub(crate) fn add_soft_gradient(
    scores: &[f64],
    targets: &[f64],
    weight: f64,
    gradient: &mut [f64],
) {
    let (top, sum) = normalizer(scores);
    let total: f64 = targets.iter().sum();
    for ((g, f), t) in gradient.iter_mut().zip(scores).zip(targets) {
        *g += weight * (total * (f - top).exp() / sum - t);
    }
}

/// [`soft_cross_entropy`] of every row, with gradient: a tensor of length `n`.
pub(crate) fn soft_cross_entropy_tensor(
    scores: &Tensor,
    targets: &Tensor,
) -> candle_core::Result<Tensor> {
    let top = scores.detach().max_keepdim(D::Minus1)?;
    let shifted = scores.broadcast_sub(&top)?;
    let normalizer = shifted.exp()?.sum(D::Minus1)?.log()?;
    let weight = targets.sum(D::Minus1)?;
    (weight * normalizer)? - (shifted * targets)?.sum(D::Minus1)?
}
