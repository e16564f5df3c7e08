//! Files and folders, with errors that name them.

use std::fs;
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
        .with_context(|| format!("reading {}", path.display()))
}

/// Makes a folder that must not hold anything yet but what a killed process left half-written.
pub(crate) fn new_folder(path: &Path) -> Result<()> {
    if path.exists() {
        sweep(path)?;
        let mut entries =
            fs::read_dir(path).with_context(|| format!("looking into {}", path.display()))?;
        if entries.next().is_some() {
            bail!(
                "the folder {} holds files already\nhint: name another folder with --out, or continue a stopped run with --resume {}",
                path.display(),
                path.display()
            );
        }
    }
    fs::create_dir_all(path).with_context(|| format!("making the folder {}", path.display()))
}

/// Removes the files that [`write_atomic`] began in a folder and a killed process never finished.
pub(crate) fn sweep(folder: &Path) -> Result<()> {
    let looking = || format!("looking into {}", folder.display());
    for entry in fs::read_dir(folder).with_context(looking)? {
        let entry = entry.with_context(looking)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".part") {
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
