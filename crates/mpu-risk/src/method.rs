//! The list of methods: the only place where their slugs stand.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::correction::{Correction, Placement};
use crate::error::{Error, Result};

/// A way of estimating the risk, with its correction where it has one.
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
/// | `csmpu-st` | `Σ ½π_i mean_i CE(e_i) + mean_u CE(v∘t)`, `t` soft targets of the pool: self-training |
/// | `supervised` | cross-entropy on the true labels: an upper limit, never a competitor |
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Method {
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
    /// Self-training on prior-matched targets of the pool. Not in the paper.
    CsmpuSt,
    /// Cross-entropy on the true labels of all rows, hidden ones included.
    Supervised,
}

impl Method {
    /// Every method.
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
        Self::CsmpuSt,
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
            Self::CsmpuSt => "csmpu-st",
            Self::Supervised => "supervised",
        }
    }

    /// The correction; [`Correction::Ure`] for methods that have none.
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
        matches!(self, Self::MpuMl | Self::CsmpuSt | Self::Supervised)
    }

    /// Whether the method sees labels that a user of MPU learning does not have.
    pub fn uses_hidden_labels(self) -> bool {
        self == Self::Supervised
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|m| m.slug() == name)
            .ok_or_else(|| Error::UnknownName {
                what: "method",
                found: name.to_owned(),
                allowed: Self::ALL.map(Self::slug).join(", "),
            })
    }
}

impl TryFrom<String> for Method {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Method> for String {
    fn from(method: Method) -> Self {
        method.slug().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slugs_are_distinct_and_read_back() {
        let slugs: BTreeSet<&str> = Method::ALL.iter().map(|m| m.slug()).collect();
        assert_eq!(slugs.len(), Method::ALL.len());
        for method in Method::ALL {
            assert_eq!(method.slug().parse::<Method>().unwrap(), method);
            let json = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
        }
        let error = "csmpu".parse::<Method>().unwrap_err().to_string();
        assert!(
            error.contains("`csmpu`") && error.contains("csmpu-abs"),
            "{error}"
        );
    }

    #[test]
    fn only_the_oracle_sees_hidden_labels() {
        let oracles: Vec<Method> = Method::ALL
            .into_iter()
            .filter(|m| m.uses_hidden_labels())
            .collect();
        assert_eq!(oracles, [Method::Supervised]);
    }
}
