//! Downloads of single files: the one way that bytes come from a server, a mirror, an upstream address or the Hub.
//!
//! A server is not trusted. It may be silent, slow, endless or lead in circles; all of that ends, by the limits of
//! [`RetryPolicy`]. It may not choose where bytes are written, and secrets go to no other host.
//!
//! A file appears under its name only when it is complete and its checksum is right: bytes go to
//! `<name>.part`, which is verified, synced and renamed. A cut transfer is resumed from the part
//! file, in this run or a later one. `<name>.lock` keeps two processes apart.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, header};

use crate::error::{Error, Result};
use crate::source::catalog::Packing;
use crate::source::content::{hex, sha256};
use crate::source::http::{Client, Follow, Pace, Token};
use crate::source::lock::{Lock, beside};
use crate::source::part::{Failure, PartFile, create_new};
use crate::source::progress::Progress;
use crate::source::resolve::shown;
use crate::source::unpack::{Limit, read_file, unlzw};

crate::defaults! {
    /// How often and how patiently a failed transfer is tried again.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RetryPolicy {
        /// Attempts in a row that may bring no new byte.
        pub attempts: u32 = 5,
        /// The pause after the first failure; it doubles after each further one, up to a minute.
        pub first_pause: Duration = Duration::from_millis(500),
        /// How long to wait for another process that downloads the same file.
        pub lock_timeout: Duration = Duration::from_hours(1),
        /// How long a name may take to be resolved, and a connection to be made.
        pub connect_timeout: Duration = Duration::from_secs(20),
        /// How long a server may stay silent, and over how long its rate is looked at.
        pub stall_timeout: Duration = Duration::from_mins(1),
        /// Bytes per second below which a server is too slow to wait for.
        pub least_rate: u64 = 1000,
        /// How often a server may lead to another address.
        pub max_redirects: u32 = 10,
    }
}

#[cfg(test)]
impl RetryPolicy {
    /// Patience for a server on this machine.
    pub(crate) const QUICK: Self = Self {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        lock_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(5),
        stall_timeout: Duration::from_secs(30),
        least_rate: 1000,
        max_redirects: 4,
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
#[derive(Clone, Copy)]
pub struct Download<'a> {
    /// Its address.
    pub url: &'a str,
    /// Where it goes.
    pub dest: &'a Path,
    /// The SHA-256 it must have, once unpacked.
    pub sha256: &'a str,
    /// Its size, once unpacked. No more is ever stored.
    pub size: u64,
    /// How it is packed at its address.
    pub packing: Packing,
}

impl std::fmt::Debug for Download<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download")
            .field("url", &shown(self.url)) // it may hold a password
            .field("dest", &self.dest)
            .field("sha256", &self.sha256)
            .field("size", &self.size)
            .field("packing", &self.packing)
            .finish()
    }
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
#[derive(Clone)]
pub struct Fetcher {
    pub(super) client: Client,
    pub(super) retry: RetryPolicy,
    /// What the Hub is shown, and nobody else.
    pub(super) token: Option<Token>,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher")
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl Fetcher {
    /// A fetcher with so much patience.
    pub fn new(retry: RetryPolicy) -> Self {
        Self {
            client: Client::new(&retry),
            retry,
            token: None,
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
        self.persist(job.url, name, progress, &|| part.len(), || {
            self.attempt(job, part, name, progress)
        })
    }

    /// Tries again while trying again may help. What brought new bytes is not counted as a failure in a row.
    pub(super) fn persist<T>(
        &self,
        url: &str,
        name: &str,
        progress: &dyn Progress,
        n_bytes: &dyn Fn() -> u64,
        mut attempt: impl FnMut() -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let mut failures = 0;
        loop {
            let before = n_bytes();
            let (reason, asked_pause) = match attempt() {
                Ok(value) => return Ok(value),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing { reason, pause }) => (reason, pause),
            };
            let gained = n_bytes().saturating_sub(before);
            failures = if gained >= Self::WORTH_A_RETRY {
                1
            } else {
                failures + 1
            };
            if failures >= self.retry.attempts {
                return Err(Error::download(
                    url,
                    format!("{reason} ({failures} attempts)"),
                    Some("a later attempt goes on from where this one ended"),
                ));
            }
            let pause = asked_pause
                .unwrap_or_else(|| self.retry.pause(failures))
                .min(RetryPolicy::LONGEST_PAUSE);
            progress.retrying(name, failures, &reason, pause);
            std::thread::sleep(pause);
        }
    }

    /// New bytes that make an attempt count as progress: a server that sends a few at a time is left one day.
    const WORTH_A_RETRY: u64 = 1 << 16;

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
        let mut headers = Vec::new();
        if done > 0 {
            headers.push((header::RANGE, format!("bytes={done}-")));
            headers.extend(part.etag().map(|etag| (header::IF_RANGE, etag)));
        }
        let mut answer =
            self.client
                .get(job.url, &headers, self.token.as_ref(), Follow::Anywhere)?;
        match answer.status {
            200 => {
                done = 0;
                part.restart(
                    answer
                        .headers
                        .get(header::ETAG)
                        .and_then(|tag| tag.to_str().ok()),
                )?;
            }
            206 if range_start(&answer.headers) == Some(done) => {}
            206 | 416 => {
                part.remove();
                return Err(Failure::passing(
                    "the server cannot resume there".to_owned(),
                ));
            }
            status => return Err(refusal(job.url, status, &answer.headers)),
        }
        let total = content_length(&answer.headers).map(|rest| done.saturating_add(rest));
        if let (Packing::Plain, Some(total)) = (job.packing, total)
            && total != job.size
        {
            part.remove();
            let reason = format!(
                "the file there has {total} bytes, the published one {}",
                job.size
            );
            return Err(Failure::Final(Error::download(job.url, reason, None)));
        }
        progress.started(name, done, total);
        let pace = Pace::new(&self.retry);
        part.append(&mut answer.body, done, total, job, pace, &mut |done| {
            progress.advanced(name, done);
        })
    }
}

/// Verifies the part file, syncs it and gives it its name.
fn finish(job: &Download<'_>, part: &PartFile) -> Result<()> {
    let ready = match job.packing {
        // The members of an archive are taken out of it once it is here.
        Packing::Plain | Packing::Archived(_) => part.path.clone(),
        Packing::Compress => {
            let packed = read_file(&part.path, Limit::bytes(job.size))?;
            let unpacked = unlzw(&shown(job.url), &packed, Limit::bytes(job.size))?;
            check(job, sha256(&unpacked))?;
            let path = beside(job.dest, ".unpacked");
            create_new(&path)?
                .write_all(&unpacked)
                .map_err(|error| Error::file("write", &path, &error))?;
            path
        }
    };
    check(job, file_sha256(&ready)?)?;
    let file = PartFile::at(&ready).open(OpenOptions::new().write(true))?;
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
        from: shown(job.url),
        expected: job.sha256.to_owned(),
        found,
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

/// What an answer without the file means: trouble that passes, or a no.
pub(super) fn refusal(url: &str, status: u16, headers: &HeaderMap) -> Failure {
    let reason = match status {
        401 | 403 => format!("the server answered {status}: access denied"),
        404 => "the server answered 404: not found".to_owned(),
        _ => format!("the server answered {status}"),
    };
    if matches!(status, 408 | 429 | 500..) {
        let pause = retry_after(headers);
        return Failure::Passing { reason, pause };
    }
    let hint = "the address may have moved; the file can be put in place by hand";
    Failure::Final(Error::download(url, reason, Some(hint)))
}

pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
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

/// The last number of `Content-Range: bytes 5-9/10`.
pub(super) fn range_total(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.rsplit_once('/')?.1.parse().ok()
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
