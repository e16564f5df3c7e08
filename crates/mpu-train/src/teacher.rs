//! Targets of the pool by networks that have not seen the row.

use mpu_data::split::draw::shuffle;
use mpu_data::{MpuLabel, Seed, Stream};

use crate::checkpoint::State;
use crate::error::Result;
use crate::event::{Control, Event, Observer};
use crate::problem::{Problem, Sample};
use crate::procedure::{Method, probabilities};
use crate::settings::{Keep, TrainSettings};
use crate::trainer::{Run, RunError, tell};

/// How often the rows are dealt out anew: the answers to a row are averaged over so many networks. A single one trained
/// on few labelled rows is right by luck as often as by what it knows.
const DEALS: usize = 3;
/// Epochs without progress on held-out rows after which a network stops.
const PATIENCE: usize = 3;

/// Networks that minimise the warm-up's objective, the case-control likelihood, each on all folds of the rows but one.
///
/// A network stops when the likelihood of its own fold, which it does not see, has not improved for [`PATIENCE`] epochs.
/// The network of the best epoch then answers for the fold's rows of the pool. Its probabilities are those of the
/// classes under the pool's priors: averaged over [`DEALS`] they are the targets as they are.
pub(crate) struct Teacher<'a> {
    run: &'a Run,
    problem: &'a Problem,
    n_folds: usize,
    /// The rows of the pool.
    pool: Vec<usize>,
}

impl<'a> Teacher<'a> {
    /// The teacher of a run, if it has one of its own.
    pub(crate) fn of(run: &'a Run, problem: &'a Problem) -> Option<Self> {
        let constants = run.settings.self_training.unwrap_or_default();
        let is_taught = run.method == Method::CsmpuSt && constants.is_cross_fitted();
        if !is_taught || problem.targets().is_some() {
            return None;
        }
        let labels = &problem.train().labels;
        let is_pool = |row: &usize| labels[*row] == MpuLabel::Unlabeled;
        Some(Self {
            run,
            problem,
            n_folds: constants.n_folds(),
            pool: (0..labels.len()).filter(is_pool).collect(),
        })
    }

    /// Adds up the answers that a state has not got yet: each sums to one, so that the sum over a row says how many
    /// networks have answered. There is a checkpoint after every fold.
    pub(crate) fn teach<O: Observer>(
        &self,
        state: &mut State,
        observer: &mut O,
    ) -> std::result::Result<Control, RunError<O::Error>> {
        let k = self.problem.classes().get();
        let needed = self.pool.len() * k;
        if state.targets.is_empty() && state.history.is_empty() {
            state.targets = vec![0.0; needed];
        }
        state.check_targets(needed)?;
        for deal in 0..DEALS {
            let folds = self.deal(deal)?;
            for fold in 0..self.n_folds {
                let of_fold = |place: &usize| folds[self.pool[*place]] == fold;
                let places: Vec<usize> = (0..self.pool.len()).filter(of_fold).collect();
                let answers = |place: &usize| state.targets[place * k..][..k].iter().sum::<f32>();
                if places
                    .iter()
                    .all(|place| answers(place) > deal as f32 + 0.5)
                {
                    continue;
                }
                let Some(found) = self.fold(&folds, (deal, fold), observer)? else {
                    return Ok(Control::Stop);
                };
                for (place, found) in places.iter().zip(found.chunks_exact(k)) {
                    let target = &mut state.targets[place * k..][..k];
                    for (sum, found) in target.iter_mut().zip(found) {
                        *sum += found;
                    }
                }
                if tell(observer, &Event::Checkpoint(state))? == Control::Stop {
                    return Ok(Control::Stop);
                }
            }
        }
        Ok(Control::Continue)
    }

    /// The answers to a fold's rows of the pool; none if the observer stopped it.
    fn fold<O: Observer>(
        &self,
        folds: &[usize],
        (deal, fold): (usize, usize),
        observer: &mut O,
    ) -> std::result::Result<Option<Vec<f32>>, RunError<O::Error>> {
        let which = deal * self.n_folds + fold;
        let _span = tracing::debug_span!("fold", fold = which + 1).entered();
        let train = self.problem.train();
        let rows = |wanted: &dyn Fn(usize) -> bool| -> Sample {
            let rows: Vec<usize> = (0..folds.len()).filter(|&row| wanted(row)).collect();
            Sample {
                features: train.features.select(&rows),
                labels: rows.iter().map(|&row| train.labels[row]).collect(),
            }
        };
        let (others, held) = (
            rows(&|row| folds[row] != fold),
            rows(&|row| folds[row] == fold),
        );
        let problem = Problem::new(self.problem.classes(), others)?.with_validation(held)?;
        let constants = self.run.settings.self_training.unwrap_or_default();
        let run = Run {
            method: constants.warm_up.into(),
            placement: None,
            costs: None,
            settings: TrainSettings {
                keep: Keep::BestRisk,
                self_training: None,
                checkpoint_every: 0,
                ..self.run.settings.clone()
            },
            seed: derived(self.run.seed, which),
            ..self.run.clone()
        };
        let n_rows = problem.train().labels.len();
        let steps = n_rows.div_ceil(run.settings.batch_of(n_rows)) * run.settings.epochs;
        let mut watch = Patient {
            observer,
            done: which * steps,
            steps: DEALS * self.n_folds * steps,
            best: (0, f64::INFINITY),
            stopped: false,
        };
        let outcome = run.epochs(&problem, None, &mut watch)?;
        if watch.stopped {
            return Ok(None);
        }
        let own = rows(&|row| folds[row] == fold && train.labels[row] == MpuLabel::Unlabeled);
        let scores = run.predict(outcome.params(), own.features.values())?;
        let answers = probabilities(&scores, self.problem.classes().get());
        Ok(Some(answers.iter().map(|&share| share as f32).collect()))
    }

    /// The fold of each row: groups are dealt out in random order, one after the other, so that folds differ by a row
    /// at the most.
    fn deal(&self, deal: usize) -> Result<Vec<usize>> {
        let labels = &self.problem.train().labels;
        let mut rng = self.run.seed.stream_at(Stream::Split, 4 + deal as u64);
        let mut folds = vec![0; labels.len()];
        let mut dealt = 0;
        for group in &mut self.problem.classes().rows_by_group(labels)? {
            shuffle(group, &mut rng);
            for &row in group.iter() {
                folds[row] = dealt % self.n_folds;
                dealt += 1;
            }
        }
        Ok(folds)
    }
}

/// Stops when held-out rows have not been explained better for some epochs, and passes steps on.
struct Patient<'a, O> {
    observer: &'a mut O,
    done: usize,
    steps: usize,
    /// The best epoch so far, and its risk.
    best: (usize, f64),
    /// Whether the observer wanted to stop.
    stopped: bool,
}

impl<O: Observer> Observer for Patient<'_, O> {
    type Error = O::Error;

    fn on(&mut self, event: &Event<'_>) -> std::result::Result<Control, O::Error> {
        match event {
            Event::Step { .. } => {
                self.done += 1;
                let (step, steps) = (self.done, self.steps);
                let control = self.observer.on(&Event::Detector { step, steps })?;
                self.stopped |= control == Control::Stop;
                Ok(control)
            }
            Event::Epoch(metrics) => {
                let risk = metrics.validation_risk.unwrap_or(f64::INFINITY);
                if risk < self.best.1 {
                    self.best = (metrics.epoch, risk);
                }
                Ok(if metrics.epoch < self.best.0 + PATIENCE {
                    Control::Continue
                } else {
                    Control::Stop
                })
            }
            _ => Ok(Control::Continue),
        }
    }
}

/// Another seed for each network.
fn derived(seed: Seed, which: usize) -> Seed {
    let which = which as u64 + 1;
    Seed(
        seed.0
            .wrapping_add(which.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
    )
}
