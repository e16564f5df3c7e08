//! A page as a browser shows it, on a desk and on a phone.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde::Deserialize;

use crate::items::items;
use crate::need::{Need, browser};
use crate::{made_up, run_report};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Chromium => a_report_of_two_runs_fits_a_desk_and_a_phone,
        Need::Chromium => the_report_of_a_real_run_fits_as_well,
    }
}

/// Tells the page around it what the browser made of this one.
const MEASURE: &str = r#"<script>
addEventListener("load", () => {
  const svgs = [...document.querySelectorAll("svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const seen = getComputedStyle(svg).visibility === "visible" && svg.checkVisibility();
    return {
      label: svg.getAttribute("aria-label"), left: box.left, width: seen ? box.width : 0,
      height: seen ? box.height : 0, scale: box.width / svg.viewBox.baseVal.width,
    };
  });
  const root = document.documentElement;
  parent.postMessage({
    width: innerWidth, scroll_width: root.scrollWidth, client_width: root.clientWidth, svgs,
    requests: performance.getEntriesByType("resource").map(entry => entry.name),
  }, "*");
});
</script>"#;

/// Shows the page at two widths and writes down what each of them says.
const HOST: &str = r#"<!doctype html><meta charset="utf-8"><pre id="measured"></pre><script>
const all = [];
addEventListener("message", event => {
  all.push(event.data);
  if (all.length === 2) {
    document.getElementById("measured").textContent = JSON.stringify(all);
    console.log("both measured");
  }
});
</script>
<iframe src="page.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="page.html" style="width:390px;height:844px;border:0"></iframe>"#;

#[derive(Deserialize)]
struct Measured {
    width: f64,
    scroll_width: f64,
    client_width: f64,
    svgs: Vec<Drawing>,
    requests: Vec<String>,
}

#[derive(Deserialize)]
struct Drawing {
    label: String,
    left: f64,
    width: f64,
    height: f64,
    scale: f64,
}

/// What the browser printed: the page after its scripts ran, and its log.
fn open(browser: &Path, folder: &Path) -> (String, String) {
    let [dom, log] = ["dom", "log"].map(|name| folder.join(name));
    let mut child = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("file://{}", folder.join("host.html").display()))
        .stdout(File::create(&dom).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "the browser did not end: {}",
                fs::read_to_string(&log).unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    (text(&dom), text(&log))
}

/// Fails unless a browser shows all of the page at both widths, asks for no other file and has nothing to
/// complain about.
fn shows_all_of(html: &str) {
    let browser = browser().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = html.replace("</body>", &format!("{MEASURE}</body>"));
    fs::write(folder.path().join("page.html"), &page).unwrap();
    fs::write(folder.path().join("host.html"), HOST).unwrap();
    let (dom, log) = open(&browser, folder.path());

    let said: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(
        matches!(said.as_slice(), [one] if one.contains("both measured")),
        "{log}"
    );
    let json = dom.split("<pre id=\"measured\">").nth(1).unwrap();
    let json = json.split("</pre>").next().unwrap();
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let mut measured: Vec<Measured> = serde_json::from_str(&json).unwrap();
    measured.sort_by(|a, b| b.width.total_cmp(&a.width));
    let widths: Vec<f64> = measured.iter().map(|page| page.width).collect();
    assert_eq!(widths, [1280.0, 390.0]);
    for page in measured {
        assert!(
            page.scroll_width <= page.client_width,
            "{} of {}",
            page.scroll_width,
            page.client_width
        );
        assert_eq!(page.requests, Vec::<String>::new());
        assert_eq!(page.svgs.len(), html.matches("<svg").count());
        for svg in page.svgs {
            assert!(svg.width > 100.0 && svg.height > 50.0, "{}", svg.label);
            assert!(svg.left >= 0.0 && svg.left < page.width, "{}", svg.label);
            // Text of 12 px does not shrink below 11.
            assert!(
                svg.scale > 0.92 && svg.scale < 1.01,
                "{}: {}",
                svg.label,
                svg.scale
            );
        }
    }
}

fn a_report_of_two_runs_fits_a_desk_and_a_phone() {
    let runs = [
        made_up::full("first <try> & more", 20, 1),
        made_up::full(
            "a_second_run_with_a_name_that_has_no_spaces_and_is_longer_than_a_phone_is_wide",
            4,
            2,
        ),
        made_up::unlabeled("no labels", 6, 3),
    ];
    for shown in [&runs[..2], &runs[2..]] {
        shows_all_of(&run_report::to_html(shown));
    }
}

fn the_report_of_a_real_run_fits_as_well() {
    let items = items();
    items.told("report run --data checked.csv --out shown.html");
    shows_all_of(&items.read("shown.html"));
}
