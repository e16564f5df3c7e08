//! The list of objectives: the only place where their slugs stand.

use crate::correction::{Correction, Placement};

/// What an [`Estimator`](crate::Estimator) evaluates: a way of estimating the risk, with its correction where it
/// has one.
///
/// With `μ_i` the mean of `L_i` over the labelled rows of class `i`, `ν_i` the mean of `L_k` over the
/// same rows, `μ_u` the mean of `L_k` over the pool, and `g` the correction:
///
/// | slug | objective |
/// |---|---|
/// | `csmpu-{abs,nn,ure}` | `g( Σ 2π_i g(μ_i) + g(μ_u - 2(1-π_k)C) )`: the paper's method |
/// | `csmpu-exact-{abs,nn,ure}` | `Σ π_i μ_i + g(μ_u - Σ π_i ν_i)`: unbiased for any surrogate |
/// | `csmpu-ref-{abs,nn,ure}` | `Σ (n_i/n) μ_i + (n_u/n) g(μ_u - (1-π_k))`: the authors' script |
/// | `ure-ovr` | `Σ π_i (μ_i - ν_i) + μ_u` with the one-versus-rest loss |
/// | `area` | `μ_u + k/(k-1) Σ π_i μ_i`, the pool with the one-versus-rest loss |
/// | `biased-super` | `Σ μ_i + μ_u` with the one-versus-rest loss: the pool taken as negative |
/// | `eulac-{abs,nn,ure}` | `Σ π_i μ_i + g(μ_u - Σ π_i ν_i)` with the one-versus-rest square loss: learning with augmented classes |
/// | `mpu-ml` | mean of `-log P(s\|x)`, `s` the group a row was drawn from: case-control likelihood |
/// | `csmpu-st` | `Σ w π_i mean_i CE(e_i) + mean_u CE(v∘t)`, `t` soft targets of the pool, `w` the [share](crate::Estimator::LABELED_SHARE) learned from labelled rows, `v_i = 1-w`, `v_k = 1` |
/// | `supervised` | cross-entropy on the true labels: an upper limit, never a competitor |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Objective {
    /// The paper's method, Theorem 1 with the corrections of section V.
    Csmpu(Correction),
    /// The exact version of it, with no gap and for any surrogate.
    CsmpuExact(Correction),
    /// What the authors' published script computes.
    CsmpuRef(Correction),
    /// The unbiased one-versus-rest baseline.
    UreOvr,
    /// The AREA baseline (Shu et al. 2020).
    Area,
    /// The baseline that takes the whole pool as negative.
    BiasedSuper,
    /// The unbiased risk for augmented classes (Zhang et al. 2020), with its square loss. Not in the paper.
    Eulac(Correction),
    /// The case-control multinomial likelihood. Not in the paper.
    MpuMl,
    /// Cross-entropy on labelled rows and on soft targets of the pool, which somebody must bring
    /// ([`Groups::with_targets`](crate::Groups::with_targets)): what self-training minimises. Not in the paper.
    SoftTargets,
    /// Cross-entropy on the true labels of all rows, hidden ones included.
    Supervised,
}

mpu_data::named!(Objective, "objective", {
    Csmpu(Correction::Abs) => "csmpu-abs",
    Csmpu(Correction::Nn) => "csmpu-nn",
    Csmpu(Correction::Ure) => "csmpu-ure",
    CsmpuExact(Correction::Abs) => "csmpu-exact-abs",
    CsmpuExact(Correction::Nn) => "csmpu-exact-nn",
    CsmpuExact(Correction::Ure) => "csmpu-exact-ure",
    CsmpuRef(Correction::Abs) => "csmpu-ref-abs",
    CsmpuRef(Correction::Nn) => "csmpu-ref-nn",
    CsmpuRef(Correction::Ure) => "csmpu-ref-ure",
    UreOvr => "ure-ovr",
    Area => "area",
    BiasedSuper => "biased-super",
    Eulac(Correction::Abs) => "eulac-abs",
    Eulac(Correction::Nn) => "eulac-nn",
    Eulac(Correction::Ure) => "eulac-ure",
    MpuMl => "mpu-ml",
    SoftTargets => "csmpu-st",
    Supervised => "supervised",
});

impl Objective {
    /// The correction; [`Correction::Ure`] for objectives that have none.
    pub fn correction(self) -> Correction {
        match self {
            Self::Csmpu(g) | Self::CsmpuExact(g) | Self::CsmpuRef(g) | Self::Eulac(g) => g,
            _ => Correction::Ure,
        }
    }

    /// Where the correction stands unless told otherwise: twice in the paper's method (section V),
    /// on the negative part alone in the others.
    pub fn default_placement(self) -> Placement {
        match self {
            Self::Csmpu(_) => Placement::Both,
            _ => Placement::PerTerm,
        }
    }

    /// Whether scores are logarithms of class probabilities up to a constant of the row, so that their
    /// softmax means something.
    pub fn scores_are_log_probabilities(self) -> bool {
        matches!(self, Self::MpuMl | Self::SoftTargets | Self::Supervised)
    }

    /// Whether the objective sees labels that a user of MPU learning does not have.
    pub fn uses_hidden_labels(self) -> bool {
        self == Self::Supervised
    }

    /// Whether the objective needs a soft target for every row of the pool.
    pub fn needs_targets(self) -> bool {
        self == Self::SoftTargets
    }

    /// Whether mistakes may be weighted by a cost matrix. Only the exact risk is unbiased for any costs.
    pub fn takes_costs(self) -> bool {
        matches!(self, Self::CsmpuExact(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_oracle_sees_hidden_labels() {
        let oracles: Vec<Objective> = Objective::ALL
            .into_iter()
            .filter(|o| o.uses_hidden_labels())
            .collect();
        assert_eq!(oracles, [Objective::Supervised]);
    }
}
