//! The binary batches of CIFAR-10.
//!
//! ```text
//! label    one byte, 0 to 9
//! pixels   3 · 32 · 32 bytes: red, green, blue, each plane row-major
//! ```
//!
//! and so on, record after record, without a header.

use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::Limit;

const SHAPE: Shape = Shape::image(3, 32, 32);
const RECORD: usize = 1 + 3 * 32 * 32;
const N_CLASSES: u8 = 10;

/// Reads batches, one after the other, each with its name.
pub fn read(names: &[String], batches: &[Vec<u8>], limit: Limit) -> Result<Rows> {
    let n_rows = batches.iter().map(|batch| batch.len() / RECORD).sum();
    let mut values = Vec::with_capacity(n_rows * SHAPE.len());
    let mut labels = Vec::with_capacity(n_rows);
    for (name, batch) in names.iter().zip(batches) {
        limit.check(name, "the file", batch.len() as u64)?;
        if batch.is_empty() || !batch.len().is_multiple_of(RECORD) {
            let problem = format!(
                "{} bytes: a batch is one record of {RECORD} bytes after the other; it may be cut off",
                batch.len()
            );
            return Err(Error::bytes(name, batch.len() as u64, problem));
        }
        for (row, record) in batch.chunks_exact(RECORD).enumerate() {
            let label = record[0];
            if label >= N_CLASSES {
                let problem = format!("label {label}: 0 to {} are allowed", N_CLASSES - 1);
                return Err(Error::bytes(name, (row * RECORD) as u64, problem));
            }
            labels.push(usize::from(label));
            values.extend(record[1..].iter().map(|&pixel| f32::from(pixel)));
        }
    }
    Rows::new(Features::new(values, SHAPE)?, labels)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::error::tests::check_message;
    use crate::source::{DatasetId, LoadOptions, Locations, Quiet, load};

    /// A batch of images whose pixels tell row and place.
    pub(crate) fn batch(labels: &[u8]) -> Vec<u8> {
        let record = |(row, &label): (usize, &u8)| {
            let pixels = (0..RECORD - 1).map(move |place| (row * 31 + place) as u8);
            std::iter::once(label).chain(pixels)
        };
        labels.iter().enumerate().flat_map(record).collect()
    }

    fn read_one(bytes: &[u8]) -> Result<Rows> {
        read(&["b".to_owned()], &[bytes.to_vec()], Limit::DEFAULT)
    }

    #[test]
    fn batches_follow_one_another() {
        let names = ["first".to_owned(), "second".to_owned()];
        let batches = [batch(&[3, 9]), batch(&[0])];
        let rows = read(&names, &batches, Limit::DEFAULT).unwrap();
        assert_eq!(rows.labels, [3, 9, 0]);
        assert_eq!(rows.features.shape(), SHAPE);
        // The second record begins 31 higher; a plane of 1024 bytes ends where it began, modulo 256.
        let second = rows.features.row(1);
        assert_eq!(second[..2], [31.0, 32.0]);
        assert_eq!(second[1024], 31.0);
        assert_eq!(rows.features.row(0), rows.features.row(2));
    }

    #[test]
    fn a_label_of_ten_is_named_with_its_place() {
        let told = "b: at byte 3073: label 10: 0 to 9";
        check_message(read_one(&batch(&[1, 10])), told);
    }

    #[test]
    fn a_batch_that_was_cut_is_refused() {
        let whole = batch(&[1, 2]);
        for cut in [0, 1, RECORD - 1, 2 * RECORD - 1] {
            let error = read_one(&whole[..cut]).unwrap_err();
            assert!(matches!(error, Error::BadBytes { .. }), "{error}");
        }
        assert_eq!(read_one(&whole[..RECORD]).unwrap().labels, [1]);
        let small = Limit::bytes(100);
        assert!(matches!(
            read(&["b".to_owned()], &[whole], small),
            Err(Error::TooLarge { .. })
        ));
    }

    #[test]
    fn the_unpacked_archive_is_loaded_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cifar10/cifar-10-batches-bin");
        std::fs::create_dir_all(&folder).unwrap();
        let load = || {
            let locations = Locations::offline_in(dir.path());
            let options = LoadOptions::default();
            load(DatasetId::Cifar10, &locations, &options, &Quiet)
        };
        let write = |name: &str, labels: &[u8]| {
            std::fs::write(folder.join(name), batch(labels)).unwrap();
        };
        for i in 1..=5_u8 {
            write(&format!("data_batch_{i}.bin"), &[i, i - 1]);
        }
        check_message(load(), "test_batch.bin");
        write("test_batch.bin", &[7]);
        let data = load().unwrap();
        assert_eq!(data.train.labels(), [1, 0, 2, 1, 3, 2, 4, 3, 5, 4]);
        assert_eq!(data.test.labels(), [7]);
        assert_eq!(data.train.class_names()[9], "truck");
        assert_eq!(data.train.provenance().mark(), Some("subset"));
    }
}
