//! Running the built binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder in which `mpu-cli` runs. Its commands are lines of words without blanks, as in the documents;
/// `examples/…` and `configs/…` are those of the repository.
pub(crate) struct Folder {
    path: PathBuf,
    /// Removes the folder when the test ends.
    _own: Option<TempDir>,
}

impl Folder {
    /// An empty folder for one test.
    pub(crate) fn new() -> Self {
        let own = tempfile::tempdir().unwrap();
        Self {
            path: own.path().to_owned(),
            _own: Some(own),
        }
    }

    /// An empty folder that stays, for what tests share.
    pub(crate) fn shared(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self { path, _own: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// What a folder below this one (or `.`, this one) holds; nothing if there is none.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(below)).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    /// `mpu-cli` with the words of a line as its arguments.
    pub(crate) fn command(&self, line: &str) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpu-cli"));
        command.current_dir(&self.path);
        for word in line.split_whitespace() {
            let of_repository = word.starts_with("configs/") || word.starts_with("examples/");
            if of_repository {
                command.arg(root.join(word));
            } else {
                command.arg(word);
            }
        }
        command
    }

    /// The same with an empty home: no data, no cache.
    pub(crate) fn bare(&self, line: &str) -> Command {
        let empty = self.path("empty");
        std::fs::create_dir_all(&empty).unwrap();
        let mut command = self.command(line);
        for name in [
            "MPU_DATA_DIR",
            "MPU_CACHE_DIR",
            "HOME",
            "XDG_CACHE_HOME",
            "HF_HOME",
        ] {
            command.env(name, &empty);
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What the program prints, if it ends well.
    pub(crate) fn told(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        stdout(&output)
    }

    /// The same as JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.told(&format!("{line} --format json"))).unwrap()
    }

    /// What the program complains about.
    pub(crate) fn complaint(&self, line: &str) -> String {
        complaint(&self.run(line), line)
    }

    /// Fails unless the program refuses the line and its complaint has all these parts.
    pub(crate) fn refuses(&self, line: &str, parts: &[&str]) {
        contains_all(&self.complaint(line), parts);
    }
}

/// The complaint of a program that ended with an error.
pub(crate) fn complaint(output: &Output, what: &str) -> String {
    assert_eq!(output.status.code(), Some(2), "{what}: {}", stderr(output));
    stderr(output)
}

pub(crate) fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// A record without what differs from one time to another.
pub(crate) fn without_time(mut record: Value) -> Value {
    for place in ["seconds", "threads"] {
        let removed = record.as_object_mut().unwrap().remove(place);
        assert!(removed.is_some(), "{place}");
    }
    record
}

/// Whether a file's name has this ending.
pub(crate) fn ends_in(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == ending)
}

/// Sends a signal by its name, such as `-INT`.
pub(crate) fn signal(child: &std::process::Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(sent.success());
}

/// Writes `sweep.toml`: small runs on generated rows.
pub(crate) fn sweep(folder: &Folder, seeds: usize, epochs: usize) {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        "method = [\"csmpu-abs\", \"area\"]\nseed = [{}]\n[data]\ngenerated-rows = 300\nprior = [0.2, 0.5]\n\
         [model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = {epochs}\nbatch-size = 64\ncheckpoint-every = 1\n",
        seeds.join(", ")
    );
    folder.write("sweep.toml", text);
}

/// The table of a finished sweep, with every digit.
pub(crate) fn table(folder: &Folder, out: &str) -> String {
    let output = folder.run(&format!("collect sweep.toml --out {out} --format csv"));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stderr(&output).contains("missing"), "{}", stderr(&output));
    stdout(&output)
}
