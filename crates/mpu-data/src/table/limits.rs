//! Limits: what a file may make us do, checked before memory is taken.

use serde::{Deserialize, Serialize};

/// What a file may ask for. A file that asks for more is refused with an error that names the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Limits {
    /// The largest feature matrix, in bytes of `f32`.
    pub matrix_bytes: u64,
    /// The most columns a table may have, before and after one-hot coding.
    pub columns: usize,
    /// The longest line, or quoted record of several lines, in bytes.
    pub record_bytes: usize,
    /// How many times larger than the file its decompressed content may be…
    pub expansion: u64,
    /// … once it is larger than this many bytes.
    pub expansion_free_bytes: u64,
    /// The most pixels of one image.
    pub image_pixels: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            matrix_bytes: 16 << 30,
            columns: 100_000,
            record_bytes: 16 << 20,
            expansion: 400,
            expansion_free_bytes: 64 << 20,
            image_pixels: 64 << 20,
        }
    }
}

impl Limits {
    /// The most bytes that a file of `file_bytes` bytes may decompress to.
    pub(super) fn decompressed_bytes(&self, file_bytes: u64) -> u64 {
        file_bytes
            .saturating_mul(self.expansion)
            .max(self.expansion_free_bytes)
    }
}
