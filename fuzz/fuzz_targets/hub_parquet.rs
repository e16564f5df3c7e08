//! Parquet with PNG images: any bytes give an error or rows with labels in range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::Shape;
use mpu_data::source::{Limit, hub_parquet};

const SHAPE: Shape = Shape::Image {
    channels: 1,
    height: 2,
    width: 3,
};

fuzz_target!(
    init: {
        // The Parquet library panics on some broken files and our reader turns that into an error;
        // the fuzzer's own hook would end the run at the first one.
        std::panic::set_hook(Box::new(|_| {}));
    },
    |bytes: &[u8]| {
        if let Ok(rows) = hub_parquet::read("fuzzed", bytes, SHAPE, 10, Limit::bytes(1 << 16))
            && rows.labels.iter().any(|&label| label >= 10)
        {
            std::process::abort();
        }
    }
);
