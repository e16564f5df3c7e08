//! The four text layouts: any bytes give an error or finite rows with labels in range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::source::Limit;
use mpu_data::source::text::{self, Layout};

fuzz_target!(|bytes: &[u8]| {
    for layout in Layout::ALL {
        if let Ok(rows) = text::read("fuzzed", bytes, layout, Limit::bytes(1 << 20)) {
            assert!(rows.features.values().iter().all(|value| value.is_finite()));
            assert!(rows.labels.iter().all(|&label| label < layout.n_classes()));
        }
    }
});
