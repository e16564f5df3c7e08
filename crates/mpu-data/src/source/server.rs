//! A small HTTP server for tests, on this machine only.

#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that a module behind `all(test, …)` is a test"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So many bytes that follow no simple pattern.
pub(crate) fn bytes(n: u32) -> Vec<u8> {
    (0..n)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// What a client asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
}

/// What the server answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Close the connection after so many bytes of the body, which is announced in full.
    pub(crate) cut_after: Option<usize>,
    /// Stay silent for so long before the last byte that is sent.
    pub(crate) stall: Duration,
    /// Stay silent for so long before the first byte of the answer.
    pub(crate) silent: Duration,
    /// Send byte by byte, with so long a pause after each.
    pub(crate) drip: Duration,
    /// Announce no length and send the body again and again.
    pub(crate) endless: bool,
}

impl Response {
    pub(crate) fn new(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            body: body.to_vec(),
            ..Self::default()
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn cut_after(mut self, n_bytes: usize) -> Self {
        self.cut_after = Some(n_bytes);
        self
    }

    pub(crate) fn stall(mut self, pause: Duration) -> Self {
        self.stall = pause;
        self
    }

    #[cfg(test)]
    pub(crate) fn silent(mut self, pause: Duration) -> Self {
        self.silent = pause;
        self
    }

    #[cfg(test)]
    pub(crate) fn drip(mut self, pause: Duration) -> Self {
        self.drip = pause;
        self
    }

    #[cfg(test)]
    pub(crate) fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// The file, or the part of it that the request's range asks for.
    pub(crate) fn file(request: &Request, content: &[u8], etag: &str) -> Self {
        let range = request.headers.get("range");
        let ends = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let start = ends.and_then(|(start, _)| start.parse().ok());
        let last = ends.and_then(|(_, last)| last.parse::<usize>().ok());
        let last = last.unwrap_or(usize::MAX).min(content.len() - 1);
        let same = request
            .headers
            .get("if-range")
            .is_none_or(|tag| tag == etag);
        let response = match start {
            Some(start) if same && start <= last => Self::new(206, &content[start..=last]).header(
                "Content-Range",
                &format!("bytes {start}-{last}/{}", content.len()),
            ),
            Some(_) if same => Self::new(416, b""),
            _ => Self::new(200, content),
        };
        response.header("ETag", etag)
    }
}

/// A running server; it goes with the test process.
pub(crate) struct Server {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each request with what the function makes of it and of how many came before.
    pub(crate) fn start(
        answer: impl Fn(&Request, usize) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let (answer, shared_log) = (Arc::new(answer), Arc::clone(&log));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&shared_log));
                std::thread::spawn(move || {
                    let _ = serve(stream, &*answer, &log); // a client may hang up at any time
                });
            }
        });
        Self { url, log }
    }

    pub(crate) fn log(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn n_requests(&self, method: &str) -> usize {
        self.log()
            .iter()
            .filter(|request| request.method == method)
            .count()
    }
}

fn serve(
    stream: TcpStream,
    answer: &(dyn Fn(&Request, usize) -> Response + Send + Sync),
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_ascii_whitespace();
    let mut request = Request {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        headers: BTreeMap::new(),
    };
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        request
            .headers
            .insert(name.to_lowercase(), value.trim().to_owned());
    }
    let n_before = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    let response = answer(&request, n_before);
    let mut out = stream;
    std::thread::sleep(response.silent);
    write!(
        out,
        "HTTP/1.1 {} test\r\nConnection: close\r\n",
        response.status
    )?;
    for (name, value) in &response.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    if response.endless {
        write!(out, "\r\n")?;
        let many = response.body.repeat(1 << 16);
        loop {
            out.write_all(&many)?;
        }
    }
    write!(out, "Content-Length: {}\r\n\r\n", response.body.len())?;
    if request.method == "HEAD" {
        return out.flush();
    }
    let n_sent = response
        .cut_after
        .unwrap_or(response.body.len())
        .min(response.body.len());
    if !response.drip.is_zero() {
        for byte in &response.body[..n_sent] {
            out.write_all(&[*byte])?;
            std::thread::sleep(response.drip);
        }
        return Ok(());
    }
    let (first, last) = response.body[..n_sent].split_at(n_sent.saturating_sub(1));
    out.write_all(first)?;
    out.flush()?;
    std::thread::sleep(response.stall);
    out.write_all(last)?;
    out.flush()
}
