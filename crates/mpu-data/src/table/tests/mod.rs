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

use super::*;

/// CSV text as an input.
fn csv(text: &str) -> TableInput {
    TableInput::from_bytes("items.csv", text.as_bytes())
}

/// Reads CSV text with default options.
fn read(text: &str) -> Result<MpuTable> {
    read_table(csv(text), &TableOptions::default())
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

/// The message of a refused table: it must contain what is written with dots between, as in `line 3 … hint:`.
#[track_caller]
fn check_message<T>(result: Result<T>, parts: &str) {
    let error = result.err().expect("the table must be refused");
    let message = error.to_string();
    for part in parts.split(" … ") {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(!message.ends_with('.'), "{message}");
}
