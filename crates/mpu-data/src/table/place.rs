//! Places: which line of which file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where in a file something stands, counted from 1.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// A line of a text file; the header is line 1.
    #[error("line {0}")]
    Line(u64),
    /// A row of a file that has no lines.
    #[error("row {0}")]
    Row(u64),
}

/// A line or row of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line or row in it.
    pub at: At,
}

impl Place {
    pub(super) fn new(file: &Path, at: At) -> Self {
        Self {
            file: file.to_path_buf(),
            at,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.file.display(), self.at)
    }
}
