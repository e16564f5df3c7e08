//! The rows of the equation ledger.

use super::Finding;
use super::table::{self, Table};

/// Where the ledger is.
pub(super) const LEDGER: &str = "docs/EQUATIONS.md";

/// The home of an equation that nobody has implemented yet.
const PLANNED: &str = "planned";

/// A row of the ledger.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) id: &'a str,
    pub(super) home: &'a str,
    pub(super) test: &'a str,
}

impl Entry<'_> {
    pub(super) fn is_planned(&self) -> bool {
        self.home.trim_matches('`') == PLANNED
    }

    pub(super) fn finding(&self, what: String) -> Finding {
        Finding::new(LEDGER, self.line, what)
    }
}

/// The rows of the ledger tables; those that cannot be read become findings.
pub(super) fn read<'a>(tables: &'a [Table], findings: &mut Vec<Finding>) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for table in tables {
        if table
            .header
            .first()
            .is_none_or(|cell| cell.trim_matches('`') != "id")
        {
            continue;
        }
        let column = |name| {
            let mut headers = table.header.iter();
            headers.position(|cell| cell.to_lowercase().starts_with(name))
        };
        let (Some(home), Some(test)) = (column("home"), column("test")) else {
            findings.push(
                Finding::new(
                    LEDGER,
                    table.line,
                    "the table has no columns `home` and `test`",
                )
                .hint("head it `| id | formula | home | test |`"),
            );
            continue;
        };
        for row in &table.rows {
            let id = table::code_spans(row.cells.first().map_or("", String::as_str));
            if row.cells.len() != table.header.len() {
                let (n, wanted) = (row.cells.len(), table.header.len());
                let what = format!("the row has {n} cells where the table has {wanted}");
                findings.push(
                    Finding::new(LEDGER, row.line, what).hint("write a bar inside a cell as `\\|`"),
                );
            } else if let [id] = id[..] {
                entries.push(Entry {
                    line: row.line,
                    id,
                    home: &row.cells[home],
                    test: &row.cells[test],
                });
            } else {
                let what = "the first cell is not one id in backticks";
                findings.push(Finding::new(LEDGER, row.line, what));
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;
    use super::*;

    fn found(row: &str) -> Vec<String> {
        let document = format!("| id | formula | home | test |\n|---|---|---|---|\n{row}\n");
        let mut findings = Vec::new();
        read(&table::parse(&document), &mut findings);
        lines(&findings)
    }

    #[test]
    fn rows_are_read_by_the_names_of_their_columns() {
        let document = "| `id` | test | Home |\n|-|-|-|\n| `a` | `t` | planned |\n\n| x |\n|-|\n";
        let tables = table::parse(document);
        let mut findings = Vec::new();
        let entries = read(&tables, &mut findings);
        assert_eq!(findings, []);
        assert_eq!(entries.len(), 1);
        let entry = &entries[0];
        assert_eq!((entry.line, entry.id, entry.test), (3, "a", "`t`"));
        assert!(entry.is_planned());
    }

    #[test]
    fn rows_that_cannot_be_read_are_found() {
        assert_eq!(
            found("| area | eq. 9 | planned | |"),
            ["docs/EQUATIONS.md:3: the first cell is not one id in backticks"]
        );
        assert_eq!(
            found("| `area` | |z| | planned | |"),
            [
                "docs/EQUATIONS.md:3: the row has 6 cells where the table has 4\n  \
              hint: write a bar inside a cell as `\\|`"
            ]
        );
    }

    #[test]
    fn a_table_without_its_columns_is_found() {
        let mut findings = Vec::new();
        read(
            &table::parse("| id | formula |\n|---|---|\n"),
            &mut findings,
        );
        assert_eq!(
            lines(&findings),
            [
                "docs/EQUATIONS.md:1: the table has no columns `home` and `test`\n  \
              hint: head it `| id | formula | home | test |`"
            ]
        );
    }
}
