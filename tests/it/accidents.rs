//! Accidents around the program: folders in use, outputs over inputs, channels that are full.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::evaluate::items::items;
use crate::support::{Folder, complaint, contains_all, ends_in};

const LONG: &str = "train --offline --set data.generated-rows=600 --set model.kind=mlp --set model.hidden=[32] --epochs 100000 \
                    --set train.checkpoint-every=1 --out run";

/// While one process trains in a folder, another is told so, and what the first one writes stays whole.
#[cfg(unix)]
#[test]
fn two_processes_do_not_train_in_one_folder() {
    let folder = Folder::new();
    let mut command = folder.command(LONG);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while !folder.path("run/checkpoint.safetensors").exists() {
        assert!(begun.elapsed() < Duration::from_mins(2), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    folder.refuses(
        "train --resume run",
        &["another process is training in run"],
    );
    folder.refuses(LONG, &["holds files already"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // A dead process keeps nobody out, and what it left half-written goes.
    folder.write("run/.config.toml.77.part", "half");
    let mut command = folder.command("train --resume run --offline");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while folder.path("run/.config.toml.77.part").exists() {
        assert!(begun.elapsed() < Duration::from_mins(2), "it is not swept");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Of several that begin at once in a new folder one goes on.
#[cfg(unix)]
#[test]
fn of_several_that_begin_in_one_folder_one_goes_on() {
    let folder = Folder::new();
    let line = "train --offline --set data.generated-rows=300 --set model.kind=mlp --set model.hidden=[8] --epochs 2 --out run";
    let start = |seed: usize| {
        let mut command = folder.command(&format!("{line} --seed {seed}"));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let started = [1, 2, 3, 4].map(start);
    let ended = started.map(|child| child.wait_with_output().unwrap());
    let good = ended.iter().filter(|output| output.status.success());
    assert_eq!(good.count(), 1, "{ended:?}");
    for output in ended.iter().filter(|output| !output.status.success()) {
        let told = complaint(output, line);
        assert!(
            told.contains("holds files already") || told.contains("another process"),
            "{told}"
        );
    }
    let names = folder.names("run");
    assert!(!names.iter().any(|name| ends_in(name, "part")), "{names:?}");
}

/// A place that cannot be used is told before the table is read, which may take long.
#[test]
fn a_bad_place_is_told_first() {
    let folder = Folder::new();
    folder.write("file", "");
    std::fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/precious.txt", "mine");
    for (out, told) in [
        ("file", "file is a file, not a folder"),
        ("file/below", "file is a file, not a folder"),
        ("full", "holds files already"),
    ] {
        let line = format!("train --data no-such.csv --out {out}");
        folder.refuses(&line, &[told, "hint:"]);
    }
}

#[test]
fn what_is_read_is_not_written_over() {
    let items = items();
    items.told("train --data items.csv --label-column kind --id-column item --set model.kind=forest --out kept");
    let data = items.read("items.csv");
    for out in [
        "items.csv",
        "kept/model.json",
        "kept/../kept/forest.safetensors",
    ] {
        let line =
            format!("predict --model kept --data items.csv --out {out} --out-format csv --force");
        items.refuses(&line, &["would replace a file that is read", "hint:"]);
    }
    assert_eq!(items.read("items.csv"), data);
    // Beside them is no trouble, again and again, and what a killed process left is cleared.
    items.write("kept/.scored.csv.77.part", "half");
    for _ in 0..2 {
        items.told("predict --model kept --data items.csv --out kept/scored.csv --force");
    }
    let names = items.names("kept");
    assert!(!names.iter().any(|name| ends_in(name, "part")), "{names:?}");
}

/// What cannot be written says where it was to go, and says it once.
#[cfg(target_os = "linux")]
#[test]
fn a_full_channel_is_named() {
    let folder = Folder::new();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = folder.command("show");
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let told = complaint(&output.wait_with_output().unwrap(), "show");
    contains_all(&told, &["writing to standard output", "No space left"]);
    let told = folder.complaint("check --data no-such.csv");
    assert_eq!(told.matches("No such file").count(), 1, "{told}");
}
