//! Costs of mistakes by the names of classes: in a configuration, or in a file of their own.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use mpu_data::CostMatrix;
use serde::{Deserialize, Serialize};

use crate::error::{Context as _, Result, bail, ensure};
use crate::files;
use crate::prepared::NEGATIVE;

/// What the class that is none of the observed ones is called besides `negative`.
pub(crate) const UNKNOWN: &str = "unknown";

/// Costs of mistakes: the truth, then the answer, then what that costs. The class that is none of the
/// observed ones is called `negative` or `unknown`.
///
/// ```
/// use mpu::NamedCosts;
///
/// let costs: NamedCosts = toml::from_str("[dent]\nunknown = 9\n[unknown]\ndent = 1\n")?;
/// let matrix = costs.matrix(&["dent".to_owned(), "unknown".to_owned()])?;
/// assert_eq!(matrix.row(0)?, [0.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamedCosts(BTreeMap<String, BTreeMap<String, f64>>);

impl NamedCosts {
    /// Gives the costs of a matrix their names.
    pub fn of(matrix: &CostMatrix, names: &[String]) -> Result<Self> {
        matrix.check_classes(names.len())?;
        let rows = matrix.as_slice().chunks(names.len());
        let row = |row: &[f64]| names.iter().cloned().zip(row.iter().copied()).collect();
        Ok(Self(names.iter().cloned().zip(rows.map(row)).collect()))
    }

    /// Reads them from a file for classes of these names, the one that is none of the observed ones last: CSV
    /// with a line for each truth and a column for each answer, or TOML with a table for each truth.
    ///
    /// Lines and columns may stand in any order; in TOML a right answer, which costs nothing, may be left out.
    pub fn read(path: &Path, names: &[String]) -> Result<Self> {
        let bytes = files::read(path)?;
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        let rows = if is_toml {
            let text = std::str::from_utf8(&bytes).map_err(crate::Error::from);
            text.and_then(|text| Ok(toml::from_str::<Self>(text)?))
                .and_then(|named| named.rows(names))
        } else {
            from_csv(&bytes, names)
        };
        let rows = rows.with_context(|| path.display())?;
        let matrix = CostMatrix::new(&rows).with_context(|| path.display())?;
        Self::of(&matrix, names)
    }

    /// The costs in the order of `names`.
    pub fn matrix(&self, names: &[String]) -> Result<CostMatrix> {
        Ok(CostMatrix::new(&self.rows(names)?)?)
    }

    fn rows(&self, names: &[String]) -> Result<Vec<Vec<f64>>> {
        let mut rows = vec![vec![0.0; names.len()]; names.len()];
        let mut truths = Vec::new();
        for (name, costs) in &self.0 {
            let truth = place(name, names, "the table of costs")?;
            truths.push(truth);
            // A right answer need not be written down.
            let mut answers = vec![truth];
            for (column, &value) in costs {
                let answer = place(column, names, format!("[{name}]"))?;
                if answer != truth {
                    answers.push(answer);
                }
                let at = || format!("[{name}] {column}");
                rows[truth][answer] = cost(Some(value), &value.to_string(), truth == answer, at)?;
            }
            let missing = format!("[{name}] has no cost of the answer");
            complete(&answers, names, &missing)?;
        }
        complete(&truths, names, "no table for the truth")?;
        Ok(rows)
    }
}

fn from_csv(bytes: &[u8], names: &[String]) -> Result<Vec<Vec<f64>>> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let header = reader.headers()?.clone();
    ensure!(
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
    let columns = columns.collect::<Result<Vec<usize>>>()?;
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

/// Which class a name is; `negative` and `unknown` are understood for the last as well.
fn place(name: &str, names: &[String], at: impl Display) -> Result<usize> {
    let last = [NEGATIVE, UNKNOWN].contains(&name).then(|| names.len() - 1);
    let found = names.iter().position(|class| class == name).or(last);
    found.with_context(|| {
        format!(
            "{at} names `{name}`, which is not a class of the model; the classes are {}",
            names.join(", ")
        )
    })
}

/// Every class must be there once.
fn complete(found: &[usize], names: &[String], missing: &str) -> Result<()> {
    for (class, name) in names.iter().enumerate() {
        match found.iter().filter(|&&one| one == class).count() {
            0 => bail!(
                "{missing} `{name}`\nhint: the classes are {}",
                names.join(", ")
            ),
            1 => {}
            n => bail!("`{name}` is there {n} times"),
        }
    }
    Ok(())
}

fn cost(value: Option<f64>, text: &str, is_right: bool, at: impl Fn() -> String) -> Result<f64> {
    match value {
        Some(value) if is_right && value == 0.0 => Ok(0.0),
        _ if is_right => bail!("{}: `{text}`, but a right answer costs 0", at()),
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => bail!(
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
        let named: NamedCosts = toml::from_str(toml).unwrap();
        assert_eq!(named.rows(&names()).unwrap(), wanted);
        let matrix = named.matrix(&names()).unwrap();
        let again = NamedCosts::of(&matrix, &names()).unwrap();
        assert_eq!(again.matrix(&names()).unwrap(), matrix);
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
        let toml = |text: &str| -> Result<Vec<Vec<f64>>> {
            toml::from_str::<NamedCosts>(text)?.rows(&names())
        };
        let told = toml("[dent]\nunknown = 1\n").unwrap_err().to_string();
        assert!(
            told.contains("[dent] has no cost of the answer `a b`"),
            "{told}"
        );
        assert!(toml("dent = 1").is_err());
        assert!(toml("[dent").is_err());
    }
}
