//! Texts that look like something else: numbers with other separators, dates and times.
//!
//! Such a column would become a column of categories, in which 1,5 and 1,6 have nothing in common. So it is said.

use super::cell::parse_f32;

/// What a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A number as we read it.
    Number,
    /// `1,5`, or `1.234,5`.
    DecimalComma,
    /// `1,234.5`, `1 234` or `1'234`.
    Thousands,
    /// `5 %`, `$5`, `(5)` or `−5` with a minus sign that is not a hyphen.
    Adorned,
    /// `2024-01-31`, `31.1.2024`, `1/31/24`, with or without a time, or a time alone.
    Date,
    /// Anything else.
    Word,
}

/// How many texts of a column look like what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Looks {
    numbers: u64,
    commas: u64,
    thousands: u64,
    adorned: u64,
    dates: u64,
}

impl Looks {
    pub(super) fn see(&mut self, text: &str) {
        match look(text) {
            Look::Number => self.numbers += 1,
            Look::DecimalComma => self.commas += 1,
            Look::Thousands => self.thousands += 1,
            Look::Adorned => self.adorned += 1,
            Look::Date => self.dates += 1,
            Look::Word => {}
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.numbers += other.numbers;
        self.commas += other.commas;
        self.thousands += other.thousands;
        self.adorned += other.adorned;
        self.dates += other.dates;
    }

    /// What nearly all of so many texts look like, if it is not what they are taken for.
    pub(super) fn most(&self, texts: u64) -> Option<Look> {
        let nearly_all = |n: u64| n.saturating_mul(10) >= texts.saturating_mul(9);
        let separated = self.commas + self.thousands + self.adorned;
        if self.dates > 0 && nearly_all(self.dates) {
            Some(Look::Date)
        } else if separated > 0 && nearly_all(separated + self.numbers) {
            // `1,234` may be either; one other text decides.
            Some(if self.adorned > 0 {
                Look::Adorned
            } else if self.commas > 0 {
                Look::DecimalComma
            } else {
                Look::Thousands
            })
        } else {
            None
        }
    }
}

/// What a text looks like.
pub(super) fn look(text: &str) -> Look {
    let signs = |c: char| matches!(c, '%' | '‰' | '°' | '$' | '€' | '£' | '¥' | '(' | ')' | '−');
    if text.contains(signs) {
        let bare = text.replace(signs, "");
        return match look(bare.trim()) {
            Look::Number | Look::DecimalComma | Look::Thousands => Look::Adorned,
            _ => Look::Word,
        };
    }
    let bytes = text.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+"));
    let digits = unsigned.unwrap_or(bytes);
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return Look::Word;
    }
    if parse_f32(bytes).is_some() {
        return Look::Number;
    }
    if is_grouped(
        text,
        &[',', ' ', '\'', '\u{a0}', '\u{202f}', '\u{2019}'],
        '.',
    ) {
        return Look::Thousands;
    }
    if is_grouped(
        text,
        &['.', ' ', '\'', '\u{a0}', '\u{202f}', '\u{2019}'],
        ',',
    ) {
        return Look::DecimalComma;
    }
    if is_date(digits) {
        return Look::Date;
    }
    Look::Word
}

/// A number written with a decimal comma, and points or blanks between groups of three digits, as one with a
/// decimal point; none if it is no such number.
pub(super) fn with_point(text: &str) -> Option<String> {
    let plain = !text.contains('.') && text.matches(',').count() <= 1;
    if plain {
        let text = text.replace(',', ".");
        return parse_f32(text.as_bytes()).map(|_| text);
    }
    is_grouped(text, &['.'], ',').then(|| text.replace('.', "").replace(',', "."))
}

/// Whether a text is a number whose whole part may be grouped by one of some separators, with a fraction after
/// `point`. Without a group it must have a fraction.
fn is_grouped(text: &str, separators: &[char], point: char) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = match text.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if fraction.is_some_and(|fraction| !all_digits(fraction)) {
        return false;
    }
    let Some(separator) = whole.chars().find(|c| separators.contains(c)) else {
        return fraction.is_some() && all_digits(whole);
    };
    let mut groups = whole.split(separator);
    let first = groups.next().unwrap_or_default();
    // `0,125` is a fraction.
    first.len() <= 3
        && !first.starts_with('0')
        && all_digits(first)
        && groups.all(|group| group.len() == 3 && all_digits(group))
}

/// `2024-01-31`, `31.1.2024`, `1/31/24`, `10:30`, `10:30:00.5`, or a date and a time after `T` or a blank, with `Z`, an
/// offset, AM or PM.
fn is_date(text: &[u8]) -> bool {
    let end = text.iter().position(|b| matches!(b, b'T' | b' '));
    match end {
        None => is_day(text) || is_time(text),
        Some(end) => is_day(&text[..end]) && is_time(&text[end + 1..]) || is_time(text),
    }
}

fn is_day(text: &[u8]) -> bool {
    let Some(separator) = text.iter().find(|b| matches!(b, b'-' | b'/' | b'.')) else {
        return false;
    };
    let parts: Vec<Option<u32>> = text.split(|b| b == separator).map(number).collect();
    let &[Some(a), Some(b), Some(c)] = parts.as_slice() else {
        return false;
    };
    let is_year = |year: u32| (1000..3000).contains(&year);
    let short = |year: u32| year < 100 && *separator != b'.' || is_year(year);
    let month_and_day =
        |x: u32, y: u32| (1..=31).contains(&x) && (1..=31).contains(&y) && x.min(y) <= 12;
    is_year(a) && month_and_day(b, c) || short(c) && month_and_day(a, b)
}

fn is_time(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let lower = text.to_ascii_lowercase();
    let text = lower.strip_suffix(b"am").or(lower.strip_suffix(b"pm"));
    let text = text.unwrap_or(&lower).trim_ascii();
    let text = text.strip_suffix(b"z").unwrap_or(text);
    let zone = text.iter().position(|b| matches!(b, b'+' | b'-'));
    let text = text[..zone.unwrap_or(text.len())].trim_ascii();
    let mut parts = text.split(|b| *b == b':');
    let two = |part: Option<&[u8]>, most: u32| {
        part.filter(|part| (1..=2).contains(&part.len()))
            .and_then(number)
            .is_some_and(|n| n <= most)
    };
    if !two(parts.next(), 24) || !two(parts.next(), 59) {
        return false;
    }
    let seconds = parts.next().is_none_or(|seconds| {
        let whole = seconds.split(|b| matches!(b, b'.' | b',')).next();
        two(whole, 60)
    });
    seconds && parts.next().is_none()
}

fn number(digits: &[u8]) -> Option<u32> {
    let plain = (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_look() {
        for (text, expected) in [
            ("1.5", Look::Number),
            ("1,5", Look::DecimalComma),
            ("-1234,5", Look::DecimalComma),
            ("1.234,5", Look::DecimalComma),
            ("1.234.567", Look::DecimalComma),
            ("1,234", Look::Thousands),
            ("0,125", Look::DecimalComma),
            ("1,234.5", Look::Thousands),
            ("1 234 567", Look::Thousands),
            ("1'234.50", Look::Thousands),
            ("1,23,4", Look::Word),
            ("5 %", Look::Adorned),
            ("$1,234.50", Look::Adorned),
            ("12,5 €", Look::Adorned),
            ("(3.20)", Look::Adorned),
            ("−7", Look::Adorned),
            ("100% wool", Look::Word),
            ("(none)", Look::Word),
            ("2024-01-31", Look::Date),
            ("2024/1/31", Look::Date),
            ("31.01.2024", Look::Date),
            ("1/31/24", Look::Date),
            ("2024-01-31T10:30:00Z", Look::Date),
            ("2024-01-31 10:30:00.123+02:00", Look::Date),
            ("31.12.2023 9:05", Look::Date),
            ("10:30", Look::Date),
            ("10:30:00 PM", Look::Date),
            ("2024-13-45", Look::Word),
            ("192.168.1.1", Look::Word),
            ("555-1234", Look::Word),
            ("12:345", Look::Word),
            ("3 rooms", Look::Word),
            ("red", Look::Word),
            ("", Look::Word),
        ] {
            assert_eq!(look(text), expected, "{text}");
        }
    }

    #[test]
    fn a_decimal_comma_becomes_a_point() {
        for (text, expected) in [
            ("1,5", Some("1.5")),
            ("-3", Some("-3")),
            ("1,5e3", Some("1.5e3")),
            ("1.234,5", Some("1234.5")),
            ("1.234", Some("1234")),
            ("1.5", None),
            ("1,2,3", None),
            ("1.23,4", None),
            ("red", None),
        ] {
            assert_eq!(with_point(text).as_deref(), expected, "{text}");
        }
    }
}
