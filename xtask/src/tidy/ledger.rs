//! Each equation has one row in docs/EQUATIONS.md, one home in the code, and a test.
//!
//! A ledger table is one whose first column is headed `id`:
//!
//! ```text
//! | id | formula | home | test |
//! |---|---|---|---|
//! | `surrogate-hinge` | max(0, 1 - z) | `mpu_loss::surrogate::hinge` | `hinge_by_hand` |
//! ```
//!
//! The home is the one item that carries `#[doc(alias = "eq:surrogate-hinge")]`. A row whose home
//! is `planned` stands for an equation that has no home yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::sources::{self, Home};
use super::{Finding, files};

/// Where the ledger is.
const LEDGER: &str = "docs/EQUATIONS.md";

/// How its tables are headed.
const HEADER: &str = "| id | formula | home | test |";

/// The home of an equation that nobody has implemented yet.
const PLANNED: &str = "planned";

/// A row of the ledger.
struct Entry {
    line: usize,
    id: String,
    home: String,
    test: String,
}

impl Entry {
    fn is_planned(&self) -> bool {
        self.home.trim_matches('`') == PLANNED
    }

    fn finding(&self, what: String) -> Finding {
        Finding::new(LEDGER, self.line, what)
    }
}

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let Some(document) = files::read_if_there(&root.join(LEDGER))? else {
        return Ok(vec![
            Finding::new(LEDGER, 1, "the equation ledger is missing")
                .hint(format!("write a table headed `{HEADER}`")),
        ]);
    };
    let mut homes: BTreeMap<String, Vec<Home>> = BTreeMap::new();
    for home in sources::homes(root)? {
        homes.entry(home.id.clone()).or_default().push(home);
    }
    let tests = sources::tests(root)?;
    let mut findings = Vec::new();
    let mut listed = BTreeMap::new();
    for entry in entries(&document, &mut findings) {
        if let Some(first) = listed.get(&entry.id) {
            let what = format!("`{}` is listed twice, first in line {first}", entry.id);
            findings.push(Finding::new(LEDGER, entry.line, what));
            continue;
        }
        listed.insert(entry.id.clone(), entry.line);
        let homes = homes.get(&entry.id).map_or(&[][..], Vec::as_slice);
        findings.extend(check_home(&entry, homes));
        findings.extend(check_tests(&entry, &tests));
    }
    for (id, homes) in homes.iter().filter(|(id, _)| !listed.contains_key(*id)) {
        for home in homes {
            let what = format!(
                "`{}` is the home of `{id}`, which has no row in {LEDGER}",
                home.path
            );
            let finding = Finding::new(&home.file, home.line, what);
            findings.push(finding.hint("add a row for it, or correct the alias"));
        }
    }
    Ok(findings)
}

/// The rows of the ledger's tables; those that cannot be read become findings.
fn entries(document: &str, findings: &mut Vec<Finding>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut in_table = false;
    for (index, line) in document.lines().enumerate() {
        if line == HEADER {
            in_table = true;
            continue;
        }
        in_table &= line.starts_with('|');
        if !in_table || line.starts_with("|---") {
            continue;
        }
        // A bar after a backslash belongs to its cell, and no cell is read that may hold one.
        let text = line.replace("\\|", "");
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        let line = index + 1;
        let [id, _, home, test] = cells[..] else {
            let n = cells.len();
            let what = format!("the row has {n} cells where the table has 4");
            findings
                .push(Finding::new(LEDGER, line, what).hint("write a bar inside a cell as `\\|`"));
            continue;
        };
        let [id] = code_spans(id)[..] else {
            let what = "the first cell is not one id in backticks";
            findings.push(Finding::new(LEDGER, line, what));
            continue;
        };
        entries.push(Entry {
            line,
            id: id.to_owned(),
            home: home.to_owned(),
            test: test.to_owned(),
        });
    }
    entries
}

/// What stands between backticks.
fn code_spans(cell: &str) -> Vec<&str> {
    let spans = cell.split('`').skip(1).step_by(2).map(str::trim);
    spans.filter(|code| !code.is_empty()).collect()
}

fn check_home(entry: &Entry, homes: &[Home]) -> Option<Finding> {
    let id = &entry.id;
    let place = |home: &Home| format!("`{}` ({}:{})", home.path, home.file, home.line);
    let places = homes.iter().map(place).collect::<Vec<_>>().join(" and ");
    let found = |what: String, hint: &str| Some(entry.finding(what).hint(hint));
    let home = match homes {
        [] if entry.is_planned() => return None,
        _ if entry.is_planned() => {
            let what = format!("`{id}` is planned but has a home: {places}");
            return found(what, "name the home and its test in the row");
        }
        [] => {
            let hint = format!("add `#[doc(alias = \"eq:{id}\")]` to the item that computes it");
            return found(format!("`{id}` has no home in the code"), &hint);
        }
        [home] => home,
        [..] => {
            let what = format!("`{id}` has {} homes: {places}", homes.len());
            return found(what, "keep the alias on the item that computes it");
        }
    };
    let Some(&named) = code_spans(&entry.home).first() else {
        let what = format!("the row of `{id}` names no home");
        return found(what, &format!("write `{}`", home.path));
    };
    if leads_to(named, home) {
        return None;
    }
    let what = format!("the home of `{id}` is {places}, not `{named}`");
    found(
        what,
        "correct the row; modules on the way may be left out of the path",
    )
}

/// Whether a path in the ledger means this item. It ends in the item's name and may leave out
/// modules, as re-exports do, but has nothing that is not on the way to the item.
fn leads_to(named: &str, home: &Home) -> bool {
    let mut way = home.path.split("::");
    let mut segments = named.strip_suffix("()").unwrap_or(named).split("::");
    last_segment(named) == home.name && segments.all(|segment| way.any(|on_way| on_way == segment))
}

fn check_tests(entry: &Entry, tests: &BTreeSet<String>) -> Vec<Finding> {
    if entry.is_planned() {
        return Vec::new();
    }
    let named = code_spans(&entry.test);
    if named.is_empty() {
        let what = format!("the row of `{}` names no test", entry.id);
        let hint = "name the test function in backticks";
        return vec![entry.finding(what).hint(hint)];
    }
    let missing = named
        .into_iter()
        .filter(|test| !tests.contains(last_segment(test)));
    let what = |test| format!("the test `{test}` of `{}` does not exist", entry.id);
    missing.map(|test| entry.finding(what(test))).collect()
}

/// `name` of `path::to::name`, brackets of a call left out.
fn last_segment(path: &str) -> &str {
    let path = path.strip_suffix("()").unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    const CODE: &str = r#"
/// Hinge.
#[doc(alias = "eq:hinge")]
pub fn hinge() {}
pub enum Surrogate {
    #[doc(alias = "eq:ramp")]
    #[doc(alias = "clipped hinge")]
    Ramp,
}
#[cfg(test)]
mod tests {
    fn helper() {}
    #[test]
    #[should_panic]
    fn hinge_by_hand() {}
    proptest! {
        #[test]
        fn ramp_is_bounded(z in -10.0..10.0) {}
    }
}
"#;

    const TABLE: &str = "# Equations\n\n| id | formula | home | test |\n|---|---|---|---|\n\
        | `hinge` | max(0, \\|z\\|) | `mpu_loss::hinge` | `hinge_by_hand`, `paper::all_claims` |\n\
        | `ramp` | eq. 4 | `mpu_loss::Surrogate::Ramp` | `ramp_is_bounded` |\n\
        | `area` | eq. 9 | planned | `area_by_hand` |\n\n\
        | symbol | meaning |\n|---|---|\n| k | classes |\n";

    fn found(ledger: &str, code: &str) -> Vec<String> {
        let tree = Tree::new(&[
            (LEDGER, ledger),
            ("crates/mpu-loss/src/lib.rs", code),
            ("crates/mpu-loss/tests/it.rs", "mod a;"),
            ("tests/it/paper.rs", "#[test]\nfn all_claims() {}"),
        ]);
        lines(&check(tree.root()).unwrap())
    }

    /// What is found where one text of the ledger is replaced by another.
    fn in_ledger(from: &str, to: &str) -> Vec<String> {
        assert!(TABLE.contains(from), "{from}");
        found(&TABLE.replace(from, to), CODE)
    }

    #[test]
    fn a_missing_ledger_is_found() {
        let tree = Tree::new(&[("crates/mpu-loss/src/lib.rs", CODE)]);
        let found = lines(&check(tree.root()).unwrap());
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/EQUATIONS.md:1: the equation ledger is missing\n"));
    }

    #[test]
    fn what_the_code_has_too_little_or_too_much_is_found() {
        let three = format!(
            "{CODE}struct S {{\n    #[doc(alias = \"eq:hinge\")]\n    h: u8,\n}}\nimpl S {{\n    \
             #[doc(alias = \"eq:hinge\")]\n    fn h2() {{}}\n}}\n"
        );
        for (code, wanted) in [
            (
                CODE.replacen("#[doc(alias = \"eq:hinge\")]", "", 1),
                "docs/EQUATIONS.md:5: `hinge` has no home in the code\n  \
                 hint: add `#[doc(alias = \"eq:hinge\")]` to the item that computes it",
            ),
            (
                three,
                "docs/EQUATIONS.md:5: `hinge` has 3 homes: \
                 `mpu_loss::hinge` (crates/mpu-loss/src/lib.rs:4) and \
                 `mpu_loss::S::h` (crates/mpu-loss/src/lib.rs:23) and \
                 `mpu_loss::S::h2` (crates/mpu-loss/src/lib.rs:27)\n  \
                 hint: keep the alias on the item that computes it",
            ),
            (
                CODE.replace("clipped hinge", "eq:rump"),
                "crates/mpu-loss/src/lib.rs:8: `mpu_loss::Surrogate::Ramp` is the home of `rump`, \
                 which has no row in docs/EQUATIONS.md\n  hint: add a row for it, or correct the alias",
            ),
            (
                format!("{CODE}#[doc(alias = \"eq:area\")]\nfn area() {{}}\n"),
                "docs/EQUATIONS.md:7: `area` is planned but has a home: \
                 `mpu_loss::area` (crates/mpu-loss/src/lib.rs:22)\n  \
                 hint: name the home and its test in the row",
            ),
        ] {
            assert_eq!(found(TABLE, &code), [wanted]);
        }
    }

    #[test]
    fn a_row_that_is_wrong_is_found() {
        for (from, to, line, wanted) in [
            (
                "`ramp_is_bounded`",
                "none",
                6,
                "the row of `ramp` names no test\n  hint: name the test function in backticks",
            ),
            (
                "`mpu_loss::hinge`",
                "mpu_loss::hinge",
                5,
                "the row of `hinge` names no home\n  hint: write `mpu_loss::hinge`",
            ),
            (
                "paper::all_claims",
                "all_clams",
                5,
                "the test `all_clams` of `hinge` does not exist",
            ),
            // A function, but no test.
            (
                "paper::all_claims",
                "helper",
                5,
                "the test `helper` of `hinge` does not exist",
            ),
            (
                "\n\n| s",
                "\n| `ramp` | | `Ramp` | `ramp_is_bounded` |\n\n| s",
                8,
                "`ramp` is listed twice, first in line 6",
            ),
            (
                "\n\n| s",
                "\n| `a` | |z| | planned | |\n\n| s",
                8,
                "the row has 6 cells where the table has 4\n  hint: write a bar inside a cell as `\\|`",
            ),
            (
                "\n\n| s",
                "\n| area | eq. 9 | planned | |\n\n| s",
                8,
                "the first cell is not one id in backticks",
            ),
        ] {
            assert_eq!(
                in_ledger(from, to),
                [format!("docs/EQUATIONS.md:{line}: {wanted}")]
            );
        }
    }

    #[test]
    fn a_row_that_names_another_home_is_found() {
        assert_eq!(found(TABLE, CODE), [""; 0]);
        for named in ["Surrogate::Ramp", "mpu_loss::Ramp", "Ramp"] {
            assert_eq!(in_ledger("mpu_loss::Surrogate::Ramp", named), [""; 0]);
        }
        for named in [
            "mpu_loss::hinges",
            "mpu_loss::ramp::hinge",
            "mpu_risk::hinge",
        ] {
            let wanted = format!(
                "docs/EQUATIONS.md:5: the home of `hinge` is `mpu_loss::hinge` \
                 (crates/mpu-loss/src/lib.rs:4), not `{named}`\n  \
                 hint: correct the row; modules on the way may be left out of the path"
            );
            assert_eq!(in_ledger("mpu_loss::hinge", named), [wanted]);
        }
    }
}
