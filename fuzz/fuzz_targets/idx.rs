//! idx files, gzipped or not: any bytes give an error or an array whose dimensions fit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::source::{Limit, idx};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(array) = idx::read("fuzzed", bytes, Limit::bytes(1 << 20)) {
        assert_eq!(array.dims.iter().product::<usize>(), array.values.len());
    }
});
