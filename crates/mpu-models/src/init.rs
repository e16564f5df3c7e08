//! Initial weights, drawn from the caller's generator and the same on every machine.

use std::f64::consts::TAU;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::layout::Role;
use crate::params::Params;
use crate::spec::ModelSpec;

/// How weights are drawn. Scales of batch normalisation always begin at one, shifts at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// `N(0, 2 / fan_in)`: Kaiming normal with the gain of ReLU; biases zero. The paper's.
    KaimingNormal,
    /// PyTorch's default for linear and convolution layers, `U(±1/√fan_in)` for weights and
    /// biases alike (its Kaiming uniform with `a = √5` comes to the same).
    Torch,
}

impl Init {
    /// Every initialiser.
    pub const ALL: [Self; 2] = [Self::KaimingNormal, Self::Torch];

    /// The name used in configurations, flags and tables.
    pub fn slug(self) -> &'static str {
        match self {
            Self::KaimingNormal => "kaiming-normal",
            Self::Torch => "torch",
        }
    }
}

impl Params {
    /// Fresh parameters of `spec`, drawn from `rng` in the order of [`Params::entries`].
    pub fn init(spec: &ModelSpec, init: Init, rng: &mut impl Rng) -> Result<Self> {
        if let ModelSpec::Module(_) = spec {
            return Err(Error::OwnNetwork {
                what: "an initialiser",
                hint: "`Module::init` draws what its layers ask for",
            });
        }
        let mut params = Self::zeros(spec)?;
        let entries = params.entries().to_vec();
        for entry in entries {
            let block = &mut params.trainable_mut();
            match (init, entry.role) {
                (Init::KaimingNormal, Role::Weight { fan_in }) => {
                    let std = (2.0 / fan_in as f64).sqrt();
                    fill_normal(&mut block[entry.range()], std, rng);
                }
                (Init::Torch, Role::Weight { fan_in } | Role::Bias { fan_in }) => {
                    let bound = 1.0 / (fan_in as f64).sqrt();
                    for value in &mut block[entry.range()] {
                        *value = (bound * (2.0 * unit(rng) - 1.0)) as f32;
                    }
                }
                _ => {}
            }
        }
        Ok(params)
    }
}

/// A number in `[0, 1)` from the upper 53 bits of one draw.
fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Numbers in `[low, high)`.
pub(crate) fn fill_uniform(values: &mut [f32], low: f64, high: f64, rng: &mut impl Rng) {
    for value in values {
        *value = (low + (high - low) * unit(rng)) as f32;
    }
}

/// Box–Muller in `f64`: two draws make two values, so that the stream does not depend on a
/// library's choice of method, with logarithm and sine from `libm`, not from the system. An odd last value discards its partner.
pub(crate) fn fill_normal(values: &mut [f32], std: f64, rng: &mut impl Rng) {
    for pair in values.chunks_mut(2) {
        // 1 - u is in (0, 1]: its logarithm is finite.
        let radius = std * (-2.0 * libm::log(1.0 - unit(rng))).sqrt();
        let (sin, cos) = libm::sincos(TAU * unit(rng));
        pair[0] = (radius * cos) as f32;
        if let Some(second) = pair.get_mut(1) {
            *second = (radius * sin) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn moments(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
        let var = values
            .iter()
            .map(|&v| (v as f64 - mean).powi(2))
            .sum::<f64>()
            / n;
        (mean, var)
    }

    #[test]
    fn weights_have_the_stated_spread() {
        let spec = ModelSpec::mlp5(784, 4);
        let kaiming = Params::init(
            &spec,
            Init::KaimingNormal,
            &mut ChaCha8Rng::seed_from_u64(1),
        )
        .unwrap();
        let (mean, var) = moments(kaiming.get("fc1.weight").unwrap());
        assert!(
            mean.abs() < 5e-4 && (var * 784.0 / 2.0 - 1.0).abs() < 0.02,
            "{mean} {var}"
        );
        assert!(kaiming.get("fc2.bias").unwrap().iter().all(|&b| b == 0.0));

        let torch = Params::init(&spec, Init::Torch, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        let (mean, var) = moments(torch.get("fc2.weight").unwrap());
        assert!(
            mean.abs() < 5e-4 && (var * 300.0 * 3.0 - 1.0).abs() < 0.02,
            "{mean} {var}"
        );
        let bound = 1.0 / 300f32.sqrt();
        assert!(
            torch
                .get("fc2.bias")
                .unwrap()
                .iter()
                .all(|b| b.abs() <= bound && *b != 0.0)
        );
        for params in [kaiming, torch] {
            assert!(params.get("bn3.weight").unwrap().iter().all(|&g| g == 1.0));
            assert!(params.get("bn3.bias").unwrap().iter().all(|&b| b == 0.0));
        }
    }

    #[test]
    fn draws_are_a_function_of_the_generator() {
        let spec = ModelSpec::resnet20(3, 8, 8, 2);
        for init in Init::ALL {
            let draw =
                |seed| Params::init(&spec, init, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            assert_eq!(draw(7), draw(7));
            assert_ne!(draw(7), draw(8));
            let slug = serde_json::to_value(init).unwrap();
            assert_eq!(slug, init.slug());
        }
    }

    #[test]
    fn the_bits_stay() {
        let params = Params::init(
            &ModelSpec::mlp5(3, 2),
            Init::KaimingNormal,
            &mut ChaCha8Rng::seed_from_u64(0),
        )
        .unwrap();
        let first = &params.get("fc1.weight").unwrap()[..3];
        assert_eq!(first, [-1.253_764_3, 0.272_635_52, 1.176_132_1]);
    }
}
