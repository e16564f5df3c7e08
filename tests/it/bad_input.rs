//! Twenty kinds of bad input: each ends with exit code 2, names the place and the remedy, and leaves nothing behind.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::stderr;

/// Sixty rows: twelve of `x`, twelve of `y`, the rest unlabelled.
fn rows() -> Vec<String> {
    (0..60)
        .map(|i| {
            let (kind, centre) = match i {
                0..12 => ("x", 2.0),
                12..24 => ("y", -2.0),
                _ if i % 3 == 0 => ("", 2.0),
                _ if i % 3 == 1 => ("", -2.0),
                _ => ("", 0.0),
            };
            let noise = (i * 37 % 19) as f64 / 19.0;
            format!("r{i},{:.3},{:.3},{kind}", centre + noise, 1.0 - 2.0 * noise)
        })
        .collect()
}

fn text(header: &str, rows: &[String]) -> String {
    format!("{header}\n{}\n", rows.join("\n"))
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpu-cli"));
    command.args(args).current_dir(folder).output().unwrap()
}

/// A label taken off, or put on.
fn relabeled(change: impl Fn(usize, &str) -> String) -> Vec<String> {
    let cut = |(i, row): (usize, &String)| {
        let (cells, kind) = row.rsplit_once(',').unwrap();
        format!("{cells},{}", change(i, kind))
    };
    rows().iter().enumerate().map(cut).collect()
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list of cases")]
fn files_that_cannot_be_trained_on_say_where_and_what_to_do() {
    const HEADER: &str = "id,a,b,kind";
    let with = |at: usize, row: &str| {
        let mut rows = rows();
        rows.insert(at, row.to_owned());
        text(HEADER, &rows)
    };
    let mut slip = rows();
    slip[6] = "r6,1.0,oops,x".to_owned();
    slip.extend((0..200).map(|i| format!("s{i},{i},{i}.5,")));
    let plain = rows();
    let constant = plain.iter().map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        format!("{},1,1,{}", cells[0], cells[3])
    });
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        (
            "empty file",
            Vec::new(),
            &["bad.csv", "empty", "hint: a header line"],
        ),
        (
            "header only",
            text(HEADER, &[]).trim_end().into(),
            &["bad.csv", "no rows"],
        ),
        (
            "no unlabelled rows",
            text(
                HEADER,
                &relabeled(|_, kind| if kind.is_empty() { "x" } else { kind }.to_owned()),
            )
            .into(),
            &[
                "no row is unlabelled",
                "`x`, `y`",
                "hint: say which value marks",
            ],
        ),
        (
            "all rows unlabelled",
            text(HEADER, &relabeled(|_, _| String::new())).into(),
            &[
                "all 60 rows are unlabelled",
                "hint: some rows of each class",
            ],
        ),
        (
            "one labelled row of a class",
            text(
                HEADER,
                &relabeled(|i, kind| if kind == "x" && i > 0 { "" } else { kind }.to_owned()),
            )
            .into(),
            &[
                "class `x` has 1 labelled",
                "at least 6",
                "hint: label more rows",
            ],
        ),
        (
            "a pool of five",
            text(HEADER, &rows()[..29]).into(),
            &["5 unlabelled rows", "at least 20", "--unlabeled"],
        ),
        (
            "duplicate header",
            text("id,a,a,kind", &rows()).into(),
            &["`a`", "twice", "columns 2 and 3"],
        ),
        (
            "ragged row",
            with(4, "r99,1").into(),
            &["line 6", "2 cells", "4 columns"],
        ),
        (
            "text in a numeric column",
            text(HEADER, &slip).into(),
            &["line 8", "column `b`", "`oops`", "hint:"],
        ),
        (
            "not UTF-8",
            [text(HEADER, &rows()).as_bytes(), b"r98,1,2,\xe9t\xe9\n"].concat(),
            &["line 62", "0xe9", "iconv"],
        ),
        (
            "infinity",
            with(3, "r97,inf,1,x").into(),
            &["line 5", "column `a`", "`inf`"],
        ),
        (
            "NaN where gaps are refused",
            with(3, "r97,nan,1,x").into(),
            &["column `a`", "missing"],
        ),
        (
            "constant columns",
            text(HEADER, &constant.collect::<Vec<_>>()).into(),
            &["constant", "hint:"],
        ),
        (
            "no such label column",
            text("id,a,b,kin", &rows()).into(),
            &["no column `kind`", "did you mean `kin`"],
        ),
        (
            "no such id column",
            text("ids,a,b,kind", &rows()).into(),
            &["no column `id`", "did you mean `ids`"],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (what, bytes, told) in cases {
        fs::write(folder.path().join("bad.csv"), bytes).unwrap();
        let mut args = vec!["train", "--data", "bad.csv", "--label-column", "kind"];
        args.extend(["--id-column", "id", "--epochs", "6", "--out", "run"]);
        args.extend(
            what.contains("NaN")
                .then_some(["--missing", "error"])
                .into_iter()
                .flatten(),
        );
        let output = run(folder.path(), &args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        for part in told {
            assert!(said.contains(part), "{what}: {part} in {said}");
        }
        assert!(
            !folder.path().join("run").exists(),
            "{what} leaves no folder"
        );
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list of cases")]
fn flags_and_models_that_do_not_fit_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("good.csv"), text("id,a,b,kind", &rows())).unwrap();
    let mut narrow = String::from("id,a\n");
    (0..9).for_each(|i| writeln!(narrow, "n{i},{i}").unwrap());
    fs::write(here.join("narrow.csv"), narrow).unwrap();
    let train = [
        "train",
        "--label-column",
        "kind",
        "--id-column",
        "id",
        "--epochs",
        "6",
        "--data",
    ];
    let with = |rest: &[&str]| run(here, &[train.as_slice(), rest].concat());
    let trained = with(&["good.csv", "--priors", "x=0.3,y=0.3", "--out", "run"]);
    assert!(trained.status.success(), "{}", stderr(&trained));
    let weights = here.join("run/model.safetensors");
    let whole = fs::read(&weights).unwrap();

    let check = |what: &str, output: Output, told: &[&str]| {
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        for part in told {
            assert!(said.contains(part), "{what}: {part} in {said}");
        }
    };
    check(
        "no such file",
        with(&["nope.csv", "--out", "o"]),
        &["nope.csv", "No such file"],
    );
    check(
        "output exists",
        with(&["good.csv", "--out", "run"]),
        &["holds files already", "hint:"],
    );
    check(
        "a prior is missing",
        with(&["good.csv", "--priors", "x=0.3", "--out", "o"]),
        &["class `y`", "hint: --priors"],
    );
    check(
        "priors above one",
        with(&["good.csv", "--priors", "x=0.9,y=0.9", "--out", "o"]),
        &["data.priors", "1.8"],
    );
    check(
        "a prior of no class",
        with(&["good.csv", "--priors", "x=0.1,y=0.1,z=0.1", "--out", "o"]),
        &["`z`", "x, y"],
    );
    check(
        "no share",
        with(&["good.csv", "--priors", "x", "--out", "o"]),
        &["CLASS=SHARE"],
    );
    check(
        "a benchmark's prior",
        with(&["good.csv", "--prior", "0.5", "--out", "o"]),
        &["--priors a=0.1"],
    );
    check(
        "a table without --data",
        run(here, &["train", "--label-column", "kind"]),
        &["--data"],
    );
    let predict = |data: &str, out: &str| {
        run(
            here,
            &["predict", "--model", "run", "--data", data, "--out", out],
        )
    };
    check(
        "another width",
        predict("narrow.csv", "s.csv"),
        &["missing: `b`", "hint:"],
    );
    check(
        "an unknown output",
        predict("good.csv", "s.xlsx"),
        &["s.xlsx", ".parquet"],
    );
    check(
        "no folder to write to",
        predict("good.csv", "no/such/s.csv"),
        &["no/such"],
    );
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    check(
        "damaged weights",
        predict("good.csv", "s.csv"),
        &["model.safetensors", "damaged", "hint:"],
    );
    fs::write(&weights, whole).unwrap();
    let card = fs::read_to_string(here.join("run/model.json")).unwrap();
    fs::write(
        here.join("run/model.json"),
        card.replacen("\"version\": 1", "\"version\": 9", 1),
    )
    .unwrap();
    check(
        "a newer model",
        predict("good.csv", "s.csv"),
        &["version 9", "hint: use a newer"],
    );
    fs::remove_file(here.join("run/model.json")).unwrap();
    check(
        "an unfinished run",
        predict("good.csv", "s.csv"),
        &["not finished", "--resume"],
    );
    assert!(!here.join("s.csv").exists() && !here.join("o").exists());
}
