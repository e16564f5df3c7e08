//! The case-control multinomial likelihood: which group a row was drawn from, given its features.

use candle_core::{D, Tensor};
use mpu_data::Priors;

use crate::groups::Groups;

/// How a sample was drawn: `n_i` rows of each observed class and `n_u` of the pool.
///
/// With `q` the class probabilities of a row under the pool's priors, `p_i(x) = q_i(x) p_u(x) / π_i`, so
/// that a row of the joined sample was drawn from group `s` with probability
///
/// ```text
/// P(s=i|x) = (n_i/π_i) q_i(x) / D(x),   P(s=u|x) = n_u / D(x),   D = n_u + Σ_{i<k} (n_i/π_i) q_i
/// ```
///
/// The negative logarithm is the loss of a row. With `q = softmax(f)` and `w_j = n_j/π_j + n_u` (`w_k = n_u`)
/// it is a softmax of shifted scores, `-log(n_i/π_i) - f_i + log Σ_j w_j e^{f_j}`, and nothing is subtracted:
/// it cannot turn negative, and its minimum over all `q` is the true posterior.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CaseControl {
    /// `n_i/π_i` of each class; 0 for the negative one and for classes that the pool does not hold.
    odds: Vec<f64>,
    /// `n_u`.
    pool: f64,
}

impl CaseControl {
    pub(crate) fn new(priors: &Priors, groups: &Groups) -> Self {
        let odds = |(&pi, &n): (&f64, &usize)| if pi > 0.0 { n as f64 / pi } else { 0.0 };
        let observed = priors.observed().iter().zip(groups.n_labeled());
        Self {
            odds: observed.map(odds).chain([0.0]).collect(),
            pool: groups.n_unlabeled() as f64,
        }
    }

    /// `w_j`.
    fn weight(&self, class: usize) -> f64 {
        self.odds[class] + self.pool
    }

    /// The loss of a labelled row. Rows of a class that the pool does not hold say nothing of it.
    #[doc(alias = "eq:risk-mpu-ml")]
    pub(crate) fn labeled(&self, scores: &[f64], class: usize) -> f64 {
        if self.odds[class] == 0.0 {
            return 0.0;
        }
        self.log_weighted_sum(scores) - scores[class] - self.odds[class].ln()
    }

    /// The loss of a row of the pool.
    pub(crate) fn unlabeled(&self, scores: &[f64]) -> f64 {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|f| (f - top).exp()).sum();
        self.log_weighted_sum(scores) - (top + sum.ln()) - self.pool.ln()
    }

    /// Adds `weight` times the gradient of [`labeled`](Self::labeled).
    pub(crate) fn add_labeled_gradient(
        &self,
        scores: &[f64],
        class: usize,
        weight: f64,
        gradient: &mut [f64],
    ) {
        if self.odds[class] > 0.0 {
            add_shares(scores, |j| self.weight(j), weight, gradient);
            gradient[class] -= weight;
        }
    }

    /// Adds `weight` times the gradient of [`unlabeled`](Self::unlabeled).
    pub(crate) fn add_unlabeled_gradient(&self, scores: &[f64], weight: f64, gradient: &mut [f64]) {
        add_shares(scores, |j| self.weight(j), weight, gradient);
        add_shares(scores, |_| 1.0, -weight, gradient);
    }

    /// `log Σ_j w_j e^{f_j}`.
    fn log_weighted_sum(&self, scores: &[f64]) -> f64 {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let terms = scores.iter().enumerate();
        let sum: f64 = terms.map(|(j, f)| self.weight(j) * (f - top).exp()).sum();
        top + sum.ln()
    }

    /// [`labeled`](Self::labeled) of every row, with gradient.
    pub(crate) fn labeled_tensor(
        &self,
        scores: &Tensor,
        classes: &[usize],
    ) -> candle_core::Result<Tensor> {
        let device = scores.device();
        let indices: Vec<u32> = classes.iter().map(|&class| class as u32).collect();
        let indices = Tensor::new(indices, device)?.unsqueeze(1)?;
        let own = scores.gather(&indices, 1)?.squeeze(1)?;
        let column = |value: &dyn Fn(f64) -> f64| -> candle_core::Result<Tensor> {
            let values: Vec<f64> = classes
                .iter()
                .map(|&class| value(self.odds[class]))
                .collect();
            Tensor::new(values, device)?.to_dtype(scores.dtype())
        };
        let present = column(&|odds| f64::from(u8::from(odds > 0.0)))?;
        let log_odds = column(&|odds| if odds > 0.0 { odds.ln() } else { 0.0 })?;
        ((self.log_weighted_sum_tensor(scores)? - own)? - log_odds)? * present
    }

    /// [`unlabeled`](Self::unlabeled) of every row, with gradient.
    pub(crate) fn unlabeled_tensor(&self, scores: &Tensor) -> candle_core::Result<Tensor> {
        let plain = log_sum(scores, None)?;
        (self.log_weighted_sum_tensor(scores)? - plain)? - self.pool.ln()
    }

    fn log_weighted_sum_tensor(&self, scores: &Tensor) -> candle_core::Result<Tensor> {
        let weights: Vec<f64> = (0..self.odds.len()).map(|j| self.weight(j)).collect();
        let weights = Tensor::new(weights, scores.device())?.to_dtype(scores.dtype())?;
        log_sum(scores, Some(&weights))
    }
}

/// Adds `factor · v_j e^{f_j} / Σ v e^f`.
fn add_shares(scores: &[f64], v: impl Fn(usize) -> f64, factor: f64, gradient: &mut [f64]) {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let terms = || {
        let scores = scores.iter().enumerate();
        scores.map(|(j, f)| v(j) * (f - top).exp())
    };
    let sum: f64 = terms().sum();
    for (g, term) in gradient.iter_mut().zip(terms()) {
        *g += factor * term / sum;
    }
}

/// `log Σ_j w_j e^{f_j}` of every row.
fn log_sum(scores: &Tensor, weights: Option<&Tensor>) -> candle_core::Result<Tensor> {
    let top = scores.detach().max_keepdim(D::Minus1)?;
    let mut terms = scores.broadcast_sub(&top)?.exp()?;
    if let Some(weights) = weights {
        terms = terms.broadcast_mul(weights)?;
    }
    terms.sum(D::Minus1)?.log()? + top.squeeze(1)?
}

#[cfg(test)]
mod tests {
    use mpu_data::ClassCount;
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;

    #[test]
    fn the_probabilities_of_the_groups_sum_to_one() {
        let labels = [
            Labeled(0),
            Labeled(0),
            Labeled(1),
            Unlabeled,
            Unlabeled,
            Unlabeled,
        ];
        let groups = Groups::new(ClassCount::new(3).unwrap(), &labels).unwrap();
        let priors = Priors::from_observed(&[0.3, 0.2]).unwrap();
        let sampled = CaseControl::new(&priors, &groups);
        for scores in [[0.3, -1.0, 2.0], [700.0, -700.0, 0.0], [0.0, 0.0, 0.0]] {
            let total: f64 = (0..2).map(|i| (-sampled.labeled(&scores, i)).exp()).sum();
            let total = total + (-sampled.unlabeled(&scores)).exp();
            assert!((total - 1.0).abs() < 1e-12, "{scores:?}: {total}");
        }
    }

    #[test]
    fn a_class_that_the_pool_does_not_hold_says_nothing() {
        let labels = [Labeled(0), Labeled(1), Unlabeled];
        let groups = Groups::new(ClassCount::new(3).unwrap(), &labels).unwrap();
        let priors = Priors::from_observed(&[0.3, 0.0]).unwrap();
        let sampled = CaseControl::new(&priors, &groups);
        assert_eq!(sampled.labeled(&[0.1, 0.2, 0.3], 1), 0.0);
        let mut gradient = [0.0; 3];
        sampled.add_labeled_gradient(&[0.1, 0.2, 0.3], 1, 1.0, &mut gradient);
        assert_eq!(gradient, [0.0; 3]);
    }
}
