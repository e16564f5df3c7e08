//! The most probable rows of each class, in memory that depends on how many are wanted alone.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::output::Keys;
use mpu::Predictions;

/// The best rows of each observed class so far.
pub(super) struct Queues {
    most: usize,
    /// The worst kept row of a class is on top.
    heaps: Vec<BinaryHeap<Reverse<Entry>>>,
}

/// The rows of all queues, class by class, best first.
#[derive(Default)]
pub(super) struct Queued {
    pub(super) ids: Vec<String>,
    pub(super) numbers: Vec<u64>,
    /// The class and the rank of each row.
    pub(super) places: Vec<(usize, usize)>,
    pub(super) scored: Predictions,
    /// The encoded rows, if they were given.
    pub(super) values: Vec<f32>,
}

struct Entry {
    probability: f32,
    number: u64,
    id: Option<String>,
    scored: Predictions,
    values: Vec<f32>,
}

impl Entry {
    /// Higher probabilities first, then earlier rows.
    fn rank(&self) -> (f32, Reverse<u64>) {
        (self.probability, Reverse(self.number))
    }
}

fn compare(a: (f32, Reverse<u64>), b: (f32, Reverse<u64>)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.rank(), other.rank())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Queues {
    pub(super) fn new(n_observed: usize, most: usize) -> Self {
        let heaps = (0..n_observed).map(|_| BinaryHeap::new()).collect();
        Self { most, heaps }
    }

    /// Takes the rows that are among the best so far; `first` is the number of the first. Encoded rows are kept with
    /// them if they are given.
    pub(super) fn add(
        &mut self,
        keys: Keys<'_>,
        first: u64,
        scored: &Predictions,
        values: Option<&[f32]>,
    ) {
        let k = self.heaps.len() + 1;
        let values = values.unwrap_or_default();
        let width = values.len() / scored.answers.len().max(1);
        for row in 0..scored.answers.len() {
            let number = first + row as u64;
            for (class, heap) in self.heaps.iter_mut().enumerate() {
                let probability = scored.probabilities[row * k + class];
                let rank = (probability, Reverse(number));
                let is_full = heap.len() == self.most;
                if is_full {
                    let worse =
                        |Reverse(worst): &Reverse<Entry>| compare(rank, worst.rank()).is_lt();
                    if heap.peek().is_some_and(worse) {
                        continue;
                    }
                    heap.pop();
                }
                heap.push(Reverse(Entry {
                    probability,
                    number,
                    id: match keys {
                        Keys::Ids(ids) => Some(ids[row].clone()),
                        Keys::Numbers(_) => None,
                    },
                    scored: scored.row(row, k),
                    values: values[row * width..(row + 1) * width].to_vec(),
                }));
            }
        }
    }

    pub(super) fn into_queued(self) -> Queued {
        let mut queued = Queued::default();
        for (class, heap) in self.heaps.into_iter().enumerate() {
            for (rank, Reverse(entry)) in heap.into_sorted_vec().into_iter().enumerate() {
                queued.ids.extend(entry.id);
                queued.numbers.push(entry.number);
                queued.places.push((class, rank + 1));
                queued.scored.extend(entry.scored);
                queued.values.extend(entry.values);
            }
        }
        queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predict_queues_keep_the_best_and_the_earlier_of_equals() {
        let p = [0.2, 0.8, 0.9, 0.1, 0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.9, 0.1];
        let scored = Predictions {
            scores: vec![0.0; 12],
            probabilities: p.to_vec(),
            answers: vec![0; 6],
            margins: vec![0.0; 6],
            outside: vec![None; 6],
        };
        for cut in [6, 2, 1] {
            let mut queues = Queues::new(1, 2);
            for first in (0..6).step_by(cut) {
                let mut part = Predictions::default();
                (first..first + cut).for_each(|row| part.extend(scored.row(row, 2)));
                queues.add(Keys::Numbers(&[]), first as u64 + 1, &part, None);
            }
            let queued = queues.into_queued();
            assert_eq!(queued.numbers, [2, 4], "cut into {cut}");
            assert_eq!(queued.places, [(0, 1), (0, 2)]);
            assert_eq!(queued.scored.probabilities, [0.9, 0.1, 0.9, 0.1]);
        }
        let mut few = Queues::new(1, 100);
        few.add(Keys::Numbers(&[]), 1, &scored, Some(&[0.5; 12]));
        let queued = few.into_queued();
        assert_eq!(queued.numbers, [2, 4, 6, 3, 1, 5]);
        assert_eq!(queued.values, [0.5; 12]);
    }
}
