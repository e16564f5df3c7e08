//! Text that is safe where it is shown: in a terminal, a spreadsheet, or between tables.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Format, escape_html, escape_latex, escape_md_tags};

/// Text in which control characters can be seen and do nothing: a class that is called after an escape sequence
/// must not move a terminal's cursor. Line breaks and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c)); // writing to a string cannot fail
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The same on one line: line breaks and tabs become spaces.
pub(super) fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r', '\t', '\u{2028}', '\u{2029}']) {
        let text = text.replace("\r\n", " ");
        let text = text.replace(['\n', '\r', '\t', '\u{2028}', '\u{2029}'], " ");
        return Cow::Owned(visible(&text).into_owned());
    }
    visible(text)
}

/// Control characters, and those that turn the direction of text around.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A field of CSV that a spreadsheet shows and does not run: what begins like a formula gets an apostrophe before it,
/// which spreadsheets take as "this is text". Numbers stay as they are.
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let is_formula = match text.as_bytes().first() {
        Some(b'=' | b'@' | b'\t' | b'\r') => true,
        Some(b'+' | b'-') => !text.bytes().skip(1).all(|byte| {
            matches!(
                byte,
                b'0'..=b'9' | b'.' | b',' | b'e' | b'E' | b'+' | b'-' | b'%' | b' '
            )
        }),
        // Some spreadsheets take these for what they look like.
        Some(_) => text.starts_with(['＝', '＋', '－', '＠']),
        None => false,
    };
    if is_formula {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A line of text between the tables of a report, as the report's format wants it.
pub fn prose(format: Format, text: &str) -> String {
    let line = on_one_line(text);
    match format {
        Format::Table | Format::Json | Format::Csv => format!("{}\n", visible(text)),
        Format::Md => format!("{}\n", escape_md_tags(&line.replace('|', "\\|"))),
        Format::Latex => format!("{}\n", escape_latex(&line)),
        Format::Html => format!("<p>{}</p>\n", escape_html(&line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_seen() {
        assert_eq!(visible("a\u{1b}[2Jb\u{7}"), "a\\u{1b}[2Jb\\u{7}");
        assert_eq!(visible("two\nlines\tand ä"), "two\nlines\tand ä");
        assert_eq!(visible("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(on_one_line("a\r\nb\rc\u{2028}d"), "a b c d");
    }

    #[test]
    fn formulas_become_text_and_numbers_stay() {
        for formula in [
            "=1+1",
            "@SUM(A1)",
            "+cmd|' /C calc'!A0",
            "-2+A1",
            "\t=1",
            "＝1",
        ] {
            assert_eq!(csv_field(formula), format!("'{formula}"));
        }
        for plain in ["-5", "+3.2e-7", "+10 %", "a=b", "", "'=1", "–", "-", "1"] {
            assert_eq!(csv_field(plain), plain);
        }
    }

    #[test]
    fn prose_is_escaped_for_its_format() {
        let text = "note: <img src=x onerror=alert(1)> & \\input{x}\n| a |";
        let html = prose(Format::Html, text);
        assert!(
            html.starts_with("<p>note: &lt;img") && html.matches('<').count() == 2,
            "{html}"
        );
        let latex = prose(Format::Latex, text);
        assert!(!latex.contains("\\input"), "{latex}");
        let md = prose(Format::Md, text);
        assert!(md.contains("\\<img") && md.contains("\\| a \\|"), "{md}");
        assert_eq!(md.lines().count(), 1);
    }
}
