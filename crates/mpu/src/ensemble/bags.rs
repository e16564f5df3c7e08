//! Classes of the pool's rows, by the teacher and by detectors in balanced bags beside it.

use mpu_data::{Priors, Seed};
use mpu_eval::Stack;
use mpu_models::forest::{ForestSpec, Sample, Splits};

use super::student::{derived, group, pool_target};
use super::teacher::{Ground, TREE_ROWS};
use crate::error::Result;
use crate::prepared::Watcher;

impl Ground {
    /// How probable each class is for every row if it were one of the pool, `k` to a row. All answers are of trees that have
    /// not seen the row.
    ///
    /// It is the mean of two answers. One is [`pool_target`] of the teacher's `answers`. The other is by the teacher and by trees in
    /// balanced bags, each of a bootstrap of the labelled rows and only as many of the pool. With few labelled rows among many, no
    /// split of a tree that sees all of them gains much, and a balanced bag ranks rows better (Mordelet and Vert 2014), though
    /// it takes them for far likelier to be labelled than they are. [`Stack`] puts that right, for each of the priors that
    /// may be true, the likeliest first. Where the labelled rows alone fill half a tree, there are no bags.
    pub(super) fn posteriors(
        &self,
        answers: Vec<f32>,
        priors: &[Priors],
        seen: impl Fn(usize) -> bool + Copy,
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Vec<f32>> {
        let k = self.classes.get();
        let n = self.group_sizes(seen);
        let n_labeled = n[..k - 1].iter().sum::<f64>() as usize;
        let mut found = Vec::with_capacity(answers.len());
        for answer in answers.chunks_exact(k) {
            let target = pool_target(&priors[0], &n, answer);
            found.extend(target.into_iter().map(|t| 0.5 * t as f32));
        }
        let mut all = vec![answers];
        if (1..=TREE_ROWS / 2).contains(&n_labeled) {
            for (which, splits) in [(4, Splits::Random), (5, Splits::Best)] {
                let bags = ForestSpec {
                    trees: spec.trees.div_ceil(2),
                    sample: Sample::Balanced,
                    splits,
                    ..spec
                };
                all.push(self.teach(seen, bags, derived(seed, which), observer)?);
            }
        }
        for each in priors {
            let stack = Stack::fit(each, &self.labels, seen, &all)?;
            tracing::debug!(weights = ?stack.weights(), "detectors stacked");
            for (found, p) in found.iter_mut().zip(stack.probabilities(&all)) {
                *found += 0.5 * p / priors.len() as f32;
            }
        }
        Ok(found)
    }

    /// How many rows of each group may be seen.
    fn group_sizes(&self, seen: impl Fn(usize) -> bool) -> Vec<f64> {
        let k = self.classes.get();
        let mut n = vec![0.0; k];
        for (row, &label) in self.labels.iter().enumerate() {
            if seen(row) {
                n[group(label, k)] += 1.0;
            }
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::{ClassCount, MpuLabel};
    use mpu_models::forest::{Bins, Layout};
    use mpu_train::{Control, Event, Observer, Unobserved};

    use super::super::testing::uniform;
    use super::*;

    /// A class with half of the rows, of which a few are labelled: its rows have two of six columns a little higher.
    fn ground(n_rows: usize, n_labeled: usize) -> Ground {
        let mut uniform = uniform(9);
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        for row in 0..n_rows {
            let own = row % 2 == 0;
            features.extend((0..6).map(|column| {
                let noise = uniform() + uniform() + uniform();
                noise + if own && column < 2 { 0.7 } else { 0.0 }
            }));
            labels.push(match row {
                row if own && row < 2 * n_labeled => MpuLabel::Labeled(0),
                _ => MpuLabel::Unlabeled,
            });
        }
        let bins = Bins::learn(Layout::numeric(6).unwrap(), &features).unwrap();
        Ground {
            rows: bins.encode(&features).unwrap(),
            bins,
            labels,
            classes: ClassCount::new(2).unwrap(),
        }
    }

    /// Counts the trees that are grown.
    struct Trees(usize);

    impl Observer for Trees {
        type Error = std::convert::Infallible;

        fn on(&mut self, _: &Event<'_>) -> std::result::Result<Control, Self::Error> {
            self.0 += 1;
            Ok(Control::Continue)
        }
    }

    /// How often a row of the pool that is of the class is found likelier than one that is not.
    fn area(ground: &Ground, of_class: &[f32]) -> f64 {
        let pool = |parity: usize| {
            let rows = (0..ground.labels.len())
                .filter(|&row| ground.labels[row] == MpuLabel::Unlabeled && row % 2 == parity);
            rows.map(|row| of_class[2 * row]).collect::<Vec<f32>>()
        };
        let (of, others) = (pool(0), pool(1));
        let above = |p: &f32| others.iter().filter(|other| *other < p).count();
        let sum: usize = of.iter().map(above).sum();
        sum as f64 / (of.len() * others.len()) as f64
    }

    #[test]
    fn bags_rank_the_pool_better_where_few_rows_are_labelled_and_shares_agree_with_the_prior() {
        let ground = ground(1200, 12);
        let (spec, seed) = (ForestSpec::default(), Seed(3));
        let priors = [Priors::new(vec![0.5, 0.5]).unwrap()];
        let alone = ground.teach(|_| true, spec, seed, &mut Unobserved).unwrap();
        let found = || {
            let answers = alone.clone();
            let found = ground.posteriors(answers, &priors, |_| true, spec, seed, &mut Unobserved);
            found.unwrap()
        };
        let together = found();
        let (before, after) = (area(&ground, &alone), area(&ground, &together));
        assert!(after > before + 0.01, "{before} {after}");
        // Half of the rows are of the class.
        let mean = together.chunks(2).map(|p| f64::from(p[0])).sum::<f64>() / 1200.0;
        assert!((mean - 0.5).abs() < 0.15, "{mean}");
        assert_eq!(together, found());
    }

    #[test]
    fn very_many_labels_need_no_bags_and_none_is_no_error() {
        let (spec, seed) = (ForestSpec::default(), Seed(3));
        let priors = [Priors::new(vec![0.5, 0.5]).unwrap()];
        let few = ground(60, 20);
        let none = |row: usize| row % 2 == 1;
        let found = few.posteriors(vec![0.5; 120], &priors, none, spec, seed, &mut Unobserved);
        assert_eq!(found.unwrap().len(), 120);
        let many = ground(2 * TREE_ROWS, TREE_ROWS / 2 + 1);
        let mut trees = Trees(0);
        let answers = vec![0.5; 4 * TREE_ROWS];
        let found = many.posteriors(answers, &priors, |_| true, spec, seed, &mut trees);
        assert_eq!((found.unwrap().len(), trees.0), (4 * TREE_ROWS, 0));
    }
}
