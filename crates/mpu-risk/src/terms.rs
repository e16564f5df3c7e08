//! How partial risks are combined into one risk, and what is kept of them.

use crate::correction::Correction;
use crate::groups::Groups;

/// Every part of an estimated risk, for logs, diagnostics and tests.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RiskTerms {
    /// `μ_i`: the mean loss of each labelled group as its own class; `None` where it has no row.
    pub labeled: Vec<Option<f64>>,
    /// `ν_i`: the mean loss of each labelled group as the negative class, where the objective uses it.
    pub labeled_as_negative: Vec<Option<f64>>,
    /// `μ_u`: the mean loss of the pool as the negative class; `None` where it has no row.
    pub unlabeled: Option<f64>,
    /// The negative part before its correction, such as `μ_u - Σ π_i ν_i`.
    pub negative_part: f64,
    /// The risk without any correction. It may be negative: see [`active`](Self::active).
    pub raw: f64,
    /// The risk with its corrections: what is minimised.
    pub corrected: f64,
    /// Whether a correction changed anything.
    pub active: bool,
}

/// A risk as a combination of group means: the one form that all estimators here share.
///
/// ```text
/// R = g_outer( Σ_i a_i g_labeled(μ_i) + g_negative( b μ_u - Σ_i c_i ν_i - d ) )
/// ```
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Combination {
    /// `a_i`, one per labelled group.
    pub(crate) labeled: Vec<f64>,
    /// `c_i`; empty where the objective does not use `ν_i`.
    pub(crate) labeled_as_negative: Vec<f64>,
    /// `b`.
    pub(crate) pool: f64,
    /// `d`.
    pub(crate) offset: f64,
    /// `g_labeled`.
    pub(crate) labeled_correction: Correction,
    /// `g_negative`.
    pub(crate) negative_correction: Correction,
    /// `g_outer`.
    pub(crate) outer_correction: Correction,
}

/// What the sums of the losses of each column's rows are weighted by, means included; groups without rows have weight 0.
/// The last column is the pool's, unless true classes are known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    /// Of losses as the own class.
    pub(crate) labeled: Vec<f64>,
    /// Of losses as negative, inside the negative part.
    pub(crate) negative: Vec<f64>,
    /// What is subtracted from the negative part.
    pub(crate) offset: f64,
}

/// `∂R/∂μ_i`, `∂R/∂ν_i` and `∂R/∂μ_u`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sensitivity {
    pub(crate) labeled: Vec<f64>,
    pub(crate) labeled_as_negative: Vec<f64>,
    pub(crate) pool: f64,
}

impl Combination {
    /// The combination by sums in place of means, for groups of these sizes. It is
    /// [`evaluate`](Self::evaluate)'s, missing groups included: `g` may be taken of a sum because it is positively
    /// homogeneous.
    pub(crate) fn weights(&self, groups: &Groups) -> Weights {
        let (k, n_pool) = (groups.classes().get(), groups.n_unlabeled());
        let shares = |weights: &[f64], sign: f64| {
            let member = |(&weight, &n): (&f64, &usize)| match n {
                0 => 0.0,
                n => sign * weight / n as f64,
            };
            let shares = weights.iter().zip(groups.n_labeled()).map(member);
            let mut shares: Vec<f64> = shares.collect();
            shares.resize(k, 0.0);
            shares
        };
        let is_left_out = n_pool == 0 && self.negative_correction != Correction::Ure;
        let mut negative = if is_left_out {
            vec![0.0; k]
        } else {
            shares(&self.labeled_as_negative, -1.0)
        };
        if n_pool > 0 {
            negative[k - 1] = self.pool / n_pool as f64;
        }
        Weights {
            labeled: shares(&self.labeled, 1.0),
            negative,
            offset: if n_pool > 0 { self.offset } else { 0.0 },
        }
    }

    /// The risk and its slopes. A group without rows contributes nothing.
    ///
    /// Without the pool the negative part is only what the labelled rows subtract from it. Left
    /// uncorrected that is linear and stays; a corrected negative part is left out, because
    /// correcting a difference that lacks its first half would mean nothing.
    pub(crate) fn evaluate(
        &self,
        labeled: Vec<Option<f64>>,
        labeled_as_negative: Vec<Option<f64>>,
        unlabeled: Option<f64>,
    ) -> (RiskTerms, Sensitivity) {
        let subtracted: f64 = pairs(&self.labeled_as_negative, &labeled_as_negative)
            .map(|(c, nu)| c * nu)
            .sum();
        let negative_part = match unlabeled {
            Some(mu) => self.pool * mu - subtracted - self.offset,
            None if self.negative_correction == Correction::Ure => -subtracted,
            None => 0.0,
        };
        let labeled_raw: f64 = pairs(&self.labeled, &labeled).map(|(a, mu)| a * mu).sum();
        let labeled_corrected: f64 = pairs(&self.labeled, &labeled)
            .map(|(a, mu)| a * self.labeled_correction.apply(mu))
            .sum();
        let raw = labeled_raw + negative_part;
        let inner = labeled_corrected + self.negative_correction.apply(negative_part);
        let corrected = self.outer_correction.apply(inner);

        let outer_slope = self.outer_correction.slope(inner);
        let negative_slope = if unlabeled.is_none() && self.negative_correction != Correction::Ure {
            0.0
        } else {
            outer_slope * self.negative_correction.slope(negative_part)
        };
        let labeled_slope = |(a, mu): (&f64, &Option<f64>)| {
            outer_slope * a * mu.map_or(0.0, |mu| self.labeled_correction.slope(mu))
        };
        let sensitivity = Sensitivity {
            labeled: self
                .labeled
                .iter()
                .zip(&labeled)
                .map(labeled_slope)
                .collect(),
            labeled_as_negative: self
                .labeled_as_negative
                .iter()
                .map(|c| -negative_slope * c)
                .collect(),
            pool: negative_slope * self.pool,
        };
        let active = corrected != inner
            || self.negative_correction.apply(negative_part) != negative_part
            || labeled
                .iter()
                .flatten()
                .any(|&mu| self.labeled_correction.apply(mu) != mu);
        let terms = RiskTerms {
            labeled,
            labeled_as_negative,
            unlabeled,
            negative_part,
            raw,
            corrected,
            active,
        };
        (terms, sensitivity)
    }
}

/// Weights with their means, where both are there.
fn pairs<'a>(
    weights: &'a [f64],
    means: &'a [Option<f64>],
) -> impl Iterator<Item = (f64, f64)> + 'a {
    weights
        .iter()
        .zip(means)
        .filter_map(|(&weight, mean)| mean.map(|mean| (weight, mean)))
}
