//! Files and folders, with errors that name them.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Result, bail};

/// Replaces a file by `bytes`, so that no reader and no crash ever sees half of it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    mpu_report::write_atomic(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Reads a whole file. A pipe, which may wait for ever, and a device, which may never end, are refused.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let reading = || format!("reading {}", path.display());
    let kind = fs::metadata(path).with_context(reading)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        bail!(
            "{} is a pipe or a device, but a plain file is wanted\nhint: write it to a file first",
            path.display()
        );
    }
    fs::read(path).with_context(reading)
}

/// Reads a whole text.
pub fn read_text(path: &Path) -> Result<String> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|error| error.utf8_error())
        .with_context(|| format!("reading {}, which must be UTF-8 text", path.display()))
}

/// The name of a file, without the folders it is in.
pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Refuses a path at which no new folder can be made: there is a file, or a folder that holds more than what a killed
/// process left half-written.
pub(crate) fn check_new_folder(path: &Path) -> Result<()> {
    let there = path.ancestors().find(|above| above.exists());
    if let Some(file) = there.filter(|above| !above.is_dir()) {
        bail!(
            "{} is a file, not a folder\nhint: name another folder with --out",
            file.display()
        );
    }
    if there == Some(path) {
        let looking = || format!("looking into {}", path.display());
        for entry in fs::read_dir(path).with_context(looking)? {
            if !is_unfinished(&entry.with_context(looking)?.file_name()) {
                bail!(
                    "the folder {} holds files already\nhint: name another folder with --out, or continue a stopped run with --resume {}",
                    path.display(),
                    path.display()
                );
            }
        }
    }
    Ok(())
}

/// Makes a folder that must not hold anything yet but what a killed process left half-written, and keeps other processes
/// out of it.
pub(crate) fn new_folder(path: &Path) -> Result<Option<File>> {
    check_new_folder(path)?;
    fs::create_dir_all(path).with_context(|| format!("making the folder {}", path.display()))?;
    let lock = lock_folder(path)?;
    check_new_folder(path)?; // another process may have been and gone
    sweep(path)?;
    Ok(lock)
}

/// Keeps other processes that ask for it out of a folder, until the file is dropped or the process ends. None where the
/// system cannot lock folders.
pub(crate) fn lock_folder(path: &Path) -> Result<Option<File>> {
    let Ok(folder) = File::open(path) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => bail!(
            "another process is training in {}\nhint: wait until it has ended, or name another folder with --out",
            path.display()
        ),
    }
}

/// Whether [`write_atomic`] began the file of this name and a killed process never finished it.
fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') && name.ends_with(".part")
}

/// Removes the files that [`write_atomic`] began in a folder and a killed process never finished.
pub(crate) fn sweep(folder: &Path) -> Result<()> {
    let looking = || format!("looking into {}", folder.display());
    for entry in fs::read_dir(folder).with_context(looking)? {
        let entry = entry.with_context(looking)?;
        if is_unfinished(&entry.file_name()) {
            let path = entry.path();
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// The first of `name`, `name-2`, `name-3`, … that does not exist in `folder`.
pub fn free_name(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    let mut n = 2;
    while path.exists() {
        path = folder.join(format!("{name}-{n}"));
        n += 1;
    }
    path
}
