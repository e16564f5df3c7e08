//! SVG text: escaping, numbers of fixed precision, and how wide a line of text is.

use crate::table::escape_html;
use std::fmt::Write as _;

/// The size of every text but titles.
pub(super) const TEXT: f64 = 12.0;
/// The size of a panel's title.
pub(super) const TITLE: f64 = 14.0;
/// The distance of two lines of text, in multiples of their size.
const LEADING: f64 = 1.3;

/// Advance widths of the printable ASCII characters of DejaVu Sans in hundredths of the text's size; it
/// is about the widest sans-serif typeface in use, so that what fits with it fits with any other.
const ADVANCE: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75,
    79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,
    64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
];

/// How wide a line of text is at a size; other characters than ASCII count as wide ones.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let hundredths = |c: char| match c {
        ' '..='~' => f64::from(ADVANCE[c as usize - 32]),
        // Subscripts, and the ends and parts of sentences.
        '\u{2080}'..='\u{209f}' | '\u{2013}' | '\u{b7}' => 50.0,
        '\u{370}'..='\u{3ff}' => 70.0,
        // Scripts of square letters.
        '\u{1100}'.. if !('\u{2000}'..'\u{2e80}').contains(&c) => 105.0,
        _ => 85.0,
    };
    text.chars().map(hundredths).sum::<f64>() * size / 100.0
}

/// How wide the widest of some lines is.
pub(super) fn widest(lines: impl IntoIterator<Item = impl AsRef<str>>) -> f64 {
    let widths = lines
        .into_iter()
        .map(|line| text_width(line.as_ref(), TEXT));
    widths.fold(0.0, f64::max)
}

/// Breaks text into lines that fit a width, between words where it can.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let joined = lines.last().map(|line| format!("{line} {word}"));
        match (joined, lines.last_mut()) {
            (Some(joined), Some(line)) if text_width(&joined, size) <= width => *line = joined,
            _ => lines.push(shorten(word, size, width)),
        }
    }
    lines
}

/// Cuts text to a width, with an ellipsis where something was cut off.
pub(super) fn shorten(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept: String = text.to_owned();
    while kept.pop().is_some() {
        let cut = format!("{kept}…");
        if text_width(&cut, size) <= width {
            return cut;
        }
    }
    "…".to_owned()
}

/// A number of a fixed number of decimals with a true minus sign, never minus zero.
pub(super) fn label(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.')) => rest.to_owned(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text,
    }
}

/// A coordinate: two decimals, without trailing zeros.
pub(super) fn num(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Text as it may stand in an element or an attribute; characters that XML forbids are replaced.
pub(super) fn escape(text: &str) -> String {
    let allowed = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => c,
    };
    escape_html(&text.chars().map(allowed).collect::<String>())
}

/// Where a text stands with respect to its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// SVG being written.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    /// What was written.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Markup as it is.
    pub(super) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
        self.out.push('\n');
    }

    /// A group shifted by `x`, `y`, to be closed with [`Canvas::close`].
    pub(super) fn group(&mut self, x: f64, y: f64) {
        let (x, y) = (num(x), num(y));
        let _ = writeln!(self.out, "<g transform=\"translate({x} {y})\">");
    }

    /// The end of a group.
    pub(super) fn close(&mut self) {
        self.raw("</g>");
    }

    /// A line of text whose middle height is at `y`.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, ink: (&str, &str), text: &str) {
        self.sized_text(at, anchor, ink, TEXT, text);
    }

    /// The same at a size.
    pub(super) fn sized_text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        (class, fill): (&str, &str),
        size: f64,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\" class=\"{class}\" \
             fill=\"{fill}\">{}</text>",
            num(x),
            num(y + 0.36 * size),
            num(size),
            escape(text)
        );
    }

    /// Lines of text one below the other, the first one's top at `y`; returns the bottom.
    pub(super) fn paragraph(
        &mut self,
        (x, mut y): (f64, f64),
        ink: (&str, &str),
        size: f64,
        lines: &[String],
    ) -> f64 {
        for line in lines {
            let middle = y + 0.5 * LEADING * size;
            self.sized_text((x, middle), Anchor::Start, ink, size, line);
            y += LEADING * size;
        }
        y
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: (&str, &str), width: f64) {
        let [x1, y1, x2, y2, width] = [from.0, from.1, to.0, to.1, width].map(num);
        let (class, stroke) = ink;
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\" stroke=\"{stroke}\" \
             stroke-width=\"{width}\"/>"
        );
    }

    /// A rectangle from its upper left corner, with further attributes as they are; none without an extent.
    pub(super) fn rect(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), attributes: &str) {
        let [x, y, w, h] = [x, y, w, h].map(num);
        if w == "0" || h == "0" {
            return;
        }
        let _ = writeln!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" {attributes}/>"
        );
    }
}

/// How high some lines of text are.
pub(super) fn lines_height(lines: &[String], size: f64) -> f64 {
    lines.len() as f64 * LEADING * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_forbidden_characters_are_replaced() {
        assert_eq!(
            escape("a<b & \"c\" 'd'>"),
            "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;"
        );
        assert_eq!(escape("a\u{0}b\u{1b}\nc"), "a\u{fffd}b\u{fffd} c");
    }

    #[test]
    fn numbers_have_one_spelling() {
        assert_eq!(num(1.0), "1");
        assert_eq!(num(-0.001), "0");
        assert_eq!(num(12.345), "12.35");
        assert_eq!(num(100.0), "100");
        assert_eq!(label(-0.04, 1), "0.0");
        assert_eq!(label(-1.25, 1), "−1.2");
    }

    #[test]
    fn lines_fit_their_width() {
        let text = "one two three four five antidisestablishmentarianism-is-long six";
        for line in wrap(text, TEXT, 90.0) {
            assert!(text_width(&line, TEXT) <= 90.0, "{line}");
        }
        assert_eq!(wrap("a b", TEXT, 90.0), ["a b"]);
        assert!(wrap("", TEXT, 90.0).is_empty());
        assert_eq!(shorten("abc", TEXT, 1.0), "…");
    }
}
