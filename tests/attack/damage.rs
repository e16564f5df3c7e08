//! Damage to bytes and to text.

use crate::family::Draw;

/// What a reader may trip over, in place of a number or a word.
const WORDS: [&str; 24] = [
    "",
    "nan",
    "-inf",
    "1e400",
    "-1",
    "0",
    "99999999999999999999",
    "1e-320",
    "0x10",
    "1,5",
    "\"",
    "\\",
    "\0",
    "null",
    "true",
    "[]",
    "{}",
    "[[[[[[[[",
    "\u{feff}",
    "=1+1",
    "\u{1b}[31m",
    "../../x",
    "18446744073709551616",
    "e\u{301}",
];

/// Damages a file in one to four places; a part of `other` may come into it.
pub(crate) fn damaged(draw: &mut Draw, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=draw.below(4) {
        let at = draw.below(bytes.len());
        let len = 1 + draw.below(64);
        let end = (at + len).min(bytes.len());
        match draw.below(10) {
            0 | 1 if !bytes.is_empty() => bytes[at] = draw.byte(),
            2 if !bytes.is_empty() => bytes[at] ^= 1 << draw.below(8),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let part = bytes[at..end].to_vec();
                let to = draw.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            6 => {
                let from = draw.below(other.len());
                let part = other[from..(from + len).min(other.len())].to_vec();
                bytes.splice(at..end, part);
            }
            7 => {
                let part = bytes[at..end].repeat(1 + draw.below(200));
                bytes.splice(at..at, part);
            }
            _ => {
                // A whole token.
                let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
                let start = bytes[..at]
                    .iter()
                    .rposition(|b| !is_word(b))
                    .map_or(0, |i| i + 1);
                let rest = bytes[start..].iter().position(|b| !is_word(b));
                let end = rest.map_or(bytes.len(), |n| start + n);
                bytes.splice(start..end, draw.of(&WORDS).bytes());
            }
        }
    }
    bytes
}
