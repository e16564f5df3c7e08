//! The attack: what must never go wrong, tried again and again in ways that are drawn from a seed.
//!
//! Four families, each against the built `mpu-cli`: killed processes, faults of the disk, hostile servers, damaged
//! input. `cargo test` makes a small fixed number of tries; `cargo xtask attack` makes more, from any seed. Try `i` of a
//! family depends on the seed and on `i` alone, so that a failure comes back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how many tries there were")]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod damage;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod disk;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod family;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod inputs;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kill;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod program;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod servers;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod subjects;

// Shared with the tests of mpu-data.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../crates/mpu-data/src/source/server.rs"]
mod server;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
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
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    println!("the attack needs Linux: nothing was tried");
}
