//! Networks and numbers that tests share, the ones of `tests/needs` among them.

use mpu_models::{Init, MlpSpec, ModelSpec, Params, ResNetSpec, Role};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

pub(crate) fn draws(rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| (rng.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

/// Parameters with nothing at its default; running variances from 0.05 to 20.
pub(crate) fn params_of(spec: &ModelSpec, rng: &mut ChaCha8Rng) -> Params {
    let mut params = Params::init(spec, Init::KaimingNormal, rng).unwrap();
    for entry in params.entries().to_vec() {
        let draws = draws(rng, entry.n_values());
        let values = params.get_mut(&entry.name).unwrap();
        for (value, u) in values.iter_mut().zip(draws) {
            match entry.role {
                Role::Weight { .. } => {}
                Role::Scale => *value = 1.0 + 0.5 * u,
                Role::RunningVar => *value = (3.0 * u).exp(),
                _ => *value = 0.5 * u,
            }
        }
    }
    params
}

pub(crate) fn mlp(inputs: usize, hidden: &[usize], outputs: usize) -> ModelSpec {
    ModelSpec::Mlp(MlpSpec {
        inputs,
        hidden: hidden.to_vec(),
        outputs,
    })
}

pub(crate) fn resnet(
    channels: usize,
    height: usize,
    width: usize,
    depth: usize,
    outputs: usize,
) -> ModelSpec {
    ModelSpec::ResNet(ResNetSpec {
        channels,
        height,
        width,
        depth,
        outputs,
    })
}
