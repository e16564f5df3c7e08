//! Classes: `k` of them, the last one negative and never labelled.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The number of classes `k`, at least two.
///
/// Classes are counted from 0. Classes `0..k-1` (the last excluded) are *observed*: some of their
/// rows are labelled. Class `k-1`, the paper's class `k`, is the *negative* meta-class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct ClassCount(pub(crate) usize);

impl ClassCount {
    /// Three classes: the smallest truly multi-class problem, two observed and one negative.
    pub const THREE: Self = Self(3);

    /// Checks that there are at least two classes.
    pub fn new(n_classes: usize) -> Result<Self> {
        if n_classes < 2 {
            return Err(Error::Refused(format!(
                "{n_classes} classes: at least 2 are needed, the observed ones and the negative class last"
            )));
        }
        Ok(Self(n_classes))
    }

    /// The number of classes `k`.
    pub fn get(self) -> usize {
        self.0
    }

    /// The number of observed classes `k - 1`.
    pub fn n_observed(self) -> usize {
        self.0 - 1
    }

    /// The index of the negative class, `k - 1` when counted from 0.
    pub fn negative(self) -> usize {
        self.0 - 1
    }

    /// The label of a row known to be of observed class `class`.
    pub fn label(self, class: usize) -> Result<MpuLabel> {
        if class >= self.n_observed() {
            return Err(Error::LabelOutOfRange {
                found: class,
                n_classes: self.0,
            });
        }
        Ok(MpuLabel::Labeled(class))
    }

    /// Checks that no class is beyond the last.
    pub fn check<'a>(self, classes: impl IntoIterator<Item = &'a usize>) -> Result<()> {
        match classes.into_iter().find(|&&class| class >= self.0) {
            Some(&found) => Err(Error::ClassBeyond {
                found,
                n_classes: self.0,
            }),
            None => Ok(()),
        }
    }

    /// The group a row belongs to: its observed class, or `k - 1` for the pool.
    pub fn group(self, label: MpuLabel) -> Result<usize> {
        match label {
            MpuLabel::Labeled(class) => self.label(class).map(|_| class),
            MpuLabel::Unlabeled => Ok(self.negative()),
        }
    }

    /// The rows of every group in ascending order: the observed classes one by one, then the pool.
    pub fn rows_by_group(self, labels: &[MpuLabel]) -> Result<Vec<Vec<usize>>> {
        let mut groups = vec![Vec::new(); self.0];
        for (row, &label) in labels.iter().enumerate() {
            groups[self.group(label)?].push(row);
        }
        Ok(groups)
    }
}

/// The class of the largest score; the lowest class on a tie, and 0 if there is no score.
pub fn top_class<T: PartialOrd>(scores: &[T]) -> usize {
    let better = |best, class| {
        if scores[class] > scores[best] {
            class
        } else {
            best
        }
    };
    (0..scores.len()).fold(0, better)
}

impl TryFrom<usize> for ClassCount {
    type Error = Error;

    fn try_from(n_classes: usize) -> Result<Self> {
        Self::new(n_classes)
    }
}

impl From<ClassCount> for usize {
    fn from(classes: ClassCount) -> Self {
        classes.get()
    }
}

/// What a learner may know of one row: its observed class, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MpuLabel {
    /// A labelled row of this observed class, counted from 0.
    Labeled(usize),
    /// A row of the unlabelled pool.
    Unlabeled,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;

    #[test]
    fn two_classes_are_the_fewest() {
        check_message(ClassCount::new(1), "1 classes: at least 2 are needed");
        let binary = ClassCount::new(2).unwrap();
        assert_eq!((binary.n_observed(), binary.negative()), (1, 1));
    }

    #[test]
    fn the_negative_class_cannot_be_labeled() {
        let classes = ClassCount::new(4).unwrap();
        assert_eq!(classes.label(2), Ok(MpuLabel::Labeled(2)));
        let told = "label 3 is out of range: with 4 classes the observed ones are 0 to 2";
        check_message(classes.label(3), told);
    }

    #[test]
    fn rows_are_grouped_in_order() {
        let classes = ClassCount::new(3).unwrap();
        let (one, pool) = (MpuLabel::Labeled(1), MpuLabel::Unlabeled);
        let groups = classes.rows_by_group(&[pool, one, pool, one]).unwrap();
        assert_eq!(groups, [vec![], vec![1, 3], vec![0, 2]]);
        assert!(classes.rows_by_group(&[MpuLabel::Labeled(2)]).is_err());
    }

    #[test]
    fn the_lowest_class_wins_a_tie() {
        assert_eq!(top_class(&[0.5, 2.0, 2.0]), 1);
        assert_eq!(top_class(&[-1.0_f32]), 0);
        assert_eq!(top_class::<f64>(&[]), 0);
    }

    #[test]
    fn a_stored_count_is_checked_again() {
        assert!(serde_json::from_str::<ClassCount>("1").is_err());
        assert_eq!(serde_json::from_str::<ClassCount>("3").unwrap().get(), 3);
    }
}
