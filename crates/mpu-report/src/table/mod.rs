//! A table of text cells, and the formats it is written in.

mod cell;
mod format;
mod html;
mod latex;
mod text;

use comfy_table::{CellAlignment, ContentArrangement, presets};

use crate::error::{Error, Result};
use text::on_one_line;

pub use cell::Cell;
pub use format::Format;
pub use html::escape_html;
pub use latex::escape_latex;
pub use text::{csv_field, prose, visible};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table: columns with a heading and an alignment, and rows of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new<H: Into<String>>(columns: impl IntoIterator<Item = (H, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(heading, align)| (heading.into(), align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// A table without rows, its headings in one line: `"class | rows:"`. As in Markdown, a colon at the end aligns the
    /// column to the right.
    pub fn with(headings: &str) -> Self {
        let column = |heading: &'_ str| match heading.strip_suffix(':') {
            Some(heading) => (heading.to_owned(), Align::Right),
            None => (heading.to_owned(), Align::Left),
        };
        Self::new(headings.split(" | ").map(column))
    }

    /// Adds a row; missing cells stay empty, cells beyond the last column are dropped.
    pub fn push<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// For a terminal, fitted to its width if there is one.
    pub fn to_terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        let headings = self.columns.iter().map(|(heading, _)| on_one_line(heading));
        table.set_header(headings);
        for row in &self.rows {
            table.add_row(
                row.iter()
                    .map(|cell| visible(&cell.starred("\n")).into_owned()),
            );
        }
        for (column, (_, align)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        format!("{table}\n")
    }

    /// Markdown. Bars and tags in cells are escaped, line breaks become spaces.
    pub fn to_md(&self) -> String {
        let escape = |text: &str| escape_md_tags(&on_one_line(text).replace('|', "\\|"));
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let headings = self.columns.iter().map(|(heading, _)| escape(heading));
        let mut text = line(headings.collect());
        let rules = self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---".to_owned(),
            Align::Right => "---:".to_owned(),
        });
        text += &line(rules.collect());
        let content = |cell: &Cell| {
            let mut md = escape(&cell.text);
            if cell.strong {
                md = format!("**{md}**");
            }
            match &cell.detail {
                Some(detail) => format!("{md}<br>{}", escape(detail)),
                None => md,
            }
        };
        for row in &self.rows {
            text += &line(row.iter().map(content).collect());
        }
        text
    }

    /// Comma-separated values with a heading line. What a spreadsheet would run is written as text: see [`csv_field`].
    pub fn to_csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let headings = self
            .columns
            .iter()
            .map(|(heading, _)| csv_field(heading).into_owned());
        let failed = |e: csv::Error| Error::Csv(e.to_string());
        writer
            .write_record(headings.collect::<Vec<_>>())
            .map_err(failed)?;
        for row in &self.rows {
            let cells = row
                .iter()
                .map(|cell| csv_field(&cell.starred(" ")).into_owned());
            writer.write_record(cells).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|e| Error::Csv(e.to_string()))?;
        String::from_utf8(bytes).map_err(|e| Error::Csv(e.to_string()))
    }

    /// A LaTeX `tabular` that needs no package.
    pub fn to_latex(&self) -> String {
        latex::render(self)
    }

    /// An HTML `table`; a whole page is made by [`crate::page::render`].
    pub fn to_html(&self) -> String {
        html::render(self)
    }
}

/// Text with the brackets escaped that Markdown would read as the beginning of a tag.
pub fn escape_md_tags(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let opens = |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        if c == '<' && letters.peek().is_some_and(opens) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A report: a table for people, and the data behind it for programs.
pub fn render<T: serde::Serialize>(format: Format, table: &Table, data: &T) -> Result<String> {
    match format {
        Format::Table => Ok(table.to_terminal()),
        Format::Md => Ok(table.to_md()),
        Format::Csv => table.to_csv(),
        Format::Json => Ok(serde_json::to_string_pretty(data)? + "\n"),
        Format::Latex => Ok(table.to_latex()),
        Format::Html => Ok(table.to_html()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([("name", Align::Left), ("value", Align::Right)]);
        table.push(["a|b", "1.00"]);
        table.push(["with, comma"]);
        table
    }

    #[test]
    fn markdown_escapes_bars_and_aligns() {
        assert_eq!(
            table().to_md(),
            "| name | value |\n| --- | ---: |\n| a\\|b | 1.00 |\n| with, comma |  |\n"
        );
    }

    #[test]
    fn names_cannot_break_out_of_a_table() {
        let mut table = Table::new([("a\r\n| b", Align::Left)]);
        table.push(["=HYPERLINK(\"x\")\n\u{1b}[31m"]);
        assert_eq!(table.to_md().lines().count(), 3, "{}", table.to_md());
        assert!(!table.to_terminal().contains('\u{1b}'));
        assert!(table.to_csv().unwrap().contains("\"'=HYPER"));
        assert!(!table.to_html().contains('\u{1b}') && !table.to_latex().contains('\u{1b}'));
    }

    #[test]
    fn csv_quotes_commas() {
        assert_eq!(
            table().to_csv().unwrap(),
            "name,value\na|b,1.00\n\"with, comma\",\n"
        );
    }

    #[test]
    fn the_terminal_form_shows_every_cell() {
        let text = table().to_terminal();
        for cell in ["name", "value", "a|b", "1.00", "with, comma"] {
            assert!(text.contains(cell), "{text}");
        }
    }

    #[test]
    fn what_stands_out_does_so_in_every_format() {
        let mut table = Table::new([("value", Align::Right)]);
        table.push([Cell::strong("7").with_detail("of 9")]);
        let expected = [
            (Format::Table, "7 * "),
            (Format::Csv, "7 * of 9\n"),
            (Format::Md, "| **7**<br>of 9 |"),
            (Format::Latex, "\\textbf{7} {\\scriptsize of 9}"),
            (Format::Html, "<strong>7</strong><br><small>of 9</small>"),
        ];
        for (format, part) in expected {
            let text = render(format, &table, &()).unwrap();
            assert!(text.contains(part), "{text}");
        }
    }
}
