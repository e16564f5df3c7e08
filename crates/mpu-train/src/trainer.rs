//! The training loop, short enough to read in one sitting.

use mpu_data::{MpuLabel, Priors, Seed, Stream, bad_setting, mismatch};
use mpu_loss::{CostMatrix, Loss};
use mpu_models::{Dropout, ModelSpec, Module, Optimizer, Params, Threads};
use mpu_risk::{Estimator, Groups, Placement};

use crate::batch::Batches;
use crate::checkpoint::State;
use crate::device::DeviceChoice;
use crate::engine::{Engine, EngineChoice, Epoch, Made, Rows, Step};
use crate::error::{Error, Result};
use crate::event::{Control, Event, Observer};
use crate::figures::Tally;
use crate::outcome::{EpochMetrics, Outcome};
use crate::precision::Precision;
use crate::problem::Problem;
use crate::procedure::{self, CostsEnter, Method, Procedure};
use crate::settings::TrainSettings;
use crate::teacher::Teacher;

/// A run: everything that decides its outcome, besides the problem.
#[derive(Debug, Clone)]
pub struct Run {
    /// The architecture.
    pub model: ModelSpec,
    /// How to build the network, if it is one of the user's own; [`model`](Self::model) is then
    /// [what it gives](Module::spec).
    pub module: Option<Module>,
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
    /// What makes its steps: if not given, [`Fused`](EngineChoice::Fused) for our own networks on the CPU, else
    /// [`Candle`](EngineChoice::Candle).
    pub engine: Option<EngineChoice>,
    /// The numbers that the network computes with.
    pub precision: Precision,
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
    /// A run with the default loss and settings and seed 42, on one thread of the CPU.
    pub fn new(model: ModelSpec, method: Method, priors: Priors) -> Self {
        Self {
            model,
            module: None,
            method,
            loss: Loss::default(),
            placement: None,
            priors,
            costs: None,
            settings: TrainSettings::default(),
            seed: Seed(42),
            device: DeviceChoice::Cpu,
            engine: None,
            precision: Precision::F32,
            threads: Threads::ONE,
        }
    }

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
            None => self.initial(problem)?,
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
                return Ok(progress.stopped()?);
            };
            control = tell(observer, &Event::Epoch(&metrics))?;
            if let Some(event) = progress.after_epoch()? {
                control = tell(observer, &event)?;
            }
            let every = self.settings.checkpoint_every;
            let is_due = every > 0 && progress.state.epochs_done().is_multiple_of(every);
            if control == Control::Stop || progress.is_over() || is_due {
                progress.store()?;
                if tell(observer, &Event::Checkpoint(&progress.state))? == Control::Stop {
                    control = Control::Stop;
                }
            }
        }
        let finished = progress.is_over();
        let state = progress.stopped()?.state;
        Ok(Outcome { state, finished })
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

    /// Whether the architecture fits the settings, and the rows and classes of a problem.
    fn check_model(&self, problem: &Problem) -> Result<()> {
        let found = (self.model.inputs(), self.model.outputs());
        let needed = (
            problem.train().features.shape().len(),
            problem.classes().get(),
        );
        let dropout = self.settings.dropout;
        if dropout > 0.0 && !matches!(self.model, ModelSpec::Mlp(_)) {
            let allowed = "0: only an MLP can leave values out";
            return Err(bad_setting("train.dropout", dropout, allowed));
        }
        if found == needed {
            return Ok(());
        }
        Err(mismatch(
            "the model",
            format!("{} inputs and {} outputs", found.0, found.1),
            format!("the data have {} and {} classes", needed.0, needed.1),
        ))
    }

    /// What the steps of an epoch leave out; empty if nothing is.
    fn dropouts(&self, epoch: usize, n_batches: usize) -> Result<Vec<Dropout>> {
        let share = self.settings.dropout;
        if share == 0.0 {
            return Ok(Vec::new());
        }
        let mut rng = self.seed.stream_at(Stream::Dropout, epoch as u64);
        let dropouts = (0..n_batches).map(|_| Dropout::draw(share, &mut rng));
        Ok(dropouts.collect::<mpu_models::Result<_>>()?)
    }

    /// The state before the first epoch.
    fn initial(&self, problem: &Problem) -> Result<State> {
        let mut rng = self.seed.stream(Stream::Init);
        let params = match &self.module {
            Some(module) => {
                let shape = problem.train().features.shape();
                module.init(shape, self.model.outputs(), rng)?
            }
            None => Params::init(&self.model, self.settings.init, &mut rng)?,
        };
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
    engine: Box<dyn Engine + 'a>,
    /// What happens from epoch to epoch.
    procedure: Box<dyn Procedure + 'a>,
    /// The loss by which test rows are judged.
    judge: Estimator,
    /// The state after the last whole epoch. Parameters and optimiser are the engine's, who writes them here when
    /// somebody wants to see them.
    state: State,
    /// The epochs done when it was last whole.
    stored_at: Option<usize>,
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
            None => run.initial(problem)?,
        };
        let mut engine = run.engine(problem, &state)?;
        procedure.resume(engine.as_mut(), &state)?;
        Ok(Self {
            run,
            problem,
            engine,
            procedure,
            judge: run.estimator()?,
            state,
            stored_at: None,
        })
    }

    /// Whether nothing is left to train.
    fn is_over(&self) -> bool {
        self.state.epochs_done() == self.run.settings.epochs || self.procedure.is_over(&self.state)
    }

    /// What the procedure does between two epochs.
    fn after_epoch(&mut self) -> Result<Option<Event<'static>>> {
        self.procedure
            .after_epoch(self.engine.as_mut(), &mut self.state)
    }

    /// Writes the engine's part of the state, unless it is there from a checkpoint of the same epoch.
    fn store(&mut self) -> Result<()> {
        let epoch = self.state.epochs_done();
        if self.stored_at != Some(epoch) {
            self.engine.store(&mut self.state)?;
            self.stored_at = Some(epoch);
        }
        Ok(())
    }

    /// What there is after the last whole epoch.
    fn stopped(mut self) -> Result<Outcome> {
        self.store()?;
        Ok(Outcome {
            state: self.state,
            finished: false,
        })
    }

    /// One epoch: train, judge, and take the new state. `None` if the observer stopped it midway,
    /// which leaves the state as it was.
    fn epoch<O: Observer>(
        &mut self,
        observer: &mut O,
    ) -> std::result::Result<Option<EpochMetrics>, RunError<O::Error>> {
        let (run, problem, k) = (self.run, self.problem, self.problem.classes().get());
        let settings = &run.settings;
        let epoch = self.state.epochs_done();
        let _span = tracing::info_span!("epoch", epoch = epoch + 1).entered();
        let lr = settings.schedule.rate(settings.lr, epoch, settings.epochs);
        let labels = &problem.train().labels;
        let (engine, procedure) = (&mut self.engine, self.procedure.as_ref());
        let mut plan = Epoch {
            batches: Batches::draw(
                labels,
                settings.batching,
                settings.batch_of(labels.len()),
                run.seed,
                epoch,
            ),
            estimator: procedure.estimator(),
            groups: &|rows| groups(problem, procedure, &self.state, rows),
            lr,
            dropouts: Vec::new(),
        };
        plan.dropouts = run.dropouts(epoch, plan.batches.len())?;
        let diverged = |batch: usize| Error::Diverged {
            epoch: epoch + 1,
            batch: batch + 1,
            what: "a score or a gradient is not finite",
            lr,
        };
        let n_batches = plan.batches.len();
        let mut tally = Tally::default();
        engine.begin(&plan)?;
        for batch in 0..n_batches {
            let step = match engine.step(&plan, batch)? {
                Made::Diverged => return Err(diverged(batch).into()),
                Made::Later => None,
                Made::Step(step) => Some(step),
            };
            if let Some(step) = &step {
                tally.add(run, problem, plan.batches.rows(batch), step)?;
            }
            let event = Event::Step {
                epoch: epoch + 1,
                batch: batch + 1,
                n_batches,
                terms: step.as_ref().map(|step| &step.terms),
            };
            if tell(observer, &event)? == Control::Stop {
                return Ok(None);
            }
        }
        let told = engine.told()?;
        let told = told.ok_or_else(|| diverged(n_batches - 1))?;
        // Empty where every step has told its own.
        let mut rest = told.as_slice();
        for batch in 0..if rest.is_empty() { 0 } else { n_batches } {
            let rows = plan.batches.rows(batch);
            let (scores, others) = rest.split_at(rows.len() * k);
            rest = others;
            let scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            if scores.iter().any(|score| !score.is_finite()) {
                return Err(diverged(batch).into());
            }
            let risk = plan.estimator.plain(&scores, &(plan.groups)(rows)?);
            let terms = risk.map_err(Error::from)?.terms;
            tally.add(run, problem, rows, &Step { scores, terms })?;
        }
        let mut metrics = tally.metrics(epoch + 1, lr, problem.oracle().is_some());
        if let Some(held) = problem.validation() {
            let scores = engine.predict(Rows::Validation)?;
            metrics.judge_validation(run, procedure.held_out(), held, &scores)?;
        }
        if let Some(test) = problem.test() {
            let scores = engine.predict(Rows::Test)?;
            metrics.judge_test(&self.judge, test, &scores)?;
        }
        engine.mark()?;
        self.state.history.push(metrics.clone());
        Ok(Some(metrics))
    }
}

/// What the next epoch's objective may know of the rows of a batch.
fn groups(
    problem: &Problem,
    procedure: &dyn Procedure,
    state: &State,
    rows: &[usize],
) -> Result<Groups> {
    let classes = problem.classes();
    if procedure.estimator().objective().uses_hidden_labels() {
        let oracle = problem.oracle().ok_or(Error::NoOracle)?;
        let truths: Vec<usize> = rows.iter().map(|&row| oracle[row]).collect();
        return Ok(Groups::oracle(classes, &truths)?);
    }
    let label = |&row: &usize| problem.train().labels[row];
    let labels: Vec<MpuLabel> = rows.iter().map(label).collect();
    let groups = Groups::batch(classes, &labels)?;
    Ok(match procedure.targets(state, rows) {
        Some(targets) => groups.with_targets(targets)?,
        None => groups,
    })
}
