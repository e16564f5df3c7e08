//! The training loop, short enough to read in one sitting.

use mpu_data::{MpuLabel, Seed, Stream};
use mpu_models::{ModelSpec, Optimizer, Params, Threads};
use mpu_risk::{Estimator, Groups, Method, unbiasedness_gap};

use crate::batch::Batches;
use crate::checkpoint::State;
use crate::device::DeviceChoice;
use crate::engine::{Engine, Step};
use crate::error::{Error, Result};
use crate::event::{Control, Event, Observer};
use crate::metrics::Confusion;
use crate::outcome::{EpochMetrics, Outcome};
use crate::problem::{Judged, Problem, Sample};
use crate::proxy::pu_accuracy;
use crate::settings::TrainSettings;

/// A run: everything that decides its outcome, besides the problem.
#[derive(Debug, Clone)]
pub struct Run {
    /// The architecture.
    pub model: ModelSpec,
    /// The method with its loss and priors.
    pub estimator: Estimator,
    /// The settings of the loop.
    pub settings: TrainSettings,
    /// The seed of initial weights and shuffling.
    pub seed: Seed,
    /// Where it computes.
    pub device: DeviceChoice,
    /// How many threads it uses; the outcome does not depend on it.
    pub threads: Threads,
}

/// How a run can fail: by itself, or by its observer.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] Error),
    /// The observer failed.
    #[error("the observer failed")]
    Observer(E),
}

impl Run {
    /// Trains from the beginning, or from a state that an earlier run left.
    pub fn train<O: Observer>(
        &self,
        problem: &Problem,
        resume: Option<State>,
        observer: &mut O,
    ) -> std::result::Result<Outcome, RunError<O::Error>> {
        let mut progress = Progress::start(self, problem, resume)?;
        let epochs = self.settings.epochs;
        let n_rows = problem.train().labels.len();
        let n_batches = n_rows.div_ceil(self.settings.batch_size);
        let epoch = progress.state.epochs_done() + 1;
        let mut control = tell(
            observer,
            &Event::Started {
                epoch,
                epochs,
                n_batches,
                n_rows,
            },
        )?;

        while control == Control::Continue && progress.state.epochs_done() < epochs {
            let Some(metrics) = progress.epoch(observer)? else {
                return Ok(Outcome {
                    state: progress.state,
                    finished: false,
                });
            };
            control = tell(observer, &Event::Epoch(&metrics))?;
            let done = progress.state.epochs_done();
            let every = self.settings.checkpoint_every;
            if control == Control::Stop
                || done == epochs
                || (every > 0 && done.is_multiple_of(every))
            {
                let after = tell(observer, &Event::Checkpoint(&progress.state))?;
                if after == Control::Stop {
                    control = Control::Stop;
                }
            }
        }
        let finished = progress.state.epochs_done() == epochs;
        Ok(Outcome {
            state: progress.state,
            finished,
        })
    }

    /// Scores of rows in evaluation mode, `k` to a row.
    pub fn predict(&self, params: &Params, rows: &[f32]) -> Result<Vec<f32>> {
        let device = self.device.resolve()?;
        let n_rows = (rows.len() / self.model.inputs()).clamp(1, 1024);
        Engine::new(&self.model, params, n_rows, device, self.threads)?.predict(params, rows)
    }

    fn groups(&self, problem: &Problem, rows: &[usize]) -> Result<Groups> {
        let classes = problem.classes();
        if self.estimator.method() == Method::Supervised {
            let oracle = problem.oracle().ok_or(Error::NoOracle)?;
            let truths: Vec<usize> = rows.iter().map(|&row| oracle[row]).collect();
            return Ok(Groups::oracle(classes, &truths)?);
        }
        let labels: Vec<MpuLabel> = rows
            .iter()
            .map(|&row| problem.train().labels[row])
            .collect();
        Ok(Groups::batch(classes, &labels)?)
    }
}

fn tell<O: Observer>(
    observer: &mut O,
    event: &Event<'_>,
) -> std::result::Result<Control, RunError<O::Error>> {
    observer.on(event).map_err(RunError::Observer)
}

/// A run in the making.
struct Progress<'a> {
    run: &'a Run,
    problem: &'a Problem,
    engine: Engine,
    /// The state after the last whole epoch.
    state: State,
}

impl<'a> Progress<'a> {
    fn start(run: &'a Run, problem: &'a Problem, resume: Option<State>) -> Result<Self> {
        run.settings.check()?;
        let (found, needed) = (run.model.inputs(), problem.train().features.shape().len());
        if found != needed || run.model.outputs() != problem.classes().get() {
            let found = format!("{found} inputs and {} outputs", run.model.outputs());
            let needed = format!(
                "the data have {needed} and {} classes",
                problem.classes().get()
            );
            return Err(Error::Mismatch {
                what: "the model",
                found,
                needed,
            });
        }
        let state = if let Some(state) = resume {
            state.check(&run.model, run.settings.epochs)?;
            state
        } else {
            let mut rng = run.seed.stream(Stream::Init);
            let params = Params::init(&run.model, run.settings.init, &mut rng)?;
            let n_values = params.trainable().len();
            let optimizer = Optimizer::new(run.settings.optimizer, n_values)?
                .state()
                .clone();
            State {
                params,
                optimizer,
                history: Vec::new(),
            }
        };
        let labels = &problem.train().labels;
        let settings = &run.settings;
        let max_rows = Batches::max_rows(labels, settings.batching, settings.batch_size);
        let device = run.device.resolve()?;
        let engine = Engine::new(&run.model, &state.params, max_rows, device, run.threads)?;
        Ok(Self {
            run,
            problem,
            engine,
            state,
        })
    }

    /// One epoch: train, judge, and take the new state. `None` if the observer stopped it midway,
    /// which leaves the state as it was.
    fn epoch<O: Observer>(
        &mut self,
        observer: &mut O,
    ) -> std::result::Result<Option<EpochMetrics>, RunError<O::Error>> {
        let (run, problem) = (self.run, self.problem);
        let settings = &run.settings;
        let epoch = self.state.epochs_done();
        let lr = settings.schedule.rate(settings.lr, epoch, settings.epochs);
        let train = problem.train();
        let batches = Batches::draw(
            &train.labels,
            settings.batching,
            settings.batch_size,
            run.seed,
            epoch,
        );
        let mut params = self.state.params.clone();
        let mut optimizer = Optimizer::resume(settings.optimizer, self.state.optimizer.clone())
            .map_err(Error::from)?;
        let mut tally = Tally::default();
        let mut rows = Vec::new();
        for (batch, members) in batches.iter().enumerate() {
            rows.clear();
            for &row in members {
                rows.extend_from_slice(train.features.row(row));
            }
            let groups = run.groups(problem, members)?;
            let diverged = |what| Error::Diverged {
                epoch: epoch + 1,
                batch: batch + 1,
                what,
                lr,
            };
            let step = self
                .engine
                .step(&mut params, &rows, &run.estimator, &groups)?
                .ok_or_else(|| diverged("a score or a gradient is not finite"))?;
            optimizer
                .step(params.trainable_mut(), &step.gradient, lr)
                .map_err(Error::from)?;
            tally.add(run, problem, members, &step)?;
            let event = Event::Step {
                epoch: epoch + 1,
                batch: batch + 1,
                n_batches: batches.len(),
                terms: &step.terms,
            };
            if tell(observer, &event)? == Control::Stop {
                return Ok(None);
            }
        }
        let mut metrics = tally.metrics(epoch + 1, lr, problem.oracle().is_some());
        if let Some(validation) = problem.validation() {
            self.judge_validation(&params, validation, &mut metrics)?;
        }
        if let Some(test) = problem.test() {
            self.judge_test(&params, test, &mut metrics)?;
        }
        self.state.params = params;
        self.state.optimizer = optimizer.state().clone();
        self.state.history.push(metrics.clone());
        Ok(Some(metrics))
    }

    fn judge_validation(
        &mut self,
        params: &Params,
        sample: &Sample,
        metrics: &mut EpochMetrics,
    ) -> Result<()> {
        let scores = self.engine.predict(params, sample.features.values())?;
        let answers = answers(&scores, self.problem.classes().get());
        metrics.validation_accuracy =
            pu_accuracy(self.run.estimator.priors(), &sample.labels, &answers);
        if self.run.estimator.method() != Method::Supervised {
            let scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            let groups = Groups::batch(self.problem.classes(), &sample.labels)?;
            let risk = self.run.estimator.plain(&scores, &groups)?;
            metrics.validation_risk = Some(risk.terms.corrected);
        }
        Ok(())
    }

    fn judge_test(
        &mut self,
        params: &Params,
        test: &Judged,
        metrics: &mut EpochMetrics,
    ) -> Result<()> {
        let k = self.problem.classes().get();
        let scores = self.engine.predict(params, test.features.values())?;
        let mut loss = 0.0;
        for (row, &class) in scores.chunks(k).zip(&test.classes) {
            let row: Vec<f64> = row.iter().map(|&score| f64::from(score)).collect();
            loss += self.run.estimator.loss_of(&row, class)?;
        }
        let answers = answers(&scores, k);
        let confusion = Confusion::new(self.problem.classes(), &test.classes, &answers)?;
        let rates = confusion.macro_rates();
        metrics.test_loss = Some(loss / test.classes.len().max(1) as f64);
        metrics.test_accuracy = Some(confusion.accuracy());
        metrics.test_precision = Some(rates.precision);
        metrics.test_recall = Some(rates.recall);
        metrics.test_f1 = Some(rates.f1);
        metrics.test_predicted_negative = Some(confusion.predicted_negative());
        Ok(())
    }
}

/// The class of the highest score of each row; the lowest class on a tie.
pub fn answers(scores: &[f32], n_classes: usize) -> Vec<usize> {
    let top = |row: &[f32]| {
        let mut best = 0;
        for (class, score) in row.iter().enumerate() {
            if *score > row[best] {
                best = class;
            }
        }
        best
    };
    scores.chunks(n_classes).map(top).collect()
}

/// Sums over the steps of an epoch.
#[derive(Default)]
struct Tally {
    steps: usize,
    raw: f64,
    corrected: f64,
    active: usize,
    gap: f64,
    labeled: usize,
    labeled_right: usize,
    rows: usize,
    oracle_right: usize,
}

impl Tally {
    fn add(&mut self, run: &Run, problem: &Problem, rows: &[usize], step: &Step) -> Result<()> {
        let k = problem.classes().get();
        self.steps += 1;
        self.raw += step.terms.raw;
        self.corrected += step.terms.corrected;
        self.active += usize::from(step.terms.active);
        let labels: Vec<MpuLabel> = rows
            .iter()
            .map(|&row| problem.train().labels[row])
            .collect();
        let groups = Groups::batch(problem.classes(), &labels)?;
        let estimator = &run.estimator;
        self.gap += unbiasedness_gap(estimator.loss(), estimator.priors(), &step.scores, &groups)?;
        for ((scores, label), &row) in step.scores.chunks(k).zip(&labels).zip(rows) {
            let answer = (0..k).fold(0, |best, j| if scores[j] > scores[best] { j } else { best });
            self.rows += 1;
            if let MpuLabel::Labeled(class) = *label {
                self.labeled += 1;
                self.labeled_right += usize::from(answer == class);
            }
            if let Some(oracle) = problem.oracle() {
                self.oracle_right += usize::from(answer == oracle[row]);
            }
        }
        Ok(())
    }

    fn metrics(&self, epoch: usize, lr: f64, has_oracle: bool) -> EpochMetrics {
        let per_step = |sum: f64| sum / self.steps.max(1) as f64;
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        EpochMetrics {
            epoch,
            lr,
            loss: per_step(self.corrected),
            raw_risk: per_step(self.raw),
            corrected_risk: per_step(self.corrected),
            corrected_steps: share(self.active, self.steps),
            unbiasedness_gap: per_step(self.gap),
            labeled_accuracy: share(self.labeled_right, self.labeled),
            oracle_train_accuracy: has_oracle.then(|| share(self.oracle_right, self.rows)),
            validation_risk: None,
            validation_accuracy: None,
            test_loss: None,
            test_accuracy: None,
            test_precision: None,
            test_recall: None,
            test_f1: None,
            test_predicted_negative: None,
        }
    }
}
