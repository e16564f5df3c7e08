//! Limits: what a file may make us do, checked before memory is taken.

use serde::{Deserialize, Serialize};

crate::defaults! {
    /// What a file may ask for. A file that asks for more is refused with an error that names the limit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
    pub struct Limits {
        /// The largest feature matrix, in bytes of `f32`.
        pub matrix_bytes: u64 = 16 << 30,
        /// The most columns a table may have, before and after one-hot coding.
        pub columns: usize = 100_000,
        /// The longest line, or quoted record of several lines, in bytes.
        pub record_bytes: usize = 16 << 20,
        /// How many times larger than the file its decompressed content may be…
        pub expansion: u64 = 400,
        /// … once it is larger than this many bytes.
        pub expansion_free_bytes: u64 = 64 << 20,
        /// The most pixels of one image.
        pub image_pixels: u64 = 64 << 20,
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
