//! One seed, many named random streams.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::named;

/// What a random stream is for. Each purpose has its own stream, so that drawing more from one
/// (another initialiser, say) never moves another (the split).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Generating synthetic rows.
    Generate,
    /// Which rows are labelled, unlabelled, held out or dropped.
    Split,
    /// Initial weights.
    Init,
    /// Order of rows in an epoch.
    Shuffle,
    /// Values of hidden layers that training leaves out.
    Dropout,
    /// Random changes to inputs.
    Augment,
    /// Bootstrap resampling.
    Bootstrap,
    /// Growing the trees of a forest.
    Forest,
    /// Where sub-groups of a class start.
    Subgroups,
    /// Rows that a model is explained by, and orders that they are mixed up by.
    Explain,
}

named!(Stream, "random stream", {
    Generate => "generate",
    Split => "split",
    Init => "init",
    Shuffle => "shuffle",
    Dropout => "dropout",
    Augment => "augment",
    Bootstrap => "bootstrap",
    Forest => "forest",
    Subgroups => "subgroups",
    Explain => "explain",
});

/// The seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator of `stream`.
    pub fn stream(self, stream: Stream) -> ChaCha8Rng {
        self.stream_at(stream, 0)
    }

    /// The `index`-th independent generator of `stream`: one per epoch or bootstrap replicate, so
    /// that work can be done in any order, on any number of threads, and resumed.
    ///
    /// The key is `SHA-256("mpu-seed-1" ‖ seed ‖ name ‖ index)`, the same on every machine.
    pub fn stream_at(self, stream: Stream, index: u64) -> ChaCha8Rng {
        let mut key = Sha256::new();
        key.update(b"mpu-seed-1");
        key.update(self.0.to_le_bytes());
        key.update(stream.slug().as_bytes());
        key.update(index.to_le_bytes());
        ChaCha8Rng::from_seed(key.finalize().into())
    }
}

/// The `number`-th draw of SplitMix64 from seed 0: numbers in a row become bits that seem to have nothing to do with one another. For
/// decisions that must follow from a place alone, without a generator that is drawn from in order.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "callers are compiled once per instruction set"
)]
pub fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand_chacha::rand_core::Rng;

    use super::*;

    #[test]
    fn scrambled_numbers_are_those_of_the_reference() {
        let draws = [0, 1, 2].map(scramble);
        let wanted = [
            0xE220_A839_7B1D_CDAF,
            0x6E78_9E6A_A1B9_65F4,
            0x06C4_5D18_8009_454F,
        ];
        assert_eq!(draws, wanted);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let mut first = BTreeSet::new();
        for seed in [Seed(0), Seed(1)] {
            for stream in Stream::ALL {
                for index in 0..3 {
                    let draw = seed.stream_at(stream, index).next_u64();
                    assert_eq!(draw, seed.stream_at(stream, index).next_u64());
                    assert!(
                        first.insert(draw),
                        "{seed:?} {stream:?} {index} repeats another stream"
                    );
                }
            }
        }
    }

    #[test]
    fn streams_are_the_same_on_every_machine() {
        // Computed by an independent SHA-256 and ChaCha8.
        assert_eq!(
            Seed(42).stream(Stream::Split).next_u64(),
            7_485_610_508_199_542_694
        );
    }
}
