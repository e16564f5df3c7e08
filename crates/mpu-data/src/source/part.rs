//! Unfinished downloads: bytes so far, and why an attempt ended.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Body;

use crate::error::{Error, Result};
use crate::source::catalog::Packing;
use crate::source::fetch::Download;
use crate::source::http::Pace;
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
        Self::at(&beside(dest, ".part"))
    }

    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            etag_path: beside(path, ".etag"),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if is_plain(&metadata) => metadata.len(),
            _ => 0,
        }
    }

    /// The tag, if it is strong: a weak one does not promise the same bytes.
    pub(super) fn etag(&self) -> Option<String> {
        fs::symlink_metadata(&self.etag_path)
            .ok()
            .filter(|metadata| is_plain(metadata) && metadata.len() < 1000)?;
        fs::read_to_string(&self.etag_path)
            .ok()
            .filter(|tag| tag.starts_with('"'))
    }

    pub(super) fn restart(&self, etag: Option<&str>) -> Result<()> {
        self.remove();
        create_new(&self.path)?;
        if let Some(etag) = etag {
            create_new(&self.etag_path)?
                .write_all(etag.as_bytes())
                .map_err(|error| Error::file("write", &self.etag_path, &error))?;
        }
        Ok(())
    }

    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path); // there may be none
        let _ = fs::remove_file(&self.etag_path);
    }

    /// Opens the bytes that are there, and nothing that they may have been replaced by: whoever can put a link
    /// here must not choose which file is written to.
    pub(super) fn open(&self, options: &OpenOptions) -> Result<File> {
        let failed = |error: std::io::Error| Error::file("open", &self.path, &error);
        let before = fs::symlink_metadata(&self.path).map_err(failed)?;
        let file = options.open(&self.path).map_err(failed)?;
        let after = file.metadata().map_err(failed)?;
        if is_plain(&before) && is_same(&before, &after) {
            return Ok(file);
        }
        Err(failed(std::io::Error::other(
            "it is a link to another file",
        )))
    }

    pub(super) fn append(
        &self,
        body: &mut Body,
        mut done: u64,
        total: Option<u64>,
        job: &Download<'_>,
        mut pace: Pace,
        advanced: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Failure> {
        let write =
            |error: std::io::Error| Failure::Final(Error::file("write", &self.path, &error));
        let mut file = self.open(OpenOptions::new().append(true))?;
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
                let reason = format!("more than the expected {} bytes came", job.size);
                return Err(Failure::Final(Error::download(job.url, reason, None)));
            }
            file.write_all(&buffer[..n_read]).map_err(write)?;
            done += n_read as u64;
            advanced(done);
            if !pace.keeps_up(n_read) {
                return Err(Failure::passing(
                    "the server sends too slowly to wait for".to_owned(),
                ));
            }
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

/// Makes a file that was not there. A link that stands in its place is removed, never followed.
pub(super) fn create_new(path: &Path) -> Result<File> {
    let _ = fs::remove_file(path); // there may be none
    File::create_new(path).map_err(|error| Error::file("create", path, &error))
}

/// Whether this is a file that has one name: no link, symbolic or hard, no pipe, no device.
#[cfg(unix)]
fn is_plain(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.is_file() && metadata.nlink() == 1
}

#[cfg(not(unix))]
fn is_plain(metadata: &fs::Metadata) -> bool {
    metadata.is_file()
}

#[cfg(unix)]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    a.file_type() == b.file_type()
}
