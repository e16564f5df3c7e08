//! `examples/own_model/`: the program itself, on few rows.

use std::path::Path;

use mpu_data::source::resolve::Locations;

#[allow(
    dead_code,
    unreachable_pub,
    clippy::field_reassign_with_default,
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    reason = "a program of its own"
)]
#[path = "../../examples/own_model/src/main.rs"]
mod program;

#[test]
fn a_network_of_ones_own_is_trained_on_generated_images() {
    let source = include_str!("../../examples/own_model/src/main.rs");
    assert!(source.lines().count() < 60);
    let nowhere = Locations::offline_in(Path::new("no-such-folder"));
    let [_, own] = program::accuracies(&nowhere, 400, 10).unwrap();
    assert!(own > 0.5, "one of four would be chance: {own}");
}
