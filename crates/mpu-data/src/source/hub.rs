//! Files of the Hugging Face Hub, through its own cache.
//!
//! `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and `HF_HUB_CACHE` are honoured. The client (version 0.5, whose
//! blocking half needs a third of the crates that version 1.0 does) goes on where a cut transfer
//! stopped, but does not check what it stored. So every file is hashed here, against the tag that the
//! Hub gives large files, which is their SHA-256; a file that does not match is removed from the cache.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use hf_hub::Cache;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError};

use crate::error::{Error, Result};
use crate::source::fetch::{RetryPolicy, file_sha256};
use crate::source::lock::Lock;
use crate::source::progress::Progress;
use crate::source::resolve::HubSettings;

/// The Hub's cache folder.
pub fn cache_dir(settings: &HubSettings) -> PathBuf {
    let named = || env::var_os("HF_HUB_CACHE").map(PathBuf::from);
    let given = settings.cache_dir.clone().or_else(named);
    given.unwrap_or_else(|| Cache::from_env().path().clone())
}

/// The cached copy of a file on the main branch, if there is one. No request is made.
pub fn cached(settings: &HubSettings, repo: &str, file: &str) -> Option<PathBuf> {
    // The layout that all of the Hub's tools share.
    let folder = cache_dir(settings).join(format!("datasets--{}", repo.replace('/', "--")));
    let commit = fs::read_to_string(folder.join("refs/main")).ok()?;
    let path = folder.join("snapshots").join(commit.trim()).join(file);
    path.is_file().then_some(path)
}

/// Downloads a file of a dataset repository's main branch into the Hub's cache and gives its path
/// there. `lock_dir` holds the lock that keeps two of our processes apart.
pub fn download(
    settings: &HubSettings,
    repo: &str,
    file: &str,
    lock_dir: &Path,
    retry: &RetryPolicy,
    progress: &dyn Progress,
) -> Result<PathBuf> {
    let address = format!("hub:{repo}/{file}");
    let failed = |reason: String| Error::Download {
        url: address.clone(),
        reason,
        hint: None,
    };
    let lock_path = lock_dir.join(format!(
        "hub--{}.lock",
        format!("{repo}/{file}").replace('/', "--")
    ));
    let _lock = Lock::acquire(&lock_path, retry.lock_timeout, || progress.waiting(file))?;
    if let Some(path) = cached(settings, repo, file) {
        return Ok(path);
    }
    let client = client(settings).map_err(|error| failed(describe(&error)))?;
    let mut failures = 0;
    loop {
        let forward = Forward {
            progress,
            file,
            done: None,
        };
        let transfer = client
            .dataset(repo.to_owned())
            .download_with_progress(file, forward);
        let reason = match transfer {
            Ok(path) => match check(&path, &address) {
                Ok(()) => {
                    progress.finished(file);
                    return Ok(path);
                }
                Err(error) => error,
            },
            Err(error) if is_final(&error) => return Err(failed(describe(&error))),
            Err(error) => failed(describe(&error)),
        };
        failures += 1;
        if failures >= retry.attempts {
            return Err(reason);
        }
        let pause = retry.pause(failures);
        progress.retrying(file, failures, &reason.to_string(), pause);
        std::thread::sleep(pause);
    }
}

fn client(settings: &HubSettings) -> std::result::Result<Api, ApiError> {
    let mut builder = ApiBuilder::from_env()
        .with_cache_dir(cache_dir(settings))
        .with_progress(false);
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    let named = || env::var("HF_TOKEN").ok().filter(|token| !token.is_empty());
    if let Some(token) = settings.token.clone().or_else(named) {
        builder = builder.with_token(Some(token));
    }
    builder.build()
}

/// The status of an answer that refused, if that is what went wrong.
fn status(error: &ApiError) -> Option<u16> {
    match error {
        ApiError::RequestError(error) => match **error {
            ureq::Error::StatusCode(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

/// What trying again does not change.
fn is_final(error: &ApiError) -> bool {
    matches!(status(error), Some(400..=499)) && !matches!(status(error), Some(408 | 416 | 429))
}

fn describe(error: &ApiError) -> String {
    match status(error) {
        Some(401 | 403) => "access denied (is HF_TOKEN set and allowed to read it?)".to_owned(),
        Some(404) => "not found".to_owned(),
        _ => error.to_string(),
    }
}

/// Passes on what the client tells.
struct Forward<'a> {
    progress: &'a dyn Progress,
    file: &'a str,
    /// Bytes that are there; `None` before the transfer begins.
    done: Option<u64>,
}

impl hf_hub::api::Progress for Forward<'_> {
    fn init(&mut self, size: usize, _: &str) {
        // The client says so twice.
        if self.done.is_none() {
            self.progress.started(self.file, 0, Some(size as u64));
        }
        self.done = Some(0);
    }

    fn update(&mut self, size: usize) {
        let done = self.done.unwrap_or(0) + size as u64;
        self.done = Some(done);
        self.progress.advanced(self.file, done);
    }

    fn finish(&mut self) {}
}

/// Hashes a file of the Hub's cache. Its true name there is the Hub's tag, which for large files is
/// their SHA-256; small files have another kind of tag and are checked by their rows alone.
fn check(path: &Path, address: &str) -> Result<()> {
    let blob = fs::canonicalize(path).map_err(|error| Error::file("read", path, &error))?;
    let tag = blob
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if tag.len() != 64 || !tag.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    let found = file_sha256(&blob)?;
    if found == tag {
        return Ok(());
    }
    for broken in [path, &blob] {
        fs::remove_file(broken).map_err(|error| Error::file("remove", broken, &error))?;
    }
    Err(Error::Checksum {
        file: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        from: address.to_owned(),
        expected: tag,
        found,
        hint: None,
    })
}

#[cfg(test)]
mod tests;
