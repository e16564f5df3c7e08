//! Servers that answer with anything: nothing outside the cache changes, no secret leaves, and there is an end.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::family::Draw;
use crate::program::{bounded, start};
use crate::server::{Response, Server, bytes};

const TOKEN: &str = "hf_verysecret";

/// Requests that a whole download may take, with all its attempts.
const MOST_REQUESTS: usize = 400;

pub(crate) fn attack(draw: &mut Draw, folder: &Path) -> Result<(), String> {
    let precious = folder.join("precious");
    fs::write(&precious, "mine").unwrap();
    let stranger = Server::start(|_, _| Response::new(200, b"thanks"));
    let elsewhere = stranger.url.replace("127.0.0.1", "localhost");
    let evil = precious.display().to_string();
    let answers: Vec<Response> = (0..32).map(|_| answer(draw, &elsewhere, &evil)).collect();
    let waits = draw.below(6) == 0;
    let server = Server::start(move |_, n| {
        let mut answer = answers[n % answers.len()].clone();
        if waits {
            answer.silent = Duration::from_mins(10);
        }
        answer
    });

    let dataset = *draw.of(&["semeion", "mnist", "usps", "svhn"]);
    let mut command = bounded(folder, &format!("data fetch {dataset}"));
    // With a mirror, nobody but it and the Hub is asked.
    command.env("MPU_MIRROR", format!("{}/files", server.url));
    command
        .env("HF_ENDPOINT", &server.url)
        .env("HF_TOKEN", TOKEN);
    let running = start(command);
    let ended = if waits {
        std::thread::sleep(Duration::from_secs(1));
        let pid = running.child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        running.end_within(Duration::from_secs(20))?.orderly()?
    } else {
        running.end()?.orderly()?
    };
    if ended.good() {
        return Err(format!("{dataset} was accepted: {}", ended.told));
    }
    if fs::read_to_string(&precious).unwrap_or_default() != "mine" {
        return Err(format!(
            "a file outside the cache was changed: {}",
            ended.told
        ));
    }
    let told = format!("{:?}", stranger.log());
    if told.contains(TOKEN) || ended.told.contains(TOKEN) {
        return Err(format!("the token left: {told}\n{}", ended.told));
    }
    let n_requests = server.log().len();
    if !(1..=MOST_REQUESTS).contains(&n_requests) {
        return Err(format!("{n_requests} requests: {}", ended.told));
    }
    // Whatever stayed is not taken for the dataset.
    let verified = start(bounded(folder, &format!("data verify {dataset} --offline"))).end()?;
    if verified.orderly()?.good() {
        return Err(format!("{dataset} is taken for verified: {}", ended.told));
    }
    Ok(())
}

/// Any answer: a status, headers that a client believes in, and a body of some kind.
fn answer(draw: &mut Draw, elsewhere: &str, evil: &str) -> Response {
    const STATUS: [u16; 14] = [
        200, 200, 200, 206, 204, 301, 302, 304, 307, 401, 404, 416, 429, 503,
    ];
    const RANGES: [&str; 6] = [
        "bytes 0-99/100",
        "bytes 99-0/100",
        "bytes 0-18446744073709551615/18446744073709551616",
        "bytes */0",
        "bytes 5-9/*",
        "never",
    ];
    const SIZES: [&str; 4] = ["100", "0", "99999999999999999999", "-1"];
    let names = [
        "0123456789abcdef0123456789abcdef01234567".to_owned(),
        "a".repeat(64),
        evil.to_owned(),
        "../../../precious".to_owned(),
        "../".repeat(40) + evil,
        "x".repeat(5000),
        String::new(),
        "\"".to_owned(),
    ];
    let places = [
        format!("{elsewhere}/more"),
        "/files/again".to_owned(),
        "//".to_owned(),
        "http://".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!(
            "http://me:{TOKEN}@{}",
            elsewhere.trim_start_matches("http://")
        ),
        "\u{fffd}".to_owned(),
        String::new(),
    ];
    let bodies = [
        Vec::new(),
        b"<html>busy</html>".to_vec(),
        bytes(100),
        bytes(70_000),
    ];
    let body: &Vec<u8> = draw.of(&bodies);
    let mut response = Response::new(*draw.of(&STATUS), body);
    let mut header = |draw: &mut Draw, name: &str, value: &str| {
        if draw.below(2) == 0 {
            response.headers.push((name.to_owned(), value.to_owned()));
        }
    };
    let tag = format!("\"{}\"", draw.of(&names));
    header(draw, "ETag", &tag);
    for name in ["X-Repo-Commit", "X-Linked-ETag"] {
        let value = draw.of(&names).clone();
        header(draw, name, &value);
    }
    let place = draw.of(&places).clone();
    header(draw, "Location", &place);
    let (range, size) = (*draw.of(&RANGES), *draw.of(&SIZES));
    header(draw, "Content-Range", range);
    header(draw, "X-Linked-Size", size);
    match draw.below(6) {
        0 => response.cut_after = Some(draw.below(60)),
        1 => {
            response.body.truncate(20); // it is sent again and again
            response.endless = !response.body.is_empty();
        }
        2 => response.stall = Duration::from_millis(200),
        _ => {}
    }
    response
}
