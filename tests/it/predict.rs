//! `mpu-cli predict`: every output, every decision, and what goes wrong.

mod decisions;
mod faults;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::support::{Folder, complaint, contains_all, signal, stderr, stdout};

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
        if labelled {
            let _ = write!(text, ",{label}");
        }
        text.push('\n');
    }
    text
}

/// A model trained once for all tests.
fn model() -> PathBuf {
    static MODEL: OnceLock<Folder> = OnceLock::new();
    let folder = MODEL.get_or_init(|| {
        let folder = Folder::shared("predict");
        folder.write("items.csv", items(1500, true, 1));
        folder.told(
            "train --quiet --data items.csv --label-column kind --id-column id \
             --priors dent=0.27,scratch=0.16 --method csmpu-exact-nn \
             --set model={kind=\"mlp\",hidden=[16]} --epochs 12 --batch-size 64 --out run",
        );
        folder
    });
    folder.path("run")
}

/// A folder with rows to score.
struct Work {
    folder: Folder,
}

impl Work {
    fn new(rows: usize) -> Self {
        let folder = Folder::new();
        folder.write("new.csv", items(rows, false, 2));
        Self { folder }
    }

    fn command(&self, model: &Path, data: &str, out: &str, more: &str) -> Command {
        let line = format!("predict --data {data} {more}");
        let mut command = self.folder.command(&line);
        command.arg("--model").arg(model).args(["--out", out]);
        command
    }

    fn predict(&self, data: &str, out: &str, more: &str) -> Output {
        self.command(&model(), data, out, more).output().unwrap()
    }

    /// Scores rows and gives what is told on standard output, as JSON, and on standard error.
    fn summary(&self, data: &str, out: &str, more: &str) -> (serde_json::Value, String) {
        let output = self.predict(data, out, &format!("--format json {more}"));
        assert!(output.status.success(), "{}", stderr(&output));
        let summary = serde_json::from_str(&stdout(&output)).unwrap();
        (summary, stderr(&output))
    }

    /// Scores `new.csv` and reads the table back.
    fn scored(&self, out: &str, more: &str) -> Vec<Row> {
        self.summary("new.csv", out, more);
        self.rows(out)
    }

    /// The rows of a table that was written.
    fn rows(&self, name: &str) -> Vec<Row> {
        csv_rows(self.folder.read(name).as_bytes())
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
    // What moved an answer, as the CSV has it.
    let reason = |field: &Field| {
        let Field::Group(group) = field else {
            panic!("{field:?}")
        };
        let fields: Vec<&Field> = group.get_column_iter().map(|(_, field)| field).collect();
        match fields.as_slice() {
            [Field::Str(column), Field::Str(value), Field::Float(effect)] => {
                format!("{column} = {value} ({effect:+.1})")
            }
            other => panic!("{other:?}"),
        }
    };
    let cell = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Float(number) => format!("{number:?}"),
        Field::Long(number) => number.to_string(),
        Field::ListInternal(list) => {
            let reasons: Vec<String> = list.elements().iter().map(reason).collect();
            reasons.join(", ")
        }
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
    let rows = work.scored("scored.csv", "");
    assert_eq!(rows.len(), 400);
    let scored = work.folder.read("scored.csv");
    assert_eq!(
        scored.lines().next().unwrap(),
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

    let (summary, _) = work.summary("new.csv", "scored.jsonl", "");
    let text = work.folder.read("scored.jsonl");
    assert_eq!(jsonl_rows(&text), rows);
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

    let output = work.predict("new.csv", "-", "");
    assert!(output.status.success() && stderr(&output).contains("answered dent"));
    assert_eq!(stdout(&output), scored);
    let output = work.predict("new.csv", "-", "--out-format jsonl --quiet");
    assert_eq!((stdout(&output), stderr(&output)), (text, String::new()));

    #[cfg(feature = "parquet")]
    {
        work.summary("new.csv", "scored.parquet", "--threads 1");
        let path = work.folder.path("scored.parquet");
        assert_eq!(parquet_rows(&path), rows);
    }
    assert_eq!(
        work.folder.names(".").len(),
        if cfg!(feature = "parquet") { 4 } else { 3 },
        "nothing else is left"
    );
}

#[test]
fn a_row_scores_the_same_in_a_small_file_and_a_large_one() {
    let work = Work::new(20_000);
    let large = work.scored("large.csv", "--threads 2");
    assert_eq!(large.len(), 20_000);
    assert_eq!(large, work.scored("again.csv", "--threads 1"));
    let text = work.folder.read("new.csv");
    let lines: Vec<&str> = text.lines().collect();
    for (name, rows) in [("one", 17_000..17_001), ("some", 300..700)] {
        let part = [&lines[..1], &lines[rows.start + 1..=rows.end]]
            .concat()
            .join("\n");
        work.folder.write("part.csv", part);
        let out = format!("{name}.csv");
        work.summary("part.csv", &out, "");
        assert_eq!(work.rows(&out), large[rows]);
    }
}

#[test]
fn rows_without_ids_are_numbered_and_odd_values_are_told() {
    let work = Work::new(1);
    let text = "weight,length,colour\n0.5,1.0,red\n900.0,1.0,red\n0.5,1.0,green\n";
    work.folder.write("plain.csv", text);
    let (summary, message) = work.summary("plain.csv", "scored.csv", "");
    let rows = work.rows("scored.csv");
    let outside: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["row"].as_str(), row["outside"].as_str()))
        .collect();
    assert_eq!(outside, [("1", ""), ("2", "weight"), ("3", "")]);
    contains_all(&message, &["range of `weight`", "green"]);
    assert_eq!(summary["outside_rows"], 1);
    assert_eq!(summary["outside"][0]["feature"], "weight");
    assert_eq!(summary["noticed"]["unseen"][0]["rows"], 1);
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
