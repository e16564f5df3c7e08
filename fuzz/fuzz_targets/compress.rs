//! `.Z` files: any bytes give an error or no more than the limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::source::Limit;
use mpu_data::source::unpack::unlzw;

fuzz_target!(|bytes: &[u8]| {
    let limit = Limit::bytes(1 << 16);
    for file in [bytes.to_vec(), [&[0x1f, 0x9d, 0x90], bytes].concat()] {
        let unpacked = unlzw("fuzzed", &file, limit).unwrap_or_default();
        assert!(unpacked.len() <= 1 << 16);
    }
});
