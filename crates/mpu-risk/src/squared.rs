//! The square loss, one versus rest: the loss of the augmented-class estimator.

use candle_core::{D, Tensor};

/// The one-versus-rest square loss of one row of scores where the truth is `class`
/// (Zhang, Zhao, Ma and Zhou, "An Unbiased Risk Estimator for Learning with Augmented Classes", NeurIPS 2020).
///
/// ```text
/// L(f, y) = φ(f_y) + Σ_{i≠y} φ(-f_i) = Σ_i φ(-f_i) - f_y,   φ(z) = (1-z)²/4
/// ```
///
/// The second form holds because `φ(z) - φ(-z) = -z`: what labelled rows bring to the unbiased risk is linear in the
/// scores, so that it is convex in them although something is subtracted.
#[doc(alias = "eq:square-loss")]
pub(crate) fn one_versus_rest(scores: &[f64], class: usize) -> f64 {
    let rest: f64 = scores.iter().map(|f| 0.25 * (1.0 + f) * (1.0 + f)).sum();
    rest - scores[class]
}

/// Adds `weight · ((1 + f)/2 - e_y)` to `gradient`.
pub(crate) fn add_gradient(scores: &[f64], class: usize, weight: f64, gradient: &mut [f64]) {
    for (g, f) in gradient.iter_mut().zip(scores) {
        *g += weight * 0.5 * (1.0 + f);
    }
    gradient[class] -= weight;
}

/// [`one_versus_rest`] of every row, with gradient: a tensor of length `n`; `classes` has the type `u32`.
pub(crate) fn one_versus_rest_tensor(
    scores: &Tensor,
    classes: &Tensor,
) -> candle_core::Result<Tensor> {
    let rest = ((scores + 1.0)?.sqr()?.sum(D::Minus1)? * 0.25)?;
    let own = scores.contiguous()?.gather(&classes.unsqueeze(1)?, 1)?;
    rest - own.squeeze(1)?
}
