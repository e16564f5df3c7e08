use std::io::Write;

use super::*;
use crate::error::tests::check_message;

fn element(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// A small element: the size and up to four bytes in eight.
fn small(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = (kind | (bytes.len() as u32) << 16).to_le_bytes().to_vec();
    out.extend(bytes);
    out.resize(8, 0);
    out
}

fn variable(name: &str, class: u8, dims: &[usize], values: Vec<u8>) -> Vec<u8> {
    let dims: Vec<u8> = dims
        .iter()
        .flat_map(|&dim| (dim as u32).to_le_bytes())
        .collect();
    let parts = [
        element(MI_UINT32, &[class, 0, 0, 0, 0, 0, 0, 0]),
        element(MI_INT32, &dims),
        small(MI_INT8, name.as_bytes()),
        values,
    ];
    element(MI_MATRIX, &parts.concat())
}

fn compressed(element: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(element).unwrap();
    let bytes = packer.finish().unwrap();
    let tag = [
        MI_COMPRESSED.to_le_bytes(),
        (bytes.len() as u32).to_le_bytes(),
    ]
    .concat();
    [tag, bytes].concat()
}

fn file(variables: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![b' '; 124];
    out.extend(b"\x00\x01IM");
    out.extend(variables.concat());
    out
}

const U8_CLASS: u8 = 9;
const F64_CLASS: u8 = 6;
const CHAR_CLASS: u8 = 4;

/// A compressed array of bytes, a plain one of doubles, and one that is skipped.
pub(crate) fn sample(dims: &[usize]) -> Vec<u8> {
    let n: usize = dims.iter().product();
    let bytes: Vec<u8> = (0..n).map(|i| i as u8).collect();
    let doubles: Vec<u8> = [1.0_f64, -2.5]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    file(&[
        compressed(&variable("b", U8_CLASS, dims, element(MI_UINT8, &bytes))),
        variable("d", F64_CLASS, &[2, 1], element(9, &doubles)),
        variable("c", CHAR_CLASS, &[1, 2], element(4, b"a\0b\0")),
    ])
}

/// Image `n` has the value of its row, column and channel; labels are 10, 1, 2, …
pub(crate) fn svhn_sample(n_images: usize) -> Vec<u8> {
    let mut pixels = Vec::new();
    for _ in 0..n_images {
        for channel in 0..3_u8 {
            for column in 0..32_u8 {
                pixels.extend((0..32_u8).map(|row| row + 2 * column + 50 * channel));
            }
        }
    }
    let labels: Vec<u8> = (0..n_images)
        .map(|i| if i == 0 { 10 } else { i as u8 })
        .collect();
    let x = variable(
        "X",
        U8_CLASS,
        &[32, 32, 3, n_images],
        element(MI_UINT8, &pixels),
    );
    let y = variable("y", U8_CLASS, &[n_images, 1], small(MI_UINT8, &labels));
    file(&[compressed(&x), compressed(&y)])
}

#[test]
fn numeric_variables_are_read() {
    let variables = read("m", &sample(&[4, 3]), Limit::DEFAULT).unwrap();
    assert_eq!(variables.len(), 2);
    assert_eq!(
        (&*variables[0].name, &variables[0].dims[..]),
        ("b", &[4, 3][..])
    );
    assert_eq!(variables[0].values, Values::U8((0..12).collect()));
    assert_eq!(variables[1].values, Values::F64(vec![1.0, -2.5]));
}

#[test]
fn columns_become_rows_and_ten_becomes_zero() {
    let rows = svhn("s", &svhn_sample(2), Limit::DEFAULT).unwrap();
    assert_eq!(rows.labels, [0, 1]);
    // Channel 1, row 3, column 5.
    assert_eq!(rows.features.row(1)[1024 + 3 * 32 + 5], 3.0 + 10.0 + 50.0);
}

#[test]
fn claims_and_bombs_are_refused() {
    let bomb = file(&[compressed(&vec![0; 30 << 20])]);
    assert!(bomb.len() < 1 << 19, "{}", bomb.len());
    let error = read("bomb", &bomb, Limit::bytes(1 << 20)).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");

    let claim = variable(
        "b",
        U8_CLASS,
        &[65_536, 65_536],
        element(MI_UINT8, &[1, 2, 3]),
    );
    let told = "[65536, 65536] and 3 values";
    check_message(read("claim", &file(&[claim]), Limit::DEFAULT), told);

    let mut cut = sample(&[4, 3]);
    cut.truncate(cut.len() - 20);
    assert!(read("cut", &cut, Limit::DEFAULT).is_err());
    check_message(read("hdf", &[0; 200], Limit::DEFAULT), "-v7.3");
    let told = "no numeric variable \"X\"";
    check_message(svhn("s", &sample(&[2, 2]), Limit::DEFAULT), told);
}
