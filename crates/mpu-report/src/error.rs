//! What can go wrong while making a report.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is not in the list.
    #[error("unknown {what} `{found}`: allowed are {allowed}")]
    UnknownName {
        /// What the name was to name.
        what: &'static str,
        /// The name given.
        found: String,
        /// The names that exist.
        allowed: String,
    },

    /// An embedded file of published figures that cannot be read.
    #[error("published figures {file}: {source}")]
    Published {
        /// The embedded file.
        file: &'static str,
        /// What the reader said.
        #[source]
        source: csv::Error,
    },

    /// A file that cannot be written.
    #[error("writing {}: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },

    /// A table that cannot be written as CSV.
    #[error("writing a table as CSV: {0}")]
    Csv(String),

    /// A value that cannot be written as JSON.
    #[error("writing JSON: {0}")]
    Json(#[from] serde_json::Error),
}
