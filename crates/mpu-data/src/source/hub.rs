//! Files of the Hugging Face Hub, through its own cache.
//!
//! The client honours `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and `HF_HUB_CACHE`. Two things it leaves to
//! us, as of version 1.0: it does not check what it stored (an error page answered to the transfer
//! itself would be kept as the file), and it does not try again when a transfer is cut. So every file
//! is hashed here, against the tag that the Hub gives large files, which is their SHA-256; a file that
//! does not match is removed from the cache. A cut transfer starts again from the beginning.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use hf_hub::progress::{DownloadEvent, ProgressEvent, ProgressHandler};
use hf_hub::{HFClient, HFClientSync, HFError, split_id};

use crate::error::{Error, Result};
use crate::source::fetch::{RetryPolicy, file_sha256};
use crate::source::lock::Lock;
use crate::source::progress::Progress;
use crate::source::resolve::HubSettings;

/// The Hub's cache folder.
pub fn cache_dir(settings: &HubSettings) -> PathBuf {
    settings
        .cache_dir
        .clone()
        .unwrap_or_else(hf_hub::resolve_cache_dir)
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
    let client = client(settings, retry).map_err(|error| failed(error.to_string()))?;
    let mut failures = 0;
    loop {
        let result = with_progress(&client, repo, file, progress);
        let reason = match result {
            Ok(path) => match check(&path, &address) {
                Ok(()) => {
                    progress.finished(file);
                    return Ok(path);
                }
                Err(error) => error,
            },
            Err(error) if is_final(&error) => return Err(failed(error.to_string())),
            Err(error) => failed(error.to_string()),
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

fn client(
    settings: &HubSettings,
    retry: &RetryPolicy,
) -> std::result::Result<HFClientSync, HFError> {
    let mut builder = HFClient::builder()
        .retry_max_attempts(1)
        .retry_base_delay(retry.first_pause.min(Duration::from_secs(1)));
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.endpoint(endpoint);
    }
    if let Some(token) = &settings.token {
        builder = builder.token(token);
    }
    if let Some(cache_dir) = &settings.cache_dir {
        builder = builder.cache_dir(cache_dir);
    }
    builder.build_sync()
}

/// What trying again does not change.
fn is_final(error: &HFError) -> bool {
    matches!(
        error,
        HFError::AuthRequired { .. }
            | HFError::Forbidden { .. }
            | HFError::RepoNotFound { .. }
            | HFError::RevisionNotFound { .. }
            | HFError::EntryNotFound { .. }
    )
}

/// The transfer runs on a thread of its own, so that `progress` need not outlive this call.
fn with_progress(
    client: &HFClientSync,
    repo: &str,
    file: &str,
    progress: &dyn Progress,
) -> std::result::Result<PathBuf, HFError> {
    let (owner, name) = split_id(repo);
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        let transfer = scope.spawn(move || {
            client
                .dataset(owner, name)
                .download_file()
                .filename(file)
                .progress(Forward(sender))
                .send()
        });
        for event in events {
            match event {
                DownloadEvent::Start { total_bytes, .. } => {
                    progress.started(file, 0, Some(total_bytes));
                }
                DownloadEvent::Progress { files } => {
                    if let Some(state) = files.last() {
                        progress.advanced(file, state.bytes_completed);
                    }
                }
                DownloadEvent::AggregateProgress {
                    bytes_completed, ..
                } => {
                    progress.advanced(file, bytes_completed);
                }
                DownloadEvent::Complete => {}
            }
        }
        transfer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

struct Forward(mpsc::Sender<DownloadEvent>);

impl ProgressHandler for Forward {
    fn on_progress(&self, event: &ProgressEvent) {
        if let ProgressEvent::Download(event) = event {
            let _ = self.0.send(event.clone()); // nobody listens any more: nothing to tell
        }
    }
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
