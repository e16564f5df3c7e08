//! The training loop, short enough to read in one sitting.

use mpu_data::{MpuLabel, Priors, Seed, Stream, mismatch};
use mpu_loss::{CostMatrix, Loss};
use mpu_models::{ModelSpec, Optimizer, Params, Threads};
use mpu_risk::{Estimator, Groups, Placement};

use crate::batch::Batches;
use crate::checkpoint::State;
use crate::device::DeviceChoice;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::event::{Control, Event, Observer};
use crate::figures::Tally;
use crate::outcome::{EpochMetrics, Outcome};
use crate::problem::Problem;
use crate::procedure::{self, CostsEnter, Method, Procedure};
use crate::settings::TrainSettings;
use crate::teacher::Teacher;

/// A run: everything that decides its outcome, besides the problem.
#[derive(Debug, Clone)]
pub struct Run {
    /// The architecture.
    pub model: ModelSpec,
    /// The way of training.
    pub method: Method,
    /// The binary loss, for methods that use one.
    pub loss: Loss,
    /// Where the correction stands; `None` for the method's own place.
    pub placement: Option<Placement>,
    /// The class priors of the pool.
    pub priors: Priors,
    /// What mistakes cost, if they are not all alike. [`Method::costs_enter`] says what becomes of it: a
    /// method with costs of its own refuses them.
    pub costs: Option<CostMatrix>,
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
        let Some(teacher) = Teacher::of(self, problem) else {
            return self.epochs(problem, resume, observer);
        };
        let mut state = match resume {
            Some(state) => state,
            None => self.initial()?,
        };
        if teacher.teach(&mut state, observer)? == Control::Stop {
            return Ok(Outcome {
                state,
                finished: false,
            });
        }
        self.epochs(problem, Some(state), observer)
    }

    /// Trains epoch by epoch, with targets in the state where the procedure needs them from the first epoch on.
    pub(crate) fn epochs<O: Observer>(
        &self,
        problem: &Problem,
        resume: Option<State>,
        observer: &mut O,
    ) -> std::result::Result<Outcome, RunError<O::Error>> {
        let mut progress = Progress::start(self, problem, resume)?;
        let n_rows = problem.train().labels.len();
        let started = Event::Started {
            epoch: progress.state.epochs_done() + 1,
            epochs: self.settings.epochs,
            n_batches: n_rows.div_ceil(self.settings.batch_of(n_rows)),
            n_rows,
        };
        let mut control = tell(observer, &started)?;
        while control == Control::Continue && !progress.is_over() {
            let Some(metrics) = progress.epoch(observer)? else {
                return Ok(Outcome {
                    state: progress.state,
                    finished: false,
                });
            };
            control = tell(observer, &Event::Epoch(&metrics))?;
            if let Some(event) = progress.after_epoch()? {
                control = tell(observer, &event)?;
            }
            let every = self.settings.checkpoint_every;
            let is_due = every > 0 && progress.state.epochs_done().is_multiple_of(every);
            if (control == Control::Stop || progress.is_over() || is_due)
                && tell(observer, &Event::Checkpoint(&progress.state))? == Control::Stop
            {
                control = Control::Stop;
            }
        }
        let finished = progress.is_over();
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

    /// What the last epoch minimises, with the run's costs where they enter the risk.
    pub(crate) fn estimator(&self) -> Result<Estimator> {
        let objective = self.method.objective();
        let mut estimator = Estimator::new(objective, self.loss, self.priors.clone());
        if let Some(placement) = self.placement {
            estimator = estimator.with_placement(placement);
        }
        Ok(match &self.costs {
            Some(costs) if self.method.costs_enter() != CostsEnter::Decision => {
                estimator.with_costs(costs.clone())?
            }
            _ => estimator,
        })
    }

    /// Whether the architecture fits the rows and classes of a problem.
    fn check_model(&self, problem: &Problem) -> Result<()> {
        let found = (self.model.inputs(), self.model.outputs());
        let needed = (
            problem.train().features.shape().len(),
            problem.classes().get(),
        );
        if found == needed {
            return Ok(());
        }
        Err(mismatch(
            "the model",
            format!("{} inputs and {} outputs", found.0, found.1),
            format!("the data have {} and {} classes", needed.0, needed.1),
        ))
    }

    /// The state before the first epoch.
    fn initial(&self) -> Result<State> {
        let mut rng = self.seed.stream(Stream::Init);
        let params = Params::init(&self.model, self.settings.init, &mut rng)?;
        let optimizer = Optimizer::new(self.settings.optimizer, params.trainable().len())?;
        Ok(State {
            params,
            optimizer: optimizer.state().clone(),
            history: Vec::new(),
            targets: Vec::new(),
            kept: None,
        })
    }
}

pub(crate) fn tell<O: Observer>(
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
    /// What happens from epoch to epoch.
    procedure: Box<dyn Procedure + 'a>,
    /// The loss by which test rows are judged.
    judge: Estimator,
    /// The state after the last whole epoch.
    state: State,
}

impl<'a> Progress<'a> {
    fn start(run: &'a Run, problem: &'a Problem, resume: Option<State>) -> Result<Self> {
        let settings = &run.settings;
        settings.check()?;
        let mut procedure = procedure::of(run, problem)?;
        run.check_model(problem)?;
        let state = match resume {
            Some(state) => {
                state.check(&run.model, settings.epochs)?;
                state
            }
            None => run.initial()?,
        };
        let labels = &problem.train().labels;
        let batch_size = settings.batch_of(labels.len());
        let max_rows = Batches::max_rows(labels, settings.batching, batch_size);
        let device = run.device.resolve()?;
        let mut engine = Engine::new(&run.model, &state.params, max_rows, device, run.threads)?;
        procedure.resume(&mut engine, &state)?;
        Ok(Self {
            run,
            problem,
            engine,
            procedure,
            judge: run.estimator()?,
            state,
        })
    }

    /// Whether nothing is left to train.
    fn is_over(&self) -> bool {
        self.state.epochs_done() == self.run.settings.epochs || self.procedure.is_over(&self.state)
    }

    /// What the procedure does between two epochs.
    fn after_epoch(&mut self) -> Result<Option<Event<'static>>> {
        self.procedure
            .after_epoch(&mut self.engine, &mut self.state)
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
        let _span = tracing::info_span!("epoch", epoch = epoch + 1).entered();
        let lr = settings.schedule.rate(settings.lr, epoch, settings.epochs);
        let train = problem.train();
        let batches = Batches::draw(
            &train.labels,
            settings.batching,
            settings.batch_of(train.labels.len()),
            run.seed,
            epoch,
        );
        let mut params = self.state.params.clone();
        let mut optimizer = Optimizer::resume(settings.optimizer, self.state.optimizer.clone())
            .map_err(Error::from)?
            .on(run.threads);
        let mut tally = Tally::default();
        for (batch, members) in batches.iter().enumerate() {
            let groups = self.groups(members)?;
            let diverged = || Error::Diverged {
                epoch: epoch + 1,
                batch: batch + 1,
                what: "a score or a gradient is not finite",
                lr,
            };
            let rows = (&train.features, members);
            let step = self
                .engine
                .step(&mut params, rows, self.procedure.estimator(), &groups)?
                .ok_or_else(diverged)?;
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
        if let Some(held) = problem.validation() {
            let scores = self.engine.predict(&params, held.features.values())?;
            metrics.judge_validation(run, self.procedure.held_out(), held, &scores)?;
        }
        if let Some(test) = problem.test() {
            let scores = self.engine.predict(&params, test.features.values())?;
            metrics.judge_test(&self.judge, test, &scores)?;
        }
        self.state.params = params;
        self.state.optimizer = optimizer.state().clone();
        self.state.history.push(metrics.clone());
        Ok(Some(metrics))
    }

    /// What the next epoch's objective may know of the rows of a batch.
    fn groups(&self, rows: &[usize]) -> Result<Groups> {
        let (problem, classes) = (self.problem, self.problem.classes());
        if self.procedure.estimator().objective().uses_hidden_labels() {
            let oracle = problem.oracle().ok_or(Error::NoOracle)?;
            let truths: Vec<usize> = rows.iter().map(|&row| oracle[row]).collect();
            return Ok(Groups::oracle(classes, &truths)?);
        }
        let label = |&row: &usize| problem.train().labels[row];
        let labels: Vec<MpuLabel> = rows.iter().map(label).collect();
        let groups = Groups::batch(classes, &labels)?;
        Ok(match self.procedure.targets(&self.state, rows) {
            Some(targets) => groups.with_targets(targets)?,
            None => groups,
        })
    }
}
