//! MAT-files: any bytes give an error or variables within the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::source::{Limit, mat};

fuzz_target!(|bytes: &[u8]| {
    // Most inputs lack the header of 128 bytes that the reader wants first.
    let mut file = vec![b' '; 124];
    file.extend(b"\x00\x01IM");
    file.extend(bytes);
    let limit = Limit::bytes(1 << 20);
    for variable in mat::read("fuzzed", &file, limit).into_iter().flatten() {
        assert!(variable.dims.iter().product::<usize>() <= 1 << 20);
    }
    let _ = mat::svhn("fuzzed", &file, limit);
    let _ = mat::read("fuzzed", bytes, limit);
});
