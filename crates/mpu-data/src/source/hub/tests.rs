use std::process::Command;

use super::*;
use crate::source::content::sha256;
use crate::source::progress::Quiet;
use crate::source::server::{Request, Response, Server, bytes};

const REPO: &str = "someone/digits";
const FILE: &str = "digits/train-00000-of-00001.parquet";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn content() -> Vec<u8> {
    bytes(200_000)
}

/// What the Hub says of a large file: its SHA-256 as the tag, and the commit.
fn hub_file(request: &Request, content: &[u8]) -> Response {
    let etag = format!("\"{}\"", sha256(content));
    Response::file(request, content, &etag).header("X-Repo-Commit", COMMIT)
}

/// The client asks for the first byte to learn of the file, and then for all of it.
fn is_transfer(request: &Request) -> bool {
    request.headers["range"] != "bytes=0-0"
}

struct Try {
    dir: tempfile::TempDir,
    settings: HubSettings,
}

impl Try {
    fn new(server: &Server) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = HubSettings {
            endpoint: Some(server.url.clone()),
            token: Some("hf_test".to_owned()),
            cache_dir: Some(dir.path().join("hub")),
        };
        Self { dir, settings }
    }

    fn get(&self) -> Result<PathBuf> {
        let lock_dir = self.dir.path().join("locks");
        download(
            &self.settings,
            REPO,
            FILE,
            &lock_dir,
            &RetryPolicy::QUICK,
            &Quiet,
        )
    }

    fn blobs(&self) -> Vec<PathBuf> {
        let folder = cache_dir(&self.settings).join("datasets--someone--digits/blobs");
        let entries = fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_none()).collect()
    }
}

#[test]
fn a_file_arrives_in_the_hubs_cache() {
    let server = Server::start(|request, _| hub_file(request, &content()));
    let hub = Try::new(&server);
    assert_eq!(cached(&hub.settings, REPO, FILE), None);
    let path = hub.get().unwrap();
    assert_eq!(fs::read(&path).unwrap(), content());
    assert_eq!(cached(&hub.settings, REPO, FILE), Some(path));
    let log = server.log();
    let path = format!("/datasets/{REPO}/resolve/main/{FILE}");
    for request in &log {
        assert_eq!(request.path, path);
        assert_eq!(request.headers["authorization"], "Bearer hf_test");
    }
    hub.get().unwrap();
    assert_eq!(server.n_requests("GET"), 2);
}

#[test]
fn a_cut_transfer_goes_on_where_it_stopped() {
    let server = Server::start(|request, n_before| {
        let response = hub_file(request, &content());
        if is_transfer(request) && n_before < 2 {
            response.cut_after(5000)
        } else {
            response
        }
    });
    let hub = Try::new(&server);
    assert_eq!(fs::read(hub.get().unwrap()).unwrap(), content());
    let log = server.log();
    let ranges: Vec<&str> = log.iter().map(|r| r.headers["range"].as_str()).collect();
    assert_eq!(
        ranges,
        ["bytes=0-0", "bytes=0-", "bytes=0-0", "bytes=5000-"]
    );
}

/// The client keeps whatever arrives; the check here does not.
#[test]
fn a_wrong_file_does_not_stay_in_the_cache() {
    let server = Server::start(|request, _| {
        if is_transfer(request) {
            Response::new(200, &vec![0; 200_000])
        } else {
            hub_file(request, &content())
        }
    });
    let hub = Try::new(&server);
    let error = hub.get().unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert_eq!(hub.blobs(), Vec::<PathBuf>::new());
    assert_eq!(cached(&hub.settings, REPO, FILE), None);
}

#[test]
fn a_server_in_trouble_is_asked_again_and_a_missing_file_is_not() {
    let server = Server::start(|request, n_before| match n_before {
        0 | 2 => Response::new(503, b"busy"),
        _ => hub_file(request, &content()),
    });
    let hub = Try::new(&server);
    assert_eq!(fs::read(hub.get().unwrap()).unwrap(), content());

    let server = Server::start(|_, _| Response::new(404, b""));
    let error = Try::new(&server).get().unwrap_err().to_string();
    assert!(error.contains("not found"), "{error}");
    assert_eq!(server.log().len(), 1);

    let server = Server::start(|_, _| Response::new(401, b""));
    let error = Try::new(&server).get().unwrap_err().to_string();
    assert!(error.contains("HF_TOKEN"), "{error}");
}

/// Not a test of its own: what the child of the next test does.
#[test]
fn child_process() {
    if std::env::var_os("MPU_TEST_HUB").is_some() {
        let dir = tempfile::tempdir().unwrap();
        let path = download(
            &HubSettings::default(),
            REPO,
            FILE,
            dir.path(),
            &RetryPolicy::QUICK,
            &Quiet,
        )
        .unwrap();
        assert_eq!(Some(path), cached(&HubSettings::default(), REPO, FILE));
    }
}

#[test]
fn the_hubs_own_variables_are_honoured() {
    let server = Server::start(|request, _| hub_file(request, &content()));
    let home = tempfile::tempdir().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "source::hub::tests::child_process"])
        .env_remove("HF_HUB_CACHE")
        .env_remove("HUGGINGFACE_HUB_CACHE")
        .env("MPU_TEST_HUB", "1")
        .env("HF_ENDPOINT", &server.url)
        .env("HF_TOKEN", "hf_from_env")
        .env("HF_HOME", home.path())
        .status()
        .unwrap();
    assert!(status.success());
    for request in server.log() {
        assert_eq!(request.headers["authorization"], "Bearer hf_from_env");
    }
    assert_eq!(server.n_requests("GET"), 2);
    let settings = HubSettings {
        cache_dir: Some(home.path().join("hub")),
        ..HubSettings::default()
    };
    let path = cached(&settings, REPO, FILE).unwrap();
    assert_eq!(fs::read(path).unwrap(), content());
}
