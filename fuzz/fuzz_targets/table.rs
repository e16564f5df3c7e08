//! The user's own tables in every format: any bytes give an error or a table whose parts fit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpu_data::table::{InputFormat, Limits, TableInput, TableOptions, read_table};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    // The last one, folders of images, has no bytes of its own.
    let formats = &InputFormat::FILES[..InputFormat::FILES.len() - 1];
    let format = formats[usize::from(choice) % formats.len()];
    let options = TableOptions {
        format: Some(format),
        limits: Limits { matrix_bytes: 1 << 20, ..Limits::default() },
        ..TableOptions::default()
    };
    let input = TableInput::from_bytes(format!("fuzzed.{format}"), bytes);
    if let Ok(table) = read_table(input, &options) {
        assert_eq!(table.labels.len(), table.features.n_rows());
        assert_eq!(table.schema.width(), table.features.shape().len());
    }
});
