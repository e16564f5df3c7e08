//! Progress of downloads, told to whoever draws it.

use std::time::Duration;

/// Hears how downloads go. The command line draws a bar from it; the library prints nothing.
pub trait Progress: Send + Sync {
    /// A transfer begins or goes on: `done` bytes are here already, out of `total` if that is known.
    fn started(&self, _file: &str, _done: u64, _total: Option<u64>) {}

    /// So many bytes are here now.
    fn advanced(&self, _file: &str, _done: u64) {}

    /// An attempt failed and another follows after a pause.
    fn retrying(&self, _file: &str, _attempt: u32, _reason: &str, _pause: Duration) {}

    /// Another process holds the lock on this file, and this one waits.
    fn waiting(&self, _file: &str) {}

    /// A source failed for good and another one is tried.
    fn source_failed(&self, _source: &str, _reason: &str) {}

    /// The file is complete and verified.
    fn finished(&self, _file: &str) {}
}

/// Draws nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {}
