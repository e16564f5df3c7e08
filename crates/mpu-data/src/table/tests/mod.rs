//! Tests of whole readings: from bytes to a table or a message.

mod check;
mod csv_reference;
mod encode;
mod errors;
mod formats;
mod frame;
mod fuzz;
mod hostile;
#[cfg(feature = "images")]
mod images;
mod labels;
pub(super) mod make;
mod misread;
mod sizes;
mod unusual;

use std::sync::Arc;

use super::*;
use crate::error::tests::{check_message, check_text};

/// Bytes as a file of this name.
fn file(name: &str, bytes: impl Into<Arc<[u8]>>) -> TableInput {
    TableInput::from_bytes(name, bytes)
}

/// CSV text as an input.
fn csv(text: &str) -> TableInput {
    file("items.csv", text.as_bytes())
}

/// Reads a file or folder with default options.
fn read_file(input: impl Into<TableInput>) -> Result<MpuTable> {
    read_table(input, &TableOptions::default())
}

/// Reads CSV text with default options.
fn read(text: &str) -> Result<MpuTable> {
    read_file(csv(text))
}

/// Default options but for what `change` does to them.
fn with(change: impl FnOnce(&mut TableOptions)) -> TableOptions {
    let mut options = TableOptions::default();
    change(&mut options);
    options
}

/// Reads CSV text with such options.
fn read_with(text: &str, change: impl FnOnce(&mut TableOptions)) -> Result<MpuTable> {
    read_table(csv(text), &with(change))
}

/// All that the check of a table says.
fn warnings(table: &MpuTable) -> String {
    let warnings = table.check.warnings.iter().map(ToString::to_string);
    warnings.collect::<Vec<String>>().join("\n")
}

/// A schema as it is read back.
fn stored(schema: &FeatureSchema) -> FeatureSchema {
    serde_json::from_str(&serde_json::to_string(schema).unwrap()).unwrap()
}

/// Encodes a later table with default options.
fn encode(schema: &FeatureSchema, later: impl Into<TableInput>) -> Result<EncodedTable> {
    schema.encode(later, &EncodeOptions::default())
}
