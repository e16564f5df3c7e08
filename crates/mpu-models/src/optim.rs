//! Optimisers, in place over all parameters at once, with PyTorch's semantics.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_length, setting};
use crate::kernels::isa::Isa;
use crate::kernels::rows::{self, AdamStep};
use crate::threads::Threads;

/// Which optimiser, with its settings; the learning rate is given at every step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OptimSpec {
    /// Adam (Kingma and Ba 2015), with decay decoupled from the gradient (AdamW) if asked for:
    ///
    /// ```text
    /// p ← p (1 − lr · decay)
    /// m ← β₁ m + (1 − β₁) g          v ← β₂ v + (1 − β₂) g²
    /// p ← p − lr / (1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + ε)
    /// ```
    Adam {
        /// Memory of the mean gradient, in `[0, 1)`.
        beta1: f64,
        /// Memory of the mean squared gradient, in `[0, 1)`.
        beta2: f64,
        /// Added to the root; positive.
        eps: f64,
        /// Decoupled weight decay; 0 is plain Adam.
        weight_decay: f64,
    },
    /// Gradient descent with momentum: `m ← momentum · m + g`, `p ← p − lr · m`.
    Sgd {
        /// Share of the last step that is kept, in `[0, 1)`.
        momentum: f64,
    },
}

impl OptimSpec {
    /// Adam with PyTorch's defaults and no decay.
    pub const ADAM: Self = Self::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.0,
    };

    /// The length of [`OptimState::second`] for so many parameters.
    fn n_second(self, n_values: usize) -> usize {
        match self {
            Self::Adam { .. } => n_values,
            Self::Sgd { .. } => 0,
        }
    }

    fn check(self) -> Result<()> {
        let share = |field, found: f64| {
            if (0.0..1.0).contains(&found) {
                return Ok(());
            }
            Err(setting(field, found, "at least 0 and below 1"))
        };
        match self {
            Self::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                share("beta1", beta1)?;
                share("beta2", beta2)?;
                share("weight_decay", weight_decay)?;
                if !(eps > 0.0 && eps.is_finite()) {
                    return Err(setting("eps", eps, "positive"));
                }
                Ok(())
            }
            Self::Sgd { momentum } => share("momentum", momentum),
        }
    }
}

/// Parameters are handed to threads in multiples of this: fewer are not worth waking one.
const PART_VALUES: usize = 1 << 14;

/// What an optimiser remembers between steps: all that is needed to resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptimState {
    /// Steps made.
    pub step: u64,
    /// Adam's mean gradient, or the last step of gradient descent.
    pub first: Vec<f32>,
    /// Adam's mean squared gradient; empty for gradient descent.
    pub second: Vec<f32>,
}

/// An optimiser of one block of parameters.
#[derive(Debug, Clone)]
pub struct Optimizer {
    spec: OptimSpec,
    state: OptimState,
    isa: Isa,
    threads: Threads,
}

impl Optimizer {
    /// An optimiser of `n_values` parameters that has made no step.
    pub fn new(spec: OptimSpec, n_values: usize) -> Result<Self> {
        let state = OptimState {
            step: 0,
            first: vec![0.0; n_values],
            second: vec![0.0; spec.n_second(n_values)],
        };
        Self::resume(spec, state)
    }

    /// An optimiser that goes on from a state that [`Optimizer::state`] gave.
    pub fn resume(spec: OptimSpec, state: OptimState) -> Result<Self> {
        spec.check()?;
        let (found, needed) = (state.second.len(), spec.n_second(state.first.len()));
        check_length("the optimiser's second moment", found, needed)?;
        Ok(Self {
            spec,
            state,
            isa: Isa::detect(),
            threads: Threads::ONE,
        })
    }

    /// The same, moving the parameters on so many threads of the current `rayon` pool.
    #[must_use]
    pub fn on(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// What to keep in order to resume.
    pub fn state(&self) -> &OptimState {
        &self.state
    }

    /// The optimiser's settings.
    pub fn spec(&self) -> OptimSpec {
        self.spec
    }

    /// Moves `values` against `gradient` with learning rate `lr`.
    pub fn step(&mut self, values: &mut [f32], gradient: &[f32], lr: f64) -> Result<()> {
        let OptimState {
            step,
            first,
            second,
        } = &mut self.state;
        check_length("parameters", values.len(), first.len())?;
        check_length("the gradient", gradient.len(), first.len())?;
        if !(lr >= 0.0 && lr.is_finite()) {
            return Err(setting("learning rate", lr, "a number of at least 0"));
        }
        *step += 1;
        let part = self.threads.share(values.len(), PART_VALUES);
        let values = values.chunks_mut(part).zip(gradient.chunks(part));
        let values = values.zip(first.chunks_mut(part));
        let isa = self.isa;
        match self.spec {
            OptimSpec::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                let coefficients = adam_step([beta1, beta2], eps, weight_decay, *step, lr);
                let parts = values.zip(second.chunks_mut(part));
                self.threads
                    .for_each(parts, |(((values, gradient), first), second)| {
                        rows::adam(isa, values, gradient, first, second, coefficients);
                    });
            }
            OptimSpec::Sgd { momentum } => {
                let (momentum, lr) = (momentum as f32, lr as f32);
                self.threads
                    .for_each(values, |((values, gradient), first)| {
                        rows::sgd(isa, values, gradient, first, momentum, lr);
                    });
            }
        }
        Ok(())
    }
}

/// The coefficients of Adam's step of this number.
pub(crate) fn adam_step(
    [beta1, beta2]: [f64; 2],
    eps: f64,
    decay: f64,
    step: u64,
    lr: f64,
) -> AdamStep {
    let t = step as f64;
    // Of m̂ / (√v̂ + ε) both sides are multiplied by the root, which saves a division for every value.
    let root = (1.0 - libm::pow(beta2, t)).sqrt();
    AdamStep {
        keep: (1.0 - lr * decay) as f32,
        share1: (1.0 - beta1) as f32,
        beta2: beta2 as f32,
        share2: (1.0 - beta2) as f32,
        step: (lr * root / (1.0 - libm::pow(beta1, t))) as f32,
        eps: (eps * root) as f32,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The formulas in `f64`, value by value.
    fn expected(spec: OptimSpec, start: f64, gradients: &[f64], lr: f64) -> f64 {
        let (mut p, mut m, mut v) = (start, 0.0, 0.0);
        for (t, g) in (1..).zip(gradients) {
            match spec {
                OptimSpec::Adam {
                    beta1,
                    beta2,
                    eps,
                    weight_decay,
                } => {
                    p *= 1.0 - lr * weight_decay;
                    m = beta1 * m + (1.0 - beta1) * g;
                    v = beta2 * v + (1.0 - beta2) * g * g;
                    let (m, v) = (m / (1.0 - beta1.powi(t)), v / (1.0 - beta2.powi(t)));
                    p -= lr * m / (v.sqrt() + eps);
                }
                OptimSpec::Sgd { momentum } => {
                    m = momentum * m + g;
                    p -= lr * m;
                }
            }
        }
        p
    }

    pub(crate) const SPECS: [OptimSpec; 3] = [
        OptimSpec::ADAM,
        OptimSpec::Adam {
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-6,
            weight_decay: 0.1,
        },
        OptimSpec::Sgd { momentum: 0.9 },
    ];
    /// How many values [`check_formulas`] moves, at which rate.
    pub(crate) const N: usize = 37;
    pub(crate) const LR: f64 = 0.01;

    /// Five steps, each given the values to move and their gradient, against the formulas.
    pub(crate) fn check_formulas(
        spec: OptimSpec,
        tolerance: f64,
        mut step: impl FnMut(&mut Vec<f32>, Vec<f32>),
    ) {
        let start: Vec<f32> = (0..N).map(|i| i as f32 / 7.0 - 2.0).collect();
        let gradient = |i: usize, step: usize| ((i * 5 + step * 3) % 11) as f64 / 4.0 - 1.0;
        let mut values = start.clone();
        for t in 0..5 {
            let gradients = (0..N).map(|i| gradient(i, t) as f32).collect();
            step(&mut values, gradients);
        }
        for i in 0..N {
            let gradients: Vec<f64> = (0..5).map(|t| gradient(i, t)).collect();
            let want = expected(spec, start[i] as f64, &gradients, LR);
            assert!((values[i] as f64 - want).abs() < tolerance, "{spec:?} {i}");
        }
    }

    #[test]
    fn steps_follow_the_formulas() {
        for spec in SPECS {
            let mut optimizer = Optimizer::new(spec, N).unwrap().on(Threads::new(2));
            check_formulas(spec, 1e-6, |values, gradient| {
                optimizer.step(values, &gradient, LR).unwrap();
            });
        }
    }

    #[test]
    fn a_resumed_optimiser_goes_on_to_the_bit() {
        for spec in [OptimSpec::ADAM, OptimSpec::Sgd { momentum: 0.9 }] {
            let mut values = vec![1.0f32, -2.0, 0.5];
            let mut optimizer = Optimizer::new(spec, 3).unwrap();
            optimizer
                .step(&mut values, &[0.1, 0.2, -0.3], 1e-3)
                .unwrap();
            let state = serde_json::to_string(optimizer.state()).unwrap();
            let mut resumed =
                Optimizer::resume(spec, serde_json::from_str(&state).unwrap()).unwrap();
            let mut copy = values.clone();
            optimizer.step(&mut values, &[0.3, 0.1, 0.2], 1e-3).unwrap();
            resumed.step(&mut copy, &[0.3, 0.1, 0.2], 1e-3).unwrap();
            assert_eq!(values, copy);
            assert_eq!(optimizer.state(), resumed.state());
        }
    }

    #[test]
    fn bad_settings_are_refused() {
        assert!(Optimizer::new(OptimSpec::Sgd { momentum: 1.0 }, 3).is_err());
        let mut optimizer = Optimizer::new(OptimSpec::ADAM, 3).unwrap();
        assert!(optimizer.step(&mut [0.0; 2], &[0.0; 3], 0.1).is_err());
        assert!(optimizer.step(&mut [0.0; 3], &[0.0; 3], f64::NAN).is_err());
        assert_eq!(optimizer.state().step, 0);
        let mut nothing = Optimizer::new(OptimSpec::ADAM, 0).unwrap();
        assert!(nothing.step(&mut [], &[], 0.1).is_ok());
        let state = optimizer.state().clone();
        assert!(Optimizer::resume(OptimSpec::Sgd { momentum: 0.5 }, state).is_err());
    }
}
