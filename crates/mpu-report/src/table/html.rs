//! A table as HTML.

use std::fmt::Write as _;

use super::{Align, Cell, Table};

/// Text as it may stand in an HTML element or a quoted attribute.
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in super::visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

pub(super) fn render(table: &Table) -> String {
    let mut html = String::from("<table>\n<thead>\n<tr>");
    for (heading, align) in &table.columns {
        push_cell(&mut html, "th scope=\"col\"", *align, &escape_html(heading));
    }
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for (cell, (_, align)) in row.iter().zip(&table.columns) {
            push_cell(&mut html, "td", *align, &content(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n");
    html
}

fn push_cell(html: &mut String, tag: &str, align: Align, content: &str) {
    let style = match align {
        Align::Left => "",
        Align::Right => " style=\"text-align:right\"",
    };
    let end = &tag[..2];
    // Writing to a string cannot fail.
    let _ = write!(html, "<{tag}{style}>{content}</{end}>");
}

fn content(cell: &Cell) -> String {
    let mut html = escape_html(&cell.text);
    if cell.strong {
        html = format!("<strong>{html}</strong>");
    }
    if let Some(detail) = &cell.detail {
        let _ = write!(html, "<br><small>{}</small>", escape_html(detail));
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_reads_as_its_own_is_escaped() {
        assert_eq!(
            escape_html("<a href=\"x\">R&D's</a>"),
            "&lt;a href=&quot;x&quot;&gt;R&amp;D&#39;s&lt;/a&gt;"
        );
    }

    #[test]
    fn cells_are_aligned_emphasised_and_escaped() {
        let mut table = Table::new([("p < 1", Align::Left), ("value", Align::Right)]);
        table.push([Cell::new("a&b"), Cell::strong("1").with_detail("<2>")]);
        table.push([Cell::new("short row")]);
        assert_eq!(
            table.to_html(),
            "<table>\n<thead>\n<tr><th scope=\"col\">p &lt; 1</th>\
             <th scope=\"col\" style=\"text-align:right\">value</th></tr>\n</thead>\n<tbody>\n\
             <tr><td>a&amp;b</td><td style=\"text-align:right\"><strong>1</strong><br>\
             <small>&lt;2&gt;</small></td></tr>\n\
             <tr><td>short row</td><td style=\"text-align:right\"></td></tr>\n\
             </tbody>\n</table>\n"
        );
    }
}
