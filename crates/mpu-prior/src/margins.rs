//! Out-of-fold margins, checked when they are built, and how often each row is counted.

use crate::error::{Error, Result};

/// Whose rows: those labelled with an observed class, or the pool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Group {
    /// Rows labelled with an observed class, counted from 0.
    #[error("labelled rows of class {0}")]
    Class(usize),
    /// The unlabelled pool.
    #[error("the pool")]
    Pool,
}

/// The margins of one group of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Row-major: one margin per observed class and row.
    pub values: Vec<f64>,
    /// The fold of each row: the one whose model gave its margins and had not seen it.
    pub folds: Vec<u32>,
}

impl Rows {
    /// Rows of one margin each that one model gave, which had seen none of them.
    pub fn of_one_fold(values: impl Into<Vec<f64>>) -> Self {
        let values = values.into();
        let folds = vec![0; values.len()];
        Self { values, folds }
    }
}

/// Out-of-fold margins of labelled rows and of the pool.
///
/// Margin `z_j` of a row is large when the row looks like observed class `j`. The bounds and the estimators
/// `moments`, `bbe` and `pen-l1` use only the order of each margin; `km2` and `dedpul` use distances between margins, and
/// `elkan-noto` takes margins for log odds `log P(s = j | x) - log P(s = pool | x)`. A row's margins must come from a model that was not
/// trained on it: a model knows its own training rows, and its labelled rows would score higher than
/// rows of the same class in the pool.
///
/// All margins are finite, every row has one per observed class, and no group is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Margins {
    /// Labelled rows by class, then the pool.
    groups: Vec<Rows>,
    n_folds: usize,
}

impl Margins {
    /// Takes the labelled rows of each observed class and the pool's rows.
    pub fn new(labeled: Vec<Rows>, pool: Rows) -> Result<Self> {
        let width = labeled.len();
        if width == 0 {
            return Err(Error::NoClasses);
        }
        let mut groups = labeled;
        groups.push(pool);
        for (index, rows) in groups.iter().enumerate() {
            check(group_at(index, width), rows, width)?;
        }
        let mut folds: Vec<u32> = groups.iter().flat_map(|rows| rows.folds.clone()).collect();
        folds.sort_unstable();
        folds.dedup();
        // Folds are numbered anew, without gaps.
        for fold in groups.iter_mut().flat_map(|rows| rows.folds.iter_mut()) {
            *fold = folds.partition_point(|known| known < fold) as u32;
        }
        Ok(Self {
            groups,
            n_folds: folds.len(),
        })
    }

    /// The number of observed classes, `k - 1`.
    pub fn n_observed(&self) -> usize {
        self.groups.len() - 1
    }

    /// The number of different folds.
    pub fn n_folds(&self) -> usize {
        self.n_folds
    }

    /// How many rows a group has.
    pub fn n_rows(&self, group: Group) -> usize {
        self.rows(group).folds.len()
    }

    /// The rows of a group; folds are numbered from 0 without gaps.
    ///
    /// # Panics
    ///
    /// If there is no such class.
    pub fn rows(&self, group: Group) -> &Rows {
        &self.groups[self.index(group)]
    }

    /// Margin `class` of every row of a group.
    pub fn margin(&self, group: Group, class: usize) -> impl Iterator<Item = f64> {
        let rows = self.rows(group).values.chunks_exact(self.n_observed());
        rows.map(move |row| row[class])
    }

    /// Every group: the observed classes, then the pool.
    pub fn all_groups(&self) -> impl Iterator<Item = Group> {
        let width = self.n_observed();
        (0..=width).map(move |index| group_at(index, width))
    }

    pub(crate) fn index(&self, group: Group) -> usize {
        match group {
            Group::Class(class) => class,
            Group::Pool => self.n_observed(),
        }
    }
}

fn group_at(index: usize, width: usize) -> Group {
    if index == width {
        Group::Pool
    } else {
        Group::Class(index)
    }
}

fn check(group: Group, rows: &Rows, width: usize) -> Result<()> {
    let (values, folds) = (rows.values.len(), rows.folds.len());
    if values != folds * width {
        return Err(Error::Refused(format!(
            "{group}: {values} margins and {folds} fold numbers: every row needs {width} margins and one fold number"
        )));
    }
    if folds == 0 {
        return Err(Error::Refused(format!(
            "{group} has no rows: at least one is needed"
        )));
    }
    match rows.values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::Refused(format!(
            "{group}, row {}: margin {} is {}: margins must be finite\n\
             hint: take differences of log-softmax values, not logarithms of rounded probabilities",
            at / width,
            at % width,
            rows.values[at]
        ))),
    }
}

/// How often each row is counted: once, or as a bootstrap resample drew it.
///
/// Every estimate is a function of margins and counts, so that a resample needs no copy of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    groups: Vec<Vec<u16>>,
}

impl Counts {
    /// Every row once.
    pub fn once(margins: &Margins) -> Self {
        Self::new(margins, |_, _| 1)
    }

    /// What `count` says of each group and row.
    pub fn new(margins: &Margins, count: impl Fn(Group, usize) -> u16) -> Self {
        let groups = margins.all_groups();
        let groups = groups.map(|group| {
            let rows = 0..margins.n_rows(group);
            rows.map(|row| count(group, row)).collect()
        });
        Self {
            groups: groups.collect(),
        }
    }

    /// The rows of one fold, each once.
    pub fn only_fold(margins: &Margins, fold: usize) -> Self {
        Self::new(margins, |group, row| {
            u16::from(margins.rows(group).folds[row] as usize == fold)
        })
    }

    /// The rows of all folds but one, each once.
    pub fn without_fold(margins: &Margins, fold: usize) -> Self {
        Self::new(margins, |group, row| {
            u16::from(margins.rows(group).folds[row] as usize != fold)
        })
    }

    /// Checks that there is a count for each row and that every group has a row with a count.
    pub fn check(&self, margins: &Margins) -> Result<()> {
        for (index, group) in margins.all_groups().enumerate() {
            let found = self.groups.get(index).map_or(0, Vec::len);
            let drawn = self.groups.get(index).map_or(0, |counts| total(counts));
            let needed = margins.n_rows(group);
            if found != needed || drawn == 0 {
                return Err(Error::Refused(format!(
                    "{group}: counts for {found} rows, of which {drawn} were drawn: {needed} rows, at least one of them drawn, are needed"
                )));
            }
        }
        Ok(())
    }

    /// The counts of the group at an index: observed classes, then the pool.
    pub(crate) fn at(&self, index: usize) -> &[u16] {
        &self.groups[index]
    }

    pub(crate) fn at_mut(&mut self, index: usize) -> &mut [u16] {
        &mut self.groups[index]
    }

    /// How many rows the group at an index has, counted as often as they count.
    pub(crate) fn total(&self, index: usize) -> u64 {
        total(&self.groups[index])
    }
}

fn total(counts: &[u16]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f64], folds: &[u32]) -> Rows {
        Rows {
            values: values.to_vec(),
            folds: folds.to_vec(),
        }
    }

    #[test]
    fn what_is_wrong_with_margins_is_named() {
        let pool = rows(&[0.0, 1.0], &[0]);
        let class = rows(&[1.0, 2.0], &[0]);
        let message =
            |labeled: Vec<Rows>, pool: Rows| Margins::new(labeled, pool).unwrap_err().to_string();
        assert!(message(vec![], pool.clone()).contains("no observed class"));
        let text = message(vec![class.clone(), rows(&[], &[])], pool.clone());
        assert_eq!(
            text,
            "labelled rows of class 1 has no rows: at least one is needed"
        );
        let text = message(vec![class.clone(), rows(&[1.0], &[0])], pool.clone());
        assert!(
            text.contains("1 margins and 1 fold numbers: every row needs 2 margins"),
            "{text}"
        );
        let odd = rows(&[0.0, f64::NAN], &[0]);
        let text = message(vec![class.clone(), class.clone()], odd);
        assert!(text.contains("the pool, row 0: margin 1 is NaN"), "{text}");
        let text = message(vec![class.clone(), class.clone()], rows(&[], &[]));
        assert!(text.contains("the pool has no rows"), "{text}");
    }

    #[test]
    fn folds_are_numbered_without_gaps_and_select_rows() {
        let class = rows(&[1.0, 2.0, 3.0], &[7, 2, 7]);
        let margins = Margins::new(vec![class], rows(&[0.5, 0.6], &[2, 9])).unwrap();
        assert_eq!(margins.n_folds(), 3);
        assert_eq!(margins.rows(Group::Class(0)).folds, [1, 0, 1]);
        assert_eq!(margins.rows(Group::Pool).folds, [0, 2]);
        assert_eq!(Counts::only_fold(&margins, 1).at(0), [1, 0, 1]);
        assert_eq!(Counts::without_fold(&margins, 1).at(0), [0, 1, 0]);
        assert!(Counts::once(&margins).check(&margins).is_ok());
        let text = Counts::only_fold(&margins, 1).check(&margins).unwrap_err();
        assert!(text.to_string().contains("the pool"), "{text}");
    }
}
