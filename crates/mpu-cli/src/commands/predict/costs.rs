//! A cost matrix from a file: CSV with a line for each truth, or TOML with a table for each.

use std::fmt::Display;
use std::path::Path;

use anyhow::Context as _;
use mpu_loss::CostMatrix;

use crate::files;

/// Reads the costs of answering (columns) where the truth is (rows) one of `names`, the unknown class last.
///
/// Lines and columns may stand in any order; in TOML a right answer, which costs nothing, may be left out.
pub(super) fn read(path: &Path, names: &[String]) -> anyhow::Result<CostMatrix> {
    let bytes = files::read(path)?;
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    let rows = if is_toml {
        from_toml(&bytes, names)
    } else {
        from_csv(&bytes, names)
    };
    let rows = rows.with_context(|| format!("{}", path.display()))?;
    CostMatrix::new(&rows).with_context(|| format!("{}", path.display()))
}

fn from_csv(bytes: &[u8], names: &[String]) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let header = reader.headers()?.clone();
    anyhow::ensure!(
        header.len() == names.len() + 1,
        "line 1: {} columns, but {} are needed: one for the truth, then one for each of {}",
        header.len(),
        names.len() + 1,
        names.join(", ")
    );
    let columns = header
        .iter()
        .skip(1)
        .map(|name| place(name, names, "line 1"));
    let columns = columns.collect::<anyhow::Result<Vec<usize>>>()?;
    complete(&columns, names, "line 1: no column for the answer")?;
    let mut rows = vec![vec![0.0; names.len()]; names.len()];
    let mut truths = Vec::new();
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let truth = place(&record[0], names, format!("line {line}"))?;
        truths.push(truth);
        for (&answer, text) in columns.iter().zip(record.iter().skip(1)) {
            let value = text.parse().ok();
            let at = || format!("line {line}, column `{}`", names[answer]);
            rows[truth][answer] = cost(value, text, truth == answer, at)?;
        }
    }
    complete(&truths, names, "no line for the truth")?;
    Ok(rows)
}

fn from_toml(bytes: &[u8], names: &[String]) -> anyhow::Result<Vec<Vec<f64>>> {
    let text = std::str::from_utf8(bytes).context("not UTF-8")?;
    let tables: toml::Table = text.parse()?;
    let mut rows = vec![vec![0.0; names.len()]; names.len()];
    let mut truths = Vec::new();
    for (name, costs) in &tables {
        let truth = place(name, names, "the file")?;
        truths.push(truth);
        let costs = costs
            .as_table()
            .with_context(|| format!("`{name}` must be a table, as [{name}] begins it"))?;
        // A right answer need not be written down.
        let mut answers = vec![truth];
        for (column, value) in costs {
            let answer = place(column, names, format!("[{name}]"))?;
            answers.push(answer);
            let number = value
                .as_float()
                .or_else(|| value.as_integer().map(|n| n as f64));
            let at = || format!("[{name}] {column}");
            rows[truth][answer] = cost(number, &value.to_string(), truth == answer, at)?;
        }
        answers.sort_unstable();
        answers.dedup();
        complete(
            &answers,
            names,
            &format!("[{name}] has no cost of the answer"),
        )?;
    }
    complete(&truths, names, "no table for the truth")?;
    Ok(rows)
}

/// Which class a name is; `negative` is understood for the last as well.
fn place(name: &str, names: &[String], at: impl Display) -> anyhow::Result<usize> {
    let last = (name == crate::training::NEGATIVE).then(|| names.len() - 1);
    let found = names.iter().position(|class| class == name).or(last);
    found.with_context(|| {
        format!(
            "{at} names `{name}`, which is not a class of the model; the classes are {}",
            names.join(", ")
        )
    })
}

/// Every class must be there once.
fn complete(found: &[usize], names: &[String], missing: &str) -> anyhow::Result<()> {
    for (class, name) in names.iter().enumerate() {
        match found.iter().filter(|&&one| one == class).count() {
            0 => anyhow::bail!(
                "{missing} `{name}`\nhint: the classes are {}",
                names.join(", ")
            ),
            1 => {}
            n => anyhow::bail!("`{name}` is there {n} times"),
        }
    }
    Ok(())
}

fn cost(
    value: Option<f64>,
    text: &str,
    is_right: bool,
    at: impl Fn() -> String,
) -> anyhow::Result<f64> {
    match value {
        Some(value) if is_right && value == 0.0 => Ok(0.0),
        _ if is_right => anyhow::bail!("{}: `{text}`, but a right answer costs 0", at()),
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => anyhow::bail!(
            "{}: `{text}` is not a cost: it must be a finite number, not negative",
            at()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["dent", "a b", "unknown"].map(str::to_owned).to_vec()
    }

    #[test]
    fn predict_costs_are_read_by_name_from_both_formats() {
        let wanted = vec![
            vec![0.0, 1.0, 5.0],
            vec![1.0, 0.0, 2.0],
            vec![3.0, 4.0, 0.0],
        ];
        let csv = "truth,unknown,dent,a b\nunknown,0,3,4\ndent,5, 0,1\na b,2,1,0\n";
        assert_eq!(from_csv(csv.as_bytes(), &names()).unwrap(), wanted);
        let toml = "[dent]\n\"a b\" = 1\nunknown = 5.0\n[\"a b\"]\ndent = 1\nunknown = 2\n\"a b\" = 0\n[negative]\ndent = 3\n\"a b\" = 4\n";
        assert_eq!(from_toml(toml.as_bytes(), &names()).unwrap(), wanted);
    }

    #[test]
    fn predict_costs_that_are_wrong_are_placed() {
        let check = |text: &str, told: &[&str]| {
            let error = from_csv(text.as_bytes(), &names()).unwrap_err();
            for word in told {
                assert!(format!("{error:#}").contains(word), "{text}: {error:#}");
            }
        };
        check("truth,dent,unknown\n", &["3 columns", "4 are needed"]);
        check(
            "truth,dent,scratch,unknown\n",
            &["line 1", "`scratch`", "a b"],
        );
        check("truth,dent,dent,unknown\n", &["`dent` is there 2 times"]);
        let start = "truth,dent,a b,unknown\ndent,0,1,1\n";
        check(start, &["no line for the truth `a b`"]);
        for (line, told) in [
            ("a b,-1,0,1", ["line 3", "column `dent`", "`-1`"]),
            ("a b,1,0,x", ["line 3", "column `unknown`", "`x`"]),
            ("a b,1,2,0", ["line 3", "column `a b`", "costs 0"]),
            ("a b,inf,0,0", ["line 3", "`inf`", "finite"]),
        ] {
            check(&format!("{start}{line}\n"), &told);
        }
        check(&format!("{start}a b,1,0\n"), &["line: 3"]);
        let toml = from_toml(b"[dent]\nunknown = 1\n", &names()).unwrap_err();
        assert!(
            toml.to_string()
                .contains("[dent] has no cost of the answer `a b`")
        );
        assert!(from_toml(b"dent = 1", &names()).is_err());
        assert!(from_toml(b"[dent", &names()).is_err());
    }
}
