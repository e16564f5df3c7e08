//! The list of objectives: the only place where their slugs stand.

use std::fmt;
use std::str::FromStr;

use crate::correction::{Correction, Placement};
use crate::error::{Error, Result};

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
/// | `mpu-ml` | mean of `-log P(s\|x)`, `s` the group a row was drawn from: case-control likelihood |
/// | `csmpu-st` | `Σ w π_i mean_i CE(e_i) + mean_u CE(v∘t)`, `t` soft targets of the pool, `w` the [share](crate::Estimator::LABELED_SHARE) learned from labelled rows, `v_i = 1-w`, `v_k = 1` |
/// | `supervised` | cross-entropy on the true labels: an upper limit, never a competitor |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
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
    /// The case-control multinomial likelihood. Not in the paper.
    MpuMl,
    /// Cross-entropy on labelled rows and on soft targets of the pool, which somebody must bring
    /// ([`Groups::with_targets`](crate::Groups::with_targets)): what self-training minimises. Not in the paper.
    SoftTargets,
    /// Cross-entropy on the true labels of all rows, hidden ones included.
    Supervised,
}

impl Objective {
    /// Every objective.
    pub const ALL: [Self; 15] = [
        Self::Csmpu(Correction::Abs),
        Self::Csmpu(Correction::Nn),
        Self::Csmpu(Correction::Ure),
        Self::CsmpuExact(Correction::Abs),
        Self::CsmpuExact(Correction::Nn),
        Self::CsmpuExact(Correction::Ure),
        Self::CsmpuRef(Correction::Abs),
        Self::CsmpuRef(Correction::Nn),
        Self::CsmpuRef(Correction::Ure),
        Self::UreOvr,
        Self::Area,
        Self::BiasedSuper,
        Self::MpuMl,
        Self::SoftTargets,
        Self::Supervised,
    ];

    /// The one name used in files, flags, run keys and tables.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Csmpu(Correction::Abs) => "csmpu-abs",
            Self::Csmpu(Correction::Nn) => "csmpu-nn",
            Self::Csmpu(Correction::Ure) => "csmpu-ure",
            Self::CsmpuExact(Correction::Abs) => "csmpu-exact-abs",
            Self::CsmpuExact(Correction::Nn) => "csmpu-exact-nn",
            Self::CsmpuExact(Correction::Ure) => "csmpu-exact-ure",
            Self::CsmpuRef(Correction::Abs) => "csmpu-ref-abs",
            Self::CsmpuRef(Correction::Nn) => "csmpu-ref-nn",
            Self::CsmpuRef(Correction::Ure) => "csmpu-ref-ure",
            Self::UreOvr => "ure-ovr",
            Self::Area => "area",
            Self::BiasedSuper => "biased-super",
            Self::MpuMl => "mpu-ml",
            Self::SoftTargets => "csmpu-st",
            Self::Supervised => "supervised",
        }
    }

    /// The correction; [`Correction::Ure`] for objectives that have none.
    pub fn correction(self) -> Correction {
        match self {
            Self::Csmpu(g) | Self::CsmpuExact(g) | Self::CsmpuRef(g) => g,
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

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|o| o.slug() == name)
            .ok_or_else(|| Error::UnknownName {
                what: "objective",
                found: name.to_owned(),
                allowed: Self::ALL.map(Self::slug).join(", "),
            })
    }
}

impl TryFrom<String> for Objective {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.slug().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slugs_are_distinct_and_read_back() {
        let slugs: BTreeSet<&str> = Objective::ALL.iter().map(|o| o.slug()).collect();
        assert_eq!(slugs.len(), Objective::ALL.len());
        for objective in Objective::ALL {
            assert_eq!(objective.slug().parse::<Objective>().unwrap(), objective);
            let json = serde_json::to_string(&objective).unwrap();
            assert_eq!(serde_json::from_str::<Objective>(&json).unwrap(), objective);
        }
        let error = "csmpu".parse::<Objective>().unwrap_err().to_string();
        assert!(
            error.contains("`csmpu`") && error.contains("csmpu-abs"),
            "{error}"
        );
    }

    #[test]
    fn only_the_oracle_sees_hidden_labels() {
        let oracles: Vec<Objective> = Objective::ALL
            .into_iter()
            .filter(|o| o.uses_hidden_labels())
            .collect();
        assert_eq!(oracles, [Objective::Supervised]);
    }
}
