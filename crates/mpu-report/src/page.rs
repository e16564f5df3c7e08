//! Sections of text, tables and figures, as Markdown and as one HTML page.
//!
//! In paragraphs and notes, words between backticks are code in both.

use std::fmt::Write as _;

use crate::table::{Table, escape_html};

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// A short name for files and links: lower-case words joined by `-`.
    pub slug: String,
    /// The heading.
    pub title: String,
    /// What is said before the table.
    pub paragraphs: Vec<String>,
    /// The table.
    pub table: Option<Table>,
    /// What is said below it, one point each.
    pub notes: Vec<String>,
    /// Figures as SVG documents, or as HTML of their own ([`crate::chart::Figure::to_html`], whose panels
    /// wrap on a phone). They become part of one page, so that ids used in them must differ, and should bring
    /// their own colours for a dark page. Markdown leaves them out.
    pub figures: Vec<String>,
}

impl Section {
    /// A section without content.
    pub fn new(slug: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            slug: slug.into(),
            title: title.into(),
            ..Self::default()
        }
    }

    /// The section as Markdown, under a heading of the second level.
    pub fn to_md(&self) -> String {
        let mut md = format!("## {}\n", self.title);
        for paragraph in &self.paragraphs {
            let _ = write!(md, "\n{paragraph}\n");
        }
        if let Some(table) = &self.table {
            let _ = write!(md, "\n{}", table.to_md());
        }
        if !self.notes.is_empty() {
            md.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(md, "- {note}");
        }
        md
    }

    fn to_html(&self) -> String {
        let (slug, title) = (escape_html(&self.slug), escape_html(&self.title));
        let mut html = format!("<section id=\"{slug}\">\n<h2>{title}</h2>\n");
        for paragraph in &self.paragraphs {
            let _ = writeln!(html, "<p>{}</p>", inline(paragraph));
        }
        if let Some(table) = &self.table {
            // Focusable, so that it can be scrolled with the keyboard.
            let _ = writeln!(
                html,
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n{}</div>",
                table.to_html()
            );
        }
        if !self.notes.is_empty() {
            html.push_str("<ul>\n");
            for note in &self.notes {
                let _ = writeln!(html, "<li>{}</li>", inline(note));
            }
            html.push_str("</ul>\n");
        }
        for figure in &self.figures {
            let _ = writeln!(html, "{}", element(figure));
        }
        html + "</section>\n"
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #57606a; --rule: #d0d7de; --band: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9aa4af; --rule: #30363d; --band: #161b22; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p, li { max-width: 45rem; overflow-wrap: break-word; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; white-space: nowrap; border-bottom: 1px solid var(--rule); }
thead th { background: var(--band); } tbody tr:last-child td { border-bottom: 0; }
small { color: var(--faint); }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
";

/// One page that needs no other file: light or dark as the reader's system is, readable on a phone,
/// without scripts.
pub fn render(title: &str, sections: &[Section]) -> String {
    let title = escape_html(title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for section in sections {
        html += &section.to_html();
    }
    html + "</body>\n</html>\n"
}

/// Escaped text with its code marked; a backtick without a partner stays.
fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        let part = escape_html(part);
        let _ = match (index % 2 == 1, index + 1 == parts.len()) {
            (true, false) => write!(html, "<code>{part}</code>"),
            (true, true) => write!(html, "`{part}"),
            (false, _) => write!(html, "{part}"),
        };
    }
    html
}

/// The element of an SVG file, without declarations before it.
fn element(figure: &str) -> String {
    let figure = figure.trim();
    if figure.starts_with("<figure") {
        return figure.to_owned();
    }
    let svg = figure.find("<svg").map_or(figure, |start| &figure[start..]);
    format!("<figure>\n{svg}\n</figure>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Align;

    fn section() -> Section {
        let mut table = Table::new([("a", Align::Left)]);
        table.push(["<x>"]);
        Section {
            paragraphs: vec!["p < 1 for `a_b`".to_owned()],
            table: Some(table),
            notes: vec!["a note".to_owned()],
            figures: vec!["<?xml version=\"1.0\"?>\n<svg><g/></svg>\n".to_owned()],
            ..Section::new("one", "One & all")
        }
    }

    #[test]
    fn a_section_as_markdown() {
        assert_eq!(
            section().to_md(),
            "## One & all\n\np < 1 for `a_b`\n\n| a |\n| --- |\n| <x> |\n\n- a note\n"
        );
    }

    #[test]
    fn a_page_is_whole_escaped_and_needs_nothing_else() {
        let page = render("T<1>", &[section()]);
        for part in [
            "<!doctype html>",
            "<title>T&lt;1&gt;</title>",
            "prefers-color-scheme: dark",
            "overflow-x: auto",
            "width=device-width",
            "<section id=\"one\">",
            "<h2>One &amp; all</h2>",
            "<p>p &lt; 1 for <code>a_b</code></p>",
            "<td>&lt;x&gt;</td>",
            "<li>a note</li>",
            "<figure>\n<svg><g/></svg>\n</figure>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        for other in ["<script", "<link", "http", "<?xml"] {
            assert!(!page.contains(other), "{other} in {page}");
        }
    }

    #[test]
    fn a_lone_backtick_stays() {
        assert_eq!(inline("`a` and `b"), "<code>a</code> and `b");
    }
}
