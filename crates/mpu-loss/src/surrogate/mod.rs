//! The six surrogates `ℓ(z)` of the paper, each in a file of its own.

mod hinge;
mod logistic;
mod ramp;
mod sigmoid_prob;
mod tanh_smooth;
mod unhinged;

use candle_core::Tensor;

use crate::facts::Facts;

/// A binary surrogate `ℓ(z)` of the margin `z`; `ℓ(z, y)` in the paper is `ℓ(y·z)`.
///
/// | variant | `ℓ(z)` | `ℓ(z) + ℓ(-z)` constant | range | Lipschitz |
/// |---|---|---|---|---|
/// | [`SigmoidProb`](Self::SigmoidProb) | `1 / (1 + e^{γz})` | yes, 1 | `(0, 1)` | `γ/4` |
/// | [`Unhinged`](Self::Unhinged) | `(1 - z) / 2` | yes, 1 | all | `1/2` |
/// | [`TanhSmooth`](Self::TanhSmooth) | `(1 - tanh(γz)) / 2` | yes, 1 | `(0, 1)` | `γ/2` |
/// | [`Hinge`](Self::Hinge) | `max(0, 1 - z)` | no | `[0, ∞)` | `1` |
/// | [`Ramp`](Self::Ramp) | `min(1, max(0, 1 - z))` | no | `[0, 1]` | `1` |
/// | [`Logistic`](Self::Logistic) | `log(1 + e^{-γz})` | no | `(0, ∞)` | `γ` |
///
/// The same facts are to be had as data from [`Loss::facts`](crate::Loss::facts).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Surrogate {
    /// Probability-style sigmoid: not the logistic log-loss.
    SigmoidProb,
    /// Unhinged: linear, unbounded on both sides.
    Unhinged,
    /// Smooth step through the hyperbolic tangent.
    TanhSmooth,
    /// Hinge.
    Hinge,
    /// Ramp: the hinge cut off at one.
    Ramp,
    /// Logistic log-loss (softplus).
    Logistic,
}

mpu_data::named!(Surrogate, "surrogate", {
    SigmoidProb => "sigmoid_prob",
    Unhinged => "unhinged",
    TanhSmooth => "tanh_smooth",
    Hinge => "hinge",
    Ramp => "ramp",
    Logistic => "logistic",
});

impl Surrogate {
    /// Whether the surrogate has a scale γ.
    pub fn has_scale(self) -> bool {
        matches!(self, Self::SigmoidProb | Self::TanhSmooth | Self::Logistic)
    }

    pub(crate) fn value(self, z: f64, gamma: f64) -> f64 {
        match self {
            Self::SigmoidProb => sigmoid_prob::value(z, gamma),
            Self::Unhinged => unhinged::value(z),
            Self::TanhSmooth => tanh_smooth::value(z, gamma),
            Self::Hinge => hinge::value(z),
            Self::Ramp => ramp::value(z),
            Self::Logistic => logistic::value(z, gamma),
        }
    }

    pub(crate) fn derivative(self, z: f64, gamma: f64) -> f64 {
        match self {
            Self::SigmoidProb => sigmoid_prob::derivative(z, gamma),
            Self::Unhinged => unhinged::derivative(),
            Self::TanhSmooth => tanh_smooth::derivative(z, gamma),
            Self::Hinge => hinge::derivative(z),
            Self::Ramp => ramp::derivative(z),
            Self::Logistic => logistic::derivative(z, gamma),
        }
    }

    /// Value and slope of every element of `z`, without a graph.
    pub(crate) fn tensors(self, z: &Tensor, gamma: f64) -> candle_core::Result<(Tensor, Tensor)> {
        match self {
            Self::SigmoidProb => sigmoid_prob::tensors(z, gamma),
            Self::Unhinged => unhinged::tensors(z),
            Self::TanhSmooth => tanh_smooth::tensors(z, gamma),
            Self::Hinge => hinge::tensors(z),
            Self::Ramp => ramp::tensors(z),
            Self::Logistic => logistic::tensors(z, gamma),
        }
    }

    /// The facts of the raw form.
    pub(crate) fn facts(self, gamma: f64) -> Facts {
        let (constant_sum, low, high, lipschitz) = match self {
            Self::SigmoidProb => (true, 0.0, 1.0, gamma / 4.0),
            Self::Unhinged => (true, f64::NEG_INFINITY, f64::INFINITY, 0.5),
            Self::TanhSmooth => (true, 0.0, 1.0, gamma / 2.0),
            Self::Hinge => (false, 0.0, f64::INFINITY, 1.0),
            Self::Ramp => (false, 0.0, 1.0, 1.0),
            Self::Logistic => (false, 0.0, f64::INFINITY, gamma),
        };
        Facts {
            constant_sum,
            low,
            high,
            lipschitz,
            non_increasing: true,
        }
    }
}
