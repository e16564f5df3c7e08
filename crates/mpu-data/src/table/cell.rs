//! Cells: what stands in one column of one row, before it is known what the column means.

use std::borrow::Cow;

use super::looks::with_point;
use super::options::Decimal;

/// One cell as its reader found it. Bytes of text are UTF-8 without surrounding white space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    /// A null.
    Missing,
    /// A number of a typed format; NaN is missing.
    Number(f64),
    /// A whole number of a typed format.
    Integer(i64),
    /// A whole number of a typed format that has no negative ones.
    Unsigned(u64),
    /// Text that may be a number.
    Text(&'a [u8]),
    /// Text in which each double quote is doubled.
    Escaped(&'a [u8]),
    /// Text that its format declares to be text.
    Word(&'a [u8]),
}

/// What a cell says once marks of missing values are known.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Missing,
    /// A number, infinite if written so or beyond `f32`.
    Number(f32),
    Text(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// The text of the cell; of a number, the shortest that reads back the same.
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Missing => Cow::Borrowed(""),
            Self::Number(value) => Cow::Owned(format!("{value}")),
            Self::Integer(value) => Cow::Owned(format!("{value}")),
            Self::Unsigned(value) => Cow::Owned(format!("{value}")),
            Self::Text(bytes) | Self::Word(bytes) => String::from_utf8_lossy(bytes),
            Self::Escaped(bytes) => {
                Cow::Owned(String::from_utf8_lossy(bytes).replace("\"\"", "\""))
            }
        }
    }

    /// What the cell says.
    #[inline]
    pub(super) fn value(self, markers: &Markers) -> Value<'a> {
        match self {
            Self::Text(bytes) => {
                if let Some(number) = markers.parse(bytes) {
                    return markers.number(number);
                }
                if markers.contains(bytes) {
                    return Value::Missing;
                }
                Value::Text(self.text())
            }
            Self::Number(value) if value.is_nan() => Value::Missing,
            Self::Number(value) => markers.number(value as f32),
            Self::Integer(value) => markers.number(value as f32),
            Self::Unsigned(value) => markers.number(value as f32),
            Self::Missing => Value::Missing,
            Self::Word(bytes) if markers.contains(bytes) => Value::Missing,
            Self::Word(_) | Self::Escaped(_) => Value::Text(self.text()),
        }
    }

    /// What the cell says in a column that is known to be numeric.
    #[inline]
    pub(super) fn numeric(self, markers: &Markers) -> Value<'a> {
        match self {
            Self::Word(bytes) => Self::Text(bytes).value(markers),
            cell => cell.value(markers),
        }
    }

    /// What the cell says in a column that is known to be numeric, less an offset; rounded once, after that.
    pub(super) fn less(self, offset: f64, markers: &Markers) -> Value<'a> {
        let value = self.numeric(markers);
        if offset == 0.0 || !matches!(value, Value::Number(number) if number.is_finite()) {
            return value;
        }
        self.difference(offset, markers)
            .map_or(value, |difference| Value::Number(difference as f32))
    }

    /// The number less an offset, without the rounding to `f32`.
    pub(super) fn difference(self, offset: f64, markers: &Markers) -> Option<f64> {
        let text = || match self {
            Self::Text(bytes) | Self::Word(bytes) => {
                let text = std::str::from_utf8(bytes).ok()?;
                match markers.decimal {
                    Decimal::Point => Some(Cow::Borrowed(text)),
                    Decimal::Comma => with_point(text).map(Cow::Owned),
                }
            }
            _ => None,
        };
        // Whole numbers of more than 53 bits are not exact in `f64` either.
        let whole = match self {
            Self::Integer(value) => Some(i128::from(value)),
            Self::Unsigned(value) => Some(i128::from(value)),
            _ => text().and_then(|text| text.parse().ok()),
        };
        if let Some(whole) = whole.filter(|_| offset.fract() == 0.0 && offset.abs() < 1e30) {
            return whole.checked_sub(offset as i128).map(|value| value as f64);
        }
        match self {
            Self::Number(value) => Some(value - offset),
            _ => text()?.parse::<f64>().ok().map(|value| value - offset),
        }
    }

    /// What the cell says in a column that is known to be text.
    pub(super) fn categorical(self, markers: &Markers) -> Option<Cow<'a, str>> {
        match self {
            Self::Missing => None,
            Self::Number(value) if value.is_nan() => None,
            Self::Text(bytes) | Self::Word(bytes) if markers.contains(bytes) => None,
            cell => Some(cell.text()),
        }
    }
}

/// Whether a text is a plain decimal number, which is then finite: a sign, up to 19 digits, a
/// point. Much cheaper than reading the number; a text that is not plain may still be one.
#[inline]
pub(super) fn is_plain_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (mut n_digits, mut n_points) = (0, 0);
    for &byte in digits {
        n_digits += usize::from(byte.wrapping_sub(b'0') < 10);
        n_points += usize::from(byte == b'.');
    }
    n_digits > 0 && n_points <= 1 && n_digits + n_points == digits.len() && n_digits <= 19
}

/// The texts that stand for a missing value, in any case.
#[derive(Debug, Clone)]
pub(super) struct Markers {
    texts: Vec<Vec<u8>>,
    longest: usize,
    numbers: Vec<f32>,
    decimal: Decimal,
}

/// Texts that always stand for a missing value; the empty text does too.
const MISSING: [&str; 8] = ["na", "n/a", "nan", "-nan", "null", "<na>", "#n/a", "?"];

impl Markers {
    /// The usual texts and these.
    pub(super) fn new(more: &[String]) -> Self {
        let texts: Vec<Vec<u8>> = MISSING
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .chain(more.iter().map(|text| text.trim().as_bytes().to_vec()))
            .collect();
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        let numbers = texts.iter().filter_map(|text| parse_f32(text)).collect();
        Self {
            texts,
            longest,
            numbers,
            decimal: Decimal::Point,
        }
    }

    /// With numbers written so.
    pub(super) fn with_decimal(mut self, decimal: Decimal) -> Self {
        self.decimal = decimal;
        self
    }

    /// Without these texts: they are values.
    pub(super) fn without(mut self, words: &[String]) -> Self {
        let is_kept = |text: &[u8]| {
            words
                .iter()
                .any(|word| word.trim().as_bytes().eq_ignore_ascii_case(text))
        };
        self.texts.retain(|text| !is_kept(text));
        self
    }

    /// Reads a number in text.
    #[inline]
    fn parse(&self, text: &[u8]) -> Option<f32> {
        if self.decimal == Decimal::Point {
            return parse_f32(text);
        }
        parse_f32(with_point(std::str::from_utf8(text).ok()?)?.as_bytes())
    }

    /// Whether plain decimal numbers mean what they say.
    pub(super) fn are_plain(&self) -> bool {
        self.numbers.is_empty() && self.decimal == Decimal::Point
    }

    /// A number, unless it is one that stands for a missing value.
    #[inline]
    fn number<'a>(&self, number: f32) -> Value<'a> {
        if !self.numbers.is_empty() && self.numbers.contains(&number) {
            return Value::Missing;
        }
        Value::Number(number)
    }

    pub(super) fn contains(&self, text: &[u8]) -> bool {
        text.is_empty()
            || (text.len() <= self.longest
                && self
                    .texts
                    .iter()
                    .any(|mark| mark.eq_ignore_ascii_case(text)))
    }
}

/// Powers of ten that `f64` holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The nearest `f32` to a decimal number; infinite when written so or too large.
///
/// Up to 19 digits are gathered in an integer and scaled once in `f64`, which is off by less than
/// two units in its last place. Where that could change the `f32`, and for longer numbers, the
/// standard library decides, so that the result is always correctly rounded.
#[inline]
pub(super) fn parse_f32(text: &[u8]) -> Option<f32> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut mantissa = 0u64;
    let mut i = 0;
    while let Some(digit) = digits
        .get(i)
        .map(|b| b.wrapping_sub(b'0'))
        .filter(|d| *d < 10)
    {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        i += 1;
    }
    let mut n_digits = i;
    let mut exponent = 0i64;
    if digits.get(i) == Some(&b'.') {
        i += 1;
        let start = i;
        while let Some(digit) = digits
            .get(i)
            .map(|b| b.wrapping_sub(b'0'))
            .filter(|d| *d < 10)
        {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            i += 1;
        }
        n_digits += i - start;
        exponent = -i64::try_from(i - start).ok()?;
    }
    if n_digits == 0 {
        return infinity(negative, digits);
    }
    if let Some(b'e' | b'E') = digits.get(i) {
        let (written, end) = parse_exponent(digits, i + 1)?;
        exponent = exponent.saturating_add(written);
        i = end;
    }
    if i != digits.len() {
        return None;
    }
    if n_digits <= 19 && (-22..=22).contains(&exponent) {
        let scaled = if exponent < 0 {
            mantissa as f64 / POWERS[exponent.unsigned_abs() as usize]
        } else {
            mantissa as f64 * POWERS[exponent as usize]
        };
        let error = scaled * (1.0 / (1u64 << 51) as f64);
        let (low, high) = ((scaled - error) as f32, (scaled + error) as f32);
        if low == high {
            return Some(if negative { -low } else { low });
        }
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse_exponent(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let (negative, mut i) = match text.get(start)? {
        b'-' => (true, start + 1),
        b'+' => (false, start + 1),
        _ => (false, start),
    };
    let first = i;
    let mut value = 0i64;
    while let Some(digit) = text.get(i).filter(|b| b.is_ascii_digit()) {
        value = (value * 10 + i64::from(digit - b'0')).min(1 << 40);
        i += 1;
    }
    (i > first).then_some((if negative { -value } else { value }, i))
}

fn infinity(negative: bool, text: &[u8]) -> Option<f32> {
    let named = text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity");
    named.then_some(if negative {
        f32::NEG_INFINITY
    } else {
        f32::INFINITY
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_told_from_text() {
        for (text, value) in [
            ("0", 0.0),
            ("-0.5", -0.5),
            ("+3", 3.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-2", 0.01),
            ("16777217", 16_777_216.0),
            ("0.10000000149011612", 0.1),
            ("123456789012345678901234567890", 1.234_567_9e29),
            ("1e-60", 0.0),
            ("inf", f32::INFINITY),
            ("-Infinity", f32::NEG_INFINITY),
            ("1e39", f32::INFINITY),
            ("1e99999999999999999999", f32::INFINITY),
        ] {
            assert_eq!(parse_f32(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1,5", "1 2", "0x1", "1.2.3", "--1", "nan", "1_0",
        ] {
            assert_eq!(parse_f32(text.as_bytes()), None, "{text}");
            assert!(!is_plain_number(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn missing_is_recognised() {
        let markers = Markers::new(&["-999".to_owned()]);
        for text in ["", "NA", "nan", "NULL", "?"] {
            assert_eq!(
                Cell::Text(text.as_bytes()).value(&markers),
                Value::Missing,
                "{text}"
            );
        }
        assert_eq!(Cell::Number(f64::NAN).value(&markers), Value::Missing);
        assert_eq!(Cell::Word(b"12").value(&markers), Value::Text("12".into()));
        assert_eq!(Cell::Word(b"12").numeric(&markers), Value::Number(12.0));
        assert_eq!(Cell::Escaped(b"a\"\"b").text(), "a\"b");
        for cell in [
            Cell::Text(b"-999.0"),
            Cell::Number(-999.0),
            Cell::Integer(-999),
        ] {
            assert_eq!(cell.value(&markers), Value::Missing, "{cell:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_agrees_with_the_standard_library(
            mantissa in any::<u64>(), shift in 0u32..64, point in 0usize..22, exponent in -60i32..60,
        ) {
            let digits = (mantissa >> shift).to_string();
            let point = point.min(digits.len());
            for text in [
                format!("{}.{}", &digits[..point], &digits[point..]),
                format!("-{}.{}e{exponent}", &digits[..point], &digits[point..]),
                format!("{digits}e{exponent}"),
            ] {
                let expected: f32 = text.parse().unwrap();
                prop_assert!(!is_plain_number(text.as_bytes()) || expected.is_finite());
                prop_assert_eq!(parse_f32(text.as_bytes()).unwrap().to_bits(), expected.to_bits());
            }
        }

        #[test]
        fn every_float_reads_back(bits in any::<u32>(), wide in any::<f64>()) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse_f32(format!("{value}").as_bytes()).unwrap().to_bits(), bits);
            prop_assert_eq!(parse_f32(format!("{value:e}").as_bytes()).unwrap().to_bits(), bits);
            prop_assume!(wide.is_finite());
            let text = format!("{wide:e}");
            prop_assert_eq!(parse_f32(text.as_bytes()), text.parse().ok());
        }
    }
}
