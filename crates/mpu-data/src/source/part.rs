//! Unfinished downloads: bytes so far, and why an attempt ended.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Body;

use crate::error::{Error, Result};
use crate::source::catalog::Packing;
use crate::source::fetch::Download;
use crate::source::lock::beside;

/// Why an attempt ended.
pub(super) enum Failure {
    /// Trying again is pointless.
    Final(Error),
    /// Trying again may help, after a pause if the server named one.
    Passing {
        reason: String,
        pause: Option<Duration>,
    },
}

impl Failure {
    pub(super) fn passing(reason: String) -> Self {
        Self::Passing {
            reason,
            pause: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// The bytes of an unfinished download, and the tag of the version they belong to.
pub(super) struct PartFile {
    pub(super) path: PathBuf,
    etag_path: PathBuf,
}

impl PartFile {
    pub(super) fn of(dest: &Path) -> Self {
        Self {
            path: beside(dest, ".part"),
            etag_path: beside(dest, ".part.etag"),
        }
    }

    pub(super) fn len(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// The tag, if it is strong: a weak one does not promise the same bytes.
    pub(super) fn etag(&self) -> Option<String> {
        fs::read_to_string(&self.etag_path)
            .ok()
            .filter(|tag| tag.starts_with('"'))
    }

    pub(super) fn restart(&self, etag: Option<&str>) -> Result<()> {
        File::create(&self.path).map_err(|error| Error::file("create", &self.path, &error))?;
        if let Some(etag) = etag {
            fs::write(&self.etag_path, etag)
                .map_err(|error| Error::file("write", &self.etag_path, &error))
        } else {
            let _ = fs::remove_file(&self.etag_path); // there may be none
            Ok(())
        }
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path); // there may be none
        let _ = fs::remove_file(&self.etag_path);
    }

    pub(super) fn append(
        &self,
        body: &mut Body,
        mut done: u64,
        total: Option<u64>,
        job: &Download<'_>,
        advanced: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Failure> {
        let write =
            |error: std::io::Error| Failure::Final(Error::file("write", &self.path, &error));
        let mut file = File::options()
            .append(true)
            .open(&self.path)
            .map_err(write)?;
        let mut reader = body.as_reader();
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            let n_read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(error) => {
                    return Err(Failure::passing(format!("the transfer was cut: {error}")));
                }
            };
            // Packed files are smaller than what they unpack to.
            if done + n_read as u64 > job.size {
                self.remove();
                return Err(Failure::Final(Error::Download {
                    url: job.url.to_owned(),
                    reason: format!("more than the published {} bytes came", job.size),
                    hint: None,
                }));
            }
            file.write_all(&buffer[..n_read]).map_err(write)?;
            done += n_read as u64;
            advanced(done);
        }
        let wanted = total.or((job.packing == Packing::Plain).then_some(job.size));
        match wanted {
            Some(wanted) if done < wanted => Err(Failure::passing(format!(
                "the transfer was cut after {done} of {wanted} bytes"
            ))),
            _ => Ok(()),
        }
    }
}
