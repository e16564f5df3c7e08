//! Tables in Markdown text.

/// A table with its cells, trimmed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) line: usize,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The tables of a document, those in code blocks left out.
pub(super) fn parse(document: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut open: Vec<Row> = Vec::new();
    let mut in_code = false;
    for (index, line) in document.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
        }
        if !in_code && line.starts_with('|') {
            open.push(Row {
                line: index + 1,
                cells: cells(line),
            });
        } else {
            tables.extend(close(&mut open));
        }
    }
    tables.extend(close(&mut open));
    tables
}

/// Lines of cells are a table if the second one rules off the first.
fn close(lines: &mut Vec<Row>) -> Option<Table> {
    let mut lines = std::mem::take(lines).into_iter();
    let header = lines.next()?;
    let ruled = lines.next()?.cells.iter().all(|cell| {
        cell.contains('-') && cell.chars().all(|character| matches!(character, '-' | ':'))
    });
    ruled.then(|| Table {
        line: header.line,
        header: header.cells,
        rows: lines.collect(),
    })
}

/// The cells between the bars of a line. A bar after a backslash belongs to its cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&'|') => push(&mut cells, characters.next()),
            '|' => cells.push(String::new()),
            other => push(&mut cells, Some(other)),
        }
    }
    // The bar that ends the line opens no cell.
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], character: Option<char>) {
    if let Some(cell) = cells.last_mut() {
        cell.extend(character);
    }
}

/// What stands between backticks.
pub(super) fn code_spans(cell: &str) -> Vec<&str> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::trim)
        .filter(|code| !code.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_with_their_lines() {
        let document = "# Title\n\n| id | b |\n|:--|---|\n| `x` | y |\n| z |  |\n\n\
            | no | table |\n\n```\n| in | code |\n|---|---|\n```\n| last |\n| - |";
        let tables = parse(document);
        assert_eq!(tables.len(), 2);
        assert_eq!(
            (tables[0].line, &tables[0].header[..]),
            (3, &["id".into(), "b".into()][..])
        );
        assert_eq!(tables[0].rows[0].cells, ["`x`", "y"]);
        assert_eq!((tables[0].rows[1].line, tables[0].rows.len()), (6, 2));
        assert_eq!(
            (&tables[1].header[..], tables[1].rows.len()),
            (&["last".into()][..], 0)
        );
    }

    #[test]
    fn an_escaped_bar_stays_in_its_cell() {
        assert_eq!(cells("| `\\|z\\|` | b |"), ["`|z|`", "b"]);
    }

    #[test]
    fn code_spans_are_what_stands_between_backticks() {
        assert_eq!(code_spans("`a::b` and `c`"), ["a::b", "c"]);
        assert_eq!(code_spans("no code, `` or ` `"), [""; 0]);
    }
}
