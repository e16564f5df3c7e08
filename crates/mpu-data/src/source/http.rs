//! Requests whose redirects end, whose silence ends, and whose secrets stay with their host.

use std::time::Duration;

use ureq::http::{HeaderMap, Uri, header};
use ureq::{Agent, Body};

use crate::error::Error;
use crate::source::fetch::RetryPolicy;
use crate::source::part::Failure;
use crate::source::resolve::shown;

/// A secret, and the only host that may see it.
#[derive(Clone)]
pub(super) struct Token {
    origin: String,
    value: String,
}

impl Token {
    /// The token for the host of an address.
    pub(super) fn new(address: &str, value: String) -> Option<Self> {
        let origin = origin(&address.parse().ok()?)?;
        Some(Self { origin, value })
    }
}

/// How far a request follows redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// To wherever the file is.
    Anywhere,
    /// Within the host; a redirect to another one is the answer.
    SameHost,
}

/// What a server answered in the end.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// Sends requests.
#[derive(Debug, Clone)]
pub(super) struct Client {
    agent: Agent,
    max_redirects: u32,
}

impl Client {
    pub(super) fn new(policy: &RetryPolicy) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0) // followed here, where the host is looked at
            .max_redirects_will_error(false)
            .timeout_resolve(Some(policy.connect_timeout))
            .timeout_connect(Some(policy.connect_timeout))
            .timeout_send_request(Some(policy.stall_timeout))
            .timeout_recv_response(Some(policy.stall_timeout))
            .timeout_per_read(Some(policy.stall_timeout))
            .user_agent(concat!("mpu-data/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: config.new_agent(),
            max_redirects: policy.max_redirects,
        }
    }

    /// Asks for an address with further headers. The token goes to its own host only.
    pub(super) fn get(
        &self,
        address: &str,
        headers: &[(header::HeaderName, String)],
        token: Option<&Token>,
        follow: Follow,
    ) -> Result<Answer, Failure> {
        let refused = |reason: String| Failure::Final(Error::download(address, reason, None));
        let mut url: Uri = address
            .parse()
            .map_err(|_| refused("it is not a valid address".to_owned()))?;
        let first_origin = origin(&url).ok_or_else(|| {
            refused("an address must begin with http:// or https:// and name a host".to_owned())
        })?;
        for _ in 0..=self.max_redirects {
            let here = origin(&url);
            let mut request = self.agent.get(&url);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            if let Some(token) = token.filter(|token| Some(&token.origin) == here.as_ref()) {
                request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.value));
            }
            // The client's own words may hold the address: only what kind of fault it was is told.
            let response = request
                .call()
                .map_err(|error| Failure::passing(without_secrets(&error.to_string(), &url)))?;
            let (head, body) = response.into_parts();
            let answer = Answer {
                status: head.status.as_u16(),
                headers: head.headers,
                body,
            };
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let location = answer.headers.get(header::LOCATION);
            let next = location
                .and_then(|location| resolve(&url, location.to_str().ok()?))
                .ok_or_else(|| {
                    refused(format!(
                        "the server answered {} without saying where to go",
                        answer.status
                    ))
                })?;
            let there = origin(&next);
            if follow == Follow::SameHost && there.as_ref() != Some(&first_origin) {
                return Ok(answer);
            }
            if url.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                return Err(refused(
                    "the server redirects from https to an address without encryption".to_owned(),
                ));
            }
            url = next;
        }
        Err(refused(format!(
            "more than {} redirects",
            self.max_redirects
        )))
    }
}

/// Scheme, host and port; `None` for what is not an address of the web.
fn origin(url: &Uri) -> Option<String> {
    let port = match url.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = url.host().filter(|host| !host.is_empty())?;
    Some(format!(
        "{}://{}:{}",
        url.scheme_str()?,
        host.to_ascii_lowercase(),
        url.port_u16().unwrap_or(port)
    ))
}

/// Where a redirect leads, seen from where it was met; `None` if that is not an address of the web.
fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next()?;
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    let address = if location.is_empty() {
        return None;
    } else if location.contains("://") && !location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let folder = from
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    let url: Uri = address.parse().ok()?;
    origin(&url).map(|_| url)
}

/// A message in which neither the user and password of an address nor its query can be read.
fn without_secrets(message: &str, url: &Uri) -> String {
    let mut message = message.replace(&url.to_string(), &shown(&url.to_string()));
    let user = url.authority().and_then(|a| a.as_str().rsplit_once('@'));
    for secret in user.map(|(user, _)| user).into_iter().chain(url.query()) {
        message = message.replace(secret, "…");
    }
    message
}

/// Watches that a transfer is not slower than it may be.
pub(super) struct Pace {
    window: Duration,
    least: u64,
    since: std::time::Instant,
    n_bytes: u64,
}

impl Pace {
    pub(super) fn new(policy: &RetryPolicy) -> Self {
        let window = policy.stall_timeout;
        Self {
            window,
            least: (policy.least_rate as f64 * window.as_secs_f64()) as u64,
            since: std::time::Instant::now(),
            n_bytes: 0,
        }
    }

    /// Counts bytes that came; false when too few came for too long.
    pub(super) fn keeps_up(&mut self, n_bytes: usize) -> bool {
        self.n_bytes += n_bytes as u64;
        if self.since.elapsed() < self.window {
            return true;
        }
        let enough = self.n_bytes >= self.least;
        self.since = std::time::Instant::now();
        self.n_bytes = 0;
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_resolved_as_browsers_do() {
        let from: Uri = "https://user:pw@host:8443/a/b?q=1".parse().unwrap();
        let to = |location| resolve(&from, location).map(|url| url.to_string());
        for (location, expected) in [
            ("/c", Some("https://user:pw@host:8443/c")),
            ("c?x=1", Some("https://user:pw@host:8443/a/c?x=1")),
            ("//other/c", Some("https://other/c")),
            ("http://other/c#part", Some("http://other/c")),
            (
                "/c?next=http://x/",
                Some("https://user:pw@host:8443/c?next=http://x/"),
            ),
            ("file:///etc/passwd", None),
            ("ftp://host/c", None),
            ("", None),
            ("#x", None),
            ("http://", None),
        ] {
            assert_eq!(to(location).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn a_token_is_for_one_host_scheme_and_port() {
        let token = Token::new("https://Hub.example/", "t".to_owned()).unwrap();
        for (address, same) in [
            ("https://hub.example:443/x", true),
            ("http://hub.example/x", false),
            ("https://hub.example:444/x", false),
            ("https://hub.example.evil/x", false),
            ("https://hub.example@evil/x", false),
        ] {
            let url: Uri = address.parse().unwrap();
            assert_eq!(origin(&url).unwrap() == token.origin, same, "{address}");
        }
        assert!(Token::new("file:///x", "t".to_owned()).is_none());
    }

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        for (address, expected) in [
            (
                "http://me:secret@host:80/p?sig=secret",
                "http://…@host:80/p",
            ),
            ("http://me:se@cret@host/p", "http://…@host/p"),
            ("http://host/a@b", "http://host/a@b"),
            ("me:secret@host/p", "…@host/p"),
        ] {
            assert_eq!(shown(address), expected);
        }
        let url: Uri = "http://me:secret@host/p?sig=hidden".parse().unwrap();
        let message = without_secrets("bad http://me:secret@host/p?sig=hidden or me:secret", &url);
        assert!(
            !message.contains("secret") && !message.contains("hidden"),
            "{message}"
        );
    }
}
