//! What is known of a loss, as data.

/// Known facts about a loss `ℓ`; tests hold each of them to the function itself.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Facts {
    /// Whether `ℓ(z) + ℓ(-z) = 1` for all `z`.
    pub constant_sum: bool,
    /// The infimum of `ℓ`, which may be `-∞`.
    pub low: f64,
    /// The supremum of `ℓ`, which may be `∞`.
    pub high: f64,
    /// The smallest Lipschitz constant `L_ℓ`.
    pub lipschitz: f64,
    /// Whether `ℓ` never rises with the margin.
    pub non_increasing: bool,
}

impl Facts {
    /// The bound `C_ℓ` with `ℓ ∈ [0, C_ℓ]` that the paper's theorems ask for, if there is one.
    pub fn bound(&self) -> Option<f64> {
        (self.low >= 0.0 && self.high.is_finite()).then_some(self.high)
    }
}
