//! Datasets: features with their classes, and how test rows are set apart.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, bad_setting};
use crate::features::{Features, not_whole_rows};
use crate::provenance::{Deviation, Provenance};
use crate::seed::{Seed, Stream};
use crate::source::catalog::Part;
use crate::split::draw;

/// Rows of features, each with its true class: what a reader gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The features.
    pub features: Features,
    /// The class of each row, counted from 0.
    pub labels: Vec<usize>,
}

impl Rows {
    /// Checks that every row has a label.
    pub fn new(features: Features, labels: Vec<usize>) -> Result<Self> {
        if features.n_rows() != labels.len() {
            return Err(Error::Refused(format!(
                "{} rows but {} labels: each row needs one",
                features.n_rows(),
                labels.len()
            )));
        }
        Ok(Self { features, labels })
    }

    /// How many rows each class has.
    pub fn class_counts(&self, n_classes: usize) -> Vec<usize> {
        count_classes(&self.labels, n_classes)
    }

    /// The rows of `self` and then those of `other`.
    pub fn concat(self, other: &Self) -> Result<Self> {
        let shape = self.features.shape();
        if shape != other.features.shape() {
            return Err(not_whole_rows(other.features.values().len(), shape));
        }
        let mut values = self.features.into_values();
        values.extend_from_slice(other.features.values());
        let mut labels = self.labels;
        labels.extend_from_slice(&other.labels);
        Self::new(Features::new(values, shape)?, labels)
    }

    /// The given rows, in the given order. Panics if one does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select(rows),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }
}

/// How many of `labels` each class has; labels of other classes are not counted.
pub fn count_classes(labels: &[usize], n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    for &label in labels {
        if let Some(count) = counts.get_mut(label) {
            *count += 1;
        }
    }
    counts
}

/// Checks that no label is beyond the number of classes.
pub(crate) fn check_classes(labels: &[usize], n_classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label >= n_classes) {
        None => Ok(()),
        Some(row) => Err(Error::Refused(format!(
            "row {row} has class {}: with {n_classes} classes only 0 to {} exist",
            labels[row],
            n_classes.saturating_sub(1)
        ))),
    }
}

/// Features with classes, class names and provenance.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    rows: Rows,
    class_names: Vec<String>,
    provenance: Provenance,
}

impl Dataset {
    /// Checks that every label has a class name.
    pub fn new(rows: Rows, class_names: Vec<String>, provenance: Provenance) -> Result<Self> {
        check_classes(&rows.labels, class_names.len())?;
        Ok(Self {
            rows,
            class_names,
            provenance,
        })
    }

    /// The features.
    pub fn features(&self) -> &Features {
        &self.rows.features
    }

    /// The features, to be scaled in place.
    pub fn features_mut(&mut self) -> &mut Features {
        &mut self.rows.features
    }

    /// The true class of each row, counted from 0 in the dataset's own numbering.
    pub fn labels(&self) -> &[usize] {
        &self.rows.labels
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.labels.len()
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.class_names.len()
    }

    /// The class names, class 0 first.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        self.rows.class_counts(self.n_classes())
    }

    /// Where the rows came from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// How the test rows are set apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holdout {
    /// The test part as published.
    Published,
    /// A random share of all rows, drawn with the split's seed.
    Drawn {
        /// The share of the rows, more than 0 and less than 1.
        share: f64,
    },
}

impl Holdout {
    /// The paper's rule for sets without a test part of their own, and for the UCI tables: 80/20.
    pub const EIGHTY_TWENTY: Self = Self::Drawn { share: 0.2 };
}

/// A training and a test dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainTest {
    /// The training rows.
    pub train: Dataset,
    /// The test rows.
    pub test: Dataset,
    /// How the test rows were set apart.
    pub holdout: Holdout,
    /// For a drawn test part, the rows of the whole table that are in it, ascending; else empty.
    pub drawn_test_rows: Vec<usize>,
}

impl TrainTest {
    /// Draws the test part out of a whole table, from the second stream of [`Stream::Split`].
    pub fn draw(whole: &Dataset, share: f64, seed: Seed) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(bad_setting(
                "test share",
                share,
                "more than 0 and less than 1",
            ));
        }
        let n_rows = whole.n_rows();
        let n_test = (n_rows as f64 * share).round() as usize;
        let mut rng = seed.stream_at(Stream::Split, 1);
        let (test_rows, train_rows) = draw::choose((0..n_rows).collect(), n_test, &mut rng);
        let part = |rows: &[usize]| Dataset {
            rows: whole.rows.select(rows),
            class_names: whole.class_names.clone(),
            provenance: whole.provenance.clone(),
        };
        Ok(Self {
            train: part(&train_rows),
            test: part(&test_rows),
            holdout: Holdout::Drawn { share },
            drawn_test_rows: test_rows,
        })
    }

    /// About `n_rows` training and `n_rows` test rows: the first of each class, in proportion, at
    /// least one. Marked as a subset where rows were left out.
    pub fn first_of_each_class(&self, n_rows: usize) -> Result<Self> {
        if n_rows == 0 {
            return Err(bad_setting("max-rows", "0", "at least 1"));
        }
        let cut = |whole: &Dataset, part: Part| {
            let published = whole.n_rows();
            if published <= n_rows {
                return whole.clone();
            }
            let share = n_rows as f64 / published as f64;
            let quota = |&n: &usize| (n as f64 * share).round().max(1.0) as usize;
            let mut left: Vec<usize> = whole.class_counts().iter().map(quota).collect();
            let mut keep = |&row: &usize| {
                let left = &mut left[whole.labels()[row]];
                let keep = *left > 0;
                *left -= usize::from(keep);
                keep
            };
            let rows: Vec<usize> = (0..published).filter(|row| keep(row)).collect();
            let mut provenance = whole.provenance.clone();
            provenance.deviations.push(Deviation::Subset {
                part,
                published,
                found: rows.len(),
            });
            Dataset {
                rows: whole.rows.select(&rows),
                class_names: whole.class_names.clone(),
                provenance,
            }
        };
        Ok(Self {
            train: cut(&self.train, Part::Train),
            test: cut(&self.test, Part::Test),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::check_message;
    use crate::features::Shape;
    use crate::provenance::Origin;

    fn whole(n_rows: usize) -> Dataset {
        let values = (0..n_rows).map(|i| i as f32).collect();
        let rows = Rows::new(
            Features::new(values, Shape::Vector(1)).unwrap(),
            (0..n_rows).map(|i| i % 2).collect(),
        );
        let provenance = Provenance {
            name: "own".into(),
            origin: Origin::OwnFile,
            folder: None,
            deviations: vec![],
        };
        Dataset::new(rows.unwrap(), vec!["a".into(), "b".into()], provenance).unwrap()
    }

    #[test]
    fn a_drawn_test_part_takes_each_row_once() {
        let whole = whole(103);
        let parts = TrainTest::draw(&whole, 0.2, Seed(3)).unwrap();
        assert_eq!((parts.train.n_rows(), parts.test.n_rows()), (82, 21));
        let mut all: Vec<f32> = [&parts.train, &parts.test]
            .iter()
            .flat_map(|part| part.features().values().to_vec())
            .collect();
        all.sort_by(f32::total_cmp);
        assert_eq!(all, whole.features().values());
        assert_eq!(parts, TrainTest::draw(&whole, 0.2, Seed(3)).unwrap());
        assert_ne!(parts, TrainTest::draw(&whole, 0.2, Seed(4)).unwrap());
        assert!(TrainTest::draw(&whole, 1.0, Seed(3)).is_err());
    }

    #[test]
    fn a_cut_keeps_the_first_rows_of_each_class_and_says_so() {
        let parts = TrainTest::draw(&whole(103), 0.2, Seed(3)).unwrap();
        let cut = parts.first_of_each_class(10).unwrap();
        assert_eq!(cut.train.class_counts(), [5, 5]);
        assert_eq!(cut.train.features().row(0), parts.train.features().row(0));
        assert_eq!(cut.train.provenance().mark(), Some("subset"));
        let all = parts.first_of_each_class(1000).unwrap();
        assert_eq!(all, parts);
        assert!(parts.first_of_each_class(0).is_err());
    }

    #[test]
    fn labels_must_fit_rows_and_names() {
        let features = Features::new(vec![0.0; 2], Shape::Vector(1)).unwrap();
        check_message(
            Rows::new(features.clone(), vec![0]),
            "2 rows but 1 labels: each row needs one",
        );
        let rows = Rows::new(features, vec![0, 5]).unwrap();
        let provenance = whole(2).provenance().clone();
        check_message(
            Dataset::new(rows, vec!["a".into()], provenance),
            "row 1 has class 5: with 1 classes only 0 to 0 exist",
        );
    }
}
