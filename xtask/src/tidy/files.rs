//! Reading a tree: what is where, in an order that never changes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text of a file, or nothing where there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>> {
    if path.is_file() {
        read(path).map(Some)
    } else {
        Ok(None)
    }
}

/// What a directory holds, sorted; nothing where there is no such directory.
pub(super) fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let context = || format!("cannot list {}", dir.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(context)? {
        paths.push(entry.with_context(context)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The Rust files under a directory, at any depth.
pub(super) fn rust_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(dir)? {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if has_extension(&path, "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

pub(super) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// A path as it is printed: from the root, with forward slashes.
pub(super) fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}
