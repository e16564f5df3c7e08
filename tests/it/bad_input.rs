//! Twenty kinds of bad input: each ends with exit code 2, names the place and the remedy, and leaves nothing behind.

use std::fmt::Write as _;

use crate::support::Folder;

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
    let folder = Folder::new();
    for (what, bytes, told) in cases {
        folder.write("bad.csv", bytes);
        let train = "train --data bad.csv --label-column kind --id-column id --epochs 6 --out run";
        let missing = if what.contains("NaN") {
            "--missing error"
        } else {
            ""
        };
        folder.refuses(&format!("{train} {missing}"), told);
        assert!(!folder.path("run").exists(), "{what} leaves no folder");
    }
}

#[test]
fn flags_and_models_that_do_not_fit_say_so() {
    let folder = Folder::new();
    folder.write("good.csv", text("id,a,b,kind", &rows()));
    let mut narrow = String::from("id,a\n");
    (0..9).for_each(|i| writeln!(narrow, "n{i},{i}").unwrap());
    folder.write("narrow.csv", narrow);
    let train = "train --label-column kind --id-column id --epochs 6 --data";
    folder.told(&format!("{train} good.csv --priors x=0.3,y=0.3 --out run"));
    for (rest, told) in [
        ("nope.csv --out o", &["nope.csv", "No such file"][..]),
        ("good.csv --out run", &["holds files already", "hint:"]),
        (
            "good.csv --priors x=0.3 --out o",
            &["class `y`", "hint: --priors"],
        ),
        (
            "good.csv --priors x=0.9,y=0.9 --out o",
            &["data.priors", "1.8"],
        ),
        (
            "good.csv --priors x=0.1,y=0.1,z=0.1 --out o",
            &["`z`", "x, y"],
        ),
        ("good.csv --priors x --out o", &["CLASS=SHARE"]),
        ("good.csv --prior 0.5 --out o", &["--priors a=0.1"]),
    ] {
        folder.refuses(&format!("{train} {rest}"), told);
    }
    folder.refuses("train --label-column kind", &["--data"]);

    let refused = |data_and_out: [&str; 2], told: &[&str]| {
        let [data, out] = data_and_out;
        folder.refuses(
            &format!("predict --model run --data {data} --out {out}"),
            told,
        );
    };
    refused(["narrow.csv", "s.csv"], &["missing: `b`", "hint:"]);
    refused(["good.csv", "s.xlsx"], &["s.xlsx", ".parquet"]);
    refused(["good.csv", "no/such/s.csv"], &["no/such"]);
    let good = ["good.csv", "s.csv"];
    let whole = std::fs::read(folder.path("run/forest.safetensors")).unwrap();
    folder.write("run/forest.safetensors", &whole[..whole.len() / 2]);
    refused(good, &["forest.safetensors", "damaged", "hint:"]);
    folder.write("run/forest.safetensors", whole);
    let card = folder.read("run/model.json");
    let newer = card.replacen("\"version\": 2", "\"version\": 9", 1);
    folder.write("run/model.json", newer);
    refused(good, &["version 9", "hint: use a newer"]);
    std::fs::remove_file(folder.path("run/model.json")).unwrap();
    refused(good, &["not finished", "--resume"]);
    assert!(!folder.path("s.csv").exists() && !folder.path("o").exists());
}
