//! Input that is made to mislead: it is read exactly, or refused, and never runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::{Folder, complaint, contains_all, stderr, stdout};

/// A class whose name tries everything: tags, a bar, a line break, an escape sequence.
const NASTY: &str = "<img src=x onerror=alert(1)>|\n\u{1b}[31m=1";

/// Rows of two kinds and a pool; `number` writes numbers, `class` is the name of the first kind.
fn rows(n: usize, class: &str, number: impl Fn(f64) -> String, labelled: bool) -> Vec<Vec<String>> {
    let row = |i: usize| {
        let kind = i % 3;
        let noise = (i * 37 % 101) as f64 / 101.0;
        let (a, b) = match kind {
            0 => (3.0 + noise, noise),
            1 => (noise, 3.0 + noise),
            _ => (noise, noise),
        };
        let label = match (kind, i < n / 2) {
            (0, true) => class,
            (1, true) => "plain",
            _ => "",
        };
        let id = match i % 4 {
            0 => format!("=cmd|' /C calc'!A{i}"),
            1 => format!("@SUM(A{i})"),
            2 => format!("-{i}"),
            _ => format!("r{i}"),
        };
        let mut row = vec![id, number(a), number(b)];
        row.extend(labelled.then(|| label.to_owned()));
        row
    };
    (0..n).map(row).collect()
}

fn table(rows: &[Vec<String>], separator: &str) -> String {
    let header = ["id", "a", "b", "kind"][..rows[0].len()].join(separator);
    let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    let mut text = header + "\n";
    for row in rows {
        let cells: Vec<String> = row.iter().map(quoted).collect();
        let _ = writeln!(text, "{}", cells.join(separator));
    }
    text
}

const TRAIN: &str = "--label-column kind --id-column id --epochs 8 --batch-size 32 --set model.kind=mlp \
                     --set model.hidden=[8] --threads 1";

/// A folder with a model whose class has a nasty name.
fn nasty() -> &'static Folder {
    static NASTY_RUN: OnceLock<Folder> = OnceLock::new();
    NASTY_RUN.get_or_init(|| {
        let folder = Folder::shared("hostile");
        let plain = |x: f64| format!("{x:.4}");
        folder.write("items.csv", table(&rows(150, NASTY, plain, true), ","));
        folder.write("new.csv", table(&rows(40, NASTY, plain, false), ","));
        folder.told(&format!("train --data items.csv {TRAIN} --out run"));
        folder
    })
}

#[test]
fn a_model_remembers_how_its_table_was_written() {
    let folder = Folder::new();
    let points = |x: f64| format!("{:.4}", 1000.0 * x);
    let commas = |x: f64| {
        let text = points(x).replace('.', ",");
        match text.find(',').filter(|at| *at > 3) {
            Some(at) => format!("{}.{}", &text[..at - 3], &text[at - 3..]),
            None => text,
        }
    };
    folder.write("points.csv", table(&rows(150, "dent", points, true), ","));
    folder.write("commas.csv", table(&rows(150, "dent", commas, true), "^"));
    folder.write(
        "new-points.csv",
        table(&rows(40, "dent", points, false), ","),
    );
    folder.write(
        "new-commas.csv",
        table(&rows(40, "dent", commas, false), "^"),
    );
    folder.told(&format!("train --data points.csv {TRAIN} --out points"));
    let said = "--delimiter ^ --decimal-comma";
    folder.told(&format!(
        "train --data commas.csv {said} {TRAIN} --out commas"
    ));
    let scored = |model: &str, data: &str, more: &str| {
        folder.told(&format!(
            "predict --model {model} --data {data} --out - {more}"
        ))
    };
    let expected = scored("points", "new-points.csv", "");
    assert_eq!(scored("commas", "new-commas.csv", ""), expected);
    let other = "--delimiter , --decimal-comma=false";
    assert_eq!(scored("commas", "new-points.csv", other), expected);
    // Without a word the table is refused, not guessed.
    folder.refuses(
        &format!("train --data commas.csv {TRAIN} --out none"),
        &["no column `kind`"],
    );
    let half = "train --data commas.csv --delimiter ^";
    folder.refuses(&format!("{half} {TRAIN} --out none"), &["--decimal-comma"]);
    folder.refuses(
        "check --data points.csv --delimiter ab",
        &["must be one character"],
    );
    // Judgements read the same way.
    folder.told("evaluate --model commas --data commas.csv");
    folder.told(&format!(
        "prior --data commas.csv {said} --label-column kind --id-column id"
    ));
}

#[test]
fn what_a_spreadsheet_would_run_is_written_as_text() {
    let folder = nasty();
    let ids = |text: &str| -> Vec<String> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let record = |record: csv::StringRecord| record[0].to_owned();
        reader.records().map(|r| record(r.unwrap())).collect()
    };
    let escaped = ids(&folder.told("predict --model run --data new.csv --out -"));
    assert_eq!(escaped[..3], ["'=cmd|' /C calc'!A0", "'@SUM(A1)", "-2"]);
    let raw = ids(&folder.told("predict --model run --data new.csv --out - --raw-csv"));
    assert_eq!(raw[..3], ["=cmd|' /C calc'!A0", "@SUM(A1)", "-2"]);
    // Formats with types have no such trouble.
    let jsonl = folder.told("predict --model run --data new.csv --out - --out-format jsonl");
    let first: Value = serde_json::from_str(jsonl.lines().next().unwrap()).unwrap();
    assert_eq!(first["id"], "=cmd|' /C calc'!A0");
}

#[test]
fn names_from_a_file_do_not_run_in_any_format() {
    let folder = nasty();
    for line in [
        "check --data items.csv --label-column kind --id-column id",
        "evaluate --model run",
        "evaluate --model run --data items.csv",
        "prior --data items.csv --label-column kind --id-column id",
    ] {
        for format in ["table", "md", "csv", "latex", "html", "json"] {
            let told = folder.told(&format!("{line} --format {format}"));
            assert!(!told.contains('\u{1b}'), "{line} {format}: {told}");
            if matches!(format, "html" | "md" | "latex") {
                let raw = told.replace("\\<img", "").contains("<img");
                assert!(!raw, "{line} {format}: {told}");
            }
            if format == "md" {
                let broken = told
                    .lines()
                    .any(|line| line.contains("31m=1") && line.starts_with("\\u"));
                assert!(!broken, "{told}");
            }
        }
    }
    folder.told("report run --out report.html");
    let page = folder.read("report.html");
    assert!(!page.contains("<img src=x") && !page.contains('\u{1b}'));
    folder.write("bad.csv", "id,a,\u{1b}[31mkind\n1,2,3\n");
    let told = folder.complaint("check --data bad.csv");
    assert!(!told.contains('\u{1b}'), "{told}");
}

/// A copy of the model with a changed `model.json`.
fn tampered(name: &str, change: impl Fn(&mut Value)) -> String {
    let folder = nasty();
    let copy = folder.path(name);
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir(&copy).unwrap();
    for file in folder.names("run") {
        std::fs::copy(folder.path("run").join(&file), copy.join(&file)).unwrap();
    }
    let mut card = folder.read_json(&format!("{name}/model.json"));
    change(&mut card);
    folder.write(&format!("{name}/model.json"), card.to_string());
    folder.complaint(&format!("predict --model {name} --data new.csv --out -"))
}

#[test]
fn a_model_that_was_tampered_with_is_refused() {
    let told = tampered("divisor", |card| card["scaler"]["divisor"][0] = json!(-1.0));
    contains_all(&told, &["model.json", "divisor", "-1"]);
    let told = tampered("names", |card| {
        card["class_names"][0] = card["class_names"][1].clone();
    });
    contains_all(&told, &["model.json", "two classes have one name"]);
    let told = tampered("shape", |card| {
        card["shape"] = json!({"image": {"channels": 1, "height": 1, "width": 2}});
    });
    contains_all(&told, &["model.json", "shape"]);
    let told = tampered("huge", |card| {
        let side = 1_u64 << 40;
        card["shape"] = json!({"image": {"channels": side, "height": side, "width": side}});
    });
    contains_all(&told, &["model.json"]);
    let told = tampered("wide", |card| card["scaler"]["width"] = json!(3));
    contains_all(&told, &["model.json"]);
    let told = tampered("layers", |card| {
        card["model"]["hidden"] = json!([1_000_000_000, 1_000_000_000]);
    });
    contains_all(&told, &["weights"]);
}

#[test]
fn classes_are_called_by_their_names() {
    let folder = Folder::new();
    let plain = |x: f64| format!("{x:.4}");
    folder.write("items.csv", table(&rows(150, "dent", plain, true), ","));
    let line = "train --data items.csv --priors dent=0.1,plain=-0.2";
    let told = folder.complaint(&format!("{line} {TRAIN} --out run"));
    contains_all(&told, &["class `plain`", "-0.2"]);
    assert!(!told.contains("class 1"), "{told}");
}

#[test]
fn any_key_can_be_set_and_limits_hold() {
    let folder = Folder::new();
    let shown = folder.told("show --set model.hidden=[64] --set train.optimizer.beta1=0.8");
    contains_all(
        &shown,
        &[
            "hidden = [64]",
            "kind = \"mlp\"",
            "beta1 = 0.8",
            "beta2 = 0.999",
        ],
    );
    let quick = "train --offline --epochs 1 --set data.generated-rows=300";
    folder.refuses(
        &format!("{quick} --set model.hidden=[100000,100000]"),
        &["number of weights", "model.hidden", "MPU_MAX_WEIGHTS"],
    );
    let threads = format!("{quick} --threads 1000000");
    folder.refuses(&threads, &["1000000", "1024", "MPU_MAX_THREADS"]);
    // What raises a limit lowers it as well, and is read with care.
    for (variable, value, told) in [
        ("MPU_MAX_WEIGHTS", "1000", "at most 1000"),
        ("MPU_MAX_THREADS", "1", "at most 1"),
        ("MPU_MAX_WEIGHTS", "many", "`many`"),
    ] {
        let mut command = folder.command(&format!("{quick} --threads 2 --out never"));
        let output = command.env(variable, value).output().unwrap();
        contains_all(&complaint(&output, variable), &[variable, told]);
    }
    folder.refuses(
        &format!("{quick} --set train.optimizer.beta9=1"),
        &["beta9"],
    );
    folder.write("a.csv", "a,label\n1,x\n2,x\n3,\n");
    folder.refuses(
        "check --data a.csv --limit columns=1",
        &["columns", "--limit columns=N"],
    );
    folder.refuses("check --data a.csv --limit colums=1", &["colums"]);
    let output = folder
        .bare("data list")
        .env("MPU_DATA_DIR", "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_password_in_the_address_of_a_mirror_is_not_printed() {
    let folder = Folder::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let mirror = format!("http://me:secret@{nobody}/files");
    for line in ["data list", "data fetch semeion"] {
        let mut command = folder.bare(line);
        command.env("MPU_MIRROR", &mirror).env("RUST_LOG", "debug");
        let output = command.output().unwrap();
        let told = stdout(&output) + &stderr(&output);
        assert!(!told.contains("secret"), "{line}: {told}");
        contains_all(&told, &[&format!("…@{nobody}")]);
        if line != "data list" {
            complaint(&output, line);
        }
    }
}

/// None of these may be waited for, or read without end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_wherever_a_file_is_read() {
    let folder = Folder::new();
    folder.write("a.csv", "id,a,label\n1,1,x\n2,2,x\n3,3,\n");
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for file in ["pipe", "/dev/zero"] {
        for line in [
            format!("check --data {file} --input-format csv"),
            format!("check --data a.csv --unlabeled {file}"),
            format!("check --data a.csv --positives {file} --key id"),
            format!("check --data a.csv --test {file}"),
            format!("show {file}"),
            format!("prior --scores {file}"),
            format!("plan {file}"),
        ] {
            folder.refuses(&line, &[file]);
        }
    }
}

/// Every option that a message names exists.
#[test]
fn hints_name_options_that_exist() {
    const OTHERS: [&str; 15] = [
        // Of other programs, and names of colours on a page.
        "--always",
        "--array",
        "--band",
        "--cpus-per-task",
        "--dirty",
        "--faint",
        "--features",
        "--ink",
        "--job-name",
        "--output",
        "--paper",
        "--parsable",
        "--requeue",
        "--rule",
        "--signal",
    ];
    let folder = Folder::new();
    let words = |text: &str| -> Vec<String> {
        let mut words = Vec::new();
        for (at, _) in text.match_indices("--") {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '-') {
                continue;
            }
            let rest = &text[at + 2..];
            let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('-');
            if name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase()) {
                words.push(format!("--{name}"));
            }
        }
        words
    };
    let mut known: BTreeSet<String> = OTHERS.iter().map(|&flag| flag.to_owned()).collect();
    let help = folder.told("--help");
    let commands = help.split("Commands:").nth(1).unwrap().lines();
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut lines: Vec<String> = names.filter(|n| !n.is_empty()).map(str::to_owned).collect();
    lines.extend(["data list", "data verify", "data fetch"].map(str::to_owned));
    for line in lines {
        known.extend(words(&stdout(&folder.run(&format!("{line} --help")))));
    }
    let mut unknown = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let skip = ["tests", "target", "examples", "benches"];
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !skip.contains(&&*name) {
                open.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            }
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for line in code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
            {
                let missing = words(line).into_iter().filter(|flag| !known.contains(flag));
                unknown.extend(missing.map(|flag| format!("{}: {flag}", path.display())));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
}
