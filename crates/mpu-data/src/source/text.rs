//! The text formats of the benchmarks: one row a line, the class first, last, or as one-hot columns.

use crate::dataset::Rows;
use crate::error::{Error, Result};
use crate::features::{Features, Shape};
use crate::source::unpack::{Limit, gunzip};

/// Which of the four text layouts a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `zip.train`, `zip.test` of "The Elements of Statistical Learning": the digit, then 256 pixels
    /// of a 16×16 image in [-1, 1], between blanks.
    ZipCode,
    /// `semeion.data`: 256 pixels of a 16×16 image as 0 or 1, then ten one-hot columns, between blanks.
    Semeion,
    /// `pendigits.tra`, `pendigits.tes`: 16 numbers, then the digit, between commas.
    Pendigits,
    /// `waveform.data`: 21 numbers, then the class 0 to 2, between commas.
    Waveform,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 4] = [
        Self::ZipCode,
        Self::Semeion,
        Self::Pendigits,
        Self::Waveform,
    ];

    /// The shape of a row.
    pub fn shape(self) -> Shape {
        match self {
            Self::ZipCode | Self::Semeion => Shape::image(1, 16, 16),
            Self::Pendigits => Shape::Vector(16),
            Self::Waveform => Shape::Vector(21),
        }
    }

    /// The number of classes.
    pub fn n_classes(self) -> usize {
        match self {
            Self::Waveform => 3,
            _ => 10,
        }
    }

    fn separator(self) -> Separator {
        match self {
            Self::ZipCode | Self::Semeion => Separator::Blanks,
            Self::Pendigits | Self::Waveform => Separator::Comma,
        }
    }

    fn n_fields(self) -> usize {
        self.shape().len() + if self == Self::Semeion { 10 } else { 1 }
    }
}

enum Separator {
    Blanks,
    Comma,
}

/// Reads a text file of the given layout, gzipped or not. Empty lines are skipped; line ends may be
/// LF or CRLF.
pub fn read(name: &str, bytes: &[u8], layout: Layout, limit: Limit) -> Result<Rows> {
    let bytes = gunzip(name, bytes, limit)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Error::bytes(name, error.valid_up_to() as u64, "not text"))?;
    let mut rows = Builder {
        name,
        layout,
        limit,
        values: Vec::new(),
        labels: Vec::new(),
    };
    let mut fields: Vec<&str> = Vec::with_capacity(layout.n_fields());
    for (line, content) in text.lines().enumerate() {
        fields.clear();
        match layout.separator() {
            Separator::Blanks => fields.extend(content.split_ascii_whitespace()),
            Separator::Comma if content.trim().is_empty() => {}
            Separator::Comma => fields.extend(content.split(',').map(str::trim)),
        }
        if !fields.is_empty() {
            rows.push(line + 1, &fields)?;
        }
    }
    if rows.labels.is_empty() {
        return Err(Error::bytes(
            name,
            bytes.len() as u64,
            "no row in the whole file",
        ));
    }
    Rows::new(Features::new(rows.values, layout.shape())?, rows.labels)
}

struct Builder<'a> {
    name: &'a str,
    layout: Layout,
    limit: Limit,
    values: Vec<f32>,
    labels: Vec<usize>,
}

impl Builder<'_> {
    fn push(&mut self, line: usize, fields: &[&str]) -> Result<()> {
        if fields.len() != self.layout.n_fields() {
            return Err(self.field(
                line,
                &format!("{} fields", fields.len()),
                &format!("a row of {} fields", self.layout.n_fields()),
            ));
        }
        let n_features = self.layout.shape().len();
        let (features, class) = match self.layout {
            Layout::ZipCode => (&fields[1..], self.class(line, fields[0])?),
            Layout::Semeion => (
                &fields[..n_features],
                self.one_hot(line, &fields[n_features..])?,
            ),
            Layout::Pendigits | Layout::Waveform => {
                (&fields[..n_features], self.class(line, fields[n_features])?)
            }
        };
        let taken = (self.values.len() + n_features) * size_of::<f32>();
        self.limit.check(self.name, "the table", taken as u64)?;
        for &field in features {
            let value = self.number(line, field)?;
            self.values.push(value);
        }
        self.labels.push(class);
        Ok(())
    }

    fn number(&self, line: usize, field: &str) -> Result<f32> {
        match field.parse::<f32>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.field(line, field, "a number")),
        }
    }

    /// A class is a whole number, perhaps written `6.0000`.
    fn class(&self, line: usize, field: &str) -> Result<usize> {
        let value = self.number(line, field)?;
        let n_classes = self.layout.n_classes();
        if value.fract() != 0.0 || value < 0.0 || value >= n_classes as f32 {
            let allowed = format!("a class from 0 to {}", n_classes - 1);
            return Err(self.field(line, field, &allowed));
        }
        Ok(value as usize)
    }

    fn one_hot(&self, line: usize, fields: &[&str]) -> Result<usize> {
        let mut class = None;
        for (position, &field) in fields.iter().enumerate() {
            match self.number(line, field)? {
                0.0 => {}
                1.0 if class.is_none() => class = Some(position),
                _ => return Err(self.field(line, field, "exactly one 1 among ten columns")),
            }
        }
        class.ok_or_else(|| self.field(line, "ten zeros", "exactly one 1 among ten columns"))
    }

    fn field(&self, line: usize, found: &str, allowed: &str) -> Error {
        let found: String = found.chars().take(40).collect();
        Error::Refused(format!(
            "{}: line {line}: found {found:?} where {allowed} is expected",
            self.name
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    fn check(layout: Layout, text: &str) -> Result<Rows> {
        read("f", text.as_bytes(), layout, Limit::DEFAULT)
    }

    #[test]
    fn each_layout_is_read() {
        let zip = format!("6.0000 {}-1.000 \n", "0.5 ".repeat(255));
        let rows = check(Layout::ZipCode, &zip).unwrap();
        assert_eq!((rows.labels[0], rows.features.row(0)[255]), (6, -1.0));

        let semeion = format!("{}0 0 1 0 0 0 0 0 0 0 \r\n", "1.0000 ".repeat(256)).repeat(2);
        let rows = check(Layout::Semeion, &semeion).unwrap();
        assert_eq!(rows.labels, [2, 2]);

        let pendigits = format!("{} 100, 8\n\n", " 47,".repeat(15));
        let rows = check(Layout::Pendigits, &pendigits).unwrap();
        assert_eq!((rows.labels[0], rows.features.row(0)[15]), (8, 100.0));

        let waveform = format!("{}2", "-0.25,".repeat(21));
        let rows = check(Layout::Waveform, &waveform).unwrap();
        assert_eq!((rows.labels[0], rows.features.row(0)[0]), (2, -0.25));
    }

    #[test]
    fn a_bad_field_is_named_with_its_line() {
        let row = format!("{}2\n", "-0.25,".repeat(21));
        for (bad, expected) in [
            (
                format!("{row}1,2\n"),
                "line 2: found \"2 fields\" where a row of 22 fields",
            ),
            (
                format!("{row}{}3\n", "0,".repeat(21)),
                "found \"3\" where a class from 0 to 2",
            ),
            (
                format!("{row}{}1.5\n", "0,".repeat(21)),
                "where a class from 0 to 2",
            ),
            (
                format!("{row}{}x,1\n", "0,".repeat(20)),
                "line 2: found \"x\" where a number",
            ),
            (format!("{row}{}nan,1\n", "0,".repeat(20)), "where a number"),
            ("\n\n".to_owned(), "no row in the whole file"),
        ] {
            check_message(check(Layout::Waveform, &bad), expected);
        }
        let two = format!("{}0 1 1 0 0 0 0 0 0 0\n", "1 ".repeat(256));
        assert!(check(Layout::Semeion, &two).is_err());
        let none = format!("{}0 0 0 0 0 0 0 0 0 0\n", "1 ".repeat(256));
        assert!(check(Layout::Semeion, &none).is_err());
    }
}
