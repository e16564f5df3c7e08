//! `examples/own_model/`: the program itself, on few rows.

use std::path::Path;

use mpu_data::source::resolve::Locations;

#[path = "../../examples/own_model/src/main.rs"]
#[allow(
    dead_code,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    clippy::print_stdout
)]
mod program;

#[test]
fn a_network_of_ones_own_is_trained_and_beats_the_perceptron() {
    let source = include_str!("../../examples/own_model/src/main.rs");
    assert!(source.lines().count() < 60);
    let nowhere = Locations::offline_in(Path::new("no-such-folder"));
    let [mlp, cnn] = program::accuracies(&nowhere, 400, 12).unwrap();
    assert!(cnn > mlp, "the network {cnn}, MLP-5 {mlp}");
}
