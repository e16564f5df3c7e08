//! Disks that are full, fail once, or take half of what they are given.

use std::path::Path;

use crate::family::Draw;
use crate::program::{Ended, start};
use crate::subjects::{SUBJECTS, prepare};

pub(crate) fn attack(draw: &mut Draw, folder: &Path) -> Result<(), String> {
    let subject = draw.of(&SUBJECTS);
    let reference = subject.reference();
    prepare(folder);
    let kind = *draw.of(&["enospc", "eio", "full", "half"]);
    let at = 1 + draw.below(reference.operations);
    let mut command = subject.command(folder).unwrap();
    command.env("FAULT_AT", at.to_string());
    command.env("FAULT_KIND", kind);
    let what = |told: String| format!("{kind} at operation {at}: {told}");
    let ended = start(command).end().and_then(Ended::orderly);
    let ended = ended.map_err(what)?;
    if ended.good() {
        return subject.is_right(folder, &reference).map_err(what);
    }
    if kind == "half" {
        return Err(what(ended.told));
    }
    let recovered = subject.recovers(folder, &reference);
    recovered.map_err(|told| what(format!("{}\nthen {told}", ended.told)))
}
