//! The page of `cargo xtask bench tables`, which a script makes from the lines of finished runs.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;

use crate::need::{Need, python};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Python => the_page_counts_as_a_hand_does,
    }
}

fn the_page_counts_as_a_hand_does() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/src/bench/tables");
    let mut command = Command::new(python());
    command.arg("test_page.py").current_dir(&scripts);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    assert!(told.contains("Ran 5 tests"), "{told}");
}
