//! Corrections `g` of an estimate that may turn negative, and where they are placed.

use candle_core::Tensor;

/// The map `g` applied to an estimated risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Correction {
    /// `g(x) = |x|`, slug `abs`.
    Abs,
    /// `g(x) = max(x, 0)`, slug `nn`.
    Nn,
    /// `g(x) = x`: no correction, the unbiased estimate, slug `ure`.
    Ure,
}

mpu_data::named!(Correction, "correction", { Abs => "abs", Nn => "nn", Ure => "ure" });

impl Correction {
    /// `g(x)` of section V of the paper.
    ///
    /// ```text
    /// ure: g(x) = x      nn: g(x) = max(x, 0)      abs: g(x) = |x|
    /// ```
    #[doc(alias = "eq:correction")]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Abs => x.abs(),
            Self::Nn => x.max(0.0),
            Self::Ure => x,
        }
    }

    /// `g'(x)`; 0 at the kink, as in PyTorch.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Self::Ure => 1.0,
            Self::Abs | Self::Nn if x > 0.0 => 1.0,
            Self::Abs if x < 0.0 => -1.0,
            Self::Abs | Self::Nn => 0.0,
        }
    }

    /// `g` of every element, with its slope: each of the three is `x · g'(x)`. Nothing is read back.
    pub(crate) fn tensor(self, x: &Tensor) -> candle_core::Result<Tensor> {
        let (at, dtype) = (x.detach(), x.dtype());
        let above = || at.gt(0.0)?.to_dtype(dtype);
        match self {
            Self::Ure => Ok(x.clone()),
            Self::Nn => x * above()?,
            Self::Abs => x * (above()? - at.lt(0.0)?.to_dtype(dtype)?)?,
        }
    }
}

/// Where a correction is placed in the risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// On the partial risks: each `g(μ_i)` where the method corrects it, and the negative part.
    PerTerm,
    /// On their sum.
    Outer,
    /// On the partial risks and again on their sum, as section V of the paper has it.
    Both,
}

mpu_data::named!(Placement, "placement", { PerTerm => "per-term", Outer => "outer", Both => "both" });

impl Placement {
    /// The correction of the partial risks and that of their sum.
    pub(crate) fn place(self, correction: Correction) -> (Correction, Correction) {
        match self {
            Self::PerTerm => (correction, Correction::Ure),
            Self::Outer => (Correction::Ure, correction),
            Self::Both => (correction, correction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_agree_with_numbers() {
        let values = [-1.5f64, 0.0, 2.0];
        let x = candle_core::Var::new(&values, &candle_core::Device::Cpu).unwrap();
        for correction in Correction::ALL {
            let y = correction.tensor(&x).unwrap();
            let applied = values.map(|x| correction.apply(x));
            assert_eq!(y.to_vec1::<f64>().unwrap(), applied, "{correction}");
            let gradients = y.sum_all().unwrap().backward().unwrap();
            let slopes = gradients.get(&x).unwrap().to_vec1::<f64>().unwrap();
            assert_eq!(slopes, values.map(|x| correction.slope(x)), "{correction}");
        }
    }

    #[test]
    fn corrections_by_hand() {
        for (correction, at_minus, at_plus) in [
            (Correction::Ure, -2.0, 3.0),
            (Correction::Nn, 0.0, 3.0),
            (Correction::Abs, 2.0, 3.0),
        ] {
            assert_eq!(correction.apply(-2.0), at_minus);
            assert_eq!(correction.apply(3.0), at_plus);
        }
    }

    #[test]
    fn slopes_are_difference_quotients_and_zero_at_the_kink() {
        let h = 1e-6;
        for correction in Correction::ALL {
            for x in [-1.5, -0.1, 0.1, 2.0] {
                let quotient = (correction.apply(x + h) - correction.apply(x - h)) / (2.0 * h);
                assert!(
                    (correction.slope(x) - quotient).abs() < 1e-9,
                    "{correction} at {x}"
                );
            }
        }
        assert_eq!(
            [Correction::Abs, Correction::Nn].map(|g| g.slope(0.0)),
            [0.0, 0.0]
        );
    }
}
