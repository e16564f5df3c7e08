//! The formats of a report.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

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
    /// A LaTeX `tabular`.
    Latex,
    /// An HTML `table`.
    Html,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Table,
        Self::Json,
        Self::Csv,
        Self::Md,
        Self::Latex,
        Self::Html,
    ];

    /// The one name used in flags.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Md => "md",
            Self::Latex => "latex",
            Self::Html => "html",
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

#[cfg(test)]
mod tests {
    use super::*;

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
                .contains("table, json, csv, md, latex, html")
        );
    }
}
