//! The program under attack: in a bare environment, within limits of time and memory.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything here takes, on a slow machine that is busy.
const TIME: Duration = Duration::from_mins(3);

/// More than anything here needs, in kilobytes of address space.
const MEMORY_KB: u64 = 6 << 20;

/// What became of a program.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What it said, on either channel.
    pub(crate) told: String,
}

impl Ended {
    pub(crate) fn good(&self) -> bool {
        self.status.success()
    }

    /// Fails unless it ended as a program does that was asked for something impossible, or did it.
    pub(crate) fn orderly(self) -> Result<Self, String> {
        let panicked = self.told.contains("panicked at");
        match self.status.code() {
            Some(0 | 1 | 2 | 130) if !panicked => Ok(self),
            _ => Err(format!("{}: {}", self.status, self.told)),
        }
    }
}

/// `mpu-cli` with the words of a line, in a folder that is its home as well.
pub(crate) fn program(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpu-cli"));
    bare(&mut command, folder);
    command.args(line.split_whitespace());
    command
}

/// The same with a limit on its memory.
pub(crate) fn bounded(folder: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    bare(&mut command, folder);
    let limited = format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_mpu-cli")]);
    command.args(line.split_whitespace());
    command
}

fn bare(command: &mut Command, folder: &Path) {
    command.current_dir(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", folder).env("RAYON_NUM_THREADS", "2");
}

/// A program that runs, and the file that it talks to.
pub(crate) struct Running {
    pub(crate) child: Child,
    said: File,
}

pub(crate) fn start(mut command: Command) -> Running {
    let said = tempfile::tempfile().unwrap();
    let channel = || Stdio::from(said.try_clone().unwrap());
    command.stdin(Stdio::null());
    command.stdout(channel()).stderr(channel());
    Running {
        child: command.spawn().unwrap(),
        said,
    }
}

impl Running {
    /// Waits for its end; it may take no longer than the limit.
    pub(crate) fn end(self) -> Result<Ended, String> {
        self.end_within(TIME)
    }

    pub(crate) fn end_within(mut self, time: Duration) -> Result<Ended, String> {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > time {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                return Err(format!("no end after {time:?}: {}", self.told()));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let told = self.told();
        Ok(Ended { status, told })
    }

    fn told(&mut self) -> String {
        let mut bytes = Vec::new();
        self.said.rewind().unwrap();
        self.said.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Runs a line to its good end.
pub(crate) fn done(folder: &Path, line: &str) -> Result<String, String> {
    let ended = start(program(folder, line)).end()?;
    if ended.good() {
        return Ok(ended.told);
    }
    Err(format!("`{line}`: {}: {}", ended.status, ended.told))
}
