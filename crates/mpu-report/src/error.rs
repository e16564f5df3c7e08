//! What can go wrong while making a report.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An embedded file of published figures that cannot be read.
    #[error("published figures {file}: {source}")]
    Published {
        /// The embedded file.
        file: &'static str,
        /// What the reader said.
        #[source]
        source: csv::Error,
    },

    /// A file or folder that cannot be read, written or locked.
    #[error("{action} {}: {reason}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },

    /// A table that cannot be written as CSV.
    #[error("writing a table as CSV: {0}")]
    Csv(String),

    /// A value that cannot be written as JSON.
    #[error("writing JSON: {0}")]
    Json(#[from] serde_json::Error),

    /// A stored line that is no record.
    #[error("{}, line {line}: {reason}", path.display())]
    Stored {
        /// The file.
        path: std::path::PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the reader said.
        reason: serde_json::Error,
    },

    /// A record of a newer program.
    #[error("record {id} has version {found}, this program reads up to {known}\nhint: update mpu")]
    Newer {
        /// The run's id.
        id: String,
        /// Its version.
        found: u32,
        /// The newest version known.
        known: u32,
    },
}

impl Error {
    pub(crate) fn file(
        action: &'static str,
        path: &std::path::Path,
        reason: std::io::Error,
    ) -> Self {
        let path = path.to_owned();
        Self::File {
            action,
            path,
            reason,
        }
    }

    pub(crate) fn json(path: &std::path::Path, line: usize, reason: serde_json::Error) -> Self {
        let path = path.to_owned();
        Self::Stored { path, line, reason }
    }
}
