//! What the trees learn: for each row a weight of some classes.

use crate::error::{Error, Result, check_length, setting};

/// Entries of a row below this share of its largest are dropped.
const TINY: f32 = 1e-3;

/// Soft targets: for each row some classes with a weight. The sum of a row's weights says how much the row counts;
/// a row without weight is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    n_classes: usize,
    /// Where the entries of each row start, and where the last ones end.
    starts: Vec<usize>,
    classes: Vec<u16>,
    weights: Vec<f32>,
}

impl Targets {
    /// The most classes there may be.
    pub const MAX_CLASSES: usize = u16::MAX as usize - 1;

    /// One class for each row, and weight 1.
    pub fn hard(classes: &[usize], n_classes: usize) -> Result<Self> {
        let mut targets = Self::empty(n_classes)?;
        for &class in classes {
            if class >= n_classes {
                return Err(setting(
                    "a class",
                    class as f64,
                    "below the number of classes",
                ));
            }
            targets.classes.push(class as u16);
            targets.weights.push(1.0);
            targets.starts.push(targets.classes.len());
        }
        Ok(targets)
    }

    /// Shares of the classes, `n_classes` to a row, times the row's weight. Shares below a thousandth of the row's
    /// largest are dropped, and the others make up for them.
    pub fn soft(shares: &[f32], weights: &[f32], n_classes: usize) -> Result<Self> {
        let mut targets = Self::empty(n_classes)?;
        check_length(
            "shares of the classes",
            shares.len(),
            weights.len() * n_classes,
        )?;
        for (what, values) in [
            ("shares of the classes", shares),
            ("weights of the rows", weights),
        ] {
            let wrong = |value: &f32| !(0.0..=1e6).contains(value);
            if let Some(index) = values.iter().position(wrong) {
                return Err(Error::NotFinite {
                    what: what.to_owned(),
                    index,
                    found: f64::from(values[index]),
                    max: 1e6,
                    hint: "targets and weights are at least 0",
                });
            }
        }
        for (row, &weight) in shares.chunks_exact(n_classes).zip(weights) {
            let limit = TINY * row.iter().fold(0.0, |most: f32, &share| most.max(share));
            let kept = |share: f32| share > 0.0 && share >= limit;
            let sum = |shares: &mut dyn Iterator<Item = f32>| shares.map(f64::from).sum::<f64>();
            let all = sum(&mut row.iter().copied());
            let rest = sum(&mut row.iter().copied().filter(|&share| kept(share)));
            let factor = f64::from(weight) * all / rest;
            for (class, &share) in row.iter().enumerate() {
                let entry = (f64::from(share) * factor) as f32;
                if kept(share) && entry > 0.0 {
                    targets.classes.push(class as u16);
                    targets.weights.push(entry);
                }
            }
            targets.starts.push(targets.classes.len());
        }
        Ok(targets)
    }

    fn empty(n_classes: usize) -> Result<Self> {
        if !(2..=Self::MAX_CLASSES).contains(&n_classes) {
            return Err(setting("classes", n_classes as f64, "2 to 65534"));
        }
        Ok(Self {
            n_classes,
            starts: vec![0],
            classes: Vec::new(),
            weights: Vec::new(),
        })
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The classes of a row and their weights.
    pub fn row(&self, row: usize) -> (&[u16], &[f32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.classes[range.clone()], &self.weights[range])
    }

    /// The rows that count.
    pub(crate) fn used(&self) -> Vec<u32> {
        let rows = 0..self.n_rows();
        rows.filter(|&row| self.starts[row] < self.starts[row + 1])
            .map(|row| row as u32)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_shares_are_dropped_and_the_weight_is_kept() {
        let shares = [0.5, 0.4999, 0.0001, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let targets = Targets::soft(&shares, &[2.0, 1.0, 0.0], 3).unwrap();
        let (classes, weights) = targets.row(0);
        assert_eq!(classes, [0, 1]);
        assert!((weights.iter().sum::<f32>() - 2.0).abs() < 1e-6);
        assert_eq!(targets.row(1), (&[][..], &[][..]));
        assert_eq!(targets.row(2), (&[][..], &[][..]));
        assert_eq!(targets.used(), [0]);
    }

    #[test]
    fn bad_targets_are_refused() {
        assert!(Targets::hard(&[0, 3], 3).is_err());
        assert!(Targets::hard(&[], 1).is_err());
        assert!(Targets::soft(&[0.5; 4], &[1.0], 2).is_err());
        assert!(Targets::soft(&[0.5, f32::NAN], &[1.0], 2).is_err());
        assert!(Targets::soft(&[0.5, 0.5], &[-1.0], 2).is_err());
    }
}
