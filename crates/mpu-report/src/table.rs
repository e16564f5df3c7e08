//! A table of text cells, and the formats it is written in.

use std::fmt;
use std::str::FromStr;

use comfy_table::{CellAlignment, ContentArrangement, presets};

use crate::error::{Error, Result};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For a terminal.
    #[default]
    Table,
    /// JSON.
    Json,
    /// Comma-separated values.
    Csv,
    /// Markdown.
    Md,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Table, Self::Json, Self::Csv, Self::Md];

    /// The one name used in flags.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Md => "md",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|f| f.slug() == name)
            .ok_or_else(|| Error::UnknownName {
                what: "format",
                found: name.to_owned(),
                allowed: Self::ALL.map(Self::slug).join(", "),
            })
    }
}

/// A table: columns with a heading and an alignment, and rows of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
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

    /// Adds a row; missing cells stay empty, cells beyond the last column are dropped.
    pub fn push<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// For a terminal, fitted to its width if there is one.
    pub fn to_terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(self.columns.iter().map(|(heading, _)| heading));
        for row in &self.rows {
            table.add_row(row);
        }
        for (column, (_, align)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        format!("{table}\n")
    }

    /// Markdown. Bars in cells are escaped.
    pub fn to_md(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&mut self.columns.iter().map(|(heading, _)| heading.clone()));
        text += &line(&mut self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---".to_owned(),
            Align::Right => "---:".to_owned(),
        }));
        for row in &self.rows {
            text += &line(&mut row.iter().cloned());
        }
        text
    }

    /// Comma-separated values with a heading line.
    pub fn to_csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let headings: Vec<&String> = self.columns.iter().map(|(heading, _)| heading).collect();
        let failed = |e: csv::Error| Error::Csv(e.to_string());
        writer.write_record(headings).map_err(failed)?;
        for row in &self.rows {
            writer.write_record(row).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|e| Error::Csv(e.to_string()))?;
        String::from_utf8(bytes).map_err(|e| Error::Csv(e.to_string()))
    }
}

/// A report: a table for people, and the data behind it for programs.
pub fn render<T: serde::Serialize>(format: Format, table: &Table, data: &T) -> Result<String> {
    match format {
        Format::Table => Ok(table.to_terminal()),
        Format::Md => Ok(table.to_md()),
        Format::Csv => table.to_csv(),
        Format::Json => Ok(serde_json::to_string_pretty(data)? + "\n"),
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
    fn formats_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.slug().parse::<Format>().unwrap(), format);
        }
        assert!(
            "xml"
                .parse::<Format>()
                .unwrap_err()
                .to_string()
                .contains("table, json, csv, md")
        );
    }
}
