//! The drawn groups, their digest and their summary.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::class::MpuLabel;
use crate::dataset::{TrainTest, check_classes, count_classes};
use crate::error::Result;
use crate::priors::Priors;
use crate::seed::Stream;
use crate::source::catalog::Part;
use crate::source::content::hex;
use crate::split::draw::{choose, hold_out};
use crate::split::protocol::{Note, Plan, Protocol, Scenario, SplitSpec};

/// A drawn MPU problem: row numbers by group, ascending within each. Training and validation rows
/// number the training part, test rows the test part. No row is in two groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The choices it was drawn with.
    pub spec: SplitSpec,
    /// Labelled training rows of each observed class.
    pub labeled: Vec<Vec<usize>>,
    /// The unlabelled pool.
    pub pool: Vec<usize>,
    /// Rows held out of the labelled groups and of the pool. Their hidden classes are not used.
    pub validation: Validation,
    /// The test rows and their MPU classes.
    pub test: Group,
    /// What a learner must not see; for the supervised upper limit and for diagnostics only.
    pub oracle: Oracle,
    /// The realised proportions of the pool: what the estimators are given unless told otherwise.
    pub priors: Priors,
    /// The realised proportions of labelled rows and pool together. In a single sample these are
    /// the asked priors, and those of the pool are others.
    pub sample_priors: Priors,
    /// Rows in no group, and why.
    pub dropped: Vec<Dropped>,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// The rows of the whole table that a drawn test part took; empty where the part was published.
    pub drawn_test_rows: Vec<usize>,
    /// The mark of data that is not as published; see [`Provenance::mark`](crate::provenance::Provenance::mark).
    pub data_mark: Option<String>,
}

/// Rows held out for validation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// Labelled rows of each observed class.
    pub labeled: Vec<Vec<usize>>,
    /// Rows of the pool.
    pub pool: Vec<usize>,
}

/// Rows with their MPU classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The rows.
    pub rows: Vec<usize>,
    /// The class of each, the negative one last.
    pub classes: Vec<usize>,
}

/// The hidden classes of unlabelled rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    /// The true MPU class of each row of the pool.
    pub pool: Vec<usize>,
    /// The true MPU class of each validation row of the pool.
    pub validation_pool: Vec<usize>,
}

/// Rows that are in no group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Of which part.
    pub part: Part,
    /// Why.
    pub reason: DropReason,
    /// The rows, ascending.
    pub rows: Vec<usize>,
}

/// Why rows are in no group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// Their class is not among the first `k`.
    ClassNotKept,
    /// Negatives beyond the fifth that was kept; see [`Note::NegativesReduced`].
    NegativesReduced,
    /// More than the asked prior leaves room for.
    ForPrior,
    /// Observed rows outside the single sample.
    OutsideSample,
}

impl Split {
    /// Draws a split of a dataset.
    pub fn of(data: &TrainTest, spec: &SplitSpec) -> Result<Self> {
        let n_classes = data.train.n_classes();
        let mut split = Self::draw(data.train.labels(), data.test.labels(), n_classes, spec)?;
        split.drawn_test_rows.clone_from(&data.drawn_test_rows);
        split.data_mark = data.train.provenance().mark().map(str::to_owned);
        Ok(split)
    }

    /// Draws a split of rows with these true classes, counted from 0 below `n_classes`.
    ///
    /// The groups come from the first stream of [`Stream::Split`]; validation rows from the third,
    /// so that holding rows out does not move the groups they are held out of. From the pool they
    /// are held out class by class, so that both parts keep its priors.
    pub fn draw(
        train_labels: &[usize],
        test_labels: &[usize],
        n_classes: usize,
        spec: &SplitSpec,
    ) -> Result<Self> {
        for labels in [train_labels, test_labels] {
            check_classes(labels, n_classes)?;
        }
        let plan = Plan::new(spec, &count_classes(train_labels, n_classes))?;
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); spec.classes.get()];
        let mut not_kept = Vec::new();
        for (row, &label) in train_labels.iter().enumerate() {
            match plan.mpu_class[label] {
                Some(class) => members[class].push(row),
                None => not_kept.push(row),
            }
        }

        let mut rng = spec.seed.stream(Stream::Split);
        let negative = spec.classes.negative();
        let mut labeled = Vec::new();
        let mut pool_by_class = Vec::new();
        let mut surplus_observed = Vec::new();
        let negatives = members.split_off(negative).pop().unwrap_or_default();
        for (class, rows) in members.into_iter().enumerate() {
            let (pooled, rest) = choose(rows, plan.pool[class], &mut rng);
            let (labels, surplus) = choose(rest, plan.labeled[class], &mut rng);
            pool_by_class.push(pooled);
            labeled.push(labels);
            surplus_observed.extend(surplus);
        }
        let (pooled, surplus_negatives) = choose(negatives, plan.negatives, &mut rng);
        pool_by_class.push(pooled);

        let mut rng = spec.seed.stream_at(Stream::Split, 2);
        let share = |n: usize| (n as f64 * spec.validation_share).floor() as usize;
        let (labeled, validation_labeled) = hold_out(labeled, share, &mut rng);
        let (pool_by_class, validation_pool) = hold_out(pool_by_class, share, &mut rng);
        let priors = proportions(pool_by_class.iter().map(Vec::len))?;
        let sizes = (0..=negative)
            .map(|class| pool_by_class[class].len() + labeled.get(class).map_or(0, Vec::len));
        let sample_priors = proportions(sizes)?;
        let (test, test_dropped) = test_group(test_labels, &plan.mpu_class);
        let pool = merge(&pool_by_class);
        let validation_pool = merge(&validation_pool);

        let negative_reason = match spec.protocol {
            Protocol::FirstK => DropReason::NegativesReduced,
            Protocol::Residual => DropReason::ForPrior,
        };
        let observed_reason = match spec.scenario {
            Scenario::CaseControl => DropReason::ForPrior,
            Scenario::SingleSample => DropReason::OutsideSample,
        };
        let dropped = [
            (Part::Train, DropReason::ClassNotKept, not_kept),
            (Part::Train, negative_reason, surplus_negatives),
            (Part::Train, observed_reason, surplus_observed),
            (Part::Test, DropReason::ClassNotKept, test_dropped),
        ];
        let dropped = dropped
            .into_iter()
            .filter(|(_, _, rows)| !rows.is_empty())
            .map(|(part, reason, mut rows)| {
                rows.sort_unstable();
                Dropped { part, reason, rows }
            })
            .collect();
        Ok(Self {
            spec: spec.clone(),
            labeled,
            pool: pool.rows,
            validation: Validation {
                labeled: validation_labeled,
                pool: validation_pool.rows,
            },
            test,
            oracle: Oracle {
                pool: pool.classes,
                validation_pool: validation_pool.classes,
            },
            priors,
            sample_priors,
            dropped,
            notes: plan.notes,
            drawn_test_rows: Vec::new(),
            data_mark: None,
        })
    }

    /// All training rows, labelled and pool, ascending: what a scaling may be fitted to. Neither
    /// validation nor test rows are among them.
    pub fn train_rows(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.labeled.iter().flatten().copied().collect();
        rows.extend(&self.pool);
        rows.sort_unstable();
        rows
    }

    /// All training rows with what a learner may know of each, ascending.
    pub fn train_labels(&self) -> Vec<(usize, MpuLabel)> {
        let observed = self.labeled.iter().enumerate();
        let labeled = observed
            .flat_map(|(class, rows)| rows.iter().map(move |&row| (row, MpuLabel::Labeled(class))));
        let pool = self.pool.iter().map(|&row| (row, MpuLabel::Unlabeled));
        let mut rows: Vec<(usize, MpuLabel)> = labeled.chain(pool).collect();
        rows.sort_unstable();
        rows
    }

    /// SHA-256 over the row numbers of every group, as lower-case hexadecimal: the same on every
    /// machine and for any number of threads.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |name: &str, rows: &[usize]| {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
            hash.update((rows.len() as u64).to_le_bytes());
            for &row in rows {
                hash.update((row as u64).to_le_bytes());
            }
        };
        add("mpu-split-1", &[]);
        for (class, rows) in self.labeled.iter().enumerate() {
            add(&format!("labeled-{class}"), rows);
        }
        add("pool", &self.pool);
        for (class, rows) in self.validation.labeled.iter().enumerate() {
            add(&format!("validation-labeled-{class}"), rows);
        }
        add("validation-pool", &self.validation.pool);
        add("test", &self.test.rows);
        add("drawn-test", &self.drawn_test_rows);
        hex(&hash.finalize())
    }

    /// The counts of all groups, for people and for JSON.
    pub fn summary(&self) -> SplitSummary {
        let counts = |groups: &[Vec<usize>]| groups.iter().map(Vec::len).collect();
        let n_classes = self.spec.classes.get();
        let dropped = |dropped: &Dropped| DroppedCount {
            part: dropped.part,
            reason: dropped.reason,
            rows: dropped.rows.len(),
        };
        SplitSummary {
            spec: self.spec.clone(),
            labeled: counts(&self.labeled),
            pool: self.pool.len(),
            pool_by_hidden_class: count_classes(&self.oracle.pool, n_classes),
            validation_labeled: counts(&self.validation.labeled),
            validation_pool: self.validation.pool.len(),
            test: count_classes(&self.test.classes, n_classes),
            priors: self.priors.clone(),
            sample_priors: self.sample_priors.clone(),
            dropped: self.dropped.iter().map(dropped).collect(),
            notes: self.notes.clone(),
            data_mark: self.data_mark.clone(),
            digest: self.digest(),
        }
    }
}

/// The counts of a split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitSummary {
    /// The choices it was drawn with.
    pub spec: SplitSpec,
    /// Labelled training rows of each observed class.
    pub labeled: Vec<usize>,
    /// Rows of the pool.
    pub pool: usize,
    /// Rows of the pool by their hidden class, the negative one last.
    pub pool_by_hidden_class: Vec<usize>,
    /// Labelled validation rows of each observed class.
    pub validation_labeled: Vec<usize>,
    /// Validation rows of the pool.
    pub validation_pool: usize,
    /// Test rows of each class, the negative one last.
    pub test: Vec<usize>,
    /// The realised proportions of the pool.
    pub priors: Priors,
    /// The realised proportions of labelled rows and pool together.
    pub sample_priors: Priors,
    /// How many rows are in no group, and why.
    pub dropped: Vec<DroppedCount>,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// The mark of data that is not as published.
    pub data_mark: Option<String>,
    /// The digest of the row numbers.
    pub digest: String,
}

/// How many rows are in no group for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCount {
    /// Of which part.
    pub part: Part,
    /// Why.
    pub reason: DropReason,
    /// How many.
    pub rows: usize,
}

/// Rows of several classes in one ascending list, with the class of each.
fn merge(by_class: &[Vec<usize>]) -> Group {
    let classes = by_class.iter().enumerate();
    let mut pairs: Vec<(usize, usize)> = classes
        .flat_map(|(class, rows)| rows.iter().map(move |&row| (row, class)))
        .collect();
    pairs.sort_unstable();
    let (rows, classes) = pairs.into_iter().unzip();
    Group { rows, classes }
}

fn test_group(labels: &[usize], mpu_class: &[Option<usize>]) -> (Group, Vec<usize>) {
    let mut dropped = Vec::new();
    let mut group = Group {
        rows: Vec::new(),
        classes: Vec::new(),
    };
    for (row, &label) in labels.iter().enumerate() {
        match mpu_class[label] {
            Some(class) => {
                group.rows.push(row);
                group.classes.push(class);
            }
            None => dropped.push(row),
        }
    }
    (group, dropped)
}

fn proportions(counts: impl Iterator<Item = usize>) -> Result<Priors> {
    let counts: Vec<usize> = counts.collect();
    let total = counts.iter().sum::<usize>().max(1) as f64;
    Priors::new(counts.iter().map(|&n| n as f64 / total).collect())
}

#[cfg(test)]
mod tests;
