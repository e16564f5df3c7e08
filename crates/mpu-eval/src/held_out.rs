//! Checks that blocks of scores and probabilities share: whole rows, as many as labels, usable numbers.

use mpu_data::{ClassCount, MpuLabel, bad_setting, mismatch};

use crate::error::{Error, Result};

/// What numbers of a block are, and so which of them are allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Block {
    Score,
    Probability,
}

impl Block {
    /// What a number is called, and which are allowed.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Score => ("score", "a finite number"),
            Self::Probability => ("probability", "between 0 and 1"),
        }
    }

    fn allows(self, value: f64) -> bool {
        match self {
            Self::Score => value.is_finite(),
            // Sums of roundings are let through.
            Self::Probability => (-1e-9..=1.0 + 1e-9).contains(&value),
        }
    }

    /// Checks a row-major block of `k` numbers a row; its number of rows.
    pub(crate) fn rows<T: Copy + Into<f64>>(
        self,
        classes: ClassCount,
        values: &[T],
    ) -> Result<usize> {
        let k = classes.get();
        if !values.len().is_multiple_of(k) {
            return Err(mismatch(
                "length of a block of rows",
                values.len(),
                format!("a multiple of the number of classes {k} is needed"),
            ));
        }
        for (at, &value) in values.iter().enumerate() {
            let value: f64 = value.into();
            if !self.allows(value) {
                let (what, allowed) = self.words();
                let name = format!("{what} of row {}, column {}", at / k, at % k);
                return Err(bad_setting(name, value, allowed));
            }
        }
        Ok(values.len() / k)
    }

    /// Checks a block against the labels of its rows.
    pub(crate) fn labeled_rows<T: Copy + Into<f64>>(
        self,
        classes: ClassCount,
        labels: &[MpuLabel],
        values: &[T],
    ) -> Result<()> {
        let rows = self.rows(classes, values)?;
        check_labels(classes, labels, rows)
    }
}

/// Checks that there are as many labels as rows and none beyond the observed classes.
pub(crate) fn check_labels(classes: ClassCount, labels: &[MpuLabel], rows: usize) -> Result<()> {
    if labels.len() != rows {
        return Err(mismatch(
            "number of held-out rows",
            rows,
            format!("there are {} labels", labels.len()),
        ));
    }
    for label in labels {
        if let MpuLabel::Labeled(class) = *label {
            classes.label(class)?;
        }
    }
    Ok(())
}

/// Checks true classes against the number of rows and of classes.
pub(crate) fn check_truths(classes: ClassCount, truths: &[usize], rows: usize) -> Result<()> {
    if truths.len() != rows {
        return Err(Error::LengthMismatch {
            truths: truths.len(),
            predictions: rows,
        });
    }
    Ok(classes.check(truths)?)
}
