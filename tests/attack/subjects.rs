//! What is disturbed: work that writes files, and how its result is known.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{done, program, start};

/// Work that can be stopped at any moment and gone on with.
pub(crate) struct Subject {
    /// The work.
    line: &'static str,
    /// How it is gone on with: in other words, or not at all if it was finished.
    next: fn(&Path) -> Next,
    /// What it leaves, to the last digit.
    result: fn(&Path) -> Result<String, String>,
}

/// What is to be done next.
enum Next {
    /// The work, from the beginning.
    Begin,
    Line(&'static str),
    Nothing,
}

/// The undisturbed work.
#[derive(Clone)]
pub(crate) struct Reference {
    pub(crate) operations: usize,
    pub(crate) time: Duration,
    result: String,
}

pub(crate) const SUBJECTS: [Subject; 5] = [
    Subject {
        line: "train --offline --threads 2 --set data.generated-rows=300 --set model.kind=mlp --set model.hidden=[16] \
               --batch-size 64 --epochs 6 --set train.checkpoint-every=1 --out run",
        next: resumed,
        result: model,
    },
    Subject {
        line: "train --data items.csv --label-column kind --id-column id --threads 2 --epochs 8 --batch-size 64 --out run",
        next: resumed,
        result: model,
    },
    Subject {
        line: "run sweep.toml --offline --jobs 2 --out store",
        next: |_| Next::Begin,
        result: table,
    },
    Subject {
        line: "pack --out packed",
        next: |_| Next::Begin,
        result: packed,
    },
    Subject {
        line: "predict --model model --data items.csv --ignore-extra --out scored.csv --force",
        next: |_| Next::Begin,
        result: |folder| read(&folder.join("scored.csv")),
    },
];

impl Subject {
    fn line(&self, folder: &Path) -> Option<&'static str> {
        match (self.next)(folder) {
            Next::Begin => Some(self.line),
            Next::Line(line) => Some(line),
            Next::Nothing => None,
        }
    }

    /// What is to be done next, with a library that brings faults; none are asked for yet.
    pub(crate) fn command(&self, folder: &Path) -> Option<Command> {
        let mut command = program(folder, self.line(folder)?);
        command.env("LD_PRELOAD", faults());
        Some(command)
    }

    /// Goes on and compares the result.
    pub(crate) fn recovers(&self, folder: &Path, reference: &Reference) -> Result<(), String> {
        if let Some(line) = self.line(folder) {
            done(folder, line)?;
        }
        self.is_right(folder, reference)
    }

    pub(crate) fn is_right(&self, folder: &Path, reference: &Reference) -> Result<(), String> {
        let result = (self.result)(folder)?;
        if result != reference.result {
            return Err(format!(
                "another result:\n{result}\nnot\n{}",
                reference.result
            ));
        }
        let left = unfinished(folder);
        if left.is_empty() {
            return Ok(());
        }
        Err(format!("left behind: {left:?}"))
    }

    /// The undisturbed work, done once.
    pub(crate) fn reference(&self) -> Reference {
        static KNOWN: Mutex<Vec<(&str, Reference)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap();
        if let Some((_, reference)) = known.iter().find(|(line, _)| *line == self.line) {
            return reference.clone();
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        prepare(folder);
        let count = folder.join("operations");
        let mut command = self.command(folder).unwrap();
        command.env("FAULT_COUNT", &count);
        let begun = Instant::now();
        let ended = start(command).end().unwrap();
        assert!(ended.good(), "{}: {}", self.line, ended.told);
        let reference = Reference {
            time: begun.elapsed(),
            operations: fs::read_to_string(count).unwrap().parse().unwrap(),
            result: (self.result)(folder).unwrap(),
        };
        assert!(reference.operations > 3, "{}", self.line);
        known.push((self.line, reference.clone()));
        reference
    }
}

fn resumed(folder: &Path) -> Next {
    let has = |name: &str| folder.join("run").join(name).exists();
    match (has("record.json"), has("config.toml")) {
        (true, _) => Next::Nothing,
        (false, true) => Next::Line("train --resume run --offline"),
        (false, false) => Next::Begin,
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The digest of the model, and the figures of every epoch.
fn model(folder: &Path) -> Result<String, String> {
    let record: Value = serde_json::from_str(&read(&folder.join("run/record.json"))?)
        .map_err(|error| format!("record.json: {error}"))?;
    let digest = record["model-sha256"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    Ok(digest + "\n" + &read(&folder.join("run/metrics.csv"))?)
}

fn table(folder: &Path) -> Result<String, String> {
    done(folder, "collect sweep.toml --out store --format csv")
}

/// The table of packed records, of which none may be missing.
fn packed(folder: &Path) -> Result<String, String> {
    done(folder, "collect sweep.toml --out packed --format csv")
}

/// Files that were begun and not finished.
fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(unfinished(&path));
        } else if path.extension().is_some_and(|e| e == "part") {
            found.push(path);
        }
    }
    found
}

/// Rows of two kinds and a pool.
pub(crate) fn items() -> String {
    let mut text = String::from("id,a,b,colour,kind\n");
    for i in 0..180_u32 {
        let noise = f64::from(i * 37 % 101) / 101.0;
        let (a, b) = match i % 3 {
            0 => (3.0 + noise, noise),
            1 => (noise, 3.0 + noise),
            _ => (noise, 1.0 - noise),
        };
        let kind = if i < 90 {
            ["dent", "scratch", ""][i as usize % 3]
        } else {
            ""
        };
        let colour = ["red", "blue"][i as usize / 3 % 2];
        writeln!(text, "r{i},{a:.4},{b:.4},{colour},{kind}").unwrap();
    }
    text
}

/// Puts everything that the subjects need into a folder.
pub(crate) fn prepare(folder: &Path) {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let made = tempfile::tempdir().unwrap();
        let root = made.path();
        fs::write(root.join("items.csv"), items()).unwrap();
        let sweep = "seed = [1, 2]\nmethod = [\"csmpu-abs\", \"area\"]\n[data]\ngenerated-rows = 300\n[model]\nkind = \"mlp\"\n\
                     hidden = [8]\n[train]\nepochs = 3\nbatch-size = 64\ncheckpoint-every = 1\n";
        fs::write(root.join("sweep.toml"), sweep).unwrap();
        done(root, "run sweep.toml --offline --jobs 2 --out packed").unwrap();
        let line = "train --data items.csv --label-column kind --id-column id --set model.kind=forest --out model";
        done(root, line).unwrap();
        made
    });
    copy(made.path(), folder);
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The library of faults, built from C by the linker that built this test.
fn faults() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/attack/faults.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults.so");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-o"]);
        command.arg(&library).arg(source).arg("-ldl");
        let built = command.status();
        assert!(built.unwrap().success(), "cc cannot build faults.c");
        library
    })
}
