//! Breiman's waveform generator: the dataset that needs no file.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use crate::dataset::Rows;
use crate::error::{Result, bad_setting};
use crate::features::{Features, Shape};
use crate::seed::{Seed, Stream};

/// The number of attributes of a row.
pub const N_ATTRIBUTES: usize = 21;

/// The number of classes.
pub const N_CLASSES: usize = 3;

/// How many rows the published file has.
pub const PUBLISHED_ROWS: usize = 5000;

/// The most rows that are generated at once (about 840 MB of features).
pub const MAX_ROWS: usize = 10_000_000;

/// The base wave `h_j` at attribute `i`, counted from 1: a triangle of height 6.
///
/// ```text
/// h_1(i) = max(6 - |i - 7|, 0)    h_2(i) = max(6 - |i - 15|, 0)    h_3(i) = max(6 - |i - 11|, 0)
/// ```
pub fn base_wave(wave: usize, attribute: usize) -> f64 {
    let peak = [7.0, 15.0, 11.0][wave];
    (6.0 - (attribute as f64 - peak).abs()).max(0.0)
}

/// Generates `n_rows` rows of Breiman, Friedman, Olshen and Stone's waveform data (1984, pp. 43–49).
///
/// ```text
/// x_i = u · h_a(i) + (1 - u) · h_b(i) + ε_i,   i = 1, …, 21,   u ~ U[0, 1),   ε_i ~ N(0, 1)
/// (a, b) = (1, 2), (1, 3), (2, 3) for class 0, 1, 2; the classes are equally likely
/// ```
///
/// Drawn from the stream [`Stream::Generate`], with the same bits on every machine: the uniforms
/// are the top 53 bits of a ChaCha word and the normals come from them by Box and Muller with a
/// logarithm and cosine that do not depend on the system's library. The first `n` rows do not
/// depend on how many follow.
pub fn generate(n_rows: usize, seed: Seed) -> Result<Rows> {
    if n_rows == 0 || n_rows > MAX_ROWS {
        return Err(bad_setting("rows", n_rows, format!("from 1 to {MAX_ROWS}")));
    }
    let mut rng = seed.stream(Stream::Generate);
    let mut values = Vec::with_capacity(n_rows * N_ATTRIBUTES);
    let mut labels = Vec::with_capacity(n_rows);
    for _ in 0..n_rows {
        let class = ((uniform(&mut rng) * N_CLASSES as f64) as usize).min(N_CLASSES - 1);
        let (a, b) = [(0, 1), (0, 2), (1, 2)][class];
        let u = uniform(&mut rng);
        for attribute in 1..=N_ATTRIBUTES {
            let mean = u * base_wave(a, attribute) + (1.0 - u) * base_wave(b, attribute);
            values.push((mean + normal(&mut rng)) as f32);
        }
        labels.push(class);
    }
    Rows::new(Features::new(values, Shape::Vector(N_ATTRIBUTES))?, labels)
}

/// A uniform number in `[0, 1)` with 53 bits.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number: `sqrt(-2 ln(1 - u_1)) cos(2π u_2)`.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
    radius * libm::cos(std::f64::consts::TAU * uniform(rng))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_repeat_and_do_not_depend_on_their_number() {
        let few = generate(10, Seed(7)).unwrap();
        let many = generate(100, Seed(7)).unwrap();
        assert_eq!(few.features.values(), &many.features.values()[..210]);
        assert_eq!(few.labels, many.labels[..10]);
        assert_ne!(few, generate(10, Seed(8)).unwrap());
        assert!(generate(0, Seed(0)).is_err());
        assert!(generate(MAX_ROWS + 1, Seed(0)).is_err());
    }

    /// The mean of class (a, b) is `(h_a + h_b)/2`; an attribute's variance is
    /// `1 + (h_a - h_b)²/12`, from the noise and from the uniform mixing.
    #[test]
    fn moments_are_those_of_the_formula() {
        let rows = generate(60_000, Seed(1)).unwrap();
        for class in 0..N_CLASSES {
            let (a, b) = [(0, 1), (0, 2), (1, 2)][class];
            let members: Vec<&[f32]> = (0..rows.labels.len())
                .filter(|&row| rows.labels[row] == class)
                .map(|row| rows.features.row(row))
                .collect();
            let n = members.len() as f64;
            assert!((n - 20_000.0).abs() < 500.0, "class {class} has {n} rows");
            for attribute in 1..=N_ATTRIBUTES {
                let (h_a, h_b) = (base_wave(a, attribute), base_wave(b, attribute));
                let column = members.iter().map(|row| row[attribute - 1] as f64);
                let mean = column.clone().sum::<f64>() / n;
                let variance = column.map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                assert!(
                    (mean - f64::midpoint(h_a, h_b)).abs() < 0.06,
                    "{class} {attribute}: mean {mean}"
                );
                let expected = 1.0 + (h_a - h_b).powi(2) / 12.0;
                assert!(
                    (variance / expected - 1.0).abs() < 0.06,
                    "{class} {attribute}: variance {variance}"
                );
            }
        }
    }

    #[test]
    fn bits_are_the_same_on_every_machine() {
        let rows = generate(2, Seed(42)).unwrap();
        let bits: Vec<u32> = rows.features.row(1)[..3]
            .iter()
            .map(|v| v.to_bits())
            .collect();
        // The same from an independent ChaCha8 and the formula in Python.
        assert_eq!(rows.labels, [2, 2]);
        assert_eq!(bits, [3_200_342_715, 3_213_097_346, 3_215_512_533]);
    }
}
