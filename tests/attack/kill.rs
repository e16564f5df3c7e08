//! Processes that are killed, at an operation on a file or at some moment, and go on to the same bits.

use std::path::Path;
use std::time::Duration;

use crate::family::Draw;
use crate::program::start;
use crate::subjects::{SUBJECTS, prepare};

pub(crate) fn attack(draw: &mut Draw, folder: &Path) -> Result<(), String> {
    let subject = draw.of(&SUBJECTS);
    let reference = subject.reference();
    prepare(folder);
    // Once, or again while it goes on.
    for _ in 0..=draw.below(2) {
        let Some(mut command) = subject.command(folder) else {
            break;
        };
        let at_operation = draw.below(2) == 0;
        if at_operation {
            let at = 1 + draw.below(reference.operations);
            command.env("FAULT_AT", at.to_string());
            command.env("FAULT_KIND", "kill");
        }
        let mut running = start(command);
        if !at_operation {
            let most = reference.time.as_micros() as usize;
            std::thread::sleep(Duration::from_micros(draw.below(most) as u64));
            running.child.kill().unwrap();
        }
        running.end()?;
    }
    subject.recovers(folder, &reference)
}
