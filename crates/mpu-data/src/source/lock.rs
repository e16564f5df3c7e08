//! A lock between processes, so that two of them do not download the same file.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often a held lock is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// A held lock; dropping it, or the end of the process, gives it up. Its file stays where it is:
/// removing it could take it from under a process that waits for it.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock, at most so long; `on_wait` is told once if it is held by another.
    pub(crate) fn acquire(path: &Path, timeout: Duration, on_wait: impl FnOnce()) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, &error))?;
        }
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(|error| Error::file("open", path, &error))?;
        let since = Instant::now();
        let mut on_wait = Some(on_wait);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", path, &error)),
                Err(TryLockError::WouldBlock) if since.elapsed() > timeout => {
                    let held = format!("another process has held it for {} s", timeout.as_secs());
                    return Err(Error::file("lock", path, &held));
                }
                Err(TryLockError::WouldBlock) => {
                    if let Some(on_wait) = on_wait.take() {
                        on_wait();
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

/// The path with a suffix appended to its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
