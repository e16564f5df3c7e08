//! The training loop, short enough to read in one sitting.

use mpu_data::{MpuLabel, Priors, Seed, Stream};
use mpu_eval::{Confusion, pu_accuracy, top_class, top_classes};
use mpu_models::{ModelSpec, Optimizer, Params, Threads};
use mpu_risk::{Estimator, Groups, Method, PoolSurprise, unbiasedness_gap};

use crate::batch::Batches;
use crate::checkpoint::{Spare, State};
use crate::device::DeviceChoice;
use crate::engine::{Engine, Step};
use crate::error::{Error, Result};
use crate::event::{Control, Event, Observer};
use crate::outcome::{EpochMetrics, Outcome};
use crate::problem::{Judged, Problem, Sample};
use crate::self_training::{self, Collapse, SelfTraining};
use crate::settings::{Keep, TrainSettings};

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
        let n_batches = n_rows.div_ceil(self.settings.batch_of(n_rows));
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

        while control == Control::Continue && !progress.is_over() {
            let Some(metrics) = progress.epoch(observer)? else {
                return Ok(Outcome {
                    state: progress.state,
                    finished: false,
                });
            };
            control = tell(observer, &Event::Epoch(&metrics))?;
            if let Some(event) = progress.after_epoch(&metrics)? {
                control = tell(observer, &event)?;
            }
            let done = progress.state.epochs_done();
            let every = self.settings.checkpoint_every;
            if control == Control::Stop
                || progress.is_over()
                || (every > 0 && done.is_multiple_of(every))
            {
                let after = tell(observer, &Event::Checkpoint(&progress.state))?;
                if after == Control::Stop {
                    control = Control::Stop;
                }
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

    /// The constants of self-training, if this run is one.
    fn self_training(&self) -> Option<SelfTraining> {
        (self.estimator.method() == Method::CsmpuSt)
            .then(|| self.settings.self_training.unwrap_or_default())
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
    /// What is minimised before self-training begins.
    warm_up: Option<Estimator>,
    /// What follows from the warm-up model, once there is one.
    warmed_up: Option<WarmedUp>,
    /// The place of each row of the pool among them; none for labelled rows.
    places: Vec<Option<usize>>,
}

/// What self-training takes from the warm-up model.
struct WarmedUp {
    /// What is minimised from then on.
    estimator: Estimator,
    /// What the warm-up model knew of the pool.
    gain: f64,
}

impl<'a> Progress<'a> {
    fn start(run: &'a Run, problem: &'a Problem, resume: Option<State>) -> Result<Self> {
        run.settings.check()?;
        let estimator = &run.estimator;
        let warm_up = run.self_training().map(|constants| {
            let (loss, priors) = (*estimator.loss(), estimator.priors().clone());
            constants
                .check(run.settings.epochs)
                .map(|()| Estimator::new(constants.warm_up, loss, priors))
        });
        let warm_up = warm_up.transpose()?;
        if run.settings.keep == Keep::BestRisk {
            let allowed = "last where there are no validation rows, and for csmpu-st";
            if problem.validation().is_none() || warm_up.is_some() {
                return Err(Error::Setting {
                    name: "train.keep",
                    value: Keep::BestRisk.to_string(),
                    allowed,
                });
            }
        }
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
                targets: Vec::new(),
                spare: None,
            }
        };
        let labels = &problem.train().labels;
        let settings = &run.settings;
        let batch_size = settings.batch_of(labels.len());
        let max_rows = Batches::max_rows(labels, settings.batching, batch_size);
        let device = run.device.resolve()?;
        let engine = Engine::new(&run.model, &state.params, max_rows, device, run.threads)?;
        let mut n_pool = 0;
        let place = |label: &MpuLabel| {
            (*label == MpuLabel::Unlabeled).then(|| {
                n_pool += 1;
                n_pool - 1
            })
        };
        let places = labels.iter().map(place).collect();
        let mut progress = Self {
            run,
            problem,
            engine,
            state,
            warm_up,
            warmed_up: None,
            places,
        };
        if let (Some(constants), Some(spare)) = (run.self_training(), &progress.state.spare) {
            let scores = progress.pool_scores(&spare.params.clone())?;
            progress.warmed_up = Some(progress.warmed_up(&constants, &scores)?);
        }
        Ok(progress)
    }

    /// Whether nothing is left to train.
    fn is_over(&self) -> bool {
        self.state.epochs_done() == self.run.settings.epochs || self.state.fell_back()
    }

    /// What the next epoch minimises.
    fn estimator(&self) -> &Estimator {
        let stage = self.warmed_up.as_ref().map(|it| &it.estimator);
        let stage = stage.or(self.warm_up.as_ref());
        stage.unwrap_or(&self.run.estimator)
    }

    /// What the estimator may know of the rows of a batch.
    fn groups(&self, rows: &[usize]) -> Result<Groups> {
        let (problem, method) = (self.problem, self.estimator().method());
        let classes = problem.classes();
        if method == Method::Supervised {
            let oracle = problem.oracle().ok_or(Error::NoOracle)?;
            let truths: Vec<usize> = rows.iter().map(|&row| oracle[row]).collect();
            return Ok(Groups::oracle(classes, &truths)?);
        }
        let labels: Vec<MpuLabel> = rows
            .iter()
            .map(|&row| problem.train().labels[row])
            .collect();
        let groups = Groups::batch(classes, &labels)?;
        if method != Method::CsmpuSt {
            return Ok(groups);
        }
        let k = classes.get();
        let places = rows.iter().filter_map(|&row| self.places[row]);
        let targets = places.flat_map(|place| &self.state.targets[place * k..(place + 1) * k]);
        Ok(groups.with_targets(targets.map(|&t| f64::from(t)).collect())?)
    }

    /// What follows an epoch: the best model is kept, or the pool's targets move on.
    fn after_epoch(&mut self, metrics: &EpochMetrics) -> Result<Option<Event<'static>>> {
        let epoch = metrics.epoch;
        if self.run.settings.keep == Keep::BestRisk {
            let risk = |epoch: usize| self.state.history[epoch - 1].validation_risk;
            let best = self
                .state
                .spare
                .as_ref()
                .and_then(|spare| risk(spare.epoch));
            if best.is_none_or(|best| metrics.validation_risk.is_some_and(|risk| risk < best)) {
                self.keep(epoch, true);
            }
        }
        let Some(constants) = self.run.self_training() else {
            return Ok(None);
        };
        if epoch < constants.warm_up_epochs || epoch == self.run.settings.epochs {
            return Ok(None);
        }
        let given = self.run.estimator.priors();
        let scores = self.pool_scores(&self.state.params.clone())?;
        if epoch == constants.warm_up_epochs {
            self.keep(epoch, false);
            self.warmed_up = Some(self.warmed_up(&constants, &scores)?);
        }
        let Some(WarmedUp { estimator, gain }) = &self.warmed_up else {
            return Ok(None);
        };
        let (priors, of_warm_up) = (estimator.priors().clone(), *gain);
        let matched = self_training::match_priors(&scores, &priors);
        self_training::average(
            &mut self.state.targets,
            &matched.targets,
            constants.momentum,
        );
        let sign = if epoch > constants.warm_up_epochs {
            let gain = self.pool_gain(&scores, &priors)?;
            matched.collapse(&constants, &priors, gain, of_warm_up)
        } else {
            (given.negative() == 0.0).then_some(Collapse::NoNegatives)
        };
        if let Some(sign) = sign {
            if let Some(spare) = &mut self.state.spare {
                spare.in_force = true;
            }
            return Ok(Some(Event::FellBack { epoch, sign }));
        }
        let raised = epoch == constants.warm_up_epochs && priors != *given;
        Ok(raised.then(|| Event::PriorsRaised {
            given: 1.0 - given.negative(),
            found: 1.0 - priors.negative(),
        }))
    }

    /// What follows from the warm-up model's scores of the pool.
    fn warmed_up(&self, constants: &SelfTraining, scores: &[f32]) -> Result<WarmedUp> {
        let mut estimator = self.run.estimator.clone();
        if constants.warm_up.scores_are_log_probabilities() {
            let given = estimator.priors();
            if let Some(raised) = self_training::raise_priors(scores, given, constants.sure) {
                estimator = estimator.with_priors(raised);
            }
        }
        let gain = self.pool_gain(scores, estimator.priors())?;
        let estimator = estimator.with_labeled_share(constants.labeled_share)?;
        Ok(WarmedUp { estimator, gain })
    }

    /// Scores of the pool's rows, `k` to a row.
    fn pool_scores(&mut self, params: &Params) -> Result<Vec<f32>> {
        let train = self.problem.train();
        let is_pool = |&row: &usize| self.places[row].is_some();
        let rows: Vec<usize> = (0..train.labels.len()).filter(is_pool).collect();
        let mut scores = Vec::new();
        for part in rows.chunks(4096) {
            let features = train.features.select(part);
            scores.extend(self.engine.predict(params, features.values())?);
        }
        Ok(scores)
    }

    /// What a model with such scores of the pool knows of it.
    fn pool_gain(&self, scores: &[f32], priors: &Priors) -> Result<f64> {
        let groups = Groups::new(self.problem.classes(), &self.problem.train().labels)?;
        let scores: Vec<f64> = scores.iter().copied().map(f64::from).collect();
        Ok(PoolSurprise::new(priors, &groups, &scores).gain())
    }

    fn keep(&mut self, epoch: usize, in_force: bool) {
        self.state.spare = Some(Spare {
            epoch,
            params: self.state.params.clone(),
            in_force,
        });
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
            settings.batch_of(train.labels.len()),
            run.seed,
            epoch,
        );
        let mut params = self.state.params.clone();
        let mut optimizer = Optimizer::resume(settings.optimizer, self.state.optimizer.clone())
            .map_err(Error::from)?
            .on(run.threads);
        let estimator = self.estimator().clone();
        let mut tally = Tally::default();
        for (batch, members) in batches.iter().enumerate() {
            let groups = self.groups(members)?;
            let diverged = |what| Error::Diverged {
                epoch: epoch + 1,
                batch: batch + 1,
                what,
                lr,
            };
            let step = self
                .engine
                .step(&mut params, (&train.features, members), &estimator, &groups)?
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
        let answers = top_classes(&scores, self.problem.classes().get());
        metrics.validation_accuracy =
            pu_accuracy(self.run.estimator.priors(), &sample.labels, &answers);
        // Self-training has no risk of rows without targets: its warm-up's stands in, the likelihood.
        let estimator = self.warm_up.as_ref().unwrap_or(&self.run.estimator);
        if estimator.method() != Method::Supervised {
            let scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            let groups = Groups::batch(self.problem.classes(), &sample.labels)?;
            let risk = estimator.plain(&scores, &groups)?;
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
        let answers = top_classes(&scores, k);
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
    fn add(&mut self, run: &Run, problem: &Problem, rows: &[usize], step: &Step<'_>) -> Result<()> {
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
            let answer = top_class(scores);
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
