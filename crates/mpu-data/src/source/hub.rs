//! Files of the Hugging Face Hub, through its own cache.
//!
//! `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and `HF_HUB_CACHE` are honoured. The Hub's own crate says where its cache keeps what;
//! bytes come by [`Fetcher`], with the limits that hold for every download. The token is sent to the endpoint's host only.
//!
//! The Hub names a large file by its SHA-256 and a version by the hash of its commit. Both become names of files
//! here, so anything but plain hexadecimal digits is refused.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use hf_hub::{Cache, Repo};
use ureq::http::{HeaderMap, header};

use crate::error::{Error, Result};
use crate::source::catalog::Packing;
use crate::source::fetch::{
    Download, Fetcher, RetryPolicy, content_length, file_sha256, range_total, refusal,
};
use crate::source::http::{Follow, Token};
use crate::source::lock::Lock;
use crate::source::part::Failure;
use crate::source::progress::Progress;
use crate::source::resolve::HubSettings;

/// A file of a dataset repository's main branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubFile<'a> {
    /// The repository.
    pub repo: &'a str,
    /// The file's path there.
    pub file: &'a str,
    /// More bytes than it can have; a larger one is refused.
    pub at_most: u64,
}

/// The Hub's cache folder.
pub fn cache_dir(settings: &HubSettings) -> PathBuf {
    let named = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let given = settings.cache_dir.clone();
    let given = given.or_else(|| named("HF_HUB_CACHE"));
    given
        .or_else(|| named("HF_HOME").map(|home| home.join("hub")))
        .unwrap_or_else(|| match env::home_dir() {
            Some(_) => Cache::default().path().clone(),
            None => PathBuf::from(".cache/huggingface/hub"),
        })
}

/// The cached copy of a file on the main branch, if there is one. No request is made.
pub fn cached(settings: &HubSettings, repo: &str, file: &str) -> Option<PathBuf> {
    let folder = repo_folder(settings, repo);
    let commit = fs::read_to_string(folder.join("refs/main")).ok()?;
    let commit = hash(commit.trim(), COMMIT_DIGITS)?;
    let path = folder.join("snapshots").join(commit).join(file);
    path.is_file().then_some(path)
}

/// Downloads a file into the Hub's cache and gives its path there. `lock_dir` holds the lock that keeps two of
/// our processes apart.
pub fn download(
    settings: &HubSettings,
    wanted: &HubFile<'_>,
    lock_dir: &Path,
    retry: &RetryPolicy,
    progress: &dyn Progress,
) -> Result<PathBuf> {
    let HubFile { repo, file, .. } = *wanted;
    let lock_path = lock_dir.join(format!(
        "hub--{}.lock",
        format!("{repo}/{file}").replace('/', "--")
    ));
    let _lock = Lock::acquire(&lock_path, retry.lock_timeout, || progress.waiting(file))?;
    if let Some(path) = cached(settings, repo, file)
        && is_whole(&path)?
    {
        return Ok(path);
    }
    let endpoint = endpoint(settings);
    let url = format!("{endpoint}/datasets/{repo}/resolve/main/{file}");
    let fetcher = Fetcher {
        token: token(settings).and_then(|value| Token::new(&endpoint, value)),
        ..Fetcher::new(*retry)
    };
    let about = fetcher.persist(&url, file, progress, &|| 0, || {
        Version::ask(&fetcher, &url, wanted.at_most)
    })?;

    let folder = repo_folder(settings, repo);
    let blob = folder.join("blobs").join(&about.sha256);
    fetcher.get(
        &Download {
            url: &url,
            dest: &blob,
            sha256: &about.sha256,
            size: about.size,
            packing: Packing::Plain,
        },
        progress,
    )?;
    let path = folder.join("snapshots").join(&about.commit).join(file);
    point(&path, &blob)?;
    let main = folder.join("refs/main");
    make_folder(&main)?;
    fs::write(&main, &about.commit).map_err(|error| Error::file("write", &main, &error))?;
    Ok(path)
}

/// The layout that all of the Hub's tools share.
fn repo_folder(settings: &HubSettings, repo: &str) -> PathBuf {
    cache_dir(settings).join(Repo::dataset(repo.to_owned()).folder_name())
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn endpoint(settings: &HubSettings) -> String {
    let given = settings
        .endpoint
        .clone()
        .or_else(|| variable("HF_ENDPOINT"));
    let given = given.unwrap_or_else(|| "https://huggingface.co".to_owned());
    given.trim_end_matches('/').to_owned()
}

fn token(settings: &HubSettings) -> Option<String> {
    let given = settings.token.clone().or_else(|| variable("HF_TOKEN"));
    given.or_else(|| Cache::new(cache_dir(settings)).token())
}

const COMMIT_DIGITS: usize = 40;
const SHA256_DIGITS: usize = 64;

/// So many hexadecimal digits and nothing else: these words become names of files.
fn hash(word: &str, n_digits: usize) -> Option<String> {
    let plain = word.len() == n_digits && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| word.to_ascii_lowercase())
}

/// What the Hub says of a file before it sends it.
struct Version {
    sha256: String,
    commit: String,
    size: u64,
}

impl Version {
    fn ask(fetcher: &Fetcher, url: &str, at_most: u64) -> std::result::Result<Self, Failure> {
        // The Hub answers large files with a redirect to another host, and says in that answer what they are.
        let range = [(header::RANGE, "bytes=0-0".to_owned())];
        let token = fetcher.token.as_ref();
        let answer = fetcher.client.get(url, &range, token, Follow::SameHost)?;
        match answer.status {
            200 | 206 | 301..=303 | 307 | 308 => Self::read(&answer.headers, url, at_most),
            401 | 403 => Err(Failure::Final(Error::download(
                url,
                "access denied".to_owned(),
                Some("is HF_TOKEN set, and may it read this dataset?"),
            ))),
            status => Err(refusal(url, status, &answer.headers)),
        }
    }

    fn read(headers: &HeaderMap, url: &str, at_most: u64) -> std::result::Result<Self, Failure> {
        let refused = |reason: String| Failure::Final(Error::download(url, reason, None));
        let word = |names: &[&str]| {
            let value = names.iter().find_map(|name| headers.get(*name))?;
            let word = value.to_str().ok()?;
            Some(word.trim_start_matches("W/").trim_matches('"').to_owned())
        };
        let hash_of = |names: &[&str], n_digits| {
            let found = word(names).unwrap_or_default();
            hash(&found, n_digits).ok_or_else(|| {
                refused(format!(
                    "the server's {} is {found:?}, not {n_digits} hexadecimal digits",
                    names[0]
                ))
            })
        };
        let sha256 = hash_of(&["x-linked-etag", "etag"], SHA256_DIGITS)?;
        let commit = hash_of(&["x-repo-commit"], COMMIT_DIGITS)?;
        let linked = word(&["x-linked-size"]).and_then(|size| size.parse().ok());
        let size = linked.or_else(|| range_total(headers));
        let size = size
            .or_else(|| content_length(headers))
            .ok_or_else(|| refused("the server does not say how large the file is".to_owned()))?;
        if size > at_most {
            return Err(refused(format!(
                "the file there has {size} bytes, more than the {at_most} that its rows can take"
            )));
        }
        Ok(Self {
            sha256,
            commit,
            size,
        })
    }
}

/// Whether a cached file is all that its name says. Its true name is the SHA-256 it must have; one that has another is
/// removed, as a cut transfer of another program may have left it.
fn is_whole(path: &Path) -> Result<bool> {
    let blob = fs::canonicalize(path).map_err(|error| Error::file("read", path, &error))?;
    let name = blob.file_name().unwrap_or_default().to_string_lossy();
    let Some(expected) = hash(&name, SHA256_DIGITS) else {
        return Ok(true); // kept under a name that says nothing; its rows are looked at later
    };
    if file_sha256(&blob)? == expected {
        return Ok(true);
    }
    for broken in [path, &blob] {
        fs::remove_file(broken).map_err(|error| Error::file("remove", broken, &error))?;
    }
    Ok(false)
}

fn make_folder(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, &error))
}

/// Lets a name in a snapshot stand for a blob: by a link, or where there are none by a copy.
fn point(path: &Path, blob: &Path) -> Result<()> {
    make_folder(path)?;
    let _ = fs::remove_file(path); // there may be none
    #[cfg(unix)]
    let made = {
        let blob = fs::canonicalize(blob).map_err(|error| Error::file("read", blob, &error))?;
        std::os::unix::fs::symlink(blob, path)
    };
    #[cfg(not(unix))]
    let made = fs::copy(blob, path).map(|_| ());
    made.map_err(|error| Error::file("link", path, &error))
}

#[cfg(test)]
mod tests;
