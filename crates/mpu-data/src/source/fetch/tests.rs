use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use super::*;
use crate::error::tests::check_message;
use crate::source::server::{Request, Response, Server, bytes};

/// 300 000 bytes, more than any buffer on the way holds.
fn content() -> Vec<u8> {
    bytes(300_000)
}

fn file(request: &Request) -> Response {
    Response::file(request, &content(), "\"v1\"")
}

/// A server that cuts the first so many answers after so many bytes.
fn cutting(content: Vec<u8>, n_cut: usize, after: usize) -> Server {
    Server::start(move |request, n_before| {
        let response = Response::file(request, &content, "\"v1\"");
        if n_before < n_cut {
            response.cut_after(after)
        } else {
            response
        }
    })
}

/// A download into a folder of its own.
struct Try {
    dir: tempfile::TempDir,
    url: String,
    sha256: String,
    size: u64,
    packing: Packing,
    retry: RetryPolicy,
    heard: Heard,
}

impl Try {
    fn new(server: &Server, expected: &[u8]) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            url: format!("{}/file.bin", server.url),
            sha256: sha256(expected),
            size: expected.len() as u64,
            packing: Packing::Plain,
            retry: RetryPolicy::QUICK,
            heard: Heard::default(),
        }
    }

    fn dest(&self) -> PathBuf {
        self.dir.path().join("file.bin")
    }

    fn get(&self) -> Result<Outcome> {
        let job = Download {
            url: &self.url,
            dest: &self.dest(),
            sha256: &self.sha256,
            size: self.size,
            packing: self.packing,
        };
        Fetcher::new(self.retry).get(&job, &self.heard)
    }

    fn succeeds(&self, expected: &[u8]) {
        self.get().unwrap();
        assert_eq!(fs::read(self.dest()).unwrap(), expected);
    }

    #[track_caller]
    fn fails(&self, told: &str) {
        check_message(self.get(), told);
    }

    /// The names in the folder, but for the lock.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name != "file.bin.lock")
            .collect();
        names.sort();
        names
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn push(&self, event: String) {
        self.0.lock().unwrap().push(event);
    }

    fn has(&self, start: &str) -> bool {
        let events = self.0.lock().unwrap();
        events.iter().any(|event| event.starts_with(start))
    }
}

impl Progress for Heard {
    fn started(&self, file: &str, done: u64, total: Option<u64>) {
        self.push(format!("started {file} {done} {total:?}"));
    }
    fn advanced(&self, file: &str, done: u64) {
        self.push(format!("advanced {file} {done}"));
    }
    fn retrying(&self, file: &str, attempt: u32, reason: &str, _: Duration) {
        self.push(format!("retrying {file} {attempt} {reason}"));
    }
    fn finished(&self, file: &str) {
        self.push(format!("finished {file}"));
    }
}

#[test]
fn a_whole_file_arrives_once() {
    let server = cutting(content(), 0, 0);
    let download = Try::new(&server, &content());
    assert_eq!(download.get(), Ok(Outcome::Transferred { resumed_from: 0 }));
    assert_eq!(fs::read(download.dest()).unwrap(), content());
    assert_eq!(download.names(), ["file.bin"]);
    assert!(download.heard.has("started file.bin 0 Some(300000)"));
    assert!(
        download.heard.has("advanced file.bin 300000") && download.heard.has("finished file.bin")
    );
    assert_eq!(download.get(), Ok(Outcome::AlreadyHere));
    assert_eq!(server.n_requests("GET"), 1);
}

#[test]
fn a_cut_transfer_goes_on_where_it_ended() {
    let server = cutting(content(), 2, 100_000);
    let download = Try::new(&server, &content());
    download.get().unwrap();
    assert_eq!(fs::read(download.dest()).unwrap(), content());
    let log = server.log();
    assert_eq!(log.len(), 3);
    assert_eq!(log[0].headers.get("range"), None);
    assert_eq!(log[1].headers["range"], "bytes=100000-");
    assert_eq!(log[1].headers["if-range"], "\"v1\"");
    assert_eq!(log[2].headers["range"], "bytes=200000-");
    assert!(
        download
            .heard
            .has("retrying file.bin 1 the transfer was cut")
    );
}

#[test]
fn a_later_run_goes_on_where_an_earlier_one_ended() {
    let server = cutting(content(), 1, 120_000);
    let mut download = Try::new(&server, &content());
    download.retry.attempts = 1;
    download.fails("cut … \nhint: a later attempt");
    assert_eq!(download.names(), ["file.bin.part", "file.bin.part.etag"]);
    let resumed_from = 120_000;
    assert_eq!(download.get(), Ok(Outcome::Transferred { resumed_from }));
    assert_eq!(fs::read(download.dest()).unwrap(), content());
    assert_eq!(download.names(), ["file.bin"]);
}

#[test]
fn a_server_that_cannot_resume_sends_all_again() {
    for status in [200, 206, 416] {
        let server = Server::start(move |request, n_before| match n_before {
            0 => file(request).cut_after(100_000),
            // A range other than the one asked for, or none.
            1 => Response::new(status, &content()).header("Content-Range", "bytes 7-299999/300000"),
            _ => file(request),
        });
        let download = Try::new(&server, &content());
        download.succeeds(&content());
    }
}

#[test]
fn what_is_left_of_another_version_does_not_stay() {
    // With a tag the server says that the version changed; without one the checksum does.
    for etag in ["\"new\"", ""] {
        let server = Server::start(move |request, _| Response::file(request, &content(), etag));
        let download = Try::new(&server, &content());
        fs::write(beside(&download.dest(), ".part"), vec![7; 1000]).unwrap();
        if !etag.is_empty() {
            fs::write(beside(&download.dest(), ".part.etag"), "\"old\"").unwrap();
        }
        download.succeeds(&content());
        assert_eq!(download.names(), ["file.bin"]);
    }
}

#[test]
fn a_wrong_checksum_leaves_nothing() {
    let server = Server::start(|request, _| Response::file(request, &vec![1; 300_000], "\"v1\""));
    let download = Try::new(&server, &content());
    let error = download.get().unwrap_err();
    assert!(
        matches!(&error, Error::Checksum { expected, .. } if *expected == download.sha256),
        "{error}"
    );
    assert_eq!(download.names(), Vec::<String>::new());
    assert_eq!(server.n_requests("GET"), 1);
}

#[test]
fn a_wrong_size_leaves_nothing() {
    for size in [10, 400_000] {
        let server = Server::start(move |_, _| Response::new(200, &vec![0; size]));
        let download = Try::new(&server, &content());
        download.fails(&format!("has {size} bytes, the published one 300000"));
        assert_eq!(download.names(), Vec::<String>::new());
    }
}

#[test]
fn a_missing_file_is_not_asked_for_again() {
    let server = Server::start(|_, _| Response::new(404, b"no such file"));
    let download = Try::new(&server, &content());
    download.fails("the server answered 404");
    assert_eq!((server.n_requests("GET"), download.names().len()), (1, 0));
}

#[test]
fn a_server_in_trouble_is_asked_again() {
    let server = Server::start(|request, n_before| match n_before {
        0 => Response::new(503, b"busy").header("Retry-After", "0"),
        1 => Response::new(500, b"oops"),
        _ => file(request),
    });
    let download = Try::new(&server, &content());
    download.get().unwrap();
    assert_eq!(server.n_requests("GET"), 3);
    assert!(
        download
            .heard
            .has("retrying file.bin 1 the server answered 503")
    );
    assert!(
        download
            .heard
            .has("retrying file.bin 2 the server answered 500")
    );

    let server = Server::start(|_, _| Response::new(502, b""));
    let download = Try::new(&server, &content());
    download.fails("answered 502 (3 attempts)");
    assert_eq!((server.n_requests("GET"), download.names().len()), (3, 0));
}

#[test]
fn redirects_are_followed_but_not_forever() {
    let server = Server::start(|request, _| match &*request.path {
        "/file.bin" => Response::new(302, b"").header("Location", "/moved.bin"),
        "/loop.bin" => Response::new(301, b"").header("Location", "/loop.bin"),
        _ => file(request),
    });
    let mut download = Try::new(&server, &content());
    download.succeeds(&content());
    download = Try::new(&server, &content());
    download.url = format!("{}/loop.bin", server.url);
    let error = download.get().unwrap_err().to_string();
    assert!(error.to_lowercase().contains("redirect"), "{error}");
}

#[test]
fn a_redirect_without_an_address_is_an_error() {
    for (status, location) in [(302, None), (307, Some("file:///etc/passwd")), (304, None)] {
        let server = Server::start(move |_, _| match location {
            Some(location) => Response::new(status, b"").header("Location", location),
            None => Response::new(status, b""),
        });
        let download = Try::new(&server, &content());
        download.fails(&format!("answered {status}"));
        assert_eq!(server.n_requests("GET"), 1);
    }
}

/// The rate is looked at, not only whether anything comes; and a little progress does not count as progress for ever.
#[test]
fn a_server_that_sends_byte_by_byte_is_given_up() {
    let drip = Duration::from_millis(5);
    let server = Server::start(move |request, _| file(request).drip(drip));
    let mut download = Try::new(&server, &content());
    download.retry.stall_timeout = Duration::from_millis(100);
    download.retry.least_rate = 100_000;
    download.fails("too slowly … 3 attempts");
    assert_eq!(server.n_requests("GET"), 3);
}

#[test]
fn an_endless_body_ends_at_the_published_size() {
    let server = Server::start(|_, _| Response::new(200, b"x").endless());
    for packing in [Packing::Plain, Packing::Compress] {
        let mut download = Try::new(&server, &content());
        download.packing = packing;
        download.fails("more than the expected 300000 bytes");
        assert_eq!(download.names(), Vec::<String>::new());
    }
}

#[test]
fn a_length_that_overflows_is_an_error() {
    let server = Server::start(|request, n_before| match n_before {
        0 => file(request).cut_after(100_000),
        _ => Response::new(206, b"")
            .header("Content-Range", "bytes 100000-299999/300000")
            .header("Content-Length", "18446744073709551615"),
    });
    assert!(Try::new(&server, &content()).get().is_err());
}

/// Whoever can put a link beside a download must not choose which file it is written to.
#[cfg(unix)]
#[test]
fn links_beside_a_download_are_not_followed() {
    let server = cutting(content(), 0, 0);
    let packed = crate::source::unpack::tests::compressed_by_ncompress();
    let unpacked = unlzw("f", &packed, Limit::DEFAULT).unwrap();
    let packing_server = cutting(packed, 0, 0);
    for (suffix, is_symbolic) in [
        (".part", true),
        (".part", false),
        (".part.etag", true),
        (".unpacked", true),
    ] {
        let (server, expected, packing) = if suffix == ".unpacked" {
            (&packing_server, unpacked.clone(), Packing::Compress)
        } else {
            (&server, content(), Packing::Plain)
        };
        let mut download = Try::new(server, &expected);
        download.packing = packing;
        let victim = download.dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let link = beside(&download.dest(), suffix);
        if is_symbolic {
            std::os::unix::fs::symlink(&victim, &link).unwrap();
        } else {
            fs::hard_link(&victim, &link).unwrap();
        }
        download.succeeds(&expected);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{suffix}");
        assert!(!fs::symlink_metadata(download.dest()).unwrap().is_symlink());
    }
}

#[test]
fn a_password_in_an_address_is_used_but_not_printed() {
    let server = Server::start(|_, _| Response::new(404, b""));
    let mut download = Try::new(&server, &content());
    download.url = download.url.replace("http://", "http://me:secret@");
    download.fails("404");
    let hidden = |download: &Try| {
        let error = download.get().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    };
    hidden(&download);
    assert_eq!(
        server.log()[0].headers["authorization"],
        "Basic bWU6c2VjcmV0"
    );
    for bad in [
        "http://me:secret@ho st/",
        "me:secret@host/file",
        "http://me:secret@/x",
    ] {
        download.url = bad.to_owned();
        hidden(&download);
    }
}

#[test]
fn a_password_does_not_follow_a_redirect_to_another_host() {
    let other = cutting(content(), 0, 0);
    let to = format!("{}/x", other.url);
    let server = Server::start(move |_, _| Response::new(302, b"").header("Location", &to));
    let mut download = Try::new(&server, &content());
    download.url = download.url.replace("http://", "http://me:secret@");
    download.succeeds(&content());
    assert_eq!(other.log()[0].headers.get("authorization"), None);
}

#[test]
fn nobody_answering_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Server::start(|_, _| Response::new(200, b""));
    let mut download = Try::new(&server, &content());
    download.url = format!("http://{address}/file.bin");
    assert!(matches!(download.get(), Err(Error::Download { .. })));
    assert_eq!(download.names(), Vec::<String>::new());
}

#[test]
fn packed_files_are_unpacked_and_then_checked() {
    let packed = crate::source::unpack::tests::compressed_by_ncompress();
    let unpacked = unlzw("f", &packed, Limit::DEFAULT).unwrap();
    let server = cutting(packed, 1, 100);
    let mut download = Try::new(&server, &unpacked);
    download.packing = Packing::Compress;
    download.succeeds(&unpacked);
    assert_eq!(download.names(), ["file.bin"]);

    let server = Server::start(|_, _| Response::new(200, b"\x1f\x9d\x90garbage"));
    let mut download = Try::new(&server, &unpacked);
    download.packing = Packing::Compress;
    assert!(download.get().is_err());
    assert_eq!(download.names(), Vec::<String>::new());
}

/// Another process that runs one test of this binary, with its job in a variable.
fn spawn_child(download: &Try) -> Child {
    let job = format!(
        "{} {} {} {}",
        download.url,
        download.dest().display(),
        download.sha256,
        download.size
    );
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "source::fetch::tests::child_process",
            "--nocapture",
        ])
        .env("MPU_TEST_DOWNLOAD", job)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test of its own: what the children of the next two tests do.
#[test]
fn child_process() {
    let Ok(job) = std::env::var("MPU_TEST_DOWNLOAD") else {
        return;
    };
    let [url, dest, sha256, size] = job.split(' ').collect::<Vec<_>>()[..] else {
        panic!("a job of four words");
    };
    let job = Download {
        url,
        dest: Path::new(dest),
        sha256,
        size: size.parse().unwrap(),
        packing: Packing::Plain,
    };
    let fetcher = Fetcher::new(RetryPolicy::QUICK);
    fetcher.get(&job, &Heard::default()).unwrap();
}

#[test]
fn of_several_processes_one_downloads() {
    let server = Server::start(|request, _| file(request).stall(Duration::from_millis(400)));
    let download = Try::new(&server, &content());
    let children: Vec<Child> = (0..4).map(|_| spawn_child(&download)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(server.n_requests("GET"), 1);
    assert_eq!(fs::read(download.dest()).unwrap(), content());
    assert_eq!(download.names(), ["file.bin"]);
}

#[test]
fn a_killed_process_leaves_a_part_that_the_next_one_uses() {
    let server = Server::start(|request, n_before| {
        let response = file(request);
        if n_before == 0 {
            response.cut_after(150_000).stall(Duration::from_secs(20))
        } else {
            response
        }
    });
    let download = Try::new(&server, &content());
    let mut child = spawn_child(&download);
    let part = PartFile::of(&download.dest());
    let since = std::time::Instant::now();
    while part.len() < 149_999 {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "the child got {} bytes",
            part.len()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!download.dest().exists(), "a half file must not be there");
    let resumed_from = 149_999;
    assert_eq!(download.get(), Ok(Outcome::Transferred { resumed_from }));
    assert_eq!(fs::read(download.dest()).unwrap(), content());
}

#[test]
fn pauses_double_up_to_a_minute() {
    let policy = RetryPolicy::default();
    let seconds = [1, 2, 3, 4, 9, 40].map(|n| policy.pause(n).as_secs_f64());
    assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 60.0, 60.0]);
}
