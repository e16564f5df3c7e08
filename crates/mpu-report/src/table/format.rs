//! The formats of a report.

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

mpu_data::named!(Format, "format", {
    Table => "table",
    Json => "json",
    Csv => "csv",
    Md => "md",
    Latex => "latex",
    Html => "html",
});
