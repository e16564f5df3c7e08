use std::process::Command;
use std::time::Duration;

use super::*;
use crate::error::tests::{check_message, check_text};
use crate::source::content::sha256;
use crate::source::progress::Quiet;
use crate::source::server::{Request, Response, Server, bytes};

const REPO: &str = "someone/digits";
const FILE: &str = "digits/train-00000-of-00001.parquet";
const WANTED: HubFile<'_> = HubFile {
    repo: REPO,
    file: FILE,
    at_most: 300_000,
};
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn content() -> Vec<u8> {
    bytes(200_000)
}

/// What the Hub says of a large file: its SHA-256 as the tag, and the commit.
fn hub_file(request: &Request, content: &[u8]) -> Response {
    let etag = format!("\"{}\"", sha256(content));
    Response::file(request, content, &etag).header("X-Repo-Commit", COMMIT)
}

fn honest() -> Server {
    Server::start(|request, _| hub_file(request, &content()))
}

/// The client asks for the first byte to learn of the file, and then for all of it.
fn is_transfer(request: &Request) -> bool {
    request
        .headers
        .get("range")
        .is_none_or(|range| range != "bytes=0-0")
}

struct Try {
    dir: tempfile::TempDir,
    settings: HubSettings,
    retry: RetryPolicy,
}

impl Try {
    fn new(server: &Server) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = HubSettings {
            endpoint: Some(server.url.clone()),
            token: Some("hf_test".to_owned()),
            cache_dir: Some(dir.path().join("hub")),
        };
        Self {
            dir,
            settings,
            retry: RetryPolicy::QUICK,
        }
    }

    fn get(&self) -> Result<PathBuf> {
        let lock_dir = self.dir.path().join("locks");
        download(&self.settings, &WANTED, &lock_dir, &self.retry, &Quiet)
    }

    /// A download must fail and say so; nothing is left outside the cache or counts as here.
    #[track_caller]
    fn fails(&self, told: &str) {
        let error = self.get().unwrap_err().to_string();
        check_text(&error, told);
        assert_eq!(cached(&self.settings, REPO, FILE), None, "{error}");
        assert_eq!(self.blobs(), Vec::<PathBuf>::new(), "{error}");
        let names = fs::read_dir(self.dir.path()).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name()) {
            assert!(name == "hub" || name == "locks", "{name:?}: {error}");
        }
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
    let server = honest();
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
    let range = |request: &Request| request.headers.get("range").cloned();
    let ranges: Vec<Option<String>> = log.iter().map(range).collect();
    let expected = [Some("bytes=0-0"), None, Some("bytes=5000-")];
    assert_eq!(ranges, expected.map(|range| range.map(str::to_owned)));
}

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
    check_message(Try::new(&server).get(), "not found");
    assert_eq!(server.log().len(), 1);

    let server = Server::start(|_, _| Response::new(401, b""));
    check_message(Try::new(&server).get(), "HF_TOKEN");
}

/// Not a test of its own: what the child of the next test does.
#[test]
fn child_process() {
    if std::env::var_os("MPU_TEST_HUB").is_some() {
        let dir = tempfile::tempdir().unwrap();
        let settings = HubSettings::default();
        let path = download(&settings, &WANTED, dir.path(), &RetryPolicy::QUICK, &Quiet).unwrap();
        assert_eq!(Some(path), cached(&HubSettings::default(), REPO, FILE));
    }
}

#[test]
fn the_hubs_own_variables_are_honoured() {
    let server = honest();
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

/// The Hub as it is: an answer that says what the file is, and a redirect to a host that has it.
fn redirecting(to: &str) -> Server {
    let to = format!("{to}/blob?signature=hidden");
    Server::start(move |_, _| {
        Response::new(302, b"")
            .header("Location", &to)
            .header("X-Linked-Etag", &format!("\"{}\"", sha256(&content())))
            .header("X-Linked-Size", "200000")
            .header("X-Repo-Commit", COMMIT)
    })
}

#[test]
fn the_token_stays_with_the_endpoints_host() {
    let elsewhere = Server::start(|request, _| Response::file(request, &content(), "\"other\""));
    let server = redirecting(&elsewhere.url);
    let hub = Try::new(&server);
    assert_eq!(fs::read(hub.get().unwrap()).unwrap(), content());
    for request in server.log() {
        assert_eq!(request.headers["authorization"], "Bearer hf_test");
    }
    assert_eq!(elsewhere.log().len(), 1);
    assert_eq!(elsewhere.log()[0].headers.get("authorization"), None);
}

#[test]
fn a_tag_or_commit_that_is_a_path_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let absolute = victim.to_str().unwrap().to_owned();
    let right = sha256(&content());
    let bad = [
        absolute,
        "../../x".to_owned(),
        "..".to_owned(),
        String::new(),
        format!("{}/", &right[1..]),
        format!("{right}0"),
        "z".repeat(64),
    ];
    for bad in bad {
        for (tag, commit) in [(&*bad, COMMIT), (&*right, &*bad)] {
            let (tag, commit) = (tag.to_owned(), commit.to_owned());
            let server = Server::start(move |request, _| {
                let tag = format!("\"{tag}\"");
                Response::file(request, &content(), &tag).header("X-Repo-Commit", &commit)
            });
            Try::new(&server).fails("hexadecimal digits");
            assert_eq!(server.log().len(), 1, "asked again in vain");
        }
    }
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}

#[test]
fn a_redirect_without_an_address_or_without_an_end_is_an_error() {
    for status in [302, 304, 307] {
        let server = Server::start(move |_, _| Response::new(status, b""));
        Try::new(&server).fails(&format!("answered {status}"));
    }
    let server =
        Server::start(|request, _| Response::new(302, b"").header("Location", &request.path));
    Try::new(&server).fails("more than 4 redirects");
    assert_eq!(server.log().len(), 5);
}

#[test]
fn an_endless_or_too_large_body_is_not_stored() {
    let server = Server::start(|request, _| {
        if is_transfer(request) {
            Response::new(200, b"x").endless()
        } else {
            hub_file(request, &content())
        }
    });
    Try::new(&server).fails("more than the expected 200000 bytes");

    let large = bytes(400_000);
    let server = Server::start(move |request, _| hub_file(request, &large));
    Try::new(&server).fails("has 400000 bytes, more than the 300000");
}

#[test]
fn a_silent_server_is_given_up() {
    let server = Server::start(|_, _| Response::new(200, b"").silent(Duration::from_secs(30)));
    let since = std::time::Instant::now();
    let mut hub = Try::new(&server);
    hub.retry.stall_timeout = Duration::from_millis(100);
    hub.fails("3 attempts");
    assert!(since.elapsed() < Duration::from_secs(10));
}

/// The file lies complete by name but not by content, as the client of another program left it.
#[test]
fn a_cut_file_in_the_cache_is_brought_anew() {
    let server = honest();
    let hub = Try::new(&server);
    let path = hub.get().unwrap();
    fs::write(&path, &content()[..1000]).unwrap();
    assert_eq!(hub.get().unwrap(), path);
    assert_eq!(fs::read(&path).unwrap(), content());
}

#[test]
fn a_ref_that_is_a_path_is_not_followed() {
    let server = honest();
    let hub = Try::new(&server);
    let outside = hub.dir.path().join("outside").join(FILE);
    fs::create_dir_all(outside.parent().unwrap()).unwrap();
    fs::write(&outside, "x").unwrap();
    let main = cache_dir(&hub.settings).join("datasets--someone--digits/refs/main");
    fs::create_dir_all(main.parent().unwrap()).unwrap();
    for commit in [
        hub.dir.path().join("outside").to_str().unwrap(),
        "../../../outside",
    ] {
        fs::write(&main, commit).unwrap();
        assert_eq!(cached(&hub.settings, REPO, FILE), None);
    }
}
