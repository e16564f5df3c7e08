//! Which rows of a sample are labelled with what: all that an estimator may know besides scores.

use mpu_data::{ClassCount, MpuLabel, bad_setting};

use crate::error::{Error, Result, check_len};

/// The groups of a sample: the labelled rows of each observed class, and the pool.
///
/// ```
/// use mpu_data::{ClassCount, MpuLabel::{Labeled, Unlabeled}};
/// use mpu_risk::Groups;
///
/// let groups = Groups::new(ClassCount::new(3)?, &[Labeled(0), Labeled(1), Unlabeled, Unlabeled])?;
/// assert_eq!(groups.n_labeled(), [1, 1]);
/// assert_eq!(groups.n_unlabeled(), 2);
/// # Ok::<(), mpu_risk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    classes: ClassCount,
    n_rows: usize,
    /// Rows with a known class, in row order, and their classes.
    labeled_rows: Vec<usize>,
    labeled_classes: Vec<usize>,
    /// Rows of the pool, in row order.
    pool_rows: Vec<usize>,
    /// How many labelled rows each class has: `k-1` entries, or `k` with true labels.
    n_labeled: Vec<usize>,
    oracle: bool,
    /// Soft targets of the pool's rows, `k` to a row; empty without.
    targets: Vec<f64>,
}

impl Groups {
    /// A whole sample: the pool must not be empty. A class without labelled rows contributes
    /// nothing to the risk.
    pub fn new(classes: ClassCount, labels: &[MpuLabel]) -> Result<Self> {
        let groups = Self::batch(classes, labels)?;
        if groups.pool_rows.is_empty() {
            return Err(Error::NoUnlabeled {
                n_rows: groups.n_rows,
            });
        }
        Ok(groups)
    }

    /// A mini-batch: any group may be missing, and then contributes nothing.
    pub fn batch(classes: ClassCount, labels: &[MpuLabel]) -> Result<Self> {
        let mut groups = Self::empty(classes, labels.len(), classes.n_observed())?;
        for (row, &label) in labels.iter().enumerate() {
            match label {
                MpuLabel::Labeled(class) => {
                    classes.label(class)?;
                    groups.add_labeled(row, class);
                }
                MpuLabel::Unlabeled => groups.pool_rows.push(row),
            }
        }
        Ok(groups)
    }

    /// A sample with the true class of every row, negative ones included: for the supervised limit
    /// only.
    pub fn oracle(classes: ClassCount, true_classes: &[usize]) -> Result<Self> {
        let mut groups = Self::empty(classes, true_classes.len(), classes.get())?;
        groups.oracle = true;
        classes.check(true_classes)?;
        for (row, &class) in true_classes.iter().enumerate() {
            groups.add_labeled(row, class);
        }
        Ok(groups)
    }

    /// Gives the pool's rows, in row order, soft targets: `k` numbers of at least 0 a row that sum to
    /// one.
    pub fn with_targets(mut self, targets: Vec<f64>) -> Result<Self> {
        let k = self.classes.get();
        check_len(
            "the list of targets",
            targets.len(),
            self.pool_rows.len() * k,
        )?;
        for row in targets.chunks(k) {
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > 1e-3 || !row.iter().all(|t| *t >= 0.0) {
                return Err(bad_setting(
                    "the sum of a row's targets",
                    sum,
                    "one, of numbers of at least 0",
                ));
            }
        }
        self.targets = targets;
        Ok(self)
    }

    fn empty(classes: ClassCount, n_rows: usize, n_groups: usize) -> Result<Self> {
        if n_rows == 0 {
            return Err(Error::EmptySample);
        }
        Ok(Self {
            classes,
            n_rows,
            labeled_rows: Vec::new(),
            labeled_classes: Vec::new(),
            pool_rows: Vec::new(),
            n_labeled: vec![0; n_groups],
            oracle: false,
            targets: Vec::new(),
        })
    }

    fn add_labeled(&mut self, row: usize, class: usize) {
        self.labeled_rows.push(row);
        self.labeled_classes.push(class);
        self.n_labeled[class] += 1;
    }

    /// The number of classes.
    pub fn classes(&self) -> ClassCount {
        self.classes
    }

    /// The number of rows `n`.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of labelled rows `n_i` of each observed class (of every class with true labels).
    pub fn n_labeled(&self) -> &[usize] {
        &self.n_labeled
    }

    /// The number of unlabelled rows `n_u`.
    pub fn n_unlabeled(&self) -> usize {
        self.pool_rows.len()
    }

    /// Whether the true class of every row was given.
    pub fn is_oracle(&self) -> bool {
        self.oracle
    }

    pub(crate) fn labeled_rows(&self) -> &[usize] {
        &self.labeled_rows
    }

    pub(crate) fn labeled_classes(&self) -> &[usize] {
        &self.labeled_classes
    }

    pub(crate) fn pool_rows(&self) -> &[usize] {
        &self.pool_rows
    }

    /// The soft targets of the pool's rows; empty without.
    pub(crate) fn targets(&self) -> &[f64] {
        &self.targets
    }

    /// The own column of each row: its class, or the negative one for rows of the pool.
    pub(crate) fn columns(&self) -> Vec<u32> {
        let mut columns = vec![self.classes.get() as u32 - 1; self.n_rows];
        for (&row, &class) in self.labeled_rows.iter().zip(&self.labeled_classes) {
            columns[row] = class as u32;
        }
        columns
    }

    pub(crate) fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// The soft targets of every row, `k` to a row; zeros for labelled rows.
    pub(crate) fn row_targets(&self) -> Vec<f64> {
        let k = self.classes.get();
        let mut all = vec![0.0; self.n_rows * k];
        for (&row, targets) in self.pool_rows.iter().zip(self.targets.chunks(k)) {
            all[row * k..(row + 1) * k].copy_from_slice(targets);
        }
        all
    }

    /// The mean of a quantity over the labelled rows of each class; `None` where there is no row.
    pub(crate) fn labeled_means(&self, values: &[f64]) -> Vec<Option<f64>> {
        let mut sums = vec![0.0; self.n_labeled.len()];
        for (&class, &value) in self.labeled_classes.iter().zip(values) {
            sums[class] += value;
        }
        let mean = |(sum, &n): (f64, &usize)| (n > 0).then(|| sum / n as f64);
        sums.into_iter().zip(&self.n_labeled).map(mean).collect()
    }

    pub(crate) fn check_scores(&self, n_rows: usize, n_columns: usize) -> Result<()> {
        if (n_rows, n_columns) != (self.n_rows, self.classes.get()) {
            let (rows, classes) = (self.n_rows, self.classes.get());
            return Err(Error::ScoresMismatch {
                n_rows,
                n_columns,
                rows,
                classes,
            });
        }
        Ok(())
    }
}

/// The mean of a list; `None` if it is empty.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;
    use crate::error::tests::check_message;

    fn three() -> ClassCount {
        ClassCount::new(3).unwrap()
    }

    #[test]
    fn rows_go_to_their_groups() {
        let labels = [Unlabeled, Labeled(1), Unlabeled, Labeled(1), Labeled(0)];
        let groups = Groups::new(three(), &labels).unwrap();
        assert_eq!(groups.labeled_rows(), [1, 3, 4]);
        assert_eq!(groups.labeled_classes(), [1, 1, 0]);
        assert_eq!(groups.pool_rows(), [0, 2]);
        assert_eq!(
            groups.labeled_means(&[1.0, 2.0, 5.0]),
            [Some(5.0), Some(1.5)]
        );
    }

    #[test]
    fn bad_samples_are_refused() {
        check_message(Groups::new(three(), &[]), "the sample has no row");
        let told = "the sample of 1 rows has no unlabelled row";
        check_message(Groups::new(three(), &[Labeled(0)]), told);
        assert!(
            Groups::batch(three(), &[Labeled(0)]).is_ok(),
            "a batch may miss the pool"
        );
        let told = "label 2 is out of range: with 3 classes";
        check_message(Groups::new(three(), &[Labeled(2), Unlabeled]), told);
        assert!(
            Groups::oracle(three(), &[2, 0]).is_ok(),
            "true labels may be negative"
        );
        assert!(Groups::oracle(three(), &[3]).is_err());
    }
}
