//! `mpu-cli predict`: every output, every decision, and what goes wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use crate::support::{mpu_cli, stderr, stdout};

/// Rows of three kinds as CSV: dents are heavy, scratches long, the rest neither; one in four of the first two
/// is labelled if `labelled`, and some cells are blank.
fn items(rows: usize, labelled: bool, seed: u64) -> String {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    let mut text = "id,weight,length,colour".to_owned();
    text += if labelled { ",kind\n" } else { "\n" };
    for row in 0..rows {
        let draw = uniform();
        let kind = if draw < 0.3 {
            "dent"
        } else if draw < 0.5 {
            "scratch"
        } else {
            ""
        };
        let of = |wanted: &str| if kind == wanted { 3.0 } else { 0.0 };
        let weight = of("dent") + uniform() + uniform();
        let length = of("scratch") + uniform() + uniform();
        let colour = ["red", "blue", "dark, matt"][(uniform() * 3.0) as usize];
        let _ = write!(text, "item-{row},");
        if uniform() > 0.05 {
            let _ = write!(text, "{weight:.3}");
        }
        let _ = write!(text, ",{length:.3},");
        if uniform() > 0.05 {
            let _ = write!(text, "\"{colour}\"");
        }
        let label = if uniform() < 0.25 { kind } else { "" };
        text += &if labelled {
            format!(",{label}\n")
        } else {
            "\n".to_owned()
        };
    }
    text
}

/// A model trained once for all tests.
fn model() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("predict");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let data = folder.join("items.csv");
        std::fs::write(&data, items(1500, true, 1)).unwrap();
        let run = folder.join("run");
        let output = mpu_cli(&[
            "train",
            "--quiet",
            "--data",
            path(&data),
            "--label-column",
            "kind",
            "--id-column",
            "id",
            "--priors",
            "dent=0.27,scratch=0.16",
            "--method",
            "csmpu-exact-nn",
            "--set",
            "model={kind=\"mlp\", hidden=[16]}",
            "--epochs",
            "12",
            "--out",
            path(&run),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        run
    })
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with rows to score.
struct Work {
    dir: tempfile::TempDir,
}

impl Work {
    fn new(rows: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("new.csv"), items(rows, false, 2)).unwrap();
        Self { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn predict(&self, data: &str, out: &str, more: &[&str]) -> Output {
        let (data, out) = (
            self.file(data),
            if out == "-" {
                "-".into()
            } else {
                self.file(out)
            },
        );
        let mut args = vec!["predict", "--model", path(model()), "--data", path(&data)];
        args.extend(["--out", path(&out)]);
        args.extend(more);
        mpu_cli(&args)
    }

    /// Scores `new.csv` and reads the table back.
    fn scored(&self, out: &str, more: &[&str]) -> Vec<Row> {
        let output = self.predict("new.csv", out, more);
        assert!(output.status.success(), "{}", stderr(&output));
        csv_rows(&std::fs::read(self.file(out)).unwrap())
    }
}

type Row = BTreeMap<String, String>;

fn csv_rows(bytes: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(bytes);
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let row = |record: csv::StringRecord| {
        let cells = record.iter().map(str::to_owned).collect::<Vec<_>>();
        names.iter().cloned().zip(cells).collect()
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

fn jsonl_rows(text: &str) -> Vec<Row> {
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) if number.is_f64() => {
            format!("{:?}", number.as_f64().unwrap() as f32)
        }
        other => other.to_string(),
    };
    let row = |line: &str| {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).unwrap();
        object
            .iter()
            .map(|(name, value)| (name.clone(), cell(value)))
            .collect()
    };
    text.lines().map(row).collect()
}

#[cfg(feature = "parquet")]
fn parquet_rows(path: &Path) -> Vec<Row> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let cell = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Float(number) => format!("{number:?}"),
        Field::Long(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        let row = row.unwrap();
        let cells = row.get_column_iter();
        cells
            .map(|(name, field)| (name.clone(), cell(field)))
            .collect()
    })
    .collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

const CLASSES: [&str; 3] = ["dent", "scratch", "unknown"];

fn probabilities(row: &Row) -> [f64; 3] {
    CLASSES.map(|class| number(row, &format!("probability:{class}")))
}

fn best(p: &[f64]) -> usize {
    (0..p.len()).fold(0, |best, j| if p[j] > p[best] { j } else { best })
}

#[test]
fn every_output_has_the_same_rows_and_numbers() {
    let work = Work::new(400);
    let rows = work.scored("scored.csv", &[]);
    assert_eq!(rows.len(), 400);
    let header = std::fs::read_to_string(work.file("scored.csv")).unwrap();
    assert_eq!(
        header.lines().next().unwrap(),
        "id,answer,score:dent,score:scratch,score:unknown,probability:dent,probability:scratch,probability:unknown,margin,outside"
    );
    let mut answers = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row["id"], format!("item-{at}"));
        let p = probabilities(row);
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{row:?}");
        assert_eq!(row["answer"], CLASSES[best(&p)]);
        let mut sorted = p;
        sorted.sort_by(f64::total_cmp);
        assert!((number(row, "margin") - (sorted[2] - sorted[1])).abs() < 1e-6);
        *answers.entry(row["answer"].clone()).or_insert(0u64) += 1;
    }
    assert!(
        CLASSES.iter().all(|class| answers[*class] > 20),
        "{answers:?}"
    );

    let output = work.predict("new.csv", "scored.jsonl", &["--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(work.file("scored.jsonl")).unwrap();
    assert_eq!(jsonl_rows(&text), rows);
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&summary["rows"], &summary["rows_written"]),
        (&400.into(), &400.into())
    );
    for (class, name) in CLASSES.iter().enumerate() {
        assert_eq!(summary["classes"][class]["class"], *name);
        assert_eq!(summary["classes"][class]["answers"], answers[*name]);
    }
    assert!(summary["noticed"]["imputed"]["weight"].as_u64().unwrap() > 5);
    assert!(summary["noticed"]["imputed"]["colour"].as_u64().unwrap() > 5);

    let output = work.predict("new.csv", "-", &[]);
    assert!(output.status.success() && stderr(&output).contains("answered dent"));
    assert_eq!(
        output.stdout,
        std::fs::read(work.file("scored.csv")).unwrap()
    );
    let output = work.predict("new.csv", "-", &["--out-format", "jsonl", "--quiet"]);
    assert_eq!((stdout(&output), stderr(&output)), (text, String::new()));

    #[cfg(feature = "parquet")]
    {
        let output = work.predict("new.csv", "scored.parquet", &["--threads", "1"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(parquet_rows(&work.file("scored.parquet")), rows);
    }
    let left = std::fs::read_dir(work.dir.path()).unwrap().count();
    assert_eq!(
        left,
        if cfg!(feature = "parquet") { 4 } else { 3 },
        "nothing else is left"
    );
}

#[test]
fn a_row_scores_the_same_in_a_small_file_and_a_large_one() {
    let work = Work::new(20_000);
    let large = work.scored("large.csv", &["--threads", "2"]);
    assert_eq!(large.len(), 20_000);
    assert_eq!(large, work.scored("again.csv", &["--threads", "1"]));
    let text = std::fs::read_to_string(work.file("new.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (name, rows) in [("one", 17_000..17_001), ("some", 300..700)] {
        let part = [&lines[..1], &lines[rows.start + 1..=rows.end]]
            .concat()
            .join("\n");
        std::fs::write(work.file("part.csv"), part).unwrap();
        let out = format!("{name}.csv");
        let output = work.predict("part.csv", &out, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(
            csv_rows(&std::fs::read(work.file(&out)).unwrap()),
            large[rows]
        );
    }
}

#[test]
fn rows_without_ids_are_numbered_and_odd_values_are_told() {
    let work = Work::new(1);
    let text = "weight,length,colour\n0.5,1.0,red\n900.0,1.0,red\n0.5,1.0,green\n";
    std::fs::write(work.file("plain.csv"), text).unwrap();
    let output = work.predict("plain.csv", "scored.csv", &["--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = csv_rows(&std::fs::read(work.file("scored.csv")).unwrap());
    let outside: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["row"].as_str(), row["outside"].as_str()))
        .collect();
    assert_eq!(outside, [("1", ""), ("2", "weight"), ("3", "")]);
    let message = stderr(&output);
    assert!(
        message.contains("range of `weight`") && message.contains("green"),
        "{message}"
    );
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(summary["outside_rows"], 1);
    assert_eq!(summary["outside"][0]["feature"], "weight");
    assert_eq!(summary["noticed"]["unseen"][0]["rows"], 1);
}

#[test]
fn thresholds_decide_and_precision_finds_them() {
    let work = Work::new(600);
    let check = |rows: &[Row], thresholds: [Option<f64>; 2]| {
        let mut refused = 0;
        for row in rows {
            let p = probabilities(row);
            let top = best(&p[..2]);
            let accepted = thresholds[top].is_some_and(|t| p[top] >= t);
            let answer = CLASSES[if accepted { top } else { 2 }];
            assert_eq!(row["answer"], answer, "{row:?}");
            refused += usize::from(!accepted && p[top] > p[2]);
        }
        refused
    };
    let one = work.scored("one.csv", &["--threshold", "0.9"]);
    assert!(check(&one, [Some(0.9), Some(0.9)]) > 0, "some are refused");
    let each = work.scored("each.csv", &["--threshold", "scratch=0.2,dent=0.95"]);
    check(&each, [Some(0.95), Some(0.2)]);

    let more = [
        "--precision-target",
        "dent=0.8,scratch=1",
        "--format",
        "json",
    ];
    let output = work.predict("new.csv", "precise.csv", &more);
    assert!(output.status.success(), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("class dent") && message.contains("class scratch"),
        "{message}"
    );
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let found = [0, 1].map(|class| summary["thresholds"][class].as_f64());
    assert!(found[0].is_some(), "{summary}");
    check(
        &csv_rows(&std::fs::read(work.file("precise.csv")).unwrap()),
        found,
    );

    // A prior so small that no precision can be reached.
    let poor = work.file("poor");
    copy_model(&poor, |card| {
        card["priors"] = serde_json::json!([1e-6, 1e-6, 0.999_998])
    });
    let (data, out) = (work.file("new.csv"), work.file("none.csv"));
    let output = mpu_cli(&[
        "predict",
        "--model",
        path(&poor),
        "--data",
        path(&data),
        "--out",
        path(&out),
        "--precision-target",
        "0.9",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("precision 0.9 is out of reach"),
        "{}",
        stderr(&output)
    );
    check(&csv_rows(&std::fs::read(&out).unwrap()), [None, None]);
}

/// A copy of the model with another card.
fn copy_model(to: &Path, change: impl Fn(&mut serde_json::Value)) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(model()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let card = std::fs::read(to.join("model.json")).unwrap();
    let mut card = serde_json::from_slice(&card).unwrap();
    change(&mut card);
    std::fs::write(to.join("model.json"), card.to_string()).unwrap();
}

#[test]
fn costs_decide_by_what_is_cheapest() {
    let work = Work::new(500);
    let costs = [[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]];
    let csv = "truth,dent,scratch,unknown\ndent,0,1,9\nscratch,2,0,1\nunknown,1,3,0\n";
    std::fs::write(work.file("costs.csv"), csv).unwrap();
    let toml = "[dent]\nscratch = 1\nunknown = 9\n[scratch]\ndent = 2\nunknown = 1\n[unknown]\ndent = 1\nscratch = 3\n";
    std::fs::write(work.file("costs.toml"), toml).unwrap();
    let file = |name: &str| work.file(name).display().to_string();
    let rows = work.scored("by-csv.csv", &["--cost-matrix", &file("costs.csv")]);
    assert_eq!(
        rows,
        work.scored("by-toml.csv", &["--cost-matrix", &file("costs.toml")])
    );
    let mut moved = 0;
    for row in &rows {
        let p = probabilities(row);
        let expected = |answer: usize| -> f64 { (0..3).map(|y| p[y] * costs[y][answer]).sum() };
        let spent = [0, 1, 2].map(expected);
        let answer = CLASSES
            .iter()
            .position(|class| *class == row["answer"])
            .unwrap();
        assert!(
            spent.iter().all(|cost| spent[answer] <= cost + 1e-9),
            "{row:?}"
        );
        moved += usize::from(answer != best(&p));
    }
    assert!(moved > 0, "costs change some answers");
    std::fs::write(work.file("costs.csv"), csv.replace("2,0,1", "2,0,-1")).unwrap();
    let output = work.predict("new.csv", "bad.csv", &["--cost-matrix", &file("costs.csv")]);
    assert_eq!(output.status.code(), Some(2));
    for word in ["costs.csv", "line 3", "`unknown`", "`-1`"] {
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    assert!(!work.file("bad.csv").exists());
}

#[test]
fn a_queue_holds_the_most_probable_rows_of_each_class() {
    let work = Work::new(700);
    let all = work.scored("all.csv", &[]);
    let queue = work.scored("queue.csv", &["--top", "25"]);
    assert_eq!(queue.len(), 50);
    for (class, name) in CLASSES[..2].iter().enumerate() {
        let column = format!("probability:{name}");
        let mut best: Vec<&Row> = all.iter().collect();
        best.sort_by(|a, b| number(b, &column).total_cmp(&number(a, &column)));
        for (rank, (row, wanted)) in queue[25 * class..].iter().zip(&best[..25]).enumerate() {
            assert_eq!(
                (row["queue"].as_str(), number(row, "rank")),
                (*name, rank as f64 + 1.0)
            );
            assert_eq!(row["id"], wanted["id"]);
            assert_eq!(row[&column], wanted[&column]);
        }
    }
    let output = work.predict("new.csv", "queue.jsonl", &["--top", "25"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(work.file("queue.jsonl")).unwrap();
    assert_eq!(jsonl_rows(&text), queue);
    #[cfg(feature = "parquet")]
    {
        assert!(
            work.predict("new.csv", "queue.parquet", &["--top", "25"])
                .status
                .success()
        );
        assert_eq!(parquet_rows(&work.file("queue.parquet")), queue);
    }
}

#[test]
fn probabilities_follow_the_shares_of_the_rows_to_score() {
    let work = Work::new(800);
    let pool = [0.27, 0.16, 0.57];
    let plain = work.scored("pool.csv", &[]);
    let check = |rows: &[Row], target: [f64; 3]| {
        for (row, plain) in rows.iter().zip(&plain) {
            let p = probabilities(plain);
            let weights = [0, 1, 2].map(|y| p[y] * target[y] / pool[y]);
            let sum: f64 = weights.iter().sum();
            for (found, weight) in probabilities(row).iter().zip(weights) {
                assert!((found - weight / sum).abs() < 1e-5, "{row:?} {plain:?}");
            }
        }
    };
    check(
        &work.scored("flat.csv", &["--target-priors", "uniform"]),
        [1.0 / 3.0; 3],
    );
    let given = work.scored("given.csv", &["--target-priors", "scratch=0.1,dent=0.6"]);
    check(&given, [0.6, 0.1, 0.3]);

    // Only heavy rows: their share is found to be large.
    let text = std::fs::read_to_string(work.file("new.csv")).unwrap();
    let heavy = |line: &&str| {
        let weight = line.split(',').nth(1).unwrap();
        weight == "weight" || weight.parse::<f64>().is_ok_and(|weight| weight > 2.5)
    };
    let heavy = text.lines().filter(heavy).collect::<Vec<_>>().join("\n");
    std::fs::write(work.file("heavy.csv"), heavy).unwrap();
    let more = ["--target-priors", "estimate", "--format", "json"];
    let output = work.predict("heavy.csv", "estimate.csv", &more);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("estimated priors"),
        "{}",
        stderr(&output)
    );
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(summary["priors"][0].as_f64().unwrap() > 0.9, "{summary}");
    assert_eq!(summary["estimate"]["sampled_rows"], summary["rows"]);
    let rows = csv_rows(&std::fs::read(work.file("estimate.csv")).unwrap());
    let mean = rows.iter().map(|row| probabilities(row)[0]).sum::<f64>() / rows.len() as f64;
    assert!(
        (mean - summary["priors"][0].as_f64().unwrap()).abs() < 1e-3,
        "a fixed point"
    );
}

#[test]
fn what_is_wrong_with_the_data_is_named_and_nothing_is_written() {
    let work = Work::new(3);
    let check = |text: &str, more: &[&str], told: &[&str]| {
        std::fs::write(work.file("bad.csv"), text).unwrap();
        let output = work.predict("bad.csv", "scored.csv", more);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {message}");
        for word in told {
            assert!(message.contains(word), "{text}: {message}");
        }
        let left: Vec<_> = std::fs::read_dir(work.dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
    };
    check("id,weight,colour\na,1,red\n", &[], &["bad.csv", "length"]);
    let extra = "id,weight,length,colour,smell\na,1,1,red,2\n";
    check(extra, &[], &["smell", "--ignore-extra"]);
    let other = "id,length,weight,colour\na,1,2,red\n";
    check(other, &[], &["`length`", "--any-order"]);
    let word = "id,weight,length,colour\na,1,1,red\nb,1,much,red\n";
    check(word, &[], &["bad.csv", "line 3", "length", "much"]);
    check(word, &["--target-priors", "estimate"], &["line 3", "much"]);
    check("id,weight,length,colour\n", &[], &["bad.csv", "no rows"]);
    let fine = "id,weight,length,colour\na,1,1,red\n";
    check(
        fine,
        &["--threshold", "1.5"],
        &["--threshold is 1.5", "between 0 and 1"],
    );
    check(
        fine,
        &["--threshold", "dent=0.5"],
        &["nothing of class `scratch`"],
    );
    check(
        fine,
        &["--threshold", "rust=0.5"],
        &["`rust`", "dent, scratch"],
    );
    check(
        fine,
        &["--target-priors", "dent=0.9,scratch=0.9"],
        &["--target-priors", "1.8"],
    );
    check(fine, &["--target-priors", "flat"], &["flat", "uniform"]);
    check(
        fine,
        &["--target-priors", "uniform", "--precision-target", "0.9"],
        &["--precision-target", "uniform"],
    );
    check(
        fine,
        &["--threshold", "0.5", "--precision-target", "0.9"],
        &["cannot be used with"],
    );
    check(fine, &["--top", "0"], &["--top"]);
    check(fine, &["--cost-matrix", "no-such.csv"], &["no-such.csv"]);

    // What was refused is done where it is allowed.
    for (text, flag) in [(extra, "--ignore-extra"), (other, "--any-order")] {
        std::fs::write(work.file("bad.csv"), text).unwrap();
        let output = work.predict("bad.csv", "scored.csv", &[flag, "--force"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn outputs_are_not_overwritten_unless_told() {
    let work = Work::new(3);
    std::fs::write(work.file("scored.csv"), "precious").unwrap();
    let output = work.predict("new.csv", "scored.csv", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string(work.file("scored.csv")).unwrap(),
        "precious"
    );
    assert_eq!(work.scored("scored.csv", &["--force"]).len(), 3);
    for (out, told) in [
        ("scored.txt", "--out-format"),
        ("no/such/folder.csv", "must exist"),
        ("", "is a folder"),
    ] {
        let output = work.predict(
            "new.csv",
            out,
            &["--out-format", "csv"][..if out == "scored.txt" { 0 } else { 2 }],
        );
        assert_eq!(output.status.code(), Some(2), "{out}");
        assert!(stderr(&output).contains(told), "{out}: {}", stderr(&output));
    }
    // Where nobody may write, whoever runs the test.
    if cfg!(target_os = "linux") {
        let (model, data) = (path(model()), work.file("new.csv"));
        let output = mpu_cli(&[
            "predict",
            "--model",
            model,
            "--data",
            path(&data),
            "--out",
            "/proc/scored.csv",
        ]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("writing /proc/scored.csv"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn models_that_cannot_be_used_say_why() {
    let work = Work::new(3);
    let check = |name: &str, change: &dyn Fn(&Path), told: &[&str]| {
        let folder = work.file(name);
        copy_model(&folder, |_| {});
        change(&folder);
        let (data, out) = (work.file("new.csv"), work.file("scored.csv"));
        let output = mpu_cli(&[
            "predict",
            "--model",
            path(&folder),
            "--data",
            path(&data),
            "--out",
            path(&out),
        ]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        for word in told {
            assert!(message.contains(word), "{name}: {message}");
        }
        assert!(!out.exists());
    };
    let card = |folder: &Path, change: &dyn Fn(&mut serde_json::Value)| {
        let file = folder.join("model.json");
        let mut card = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        change(&mut card);
        std::fs::write(file, card.to_string()).unwrap();
    };
    check(
        "cut",
        &|folder| {
            let file = folder.join("model.safetensors");
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        },
        &["model.safetensors", "damaged"],
    );
    check(
        "newer",
        &|folder| card(folder, &|card| card["version"] = 99.into()),
        &["model.json", "version 99", "newer mpu-cli"],
    );
    check(
        "benchmark",
        &|folder| {
            card(folder, &|card| {
                card.as_object_mut().unwrap().remove("schema");
            });
        },
        &["benchmark", "train --data"],
    );
    check(
        "narrow",
        &|folder| {
            card(folder, &|card| {
                card["class_names"] = serde_json::json!(["dent", "negative"])
            })
        },
        &["model.json is damaged", "2 class names where 3"],
    );
    check(
        "unfinished",
        &|folder| std::fs::remove_file(folder.join("model.json")).unwrap(),
        &["not finished", "--resume"],
    );

    // Without calibration there are still probabilities, and a warning.
    let raw = work.file("raw");
    copy_model(&raw, |card| {
        card.as_object_mut().unwrap().remove("calibration");
    });
    let data = work.file("new.csv");
    let output = mpu_cli(&[
        "predict",
        "--model",
        path(&raw),
        "--data",
        path(&data),
        "--out",
        "-",
    ]);
    assert!(output.status.success() && stderr(&output).contains("not calibrated"));
    for row in csv_rows(&output.stdout) {
        let scores = CLASSES.map(|class| number(&row, &format!("score:{class}")).exp());
        let p = scores[0] / scores.iter().sum::<f64>();
        assert!((probabilities(&row)[0] - p).abs() < 1e-5);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_output() {
    use std::process::{Command, Stdio};

    let work = Work::new(300_000);
    let (data, out) = (work.file("new.csv"), work.file("scored.csv"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .args(["predict", "--model", path(model()), "--data", path(&data)])
        .args(["--out", path(&out), "--target-priors", "estimate"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let files = || std::fs::read_dir(work.dir.path()).unwrap().count();
    while files() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("interrupted"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(), 1, "only the data are left");
}
