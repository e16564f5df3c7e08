//! What a run trains on and is judged by: rows and labels.

use mpu_data::dataset::TrainTest;
use mpu_data::prep::{Scaler, Scaling};
use mpu_data::split::Split;
use mpu_data::{ClassCount, Features, MpuLabel, mismatch};

use crate::error::Result;

/// Rows with what a learner may know of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The rows.
    pub features: Features,
    /// What is known of each.
    pub labels: Vec<MpuLabel>,
}

/// Rows with their true classes, for judging only.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The rows.
    pub features: Features,
    /// The class of each, the negative one last.
    pub classes: Vec<usize>,
}

/// An MPU problem: rows of so many classes. Its class priors are no part of it: they are what a
/// [`Run`](crate::Run) is told of the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    classes: ClassCount,
    train: Sample,
    validation: Option<Sample>,
    test: Option<Judged>,
    /// The true class of every training row, where it is known: for the supervised limit and for
    /// columns named `oracle`.
    oracle: Option<Vec<usize>>,
    /// What another model says of the pool's training rows, `k` to a row.
    targets: Option<Vec<f32>>,
}

impl Problem {
    /// Checks that labels fit rows and classes, and that there is a pool.
    pub fn new(classes: ClassCount, train: Sample) -> Result<Self> {
        check_sample("the training rows", &train, classes)?;
        if !train.labels.contains(&MpuLabel::Unlabeled) {
            let n_rows = train.labels.len();
            return Err(mpu_risk::Error::NoUnlabeled { n_rows }.into());
        }
        Ok(Self {
            classes,
            train,
            validation: None,
            test: None,
            oracle: None,
            targets: None,
        })
    }

    /// Adds held-out rows of the labelled groups and of the pool.
    pub fn with_validation(mut self, validation: Sample) -> Result<Self> {
        check_sample("the validation rows", &validation, self.classes)?;
        self.check_shape("the validation rows", &validation.features)?;
        self.validation = Some(validation);
        Ok(self)
    }

    /// Adds test rows with their true classes.
    pub fn with_test(mut self, test: Judged) -> Result<Self> {
        check_classes(
            "the test rows",
            &test.classes,
            test.features.n_rows(),
            self.classes,
        )?;
        self.check_shape("the test rows", &test.features)?;
        self.test = Some(test);
        Ok(self)
    }

    /// Adds the true class of every training row.
    pub fn with_oracle(mut self, oracle: Vec<usize>) -> Result<Self> {
        check_classes(
            "the true classes",
            &oracle,
            self.train.labels.len(),
            self.classes,
        )?;
        self.oracle = Some(oracle);
        Ok(self)
    }

    /// Adds how probable each class is for each training row of the pool, `k` to a row in their order, as another model
    /// says that has not seen the row. Self-training then learns these instead of targets of its own.
    pub fn with_targets(mut self, targets: Vec<f32>) -> Result<Self> {
        let labels = &self.train.labels;
        let pool = labels.iter().filter(|l| **l == MpuLabel::Unlabeled).count();
        let needed = pool * self.classes.get();
        let probable = |target: &f32| (0.0..=1.0).contains(target);
        if targets.len() != needed || !targets.iter().all(probable) {
            let needed = format!("the pool needs {needed} probabilities");
            return Err(mismatch("targets", targets.len(), needed));
        }
        self.targets = Some(targets);
        Ok(self)
    }

    /// The problem that a split of a dataset makes, scaled by what its training rows say.
    pub fn of(data: &TrainTest, split: &Split, scaling: Scaling) -> Result<(Self, Scaler)> {
        let train_rows = split.train_rows();
        let scaler = scaling.fit(data.train.features(), &train_rows)?;
        let take = |features: &Features, rows: &[usize]| -> Result<Features> {
            let mut selected = features.select(rows);
            scaler.apply(&mut selected)?;
            Ok(selected)
        };
        let (rows, labels, oracle) = in_row_order(&split.labeled, &split.pool, &split.oracle.pool);
        let train = Sample {
            features: take(data.train.features(), &rows)?,
            labels,
        };
        let mut problem = Self::new(split.priors.classes(), train)?.with_oracle(oracle)?;
        if !split.validation.pool.is_empty() {
            let held = &split.validation;
            let (rows, labels, _) =
                in_row_order(&held.labeled, &held.pool, &split.oracle.validation_pool);
            let features = take(data.train.features(), &rows)?;
            problem = problem.with_validation(Sample { features, labels })?;
        }
        let features = take(data.test.features(), &split.test.rows)?;
        let test = Judged {
            features,
            classes: split.test.classes.clone(),
        };
        Ok((problem.with_test(test)?, scaler))
    }

    /// The number of classes.
    pub fn classes(&self) -> ClassCount {
        self.classes
    }

    /// The training rows.
    pub fn train(&self) -> &Sample {
        &self.train
    }

    /// The validation rows, if any were held out.
    pub fn validation(&self) -> Option<&Sample> {
        self.validation.as_ref()
    }

    /// The test rows, if there are any.
    pub fn test(&self) -> Option<&Judged> {
        self.test.as_ref()
    }

    /// The true class of every training row, if known.
    pub fn oracle(&self) -> Option<&[usize]> {
        self.oracle.as_deref()
    }

    /// What another model says of the pool's training rows, if it was asked.
    pub fn targets(&self) -> Option<&[f32]> {
        self.targets.as_deref()
    }

    fn check_shape(&self, what: &'static str, features: &Features) -> Result<()> {
        let (found, needed) = (features.shape(), self.train.features.shape());
        if found == needed {
            return Ok(());
        }
        let needed = format!("training rows have {needed}");
        Err(mismatch(what, format!("shape {found}"), needed))
    }
}

/// All rows of the groups in ascending order, so that a problem does not depend on how its groups
/// are listed: rows, what is known of each, and the hidden truth.
fn in_row_order(
    labeled: &[Vec<usize>],
    pool: &[usize],
    hidden: &[usize],
) -> (Vec<usize>, Vec<MpuLabel>, Vec<usize>) {
    let mut all: Vec<(usize, MpuLabel, usize)> = Vec::new();
    for (class, rows) in labeled.iter().enumerate() {
        all.extend(
            rows.iter()
                .map(|&row| (row, MpuLabel::Labeled(class), class)),
        );
    }
    all.extend(
        pool.iter()
            .zip(hidden)
            .map(|(&row, &class)| (row, MpuLabel::Unlabeled, class)),
    );
    all.sort_unstable_by_key(|&(row, ..)| row);
    let rows = all.iter().map(|&(row, ..)| row).collect();
    let labels = all.iter().map(|&(_, label, _)| label).collect();
    (rows, labels, all.iter().map(|&(.., class)| class).collect())
}

fn check_sample(what: &'static str, sample: &Sample, classes: ClassCount) -> Result<()> {
    check_len(what, sample.labels.len(), sample.features.n_rows())?;
    for label in &sample.labels {
        if let MpuLabel::Labeled(class) = *label {
            classes.label(class)?;
        }
    }
    Ok(())
}

fn check_classes(
    what: &'static str,
    truths: &[usize],
    n_rows: usize,
    classes: ClassCount,
) -> Result<()> {
    check_len(what, truths.len(), n_rows)?;
    Ok(classes.check(truths)?)
}

fn check_len(what: &'static str, found: usize, rows: usize) -> Result<()> {
    if found == rows {
        return Ok(());
    }
    let needed = format!("there are {rows} rows");
    Err(mismatch(what, format!("{found} labels"), needed))
}
