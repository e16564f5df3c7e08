//! Sections of text, tables, figures and code, as Markdown and as one HTML page.
//!
//! In paragraphs and notes, words between backticks are code in both; markup in them is shown, not obeyed.

use std::fmt::Write as _;

use crate::table::{Table, escape_html, escape_md_tags};

/// Text that is shown letter for letter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Code {
    /// What it is.
    pub caption: String,
    /// Its language as Markdown names it, such as `toml`; empty for plain text.
    pub language: String,
    /// The text.
    pub text: String,
}

/// A table with a caption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// What it is.
    pub caption: String,
    /// The table.
    pub table: Table,
}

/// Sentences under a heading of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Points {
    /// The heading.
    pub heading: String,
    /// The sentences: a list if there are several.
    pub items: Vec<String>,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// A short name for files and links: lower-case words joined by `-`.
    pub slug: String,
    /// The heading.
    pub title: String,
    /// What should be read before anything else.
    pub warnings: Vec<String>,
    /// What is said before the table.
    pub paragraphs: Vec<String>,
    /// What is said under headings of its own.
    pub points: Vec<Points>,
    /// The table.
    pub table: Option<Table>,
    /// Further tables, each under its caption.
    pub captioned: Vec<Folded>,
    /// What is said below it, one point each.
    pub notes: Vec<String>,
    /// Figures as SVG documents, or as HTML of their own ([`crate::chart::Figure::to_html`], whose panels
    /// wrap on a phone). They become part of one page, so that ids used in them must differ, and should bring
    /// their own colours for a dark page. Markdown leaves them out.
    pub figures: Vec<String>,
    /// The same figures as files beside the Markdown, which shows these: paths without spaces.
    pub images: Vec<String>,
    /// Tables of the numbers behind the figures: folded on the page, plain in Markdown.
    pub folded: Vec<Folded>,
    /// Code, last of all.
    pub code: Vec<Code>,
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
        let mut md = format!("## {}\n", prose_md(&self.title));
        for warning in &self.warnings {
            let _ = write!(md, "\n**Warning:** {}\n", prose_md(warning));
        }
        for paragraph in &self.paragraphs {
            let _ = write!(md, "\n{}\n", prose_md(paragraph));
        }
        for points in &self.points {
            let _ = write!(md, "\n### {}\n\n", prose_md(&points.heading));
            for item in &points.items {
                let mark = if points.items.len() > 1 { "- " } else { "" };
                let _ = writeln!(md, "{mark}{}", prose_md(item));
            }
        }
        for image in &self.images {
            let _ = write!(md, "\n![{}]({image})\n", prose_md(&self.title));
        }
        if let Some(table) = &self.table {
            let _ = write!(md, "\n{}", table.to_md());
        }
        for shown in &self.captioned {
            let caption = prose_md(&shown.caption);
            let _ = write!(md, "\n### {caption}\n\n{}", shown.table.to_md());
        }
        if !self.notes.is_empty() {
            md.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(md, "- {}", prose_md(note));
        }
        for folded in &self.folded {
            let caption = prose_md(&folded.caption);
            let _ = write!(md, "\n{caption}:\n\n{}", folded.table.to_md());
        }
        for code in &self.code {
            md += &code.to_md();
        }
        md
    }

    fn to_html(&self) -> String {
        let (slug, title) = (escape_html(&self.slug), escape_html(&self.title));
        let mut html = format!("<section id=\"{slug}\">\n<h2>{title}</h2>\n");
        for warning in &self.warnings {
            let warning = inline(warning);
            let _ = writeln!(
                html,
                "<p class=\"warning\"><strong>Warning:</strong> {warning}</p>"
            );
        }
        for paragraph in &self.paragraphs {
            let _ = writeln!(html, "<p>{}</p>", inline(paragraph));
        }
        for points in &self.points {
            let _ = writeln!(html, "<h3>{}</h3>", escape_html(&points.heading));
            match points.items.as_slice() {
                [one] => {
                    let _ = writeln!(html, "<p>{}</p>", inline(one));
                }
                several => html += &list(several),
            }
        }
        if let Some(table) = &self.table {
            html += &scrolled(&title, table);
        }
        for shown in &self.captioned {
            let caption = escape_html(&shown.caption);
            let _ = writeln!(html, "<h3>{caption}</h3>");
            html += &scrolled(&caption, &shown.table);
        }
        if !self.notes.is_empty() {
            html += &list(&self.notes);
        }
        if !self.figures.is_empty() {
            html.push_str("<div class=\"figures\">\n");
            for figure in &self.figures {
                let _ = writeln!(html, "{}", element(figure));
            }
            html.push_str("</div>\n");
        }
        for folded in &self.folded {
            let caption = escape_html(&folded.caption);
            let _ = writeln!(
                html,
                "<details>\n<summary>{caption}</summary>\n{}</details>",
                scrolled(&caption, &folded.table)
            );
        }
        for code in &self.code {
            html += &code.to_html();
        }
        html + "</section>\n"
    }
}

impl Code {
    fn to_md(&self) -> String {
        let fence = "`".repeat(longest_run(&self.text).max(2) + 1);
        let mut md = String::new();
        if !self.caption.is_empty() {
            let _ = write!(md, "\n{}:\n", prose_md(&self.caption));
        }
        let text = self.text.trim_end();
        let _ = write!(md, "\n{fence}{}\n{text}\n{fence}\n", self.language);
        md
    }

    fn to_html(&self) -> String {
        let mut html = String::new();
        let caption = escape_html(&self.caption);
        if !caption.is_empty() {
            let _ = writeln!(html, "<h3>{caption}</h3>");
        }
        // Focusable, so that it can be scrolled with the keyboard.
        let _ = writeln!(
            html,
            "<pre tabindex=\"0\"><code>{}</code></pre>",
            escape_html(self.text.trim_end())
        );
        html
    }
}

/// How many backticks follow each other at most.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

fn list(items: &[String]) -> String {
    let items = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", inline(item)));
    format!("<ul>\n{}</ul>\n", items.collect::<String>())
}

/// A table in a box that scrolls. Focusable, so that it can be scrolled with the keyboard; the label is escaped.
fn scrolled(label: &str, table: &Table) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n{}</div>\n",
        table.to_html()
    )
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #57606a; --rule: #d0d7de; --band: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9aa4af; --rule: #30363d; --band: #161b22; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
@media (max-width: 30rem) { body { padding: 0.75rem; } }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 1rem 0 0.5rem; }
h1, h2, h3, summary, figcaption { overflow-wrap: anywhere; }
p, li { max-width: 45rem; overflow-wrap: break-word; }
.scroll { overflow-x: auto; width: fit-content; max-width: 100%; border: 1px solid var(--rule); }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; white-space: nowrap; border-bottom: 1px solid var(--rule); }
thead th { background: var(--band); white-space: normal; vertical-align: bottom; } tbody tr:last-child td { border-bottom: 0; }
.report td:not([style]), .report th:not([style]) { white-space: normal; min-width: 7rem; max-width: 24rem; overflow-wrap: break-word; }
@media (max-width: 30rem) {
  body:not(.report) :is(th, td) { padding: 0.3rem 0.35rem; }
  body:not(.report) :is(th, td):first-child { position: sticky; left: 0; background: var(--band); }
  .report td, .report th, .report td:not([style]), .report th:not([style]) { white-space: normal; min-width: 0; padding: 0.3rem 0.35rem; }
  .report table { font-size: 0.8rem; }
}
.report .figures { margin-top: 1rem; display: flex; flex-wrap: wrap; gap: 1rem; } .report figure { min-width: 0; }
.warning { padding: 0.5rem 0.75rem; border-left: 0.25rem solid #d55e00; background: var(--band); }
small { color: var(--faint); }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid var(--rule); background: var(--band); font-size: 0.875rem; line-height: 1.4; }
details { margin: 0.75rem 0; } summary { cursor: pointer; color: var(--faint); } details .scroll { margin-top: 0.5rem; }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; max-width: none; list-style: none; } a { color: inherit; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
@media print {
  :root { color-scheme: light; --ink: #1b1f24; --paper: #ffffff; --faint: #57606a; --rule: #d0d7de; --band: #f6f8fa; }
  nav { display: none; } figure, table, pre { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .scroll, pre, figure { overflow: visible; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .report th:not([style]), .report td:not([style]) { min-width: 0; }
}
";

/// What the tables of a page mostly hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Numbers, which stay on one line; on a phone the first column stays in sight.
    Numbers,
    /// Words, which wrap.
    Words,
}

/// One page that needs no other file: light or dark as the reader's system is, readable on a phone, without scripts.
/// Links to its sections stand below the first of them, because what is most important comes first.
pub fn render(title: &str, tables: Tables, sections: &[Section]) -> String {
    let title = escape_html(title);
    let class = match tables {
        Tables::Numbers => "",
        Tables::Words => " class=\"report\"",
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body{class}>\n<h1>{title}</h1>\n"
    );
    for (index, section) in sections.iter().enumerate() {
        html += &section.to_html();
        if index == 0 {
            html += &contents(sections);
        }
    }
    html + "</body>\n</html>\n"
}

fn contents(sections: &[Section]) -> String {
    let links = sections.iter().map(|section| {
        let (slug, title) = (escape_html(&section.slug), escape_html(&section.title));
        format!("<li><a href=\"#{slug}\">{title}</a></li>\n")
    });
    let links: String = links.collect();
    format!("<nav aria-label=\"Contents\">\n<ul>\n{links}</ul>\n</nav>\n")
}

/// Sections as one Markdown document under a title.
pub fn to_md(title: &str, sections: &[Section]) -> String {
    let mut md = format!("# {}\n", prose_md(title));
    for section in sections {
        let _ = write!(md, "\n{}", section.to_md());
    }
    md
}

/// Text for Markdown with its code as it is: where a tag would begin, the bracket is escaped.
fn prose_md(text: &str) -> String {
    let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
    let last = parts.len() - 1;
    for (index, part) in parts.iter_mut().enumerate() {
        if index % 2 == 0 || index == last {
            *part = escape_md_tags(part);
        }
    }
    parts.join("`")
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
            images: vec!["figures/one.svg".to_owned()],
            ..Section::new("one", "One & all")
        }
    }

    #[test]
    fn a_section_as_markdown() {
        assert_eq!(
            section().to_md(),
            "## One & all\n\np < 1 for `a_b`\n\n![One & all](figures/one.svg)\n\n| a |\n| --- |\n| \\<x> |\n\n- a note\n"
        );
    }

    #[test]
    fn a_page_is_whole_escaped_and_needs_nothing_else() {
        let page = render("T<1>", Tables::Numbers, &[section()]);
        for part in [
            "<!doctype html>",
            "<title>T&lt;1&gt;</title>",
            "prefers-color-scheme: dark",
            "overflow-x: auto",
            "width=device-width",
            "<body>",
            "<section id=\"one\">",
            "<li><a href=\"#one\">One &amp; all</a></li>",
            "<h2>One &amp; all</h2>",
            "<p>p &lt; 1 for <code>a_b</code></p>",
            "<td>&lt;x&gt;</td>",
            "<li>a note</li>",
            "<figure>\n<svg><g/></svg>\n</figure>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        for other in ["<script", "<link", "http", "<?xml", "one.svg"] {
            assert!(!page.contains(other), "{other} in {page}");
        }
    }

    #[test]
    fn code_and_folded_tables_are_shown_in_both() {
        let mut table = Table::new([("b", Align::Right)]);
        table.push(["7"]);
        let section = Section {
            warnings: vec!["mind `this`".to_owned()],
            folded: vec![Folded {
                caption: "Numbers".to_owned(),
                table,
            }],
            code: vec![Code {
                caption: "Run <1>".to_owned(),
                language: "toml".to_owned(),
                text: "a = \"<b>\" # ```\n".to_owned(),
            }],
            ..Section::new("two", "Two")
        };
        assert_eq!(
            section.to_md(),
            "## Two\n\n**Warning:** mind `this`\n\nNumbers:\n\n| b |\n| ---: |\n| 7 |\n\nRun <1>:\n\n\
             ````toml\na = \"<b>\" # ```\n````\n"
        );
        let page = render("T", Tables::Words, &[section]);
        for part in [
            "<body class=\"report\">",
            "<li><a href=\"#two\">Two</a></li>",
            "<p class=\"warning\"><strong>Warning:</strong> mind <code>this</code></p>",
            "<details>\n<summary>Numbers</summary>",
            "<h3>Run &lt;1&gt;</h3>",
            "<code>a = &quot;&lt;b&gt;&quot; # ```</code></pre>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn markdown_shows_tags_but_leaves_code() {
        assert_eq!(prose_md("`<a>` <b> p < 1 `<c>"), "`<a>` \\<b> p < 1 `\\<c>");
    }

    #[test]
    fn a_lone_backtick_stays() {
        assert_eq!(inline("`a` and `b"), "<code>a</code> and `b");
    }
}
