//! Downloads of single files from plain addresses.
//!
//! A file appears under its name only when it is complete and its checksum is right: bytes go to
//! `<name>.part`, which is verified, synced and renamed. A cut transfer is resumed from the part
//! file, in this run or a later one. `<name>.lock` keeps two processes apart.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::{HeaderMap, header};

use crate::error::{Error, Result};
use crate::source::catalog::Packing;
use crate::source::content::{hex, sha256};
use crate::source::lock::{Lock, beside};
use crate::source::part::{Failure, PartFile};
use crate::source::progress::Progress;
use crate::source::unpack::{Limit, read_file, unlzw};

/// How often and how patiently a failed transfer is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in a row that may bring no new byte.
    pub attempts: u32,
    /// The pause after the first failure; it doubles after each further one, up to a minute.
    pub first_pause: Duration,
    /// How long to wait for another process that downloads the same file.
    pub lock_timeout: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(500),
            lock_timeout: Duration::from_hours(1),
        }
    }
}

#[cfg(test)]
impl RetryPolicy {
    /// Patience for a server on this machine.
    pub(crate) const QUICK: Self = Self {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        lock_timeout: Duration::from_secs(30),
    };
}

impl RetryPolicy {
    const LONGEST_PAUSE: Duration = Duration::from_mins(1);

    /// The pause after the `failures`-th failure in a row, counted from 1.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first_pause
            .saturating_mul(doubled)
            .min(Self::LONGEST_PAUSE)
    }
}

/// One file to download.
#[derive(Debug, Clone, Copy)]
pub struct Download<'a> {
    /// Its address.
    pub url: &'a str,
    /// Where it goes.
    pub dest: &'a Path,
    /// The SHA-256 it must have, once unpacked.
    pub sha256: &'a str,
    /// Its size, once unpacked.
    pub size: u64,
    /// How it is packed at its address.
    pub packing: Packing,
}

/// How a download went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was here already, perhaps because another process has just brought it.
    AlreadyHere,
    /// It was transferred; so many bytes were here from an earlier attempt.
    Transferred {
        /// Bytes that did not have to be transferred again.
        resumed_from: u64,
    },
}

/// Downloads files. One value may serve many downloads and threads.
#[derive(Debug, Clone)]
pub struct Fetcher {
    agent: Agent,
    retry: RetryPolicy,
}

impl Fetcher {
    /// A fetcher that follows redirects and gives up on connections that stay silent.
    pub fn new(retry: RetryPolicy) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_mins(1)))
            .timeout_per_read(Some(Duration::from_mins(1)))
            .user_agent(concat!("mpu-data/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: config.new_agent(),
            retry,
        }
    }

    /// Downloads one file, unless it is here.
    pub fn get(&self, job: &Download<'_>, progress: &dyn Progress) -> Result<Outcome> {
        let name = file_name(job.dest);
        let lock_path = beside(job.dest, ".lock");
        let _lock = Lock::acquire(&lock_path, self.retry.lock_timeout, || {
            progress.waiting(&name);
        })?;
        if job.dest.is_file() && file_sha256(job.dest)? == job.sha256 {
            return Ok(Outcome::AlreadyHere);
        }
        let part = PartFile::of(job.dest);
        let mut resumed_from = part.len();
        self.transfer(job, &part, &name, progress)?;
        if let Err(error) = finish(job, &part) {
            part.remove();
            // What was left of an earlier version may be at fault: once more, from the start.
            if resumed_from == 0
                || !matches!(error, Error::Checksum { .. } | Error::BadBytes { .. })
            {
                return Err(error);
            }
            resumed_from = 0;
            self.transfer(job, &part, &name, progress)?;
            finish(job, &part).inspect_err(|_| part.remove())?;
        }
        part.remove();
        progress.finished(&name);
        Ok(Outcome::Transferred { resumed_from })
    }

    fn transfer(
        &self,
        job: &Download<'_>,
        part: &PartFile,
        name: &str,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut failures = 0;
        loop {
            let before = part.len();
            let (reason, asked_pause) = match self.attempt(job, part, name, progress) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing { reason, pause }) => (reason, pause),
            };
            failures = if part.len() > before { 1 } else { failures + 1 };
            if failures >= self.retry.attempts {
                return Err(Error::Download {
                    url: job.url.to_owned(),
                    reason: format!("{reason} ({failures} attempts)"),
                    hint: Some("a later attempt goes on from where this one ended".to_owned()),
                });
            }
            let pause = asked_pause
                .unwrap_or_else(|| self.retry.pause(failures))
                .min(RetryPolicy::LONGEST_PAUSE);
            progress.retrying(name, failures, &reason, pause);
            std::thread::sleep(pause);
        }
    }

    fn attempt(
        &self,
        job: &Download<'_>,
        part: &PartFile,
        name: &str,
        progress: &dyn Progress,
    ) -> std::result::Result<(), Failure> {
        let mut done = part.len();
        if job.packing == Packing::Plain && done == job.size {
            return Ok(());
        }
        let mut request = self.agent.get(job.url);
        if done > 0 {
            request = request.header(header::RANGE, format!("bytes={done}-"));
            if let Some(etag) = part.etag() {
                request = request.header(header::IF_RANGE, etag);
            }
        }
        let response = request
            .call()
            .map_err(|error| Failure::passing(error.to_string()))?;
        let (head, mut body) = response.into_parts();
        match head.status.as_u16() {
            200 => {
                done = 0;
                part.restart(
                    head.headers
                        .get(header::ETAG)
                        .and_then(|tag| tag.to_str().ok()),
                )?;
            }
            206 if range_start(&head.headers) == Some(done) => {}
            206 | 416 => {
                part.remove();
                return Err(Failure::passing(
                    "the server cannot resume there".to_owned(),
                ));
            }
            status @ (408 | 429 | 500..) => {
                return Err(Failure::Passing {
                    reason: format!("the server answered {status}"),
                    pause: retry_after(&head.headers),
                });
            }
            status => {
                return Err(Failure::Final(Error::Download {
                    url: job.url.to_owned(),
                    reason: format!("the server answered {status}"),
                    hint: Some(
                        "the address may have moved; the file can be put in place by hand"
                            .to_owned(),
                    ),
                }));
            }
        }
        let total = content_length(&head.headers).map(|rest| done + rest);
        if let (Packing::Plain, Some(total)) = (job.packing, total)
            && total != job.size
        {
            part.remove();
            return Err(Failure::Final(Error::Download {
                url: job.url.to_owned(),
                reason: format!(
                    "the file there has {total} bytes, the published one {}",
                    job.size
                ),
                hint: None,
            }));
        }
        progress.started(name, done, total);
        part.append(&mut body, done, total, job, &mut |done| {
            progress.advanced(name, done);
        })
    }
}

/// Verifies the part file, syncs it and gives it its name.
fn finish(job: &Download<'_>, part: &PartFile) -> Result<()> {
    let ready = match job.packing {
        Packing::Plain => part.path.clone(),
        Packing::Compress => {
            let packed = read_file(&part.path, Limit::bytes(job.size))?;
            let unpacked = unlzw(job.url, &packed, Limit::bytes(job.size))?;
            check(job, sha256(&unpacked))?;
            let path = beside(job.dest, ".unpacked");
            fs::write(&path, unpacked).map_err(|error| Error::file("write", &path, &error))?;
            path
        }
    };
    check(job, file_sha256(&ready)?)?;
    let file = File::options()
        .write(true)
        .open(&ready)
        .map_err(|error| Error::file("open", &ready, &error))?;
    file.sync_all()
        .map_err(|error| Error::file("sync", &ready, &error))?;
    fs::rename(&ready, job.dest).map_err(|error| Error::file("rename", &ready, &error))?;
    if let Some(folder) = job.dest.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all(); // not every system can sync a folder
    }
    Ok(())
}

fn check(job: &Download<'_>, found: String) -> Result<()> {
    if found == job.sha256 {
        return Ok(());
    }
    Err(Error::Checksum {
        file: file_name(job.dest),
        from: job.url.to_owned(),
        expected: job.sha256.to_owned(),
        found,
        hint: None,
    })
}

/// SHA-256 of a file, read in pieces.
pub(crate) fn file_sha256(path: &Path) -> Result<String> {
    let read = |error: std::io::Error| Error::file("read", path, &error);
    let mut file = File::open(path).map_err(read)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(read)? {
            0 => return Ok(hex(&hash.finalize())),
            n_read => hash.update(&buffer[..n_read]),
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// The first byte of `Content-Range: bytes 5-9/10`.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .parse()
        .ok()
}

/// `Retry-After` in seconds; dates are not understood.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
