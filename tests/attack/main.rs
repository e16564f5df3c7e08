//! The attack: what must never go wrong, tried again and again in ways that are drawn from a seed.
//!
//! Four families, each against the built `mpu-cli`: killed processes, faults of the disk, hostile servers, damaged
//! input. `cargo test` makes a small fixed number of tries; `cargo xtask attack` makes more, from any seed. Try `i` of a
//! family depends on the seed and on `i` alone, so that a failure comes back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how many tries there were")]

#[cfg(target_os = "linux")]
mod damage;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod family;
#[cfg(target_os = "linux")]
mod inputs;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod servers;
#[cfg(target_os = "linux")]
mod subjects;

// Shared with the tests of mpu-data.
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../crates/mpu-data/src/source/server.rs"]
mod server;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use family::Family;

    let families = [
        Family::new("killed processes", 1, 1, kill::attack),
        Family::new("disk faults", 2, 1, disk::attack),
        Family::new("hostile servers", 1, 8, servers::attack),
        Family::new("damaged input", 12, 2, inputs::attack),
    ];
    family::run(families)
}

/// Limits and faults are those of Linux.
#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the attack needs Linux: nothing was tried");
}
