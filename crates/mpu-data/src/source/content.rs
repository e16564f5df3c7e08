//! A digest of decoded rows, whatever file format they came in.

use sha2::{Digest, Sha256};

use crate::dataset::Rows;

/// SHA-256 over the number of rows, the row length, all features and all labels, as lower-case
/// hexadecimal: `u64`, `u64`, `f32`…, `u64`…, all little-endian.
///
/// Two files with the same digest hold the same rows in the same order: MNIST as idx and as PNG in
/// Parquet, say, or gzipped by another program.
pub fn digest(rows: &Rows) -> String {
    let mut hash = Sha256::new();
    hash.update((rows.labels.len() as u64).to_le_bytes());
    hash.update((rows.features.shape().len() as u64).to_le_bytes());
    let mut block = Vec::with_capacity(4 << 12);
    for values in rows.features.values().chunks(1 << 12) {
        block.clear();
        // Byte by byte it would take several times as long where nothing is optimised, as in tests.
        for value in values {
            block.extend_from_slice(&value.to_le_bytes());
        }
        hash.update(&block);
    }
    for &label in &rows.labels {
        hash.update((label as u64).to_le_bytes());
    }
    hex(&hash.finalize())
}

/// SHA-256 of bytes, as lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of parts, as if they were one after the other in memory.
pub fn sha256_of(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    hex(&digest.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}"); // writing to a string cannot fail
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Features, Shape};

    #[test]
    fn digests_see_values_labels_and_order() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(sha256(b"abc"), sha256_of([&b"a"[..], b"bc"]));
        let rows = |values: &[f32], labels: &[usize]| {
            let features = Features::new(values.to_vec(), Shape::Vector(1)).unwrap();
            digest(&Rows::new(features, labels.to_vec()).unwrap())
        };
        let base = rows(&[1.0, 2.0], &[0, 1]);
        assert_eq!(base, rows(&[1.0, 2.0], &[0, 1]));
        assert_ne!(base, rows(&[2.0, 1.0], &[1, 0]));
        assert_ne!(base, rows(&[1.0, 2.0], &[1, 0]));
    }
}
