//! Out-of-fold scores of a detector that tells labelled rows from the pool.

use mpu_data::split::draw::shuffle;
use mpu_data::{ClassCount, MpuLabel, Priors, Seed, Stream, bad_setting};
use mpu_models::ModelSpec;
use mpu_risk::Objective;
use rayon::prelude::*;
use tracing::subscriber::{NoSubscriber, with_default};

use crate::device::DeviceChoice;
use crate::error::{Error, Result};
use crate::event::{Control, Event, Observer};
use crate::problem::{Problem, Sample};
use crate::settings::{Schedule, TrainSettings};
use crate::trainer::{Run, RunError};

/// A cross-fitted detector: for every fold a classifier is trained on the other folds and scores the
/// rows of this one, so that no row is scored by a model that has seen it.
///
/// The classifier answers "labelled as which class, or from the pool?" by cross-entropy, which needs
/// no priors. Its scores give the logarithm of a ratio of densities, up to a constant of the class:
///
/// ```text
/// z_i(x) = f_i(x) - f_k(x) ≈ log p_i(x) - log p_u(x) + log(n_i / n_u)
/// ```
///
/// No statistic of `x` tells rows of class `i` from the rest of the pool better.
#[derive(Debug, Clone)]
pub struct CrossFit {
    /// The architecture; as many outputs as classes.
    pub model: ModelSpec,
    /// Folds; at least 2.
    pub folds: usize,
    /// How each classifier is trained.
    pub settings: TrainSettings,
    /// The seed of folds, weights and shuffling.
    pub seed: Seed,
    /// Where it computes.
    pub device: DeviceChoice,
}

/// What a [`CrossFit`] gives for every row of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFold {
    /// The fold of each row.
    pub folds: Vec<usize>,
    /// `z_1 … z_{k-1}` of each row, row by row.
    pub margins: Vec<f64>,
}

impl CrossFit {
    /// As many folds as are usual: three, which leaves each classifier two thirds of the rows.
    pub const FOLDS: usize = 3;

    /// Epochs of a classifier: enough to tell groups apart, too few to memorise rows.
    const EPOCHS: usize = 10;
    /// Small samples need small batches to make enough steps.
    const SMALL_SAMPLE: usize = 12_000;

    /// The usual detector for so many rows.
    pub fn new(model: ModelSpec, n_rows: usize, seed: Seed) -> Self {
        Self {
            model,
            folds: Self::FOLDS,
            settings: TrainSettings {
                epochs: Self::EPOCHS,
                batch_size: if n_rows <= Self::SMALL_SAMPLE {
                    64
                } else {
                    256
                },
                schedule: Schedule::Cosine,
                checkpoint_every: 0,
                ..TrainSettings::default()
            },
            seed,
            device: DeviceChoice::Cpu,
        }
    }

    /// Steps of all classifiers together: how often `step` is called.
    pub fn n_steps(&self, n_rows: usize) -> usize {
        let rows = n_rows - n_rows / self.folds.max(1);
        self.folds * self.settings.epochs * rows.div_ceil(self.settings.batch_size.max(1))
    }

    /// Trains and scores, the folds side by side on rayon's threads. `step` is called after every
    /// step, from any thread; when it answers [`Control::Stop`] the result is `None`. The result
    /// does not depend on the number of threads.
    pub fn scores(
        &self,
        sample: &Sample,
        classes: ClassCount,
        step: &(dyn Fn() -> Control + Sync),
    ) -> Result<Option<OutOfFold>> {
        let folds = self.assign(&sample.labels, classes)?;
        let n_observed = classes.n_observed();
        let parts = (0..self.folds)
            .into_par_iter()
            .map(|fold| self.fold(sample, classes, &folds, fold, step))
            .collect::<Result<Vec<Option<Vec<f64>>>>>()?;
        let mut margins = vec![0.0; sample.labels.len() * n_observed];
        for (fold, part) in parts.into_iter().enumerate() {
            let Some(part) = part else { return Ok(None) };
            let rows = (0..folds.len()).filter(|&row| folds[row] == fold);
            for (row, z) in rows.zip(part.chunks(n_observed)) {
                margins[row * n_observed..(row + 1) * n_observed].copy_from_slice(z);
            }
        }
        Ok(Some(OutOfFold { folds, margins }))
    }

    /// The fold of each row: the rows of every group are dealt out in random order.
    fn assign(&self, labels: &[MpuLabel], classes: ClassCount) -> Result<Vec<usize>> {
        let mut groups = classes.rows_by_group(labels)?;
        let fewest = groups.iter().map(Vec::len).filter(|&n| n > 0).min();
        if self.folds < 2 || fewest.is_none_or(|fewest| fewest < self.folds) {
            return Err(bad_setting(
                "folds",
                self.folds,
                "at least 2 and at most the rows of the smallest group",
            ));
        }
        let mut rng = self.seed.stream_at(Stream::Split, 1);
        let mut folds = vec![0; labels.len()];
        for group in &mut groups {
            shuffle(group, &mut rng);
            for (place, &row) in group.iter().enumerate() {
                folds[row] = place % self.folds;
            }
        }
        Ok(folds)
    }

    /// The margins of one fold's rows, by a classifier trained on the others.
    fn fold(
        &self,
        sample: &Sample,
        classes: ClassCount,
        folds: &[usize],
        fold: usize,
        step: &(dyn Fn() -> Control + Sync),
    ) -> Result<Option<Vec<f64>>> {
        let _span = tracing::debug_span!("fold", fold = fold + 1).entered();
        let rows = |inside: bool| -> Vec<usize> {
            (0..folds.len())
                .filter(|&row| (folds[row] == fold) == inside)
                .collect()
        };
        let (others, own) = (rows(false), rows(true));
        let labels: Vec<MpuLabel> = others.iter().map(|&row| sample.labels[row]).collect();
        // Which group a row is from is known: the "true classes" here are the groups.
        let groups = labels.iter().map(|&label| classes.group(label));
        let groups = groups.collect::<mpu_data::Result<Vec<usize>>>()?;
        let features = sample.features.select(&others);
        let problem = Problem::new(classes, Sample { features, labels })?.with_oracle(groups)?;
        let (model, priors) = (self.model.clone(), Priors::uniform(classes));
        let run = Run {
            settings: self.settings.clone(),
            seed: self.seed,
            device: self.device,
            ..Run::new(model, Objective::Supervised.into(), priors)
        };
        // Its epochs are of no interest to a log: the fold is.
        let outcome = with_default(NoSubscriber::default(), || {
            run.train(&problem, None, &mut Steps(step))
        });
        let outcome =
            outcome.map_err(|(RunError::Run(error) | RunError::Observer(error))| error)?;
        if !outcome.finished {
            return Ok(None);
        }
        let k = classes.get();
        let own = sample.features.select(&own);
        let scores = run.predict(outcome.params(), own.values())?;
        let margins = scores.chunks(k).flat_map(|row| {
            let pool = f64::from(row[k - 1]);
            row[..k - 1].iter().map(move |&f| f64::from(f) - pool)
        });
        Ok(Some(margins.collect()))
    }
}

struct Steps<'a>(&'a (dyn Fn() -> Control + Sync));

impl Observer for Steps<'_> {
    type Error = Error;

    fn on(&mut self, event: &Event<'_>) -> Result<Control> {
        Ok(match event {
            Event::Step { .. } => (self.0)(),
            _ => Control::Continue,
        })
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use mpu_data::{Features, Shape};

    use super::*;
    use crate::error::tests::check_message;

    /// Class 0 around -2, negatives around 2; a third of the pool is of class 0.
    fn sample() -> Sample {
        let spread = |i: usize| (i % 17) as f32 / 8.0 - 1.0;
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for i in 0..90 {
            values.push(spread(i) - 2.0);
            labels.push(if i < 60 { Labeled(0) } else { Unlabeled });
        }
        for i in 0..60 {
            values.push(spread(3 * i) + 2.0);
            labels.push(Unlabeled);
        }
        let features = Features::new(values, Shape::Vector(1)).unwrap();
        Sample { features, labels }
    }

    fn two() -> ClassCount {
        ClassCount::new(2).unwrap()
    }

    #[test]
    fn rows_are_scored_by_a_model_that_has_not_seen_them() {
        let sample = sample();
        let fit = CrossFit::new(ModelSpec::mlp5(1, 2), 150, Seed(3));
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let count = || {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Control::Continue
        };
        let scored = fit.scores(&sample, two(), &count).unwrap().unwrap();
        assert_eq!(calls.into_inner(), fit.n_steps(150));
        for group in [Labeled(0), Unlabeled] {
            let sizes = (0..3).map(|fold| {
                let of = |&row: &usize| sample.labels[row] == group && scored.folds[row] == fold;
                (0..150).filter(of).count()
            });
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
        let mean = |rows: std::ops::Range<usize>| {
            let n = rows.len() as f64;
            scored.margins[rows].iter().sum::<f64>() / n
        };
        assert!(
            mean(60..90) > mean(90..150) + 2.0,
            "hidden rows of class 0 are found"
        );
        // Another row in fold 0 must leave the margins of fold 0 alone but for its own.
        let mut other = sample.clone();
        let row = (0..150).find(|&row| scored.folds[row] == 0).unwrap();
        other.features.values_mut()[row] = 40.0;
        let again = fit
            .scores(&other, two(), &|| Control::Continue)
            .unwrap()
            .unwrap();
        for i in (0..150).filter(|&i| scored.folds[i] == 0 && i != row) {
            assert_eq!(scored.margins[i].to_bits(), again.margins[i].to_bits());
        }
        assert!((0..150).any(|i| scored.margins[i] != again.margins[i]));
    }

    #[test]
    fn it_can_be_stopped_and_refuses_groups_smaller_than_the_folds() {
        let fit = CrossFit::new(ModelSpec::mlp5(1, 2), 150, Seed(3));
        assert_eq!(
            fit.scores(&sample(), two(), &|| Control::Stop).unwrap(),
            None
        );
        let few = Sample {
            features: Features::new(vec![0.0; 4], Shape::Vector(1)).unwrap(),
            labels: vec![Labeled(0), Unlabeled, Unlabeled, Unlabeled],
        };
        let refused = fit.scores(&few, two(), &|| Control::Continue);
        check_message(refused, "folds is 3");
    }
}
