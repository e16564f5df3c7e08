//! Batches of CIFAR-10: any bytes give an error or images with labels below ten.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::source::{Limit, cifar};

fuzz_target!(|bytes: &[u8]| {
    let batch = [bytes.to_vec()];
    if let Ok(rows) = cifar::read(&["fuzzed".to_owned()], &batch, Limit::bytes(1 << 20)) {
        assert!(rows.labels.iter().all(|&label| label < 10));
    }
});
