//! Dropout: which values of the hidden layers a training step leaves out.

use mpu_data::scramble;
use rand::Rng;

use crate::error::{Error, Result};

/// Values that are decided by one draw of 64 bits.
const DRAWN: usize = 4;
/// Draws that are made at a time.
const DRAWS: usize = 8;

/// Leaves out a share of the values of every hidden layer of a perceptron in a training step, so that the next layer learns not to rely on single ones.
/// Those that stay are divided by their share, which keeps the mean.
///
/// A value's fate is a hash of the key, the layer, the unit and the row of the batch. So it is the same on every path, device and number of
/// threads, and a pass back needs no memory of it. Every step should have a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dropout {
    /// Out of 65 536.
    dropped: u16,
    key: u64,
}

impl Dropout {
    /// Leaves out a `share`, at least 0 and at most 0.99, rounded to a whole number of 65 536ths. The key is drawn from the caller's generator.
    pub fn draw(share: f64, rng: &mut impl Rng) -> Result<Self> {
        if !(0.0..=0.99).contains(&share) {
            return Err(Error::Setting {
                field: "the share of dropout",
                found: share,
                allowed: "at least 0 and at most 0.99",
            });
        }
        let dropped = (share * 65_536.0).round() as u16;
        let key = rng.next_u64();
        Ok(Self { dropped, key })
    }

    /// Dropout (Srivastava et al. 2014) with kept values scaled up in training: `y_ur = x_ur · [b_ur ≥ p] / (1 - p)`, `b` uniform.
    ///
    /// Multiplies the values of a unit by what becomes of them, in rows of the batch one after the other from `first` on, a multiple of 4.
    #[doc(alias = "eq:dropout")]
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled once per instruction set")]
    pub(crate) fn apply(self, layer: usize, unit: usize, first: usize, values: &mut [f32]) {
        debug_assert_eq!(first % DRAWN, 0, "begins within a draw");
        let scale = (65_536.0 / (65_536.0 - f64::from(self.dropped))) as f32;
        let start = scramble(self.key ^ scramble(((layer as u64) << 32) | unit as u64));
        let mut draw = start.wrapping_add((first / DRAWN) as u64);
        for values in values.chunks_mut(DRAWN * DRAWS) {
            let mut bits = [0_u16; DRAWN * DRAWS];
            for (bits, index) in bits.chunks_exact_mut(DRAWN).zip(0..) {
                let drawn = scramble(draw.wrapping_add(index));
                for (bits, shift) in bits.iter_mut().zip([0, 16, 32, 48]) {
                    *bits = (drawn >> shift) as u16;
                }
            }
            for (value, bits) in values.iter_mut().zip(bits) {
                *value *= if bits >= self.dropped { scale } else { 0.0 };
            }
            draw = draw.wrapping_add(DRAWS as u64);
        }
    }

    /// What the values of a layer are multiplied by, row by row.
    pub(crate) fn factors(self, layer: usize, rows: usize, units: usize) -> Vec<f32> {
        let mut factors = vec![0.0; rows * units];
        let mut column = vec![0.0; rows];
        for unit in 0..units {
            column.fill(1.0);
            self.apply(layer, unit, 0, &mut column);
            for (row, &factor) in factors.chunks_exact_mut(units).zip(&column) {
                row[unit] = factor;
            }
        }
        factors
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn dropout(share: f64, seed: u64) -> Dropout {
        Dropout::draw(share, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
    }

    #[test]
    fn a_share_of_the_values_is_left_out_and_the_mean_stays() {
        for share in [0.0, 0.125, 0.5, 0.9] {
            let factors = dropout(share, 7).factors(1, 400, 300);
            let n = factors.len() as f64;
            let gone = factors.iter().filter(|&&factor| factor == 0.0).count() as f64;
            // Five standard deviations of so many independent draws.
            let gap = 5.0 * (share * (1.0 - share) / n).sqrt();
            assert!((gone / n - share).abs() <= gap, "{share}: {gone} of {n}");
            let kept = (1.0 / (1.0 - share)) as f32;
            let is_one_of_two = |&factor: &f32| factor == 0.0 || (factor / kept - 1.0).abs() < 1e-4;
            assert!(factors.iter().all(is_one_of_two), "{share}");
            for row in factors.chunks_exact(300) {
                let gone = row.iter().filter(|&&factor| factor == 0.0).count() as f64;
                let gap = 6.0 * (share * (1.0 - share) / 300.0).sqrt();
                assert!(
                    (gone / 300.0 - share).abs() <= gap,
                    "{share}: {gone} of a row"
                );
            }
        }
    }

    #[test]
    fn keys_layers_units_and_rows_are_left_out_apart() {
        let base = dropout(0.5, 7).factors(0, 64, 64);
        let agree = |other: &[f32]| {
            let same = base.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!((1800..2300).contains(&same), "{same} of 4096 agree");
        };
        agree(&dropout(0.5, 8).factors(0, 64, 64));
        agree(&dropout(0.5, 7).factors(1, 64, 64));
        let turned: Vec<f32> = (0..4096).map(|i| base[i % 64 * 64 + i / 64]).collect();
        agree(&turned);
        let mut moved = base.clone();
        moved.rotate_left(64);
        agree(&moved);
        moved.rotate_left(3);
        agree(&moved);
    }

    #[test]
    fn parts_are_those_of_the_whole() {
        let dropout = dropout(0.3, 11);
        let whole = dropout.factors(2, 45, 1);
        let mut part = [1.0; 13];
        dropout.apply(2, 0, 32, &mut part);
        assert_eq!(part[..], whole[32..]);
    }

    #[test]
    fn shares_out_of_range_are_refused() {
        for share in [-0.1, 1.0, f64::NAN] {
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            let error = Dropout::draw(share, &mut rng).unwrap_err().to_string();
            assert!(error.contains("at most 0.99"), "{error}");
        }
    }
}
