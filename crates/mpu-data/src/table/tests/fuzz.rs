//! Random damage: every reader answers with a table or an error, never with a panic.

use rayon::prelude::*;

use super::make::{bzip2, floats, gzip, npy, npz};
use super::*;
use crate::seed::{Seed, Stream};
use crate::source::mutations::{mutate, n_mutations};

/// Valid small files.
fn valid() -> Vec<(&'static str, Vec<u8>)> {
    let text =
        b"id,a,b,label\n1,0.5,red,x\n2,-3e2,\"blue, \"\"x\"\"\",y\n3,,red,\n4,7,red,unknown\n";
    let sparse = b"1 1:0.5 3:2\n-1 2:1 # c\n2 1:3 3:-1e3\n1 2:2\n";
    let features = floats(&[1.0, 2.0, -1.0, f32::NAN, 2.0, 6.0, 1.0, 8.0]);
    let features = npy("<f4", "(4, 2)", &features);
    let tabs = String::from_utf8_lossy(text).replace(',', "\t");
    let labels = npy("<i2", "(4,)", &[1, 0, 255, 255, 2, 0, 1, 0]);
    let arrays = [("X.npy", features.clone()), ("y.npy", labels)];
    #[cfg_attr(
        not(any(feature = "parquet", feature = "images")),
        allow(unused_mut, reason = "only those formats are added")
    )]
    let mut files = vec![
        ("a.csv", text.to_vec()),
        ("a.tsv", tabs.into_bytes()),
        ("a.csv.gz", gzip(text)),
        ("a.csv.bz2", bzip2(text)),
        ("a.libsvm", sparse.to_vec()),
        ("X.npy", features),
        ("d.npz", npz(&arrays, zip::CompressionMethod::Stored)),
        ("e.npz", npz(&arrays, zip::CompressionMethod::Deflated)),
    ];
    #[cfg(feature = "parquet")]
    {
        use ::parquet::basic::{Compression, GzipLevel};
        files.push(("a.parquet", make::parquet(Compression::UNCOMPRESSED, false)));
        files.push(("b.parquet", make::parquet(Compression::SNAPPY, true)));
        let gzip = Compression::GZIP(GzipLevel::default());
        files.push(("c.parquet", make::parquet(gzip, false)));
    }
    #[cfg(feature = "images")]
    {
        files.push(("image.png", make::image(4, true, image::ImageFormat::Png)));
        files.push(("image.jpg", make::image(4, false, image::ImageFormat::Jpeg)));
    }
    files
}

/// Reads a damaged file; whatever is understood must hold together.
fn survive(name: &str, bytes: &[u8]) -> bool {
    #[cfg(feature = "images")]
    if name.starts_with("image.") {
        let shape = crate::Shape::image(3, 2, 2);
        let size = Some(ImageSize {
            width: 2,
            height: 2,
        });
        let limits = Limits {
            image_pixels: 1 << 16,
            ..Limits::default()
        };
        let mut row = [0.0; 12];
        let path = std::path::Path::new(name);
        return super::super::images::decode(path, bytes, &limits, shape, size, &mut row).is_ok();
    }
    let is_array = name == "X.npy";
    let options = with(|o| {
        o.missing = Missing::Mean;
        o.exclude = if name.ends_with("parquet") {
            vec!["made".to_owned()]
        } else {
            Vec::new()
        };
        o.label_column = is_array.then(|| "x0".to_owned());
        o.limits = Limits {
            matrix_bytes: 1 << 24,
            columns: 5000,
            expansion_free_bytes: 1 << 20,
            ..Limits::default()
        };
    });
    let input = file(name, bytes);
    match read_table(&input, &options) {
        Ok(table) => {
            assert_eq!(table.features.n_rows(), table.labels.len());
            assert!(table.features.values().iter().all(|v| v.is_finite()));
            let (check, labeled) = (&table.check, table.check.labeled());
            assert_eq!(labeled + check.unlabeled, check.rows);
            let again = encode(&table.schema, &input);
            assert_eq!(again.unwrap().features, table.features);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn damaged_files_are_survived() {
    let n_mutations = n_mutations();
    valid()
        .par_iter()
        .enumerate()
        .for_each(|(index, (name, bytes))| {
            assert!(survive(name, bytes), "{name} must be valid");
            let mut rng = Seed(7).stream_at(Stream::Generate, index as u64);
            let mut n_read = 0;
            for _ in 0..n_mutations {
                n_read += usize::from(survive(name, &mutate(bytes, &mut rng)));
            }
            assert!(
                n_read < n_mutations,
                "{name}: damage must be noticed now and then"
            );
        });
}
