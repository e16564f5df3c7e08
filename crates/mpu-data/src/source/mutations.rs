//! Every reader survives random mutations of a valid file: an error or a valid result, never a panic,
//! never more memory than the limit allows.
//!
//! Each mutated file is what a fixed seed makes of a small valid one: bytes changed, inserted, removed,
//! cut off, doubled, numbers replaced by extreme ones. `fuzz/` has targets that search further.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::text::Layout;
use super::unpack::tests::gzip;
use super::unpack::{Limit, gunzip, unlzw};
use super::{cifar, idx, mat, text};
use crate::split::draw::below;

/// Mutations of each reader's files: as many as `MPU_MUTATIONS` says. `.ci/run` asks for ten times as many as are made
/// without it.
pub(crate) fn n_mutations() -> usize {
    let asked = std::env::var("MPU_MUTATIONS");
    asked.map_or(5_000, |n| n.parse().expect("MPU_MUTATIONS is a number"))
}

/// Small enough that a reader which ignored it would be caught by the test's own checks.
const LIMIT: Limit = Limit::bytes(1 << 16);

/// Bytes that mean something to a reader.
const TELLING: [u8; 16] = *b"\0\x01\x7f\x80\xff\",\n\r:-9e( \t";

/// A file with one to three changes.
pub(crate) fn mutate(valid: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..=below(3, rng) {
        let at =
            |bytes: &[u8], rng: &mut ChaCha8Rng| below(bytes.len().max(1) as u64, rng) as usize;
        let i = at(&bytes, rng);
        match below(8, rng) {
            _ if bytes.is_empty() => bytes.push(rng.next_u32() as u8),
            0 => bytes[i] ^= 1 << below(8, rng),
            1 => bytes[i] = rng.next_u32() as u8,
            2 => bytes[i] = TELLING[below(16, rng) as usize],
            3 => bytes.insert(i, rng.next_u32() as u8),
            4 => {
                bytes.remove(i);
            }
            5 => bytes.truncate(i),
            6 => {
                let end = (i + 1 + below(16, rng) as usize).min(bytes.len());
                let doubled = bytes[i..end].to_vec();
                let to = at(&bytes, rng);
                bytes.splice(to..to, doubled);
            }
            _ => {
                let extreme =
                    [u32::MAX, 0x7fff_ffff, 0x8000_0000, 0x0001_0000][below(4, rng) as usize];
                for (byte, new) in bytes[i..].iter_mut().zip(extreme.to_le_bytes()) {
                    *byte = new;
                }
            }
        }
    }
    bytes
}

/// Feeds mutations to a reader, which says whether it read them. Both answers must occur.
fn check(name: &str, samples: &[Vec<u8>], read: impl Fn(&[u8]) -> bool) {
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_229);
    for sample in samples {
        assert!(read(sample), "{name}: the unchanged file must be read");
    }
    let (mut n_read, n_mutations) = (0, n_mutations());
    for i in 0..n_mutations {
        let mutated = mutate(&samples[i % samples.len()], &mut rng);
        n_read += usize::from(read(&mutated));
    }
    assert!(
        n_read < n_mutations,
        "{name}: some mutation must be noticed"
    );
    println!("{name}: {n_read} of {n_mutations} mutated files were still readable");
}

fn idx_file(dims: &[u32], n_values: usize) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dims.len() as u8];
    for dim in dims {
        bytes.extend(dim.to_be_bytes());
    }
    bytes.extend((0..n_values).map(|i| i as u8 % 10));
    bytes
}

#[test]
fn idx_survives_mutations() {
    let images = idx_file(&[3, 4, 4], 48);
    let labels = idx_file(&[3], 3);
    check(
        "idx",
        &[images.clone(), labels.clone(), gzip(&images)],
        |bytes| {
            let result = idx::read("mutated", bytes, LIMIT);
            if let Ok(array) = &result {
                assert_eq!(array.dims.iter().product::<usize>(), array.values.len());
            }
            result.is_ok()
        },
    );
    check("idx images", std::slice::from_ref(&images), |bytes| {
        idx::read_pair(("mutated", bytes), ("labels", &labels), 10, LIMIT).is_ok()
    });
    check("idx labels", std::slice::from_ref(&labels), |bytes| {
        idx::read_pair(("images", &images), ("mutated", bytes), 10, LIMIT).is_ok()
    });
}

#[test]
fn gzip_and_compress_survive_mutations() {
    let text = b"abracadabra, abracadabra, abracadabra: 0.25 0.25 0.25 1.0".repeat(3);
    check("gzip", &[gzip(&text)], |bytes| {
        let result = gunzip("mutated", bytes, LIMIT);
        assert!(result.as_ref().map_or(0, |out| out.len()) as u64 <= LIMIT.get());
        result.is_ok()
    });
    check(
        "compress",
        &[super::unpack::tests::compressed_by_ncompress()],
        |bytes| {
            let result = unlzw("mutated", bytes, LIMIT);
            assert!(result.as_ref().map_or(0, Vec::len) as u64 <= LIMIT.get());
            result.is_ok()
        },
    );
}

#[test]
fn text_survives_mutations() {
    for layout in Layout::ALL {
        let n = layout.shape().len();
        let row = match layout {
            Layout::ZipCode => format!("6.0000 {}\n", "-0.5 ".repeat(n)),
            Layout::Semeion => format!("{}0 0 0 1 0 0 0 0 0 0 \r\n", "1.0000 ".repeat(n)),
            Layout::Pendigits => format!("{} 8\n", " 47,".repeat(n)),
            Layout::Waveform => format!("{}2\n", "-1.23,".repeat(n)),
        };
        let file = row.repeat(2).into_bytes();
        check(
            &format!("{layout:?}"),
            &[file.clone(), gzip(&file)],
            |bytes| {
                let result = text::read("mutated", bytes, layout, LIMIT);
                if let Ok(rows) = &result {
                    assert!(rows.features.values().iter().all(|value| value.is_finite()));
                    assert!(rows.labels.iter().all(|&label| label < layout.n_classes()));
                }
                result.is_ok()
            },
        );
    }
}

#[test]
fn mat_survives_mutations() {
    let small = mat::tests::sample(&[4, 3]);
    check("mat", &[small, mat::tests::sample(&[7])], |bytes| {
        let result = mat::read("mutated", bytes, LIMIT);
        for variable in result.iter().flatten() {
            assert!(variable.dims.iter().product::<usize>() as u64 <= LIMIT.get());
        }
        result.is_ok()
    });
    // One image of SVHN: the whole way to rows.
    check("svhn", &[mat::tests::svhn_sample(1)], |bytes| {
        mat::svhn("mutated", bytes, LIMIT).is_ok()
    });
}

#[test]
fn cifar_survives_mutations() {
    check("cifar", &[cifar::tests::batch(&[3, 9])], |bytes| {
        let result = cifar::read(&["mutated".to_owned()], &[bytes.to_vec()], LIMIT);
        if let Ok(rows) = &result {
            assert!(rows.labels.iter().all(|&label| label < 10));
        }
        result.is_ok()
    });
}

#[cfg(feature = "parquet")]
#[test]
fn hub_parquet_survives_mutations() {
    use super::hub_parquet::{self, tests::SMALL};
    check("parquet", &[hub_parquet::tests::sample()], |bytes| {
        let result = hub_parquet::read("mutated", bytes, SMALL, 10, LIMIT);
        if let Ok(rows) = &result {
            assert!(rows.labels.iter().all(|&label| label < 10));
        }
        result.is_ok()
    });
}
