//! The objectives of the paper and of its baselines, as combinations of group means.
//!
//! Each function here is the home of one objective; [`Estimator`](crate::Estimator) evaluates it.

use mpu_data::Priors;
use mpu_loss::CONSTANT_SUM;

use crate::correction::{Correction, Placement};
use crate::groups::Groups;
use crate::terms::Combination;

/// The paper's risk (Theorem 1), with the corrections of section V.
///
/// ```text
/// R̂(f) = Σ_{i<k} 2π_i μ_i + μ_u - 2(1-π_k)C
/// R̃(f) = g( Σ_{i<k} 2π_i g(μ_i) + g(μ_u - 2(1-π_k)C) )
/// ```
///
/// It is not exactly unbiased: see [`unbiasedness_gap`](crate::unbiasedness_gap).
#[doc(alias = "eq:risk-csmpu")]
pub(crate) fn csmpu(priors: &Priors, correction: Correction, placement: Placement) -> Combination {
    let (inner, outer) = placement.place(correction);
    Combination {
        labeled: priors.observed().iter().map(|pi| 2.0 * pi).collect(),
        labeled_as_negative: Vec::new(),
        pool: 1.0,
        offset: 2.0 * (1.0 - priors.negative()) * CONSTANT_SUM,
        labeled_correction: inner,
        negative_correction: inner,
        outer_correction: outer,
    }
}

/// The exact risk: unbiased for any surrogate and any per-sample loss, because
/// `E_u[L_k] - Σ π_i E_i[L_k] = π_k E_k[L_k]` needs no symmetry. Not in the paper.
///
/// ```text
/// R̂(f) = Σ_{i<k} π_i μ_i + g(μ_u - Σ_{i<k} π_i ν_i)
/// ```
#[doc(alias = "eq:risk-csmpu-exact")]
pub(crate) fn csmpu_exact(
    priors: &Priors,
    correction: Correction,
    placement: Placement,
) -> Combination {
    let (inner, outer) = placement.place(correction);
    Combination {
        labeled: priors.observed().to_vec(),
        labeled_as_negative: priors.observed().to_vec(),
        pool: 1.0,
        offset: 0.0,
        labeled_correction: Correction::Ure,
        negative_correction: inner,
        outer_correction: outer,
    }
}

/// What the authors' published script computes: shares of the batch in place of priors.
///
/// ```text
/// R̂(f) = Σ_{i<k} (n_i/n) μ_i + (n_u/n) g(μ_u - (1-π_k))
/// ```
///
/// `g` is positively homogeneous, so the share `n_u/n` may stand inside it.
#[doc(alias = "eq:risk-csmpu-ref")]
pub(crate) fn csmpu_ref(
    priors: &Priors,
    groups: &Groups,
    correction: Correction,
    placement: Placement,
) -> Combination {
    let (inner, outer) = placement.place(correction);
    let share = |n: usize| n as f64 / groups.n_rows() as f64;
    let pool = share(groups.n_unlabeled());
    Combination {
        labeled: groups.n_labeled().iter().map(|&n| share(n)).collect(),
        labeled_as_negative: Vec::new(),
        pool,
        offset: pool * (1.0 - priors.negative()),
        labeled_correction: Correction::Ure,
        negative_correction: inner,
        outer_correction: outer,
    }
}

/// The unbiased one-versus-rest baseline (section III and section VI).
///
/// ```text
/// R̂(f) = Σ_{i<k} π_i mean_{X_i}[ L(f,i) - L(f,k) ] + mean_{X_u} L(f,k)
/// ```
#[doc(alias = "eq:risk-ure-ovr")]
pub(crate) fn ure_ovr(priors: &Priors) -> Combination {
    csmpu_exact(priors, Correction::Ure, Placement::PerTerm)
}

/// The AREA baseline (section VI; Shu et al. 2020): never negative for a non-negative surrogate.
///
/// ```text
/// R̂(f) = mean_{X_u}[ ℓ(f_k) + 1/(k-1) Σ_{i<k} ℓ(-f_i) ]
///       + k/(k-1) Σ_{i<k} π_i mean_{X_i}[ ℓ(f_i) + ℓ(-f_k) ]
/// ```
///
/// With a constant-sum surrogate it is `ure-ovr` plus a constant: see
/// [`area_offset`](crate::area_offset).
#[doc(alias = "eq:risk-area")]
pub(crate) fn area(priors: &Priors) -> Combination {
    let k = priors.classes().get() as f64;
    uncorrected(
        priors
            .observed()
            .iter()
            .map(|pi| k / (k - 1.0) * pi)
            .collect(),
    )
}

/// The biased baseline (section VI): the pool is taken as negative.
///
/// ```text
/// R̂(f) = Σ_{i<k} mean_{X_i} L(f,i) + mean_{X_u} L(f,k)
/// ```
#[doc(alias = "eq:risk-biased-super")]
pub(crate) fn biased_super(priors: &Priors) -> Combination {
    uncorrected(vec![1.0; priors.observed().len()])
}

/// The augmented-class risk (Zhang, Zhao, Ma and Zhou 2020), with the [square loss](crate::squared) and `θ p_kc = Σ π_i p_i`: what
/// they call the known classes under a test distribution with the share `θ` of them is our observed classes in the pool.
///
/// ```text
/// R̂(f) = Σ_{i<k} π_i mean_{X_i}[ φ(f_i) - φ(-f_i) + φ(-f_k) - φ(f_k) ] + mean_{X_u}[ φ(f_k) + Σ_{i<k} φ(-f_i) ]
///       = Σ_{i<k} π_i μ_i + (μ_u - Σ_{i<k} π_i ν_i)
/// ```
///
/// The first line is as they print it. In the second, the bracket estimates `π_k E_k[L(f,k)] ≥ 0`: the correction stands
/// there. With a surrogate of ours in place of `φ` this is `csmpu-exact` with all costs 1, and for `k = 2` `ure-ovr`.
#[doc(alias = "eq:risk-eulac")]
pub(crate) fn eulac(priors: &Priors, correction: Correction, placement: Placement) -> Combination {
    csmpu_exact(priors, correction, placement)
}

fn uncorrected(labeled: Vec<f64>) -> Combination {
    Combination {
        labeled,
        labeled_as_negative: Vec::new(),
        pool: 1.0,
        offset: 0.0,
        labeled_correction: Correction::Ure,
        negative_correction: Correction::Ure,
        outer_correction: Correction::Ure,
    }
}

/// The case-control likelihood ([`CaseControl`](crate::likelihood::CaseControl)): the mean over all rows. A
/// class with a prior of 0 is left out.
pub(crate) fn mpu_ml(priors: &Priors, groups: &Groups) -> Combination {
    let n = groups.n_rows() as f64;
    let share = |(&pi, &rows): (&f64, &usize)| if pi > 0.0 { rows as f64 / n } else { 0.0 };
    let observed = priors.observed().iter().zip(groups.n_labeled());
    Combination {
        pool: groups.n_unlabeled() as f64 / n,
        ..uncorrected(observed.map(share).collect())
    }
}

/// The objective of self-training: cross-entropy on labelled rows and on the pool's soft targets `t`.
///
/// ```text
/// R̂(f) = Σ_{i<k} w π_i mean_{X_i} CE(f, e_i) + mean_{X_u} CE(f, v∘t),   v_i = 1-w for i < k, v_k = 1
/// ```
///
/// `v` takes off the pool what the labelled rows bring, so that every class keeps its weight `π_j` and the
/// minimum is the posterior under the pool's priors, if that is what the targets are.
#[doc(alias = "eq:risk-csmpu-st")]
pub(crate) fn csmpu_st(priors: &Priors, labeled_share: f64) -> Combination {
    let observed = priors.observed().iter();
    uncorrected(observed.map(|pi| labeled_share * pi).collect())
}

/// `v∘t`: targets of the pool weighted as [`csmpu_st`] wants them.
pub(crate) fn weighted_targets(targets: &[f64], n_classes: usize, labeled_share: f64) -> Vec<f64> {
    let mut weighted = targets.to_vec();
    for row in weighted.chunks_mut(n_classes) {
        for target in &mut row[..n_classes - 1] {
            *target *= 1.0 - labeled_share;
        }
    }
    weighted
}
