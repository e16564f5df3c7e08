//! Targets of the pool by networks that have not seen the row.

use mpu_data::split::draw::shuffle;
use mpu_data::{MpuLabel, Seed, Stream};
use mpu_models::Params;

use crate::checkpoint::State;
use crate::error::{Result, checkpoint};
use crate::event::{Control, Event, Observer};
use crate::problem::{Problem, Sample};
use crate::procedure::{Method, SelfTraining};
use crate::settings::TrainSettings;
use crate::trainer::{Run, RunError, tell};

/// Epochs without progress on held-out rows after which a network of the teacher stops: self-training may lose at first
/// and gain later.
const PATIENCE: usize = 10;

/// Networks that train themselves, each on all folds of the rows but one.
///
/// A network stops when the case-control likelihood of its own fold, which it does not see, has not improved for
/// [`PATIENCE`] epochs. The network of the best epoch then answers for the fold's rows of the pool. Its probabilities
/// are those of the classes under the pool's priors: they are the targets as they are.
pub(crate) struct Teacher<'a> {
    run: &'a Run,
    problem: &'a Problem,
    n_folds: usize,
    /// The fold of each row.
    folds: Vec<usize>,
}

impl<'a> Teacher<'a> {
    /// The teacher of a run, if it has one of its own.
    pub(crate) fn of(run: &'a Run, problem: &'a Problem) -> Result<Option<Self>> {
        let constants = run.settings.self_training.unwrap_or_default();
        let is_taught = run.method == Method::CsmpuSt && constants.is_cross_fitted();
        if !is_taught || problem.targets().is_some() {
            return Ok(None);
        }
        let n_folds = constants.n_folds();
        Ok(Some(Self {
            run,
            problem,
            n_folds,
            folds: deal(problem, n_folds, run.seed)?,
        }))
    }

    /// Fills in the targets that a state has not got yet. There is a checkpoint after every fold.
    pub(crate) fn teach<O: Observer>(
        &self,
        state: &mut State,
        observer: &mut O,
    ) -> std::result::Result<Control, RunError<O::Error>> {
        let k = self.problem.classes().get();
        let labels = &self.problem.train().labels;
        let is_pool = |row: &usize| labels[*row] == MpuLabel::Unlabeled;
        let pool: Vec<usize> = (0..labels.len()).filter(is_pool).collect();
        let needed = pool.len() * k;
        if state.targets.is_empty() && state.history.is_empty() {
            state.targets = vec![f32::NAN; needed];
        }
        if state.targets.len() != needed {
            let found = state.targets.len();
            return Err(checkpoint(format!(
                "it has {found} targets where the pool needs {needed}: it is of other rows, or of another method"
            ))
            .into());
        }
        for fold in 0..self.n_folds {
            let of_fold = |place: &usize| self.folds[pool[*place]] == fold;
            let places: Vec<usize> = (0..pool.len()).filter(of_fold).collect();
            if places
                .iter()
                .all(|place| !state.targets[place * k].is_nan())
            {
                continue;
            }
            let Some(targets) = self.fold(fold, observer)? else {
                return Ok(Control::Stop);
            };
            for (place, target) in places.iter().zip(targets.chunks_exact(k)) {
                state.targets[place * k..][..k].copy_from_slice(target);
            }
            if tell(observer, &Event::Checkpoint(state))? == Control::Stop {
                return Ok(Control::Stop);
            }
        }
        Ok(Control::Continue)
    }

    /// The targets of a fold's rows of the pool; none if the observer stopped it.
    fn fold<O: Observer>(
        &self,
        fold: usize,
        observer: &mut O,
    ) -> std::result::Result<Option<Vec<f32>>, RunError<O::Error>> {
        let _span = tracing::debug_span!("fold", fold = fold + 1).entered();
        let train = self.problem.train();
        let rows = |wanted: &dyn Fn(usize) -> bool| -> Sample {
            let rows: Vec<usize> = (0..self.folds.len()).filter(|&row| wanted(row)).collect();
            Sample {
                features: train.features.select(&rows),
                labels: rows.iter().map(|&row| train.labels[row]).collect(),
            }
        };
        let held = rows(&|row| self.folds[row] == fold);
        let problem = Problem::new(self.problem.classes(), rows(&|row| self.folds[row] != fold))?
            .with_validation(held)?;
        let constants = self.run.settings.self_training.unwrap_or_default();
        let settings = TrainSettings {
            self_training: Some(SelfTraining {
                folds: None,
                ..constants
            }),
            checkpoint_every: 1,
            ..self.run.settings.clone()
        };
        let run = Run {
            settings,
            seed: derived(self.run.seed, fold),
            ..self.run.clone()
        };
        let n_rows = problem.train().labels.len();
        let steps = n_rows.div_ceil(run.settings.batch_of(n_rows)) * run.settings.epochs;
        let mut watch = Patient {
            observer,
            done: fold * steps,
            steps: self.n_folds * steps,
            best: None,
            stopped: false,
        };
        let outcome = run.epochs(&problem, None, &mut watch)?;
        if watch.stopped {
            return Ok(None);
        }
        let best = watch.best.map_or(outcome.state.params, |best| best.params);
        let own = rows(&|row| self.folds[row] == fold && train.labels[row] == MpuLabel::Unlabeled);
        let scores = run.predict(&best, own.features.values())?;
        let targets = scores.chunks_exact(self.problem.classes().get());
        Ok(Some(targets.flat_map(softmax).collect()))
    }
}

/// Keeps the model that explains held-out rows best, stops when none has been better for some epochs, and passes steps
/// on.
struct Patient<'a, O> {
    observer: &'a mut O,
    done: usize,
    steps: usize,
    best: Option<Best>,
    /// Whether the observer wanted to stop.
    stopped: bool,
}

/// The best model so far.
struct Best {
    epoch: usize,
    risk: f64,
    params: Params,
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
            Event::Checkpoint(state) => Ok(self.judge(state)),
            _ => Ok(Control::Continue),
        }
    }
}

impl<O> Patient<'_, O> {
    /// Whether it is worth going on after an epoch.
    fn judge(&mut self, state: &State) -> Control {
        let Some((epoch, risk)) = state
            .history
            .last()
            .and_then(|last| Some((last.epoch, last.validation_risk?)))
        else {
            return Control::Continue;
        };
        match &self.best {
            Some(best) if risk >= best.risk => {
                if epoch < best.epoch + PATIENCE {
                    Control::Continue
                } else {
                    Control::Stop
                }
            }
            _ => {
                let params = state.params.clone();
                self.best = Some(Best {
                    epoch,
                    risk,
                    params,
                });
                Control::Continue
            }
        }
    }
}

/// The fold of each row: groups are dealt out in random order, one after the other, so that folds differ by a row
/// at the most.
fn deal(problem: &Problem, n_folds: usize, seed: Seed) -> Result<Vec<usize>> {
    let labels = &problem.train().labels;
    let mut rng = seed.stream_at(Stream::Split, 4);
    let mut folds = vec![0; labels.len()];
    let mut dealt = 0;
    for group in &mut problem.classes().rows_by_group(labels)? {
        shuffle(group, &mut rng);
        for &row in group.iter() {
            folds[row] = dealt % n_folds;
            dealt += 1;
        }
    }
    Ok(folds)
}

/// Another seed for each fold's network.
fn derived(seed: Seed, fold: usize) -> Seed {
    let which = fold as u64 + 1;
    Seed(
        seed.0
            .wrapping_add(which.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
    )
}

fn softmax(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let parts: Vec<f64> = scores
        .iter()
        .map(|&score| f64::from(score - most).exp())
        .collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| (part / sum) as f32).collect()
}
