//! Which rows make up each batch of an epoch.

use mpu_data::split::draw::shuffle;
use mpu_data::{MpuLabel, Seed, Stream};

use crate::settings::Batching;

/// The batches of one epoch: row numbers in the order of training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batches {
    order: Vec<usize>,
    /// Where each batch ends in `order`.
    ends: Vec<usize>,
}

impl Batches {
    /// The batches of `epoch`, from their own stream: any epoch can be drawn without the ones before
    /// it, which is what makes a resumed run the same to the bit.
    pub(crate) fn draw(
        labels: &[MpuLabel],
        batching: Batching,
        batch_size: usize,
        seed: Seed,
        epoch: usize,
    ) -> Self {
        let mut rng = seed.stream_at(Stream::Shuffle, epoch as u64);
        let n_batches = labels.len().div_ceil(batch_size);
        match batching {
            Batching::Shuffled => {
                let mut order: Vec<usize> = (0..labels.len()).collect();
                shuffle(&mut order, &mut rng);
                let ends = (1..=n_batches)
                    .map(|b| (b * batch_size).min(order.len()))
                    .collect();
                Self { order, ends }
            }
            Batching::Stratified => {
                let mut groups: Vec<Vec<usize>> = Vec::new();
                for (row, label) in labels.iter().enumerate() {
                    let group = match label {
                        MpuLabel::Unlabeled => 0,
                        MpuLabel::Labeled(class) => class + 1,
                    };
                    if groups.len() <= group {
                        groups.resize(group + 1, Vec::new());
                    }
                    groups[group].push(row);
                }
                for group in &mut groups {
                    shuffle(group, &mut rng);
                }
                let (mut order, mut ends) = (Vec::with_capacity(labels.len()), Vec::new());
                for batch in 0..n_batches {
                    for group in &groups {
                        let cut = |b: usize| b * group.len() / n_batches;
                        order.extend_from_slice(&group[cut(batch)..cut(batch + 1)]);
                    }
                    ends.push(order.len());
                }
                Self { order, ends }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All rows in the order of training.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The rows of a batch.
    pub(crate) fn rows(&self, batch: usize) -> &[usize] {
        let start = batch.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.order[start..self.ends[batch]]
    }

    /// The batches, one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[usize]> {
        (0..self.len()).map(|batch| self.rows(batch))
    }

    /// The most rows a batch may have.
    pub(crate) fn max_rows(labels: &[MpuLabel], batching: Batching, batch_size: usize) -> usize {
        match batching {
            Batching::Shuffled => batch_size.min(labels.len()),
            // Each group adds at most one row to its even share.
            Batching::Stratified => {
                let n_groups = labels.iter().fold(1, |n, label| match label {
                    MpuLabel::Labeled(class) => n.max(class + 2),
                    MpuLabel::Unlabeled => n,
                });
                (batch_size + n_groups).min(labels.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;

    fn labels() -> Vec<MpuLabel> {
        let group = |label, n| std::iter::repeat_n(label, n);
        group(Labeled(0), 20)
            .chain(group(Unlabeled, 63))
            .chain(group(Labeled(1), 10))
            .collect()
    }

    #[test]
    fn every_row_is_trained_on_once_an_epoch() {
        for batching in Batching::ALL {
            for epoch in 0..3 {
                let batches = Batches::draw(&labels(), batching, 16, Seed(1), epoch);
                assert_eq!(batches.len(), 6);
                let mut rows: Vec<usize> = batches.iter().flatten().copied().collect();
                rows.sort_unstable();
                assert_eq!(rows, (0..93).collect::<Vec<_>>(), "{batching}");
                let most = Batches::max_rows(&labels(), batching, 16);
                assert!(batches.iter().all(|batch| batch.len() <= most));
            }
        }
    }

    #[test]
    fn stratified_batches_hold_every_group_in_proportion() {
        let labels = labels();
        let batches = Batches::draw(&labels, Batching::Stratified, 16, Seed(1), 0);
        for batch in batches.iter() {
            let count = |label| batch.iter().filter(|&&row| labels[row] == label).count();
            assert!((3..=4).contains(&count(Labeled(0))));
            assert!((1..=2).contains(&count(Labeled(1))));
            assert!((10..=11).contains(&count(Unlabeled)));
        }
    }

    #[test]
    fn epochs_differ_and_repeat() {
        let draw = |epoch| Batches::draw(&labels(), Batching::Shuffled, 16, Seed(1), epoch);
        assert_eq!(draw(4), draw(4));
        assert_ne!(draw(4), draw(5));
    }
}
