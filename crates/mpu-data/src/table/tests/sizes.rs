//! Sizes are checked before memory is taken.

use std::fmt::Write;

use super::make::{floats, gzip, npy, npz};
use super::*;

#[test]
fn an_array_that_promises_too_much() {
    let options = with(|o| o.label_column = Some("x0".to_owned()));
    for shape in [
        "(1000000000, 1)",
        "(4, 1000000000)",
        "(99999999999999999999, 2)",
        "(4, 3)",
    ] {
        let bytes = npy("<f4", shape, &floats(&[1.0; 8]));
        let read = read_table(file("X.npy", bytes.clone()), &options);
        check_message(read, "X.npy: not a readable npy file");
        let archive = npz(&[("X.npy", bytes)], zip::CompressionMethod::Deflated);
        assert!(read_table(file("d.npz", archive), &options).is_err());
    }
    let objects = npy("|O", "(4, 2)", &[0; 64]);
    let read = read_table(file("X.npy", objects), &options);
    check_message(read, "arrays of bool, int");
}

/// Limits small enough for a test to pass them.
fn tight() -> TableOptions {
    with(|o| {
        o.limits = Limits {
            matrix_bytes: 1 << 16,
            columns: 100,
            record_bytes: 1 << 12,
            expansion: 10,
            expansion_free_bytes: 1 << 16,
            image_pixels: 1 << 12,
        };
    })
}

#[test]
fn a_bomb_in_any_wrapping() {
    let text = "a,label\n".to_owned() + &"1,\n".repeat(100_000);
    let input = file("a.csv.gz", gzip(text.as_bytes()));
    check_message(
        read_table(input, &tight()),
        "a.csv.gz: its decompressed content … `expansion`",
    );

    let zeros = npy("<f4", "(100000, 1)", &vec![0; 400_000]);
    let archive = npz(&[("X.npy", zeros)], zip::CompressionMethod::Deflated);
    let options = TableOptions {
        label_column: Some("x0".to_owned()),
        ..tight()
    };
    check_message(read_table(file("d.npz", archive), &options), "d.npz");
}

#[test]
fn too_large_a_matrix() {
    let mut text = "a,b,label\n".to_owned();
    for i in 0..10_000 {
        writeln!(text, "{i},2,{}", i % 2).unwrap();
    }
    check_message(
        read_table(csv(&text), &tight()),
        "a matrix of 10000 rows and 2 features needs 80000 bytes, the limit is 65536 … `matrix-bytes`",
    );
}

#[test]
fn too_many_columns() {
    let names: Vec<String> = (0..200).map(|i| format!("c{i}")).collect();
    check_message(
        read_table(csv(&names.join(",")), &tight()),
        "200 columns, the limit is 100",
    );
    let input = file("a.libsvm", *b"1 4000000000:1\n");
    check_message(read_table(input, &tight()), "columns, the limit is 100");
}

#[test]
fn too_long_a_record() {
    let text = format!("a,label\n1,x\n\"{}\n", "z\n".repeat(1 << 20));
    check_message(
        read_table(csv(&text), &tight()),
        "line 3: a record longer than 4096 bytes … hint: a double quote",
    );
    let header = "a".repeat(1 << 20);
    check_message(
        read_table(csv(&header), &tight()),
        "line 1: a record longer",
    );
}

#[cfg(feature = "parquet")]
#[test]
fn a_page_that_promises_too_much() {
    let bytes = make::parquet(::parquet::basic::Compression::SNAPPY, false);
    let mut options = tight();
    options.missing = Missing::Mean;
    options.limits.expansion = 0;
    options.limits.expansion_free_bytes = 8;
    check_message(
        read_table(file("a.parquet", bytes), &options),
        "a.parquet:  … `expansion`",
    );
}
