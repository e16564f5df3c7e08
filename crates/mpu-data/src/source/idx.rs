//! The idx format of MNIST and its kin, gzipped or not.
//!
//! ```text
//! 00 00 08 n   four bytes: zeros, element type (08 is u8), number of dimensions
//! d_1 … d_n    one big-endian u32 each
//! values       d_1 · … · d_n bytes, row-major
//! ```

use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::{Limit, gunzip};

/// An array of bytes with its dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idx {
    /// The dimensions, slowest first.
    pub dims: Vec<usize>,
    /// The values, row-major.
    pub values: Vec<u8>,
}

/// Reads an idx array of bytes. The dimensions must account for every byte of the file.
pub fn read(name: &str, bytes: &[u8], limit: Limit) -> Result<Idx> {
    let wrong = |at, problem: String| Err(Error::bytes(name, at, problem));
    let bytes = gunzip(name, bytes, limit)?;
    let Some((&[zero_a, zero_b, element, n_dims], rest)) = bytes.split_first_chunk::<4>() else {
        return wrong(0, "too short for an idx header".to_owned());
    };
    if (zero_a, zero_b, element) != (0, 0, 8) {
        let found = format!("{zero_a:02x} {zero_b:02x} {element:02x}");
        let needed = "an idx file of bytes begins with 00 00 08";
        return wrong(0, format!("begins with {found}: {needed}"));
    }
    if !(1..=4).contains(&n_dims) {
        return wrong(3, format!("{n_dims} dimensions: 1 to 4 are allowed"));
    }
    let n_dims = usize::from(n_dims);
    let (Some(dim_bytes), Some(values)) = (rest.get(..4 * n_dims), rest.get(4 * n_dims..)) else {
        return wrong(4, "the file ends within its dimensions".to_owned());
    };
    let dims: Vec<usize> = dim_bytes
        .chunks_exact(4)
        .map(|dim| u32::from_be_bytes([dim[0], dim[1], dim[2], dim[3]]) as usize)
        .collect();
    let claimed = dims
        .iter()
        .try_fold(1_u64, |n, &dim| n.checked_mul(dim as u64));
    if claimed != Some(values.len() as u64) {
        let follow = format!("the {} bytes that follow", values.len());
        let problem = format!("the dimensions {dims:?} do not account for {follow}");
        return wrong(4, problem);
    }
    Ok(Idx {
        values: values.to_vec(),
        dims,
    })
}

/// Reads images and their labels from two idx files.
pub fn read_pair(
    images: (&str, &[u8]),
    labels: (&str, &[u8]),
    n_classes: usize,
    limit: Limit,
) -> Result<Rows> {
    let (image_name, image_bytes) = images;
    let (label_name, label_bytes) = labels;
    let images = read(image_name, image_bytes, limit)?;
    let [_, height, width] = images.dims[..] else {
        let problem = format!("dimensions {:?}: images have three", images.dims);
        return Err(Error::bytes(image_name, 3, problem));
    };
    let labels = read(label_name, label_bytes, limit)?;
    if labels.dims.len() != 1 {
        let problem = format!("dimensions {:?}: labels have one", labels.dims);
        return Err(Error::bytes(label_name, 3, problem));
    }
    let classes: Vec<usize> = labels.values.iter().map(|&c| usize::from(c)).collect();
    if let Some(row) = classes.iter().position(|&class| class >= n_classes) {
        let (label, last) = (classes[row], n_classes.saturating_sub(1));
        let problem = format!("label {label}: 0 to {last} are allowed");
        return Err(Error::bytes(label_name, 8 + row as u64, problem));
    }
    let shape = Shape::image(1, height, width);
    let features = Features::new(images.values.iter().map(|&v| f32::from(v)).collect(), shape)?;
    Rows::new(features, classes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    fn idx(dims: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, dims.len() as u8];
        for dim in dims {
            bytes.extend(dim.to_be_bytes());
        }
        bytes.extend(values);
        bytes
    }

    #[test]
    fn images_and_labels_come_together() {
        let images = idx(&[2, 1, 2], &[0, 255, 7, 8]);
        let labels = idx(&[2], &[1, 0]);
        let read = |n_classes| {
            let (images, labels) = (("images", &*images), ("labels", &*labels));
            read_pair(images, labels, n_classes, Limit::DEFAULT)
        };
        let rows = read(2).unwrap();
        assert_eq!(rows.features.values(), [0.0, 255.0, 7.0, 8.0]);
        assert_eq!(rows.features.shape().to_string(), "1x1x2");
        assert_eq!(rows.labels, [1, 0]);
        check_message(read(1), "labels: at byte 8: label 1");
    }

    #[test]
    fn a_header_that_claims_four_gigabytes_takes_none() {
        let bytes = idx(&[u32::MAX, 1, 1], &[0; 1000]);
        check_message(
            read("train-images", &bytes, Limit::DEFAULT),
            "do not account for the 1000 bytes",
        );
        let overflow = idx(&[u32::MAX; 4], &[0; 10]);
        assert!(read("overflow", &overflow, Limit::DEFAULT).is_err());
    }

    #[test]
    fn broken_headers_are_named() {
        for bytes in [
            &b""[..],
            b"\0\0\x08",
            b"\0\0\x0d\x01",
            b"\0\0\x08\x09",
            b"\0\0\x08\x02\0\0",
        ] {
            let error = read("x", bytes, Limit::DEFAULT).unwrap_err();
            assert!(
                matches!(error, Error::BadBytes { .. }),
                "{bytes:?}: {error}"
            );
        }
        assert!(matches!(
            read("x", &idx(&[100], &[0; 100]), Limit::bytes(50)),
            Err(Error::TooLarge { .. })
        ));
    }
}
