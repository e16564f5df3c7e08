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

    /// [`labeled`](Self::labeled) of every row, with gradient; `classes` has the type `u32`.
    pub(crate) fn labeled_tensor(
        &self,
        scores: &Tensor,
        classes: &Tensor,
    ) -> candle_core::Result<Tensor> {
        let own = scores.gather(&classes.unsqueeze(1)?, 1)?.squeeze(1)?;
        let of_class = |value: fn(f64) -> f64| -> candle_core::Result<Tensor> {
            let values: Vec<f64> = self.odds.iter().copied().map(value).collect();
            let values = Tensor::new(values, scores.device())?;
            values.to_dtype(scores.dtype())?.index_select(classes, 0)
        };
        let present = of_class(|odds| f64::from(u8::from(odds > 0.0)))?;
        let log_odds = of_class(|odds| if odds > 0.0 { odds.ln() } else { 0.0 })?;
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

/// How the case-control likelihood takes the rows of the pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolSurprise {
    /// The mean of `-log P(s=u|x)` over the pool, with `q = softmax(f)` in `P`.
    pub of_model: f64,
    /// The same of a model that knows the priors and nothing else, `q = π`.
    pub of_priors: f64,
}

impl PoolSurprise {
    /// Of scores of the pool's rows, `k` to a row, where `groups` tells how the whole sample was drawn.
    ///
    /// ```text
    /// -log P(s=u|x) = log(1 + Σ_{i<k} n_i q_i(x) / (π_i n_u))
    /// ```
    ///
    /// The logarithm is concave: a model whose mean over the pool is `π` is never more surprised than
    /// `π` itself, and the less so the more it tells rows apart. One that is has lost what it knew.
    #[doc(alias = "eq:pool-surprise")]
    pub fn new(priors: &Priors, groups: &Groups, scores: &[f64]) -> Self {
        let sampled = CaseControl::new(priors, groups);
        let k = priors.as_slice().len();
        let n_rows = (scores.len() / k).max(1) as f64;
        let known: Vec<f64> = priors.as_slice().iter().map(|pi| pi.ln()).collect();
        let rows = scores.chunks_exact(k).map(|row| sampled.unlabeled(row));
        Self {
            of_model: rows.sum::<f64>() / n_rows,
            of_priors: sampled.unlabeled(&known),
        }
    }

    /// The share of the priors' surprise that the model takes away: 1 at the most, below 0 if it adds to it.
    pub fn gain(&self) -> f64 {
        if self.of_priors > 0.0 {
            1.0 - self.of_model / self.of_priors
        } else {
            0.0
        }
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
    fn the_surprise_is_that_of_its_formula_and_knowledge_lowers_it() {
        let labels = [
            Labeled(0),
            Labeled(0),
            Labeled(0),
            Labeled(1),
            Unlabeled,
            Unlabeled,
        ];
        let groups = Groups::new(ClassCount::new(3).unwrap(), &labels).unwrap();
        let priors = Priors::from_observed(&[0.25, 0.25]).unwrap();
        let surprise = |q: [[f64; 3]; 2]| {
            let scores: Vec<f64> = q.as_flattened().iter().map(|q| q.ln()).collect();
            PoolSurprise::new(&priors, &groups, &scores)
        };
        let q = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]];
        let by_hand = |q: [f64; 3]| (1.0 + (3.0 * q[0] + q[1]) / (0.25 * 2.0)).ln();
        let found = surprise(q);
        assert!((found.of_model - f64::midpoint(by_hand(q[0]), by_hand(q[1]))).abs() < 1e-12);
        assert!((found.of_priors - 3f64.ln()).abs() < 1e-12, "log(N / n_u)");
        // The same mean, told apart better and worse; and everything called the first class.
        let told = surprise([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]);
        let not_told = surprise([[0.25, 0.25, 0.5]; 2]);
        let collapsed = surprise([[1.0, 0.0, 0.0]; 2]);
        assert!(told.of_model < not_told.of_model);
        assert!((not_told.of_model - not_told.of_priors).abs() < 1e-12);
        assert!(collapsed.of_model > collapsed.of_priors);
        assert!(collapsed.gain() < 0.0 && not_told.gain().abs() < 1e-12);
        assert!((told.gain() - (1.0 - told.of_model / 3f64.ln())).abs() < 1e-12);
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
