//! The local engine: many runs of a plan, a thread each, into a store.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::ProgressBar;
use mpu_data::MpuLabel;
use mpu_data::dataset::TrainTest;
use mpu_data::source::content::sha256;
use mpu_data::source::resolve::Locations;
use mpu_report::store::{Failure, Store};
use mpu_report::{Curves, Heat, Record, RunKey, Scores};
use mpu_risk::bounds::loss_gap;
use mpu_train::{Control, Event, Judged, Observer, State, model_to_bytes};

use crate::console::{Downloads, bar};
use crate::plan::Planned;
use mpu::models::Threads;
use mpu::{Prepared, Probabilities, RunConfig, RunSummary, Trained};

/// How many runs at once and with how many threads each; where data are; who says stop.
pub(crate) struct Engine<'a> {
    pub(crate) store: &'a Store,
    pub(crate) locations: &'a Locations,
    pub(crate) jobs: usize,
    pub(crate) threads: usize,
    pub(crate) interrupted: &'a AtomicBool,
}

/// What became of the runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Tally {
    pub(crate) trained: usize,
    pub(crate) failed: usize,
    /// Another process has them in hand.
    pub(crate) elsewhere: usize,
}

/// How often the state of a run is kept while it trains.
const KEEP_EVERY: Duration = Duration::from_secs(30);

impl Engine<'_> {
    /// Makes the runs that nobody else makes. One that fails is kept as a failure and stops nothing.
    pub(crate) fn run(&self, runs: &[Planned]) -> anyhow::Result<Tally> {
        let total: f64 = runs.iter().map(Planned::cost).sum();
        let progress = Progress {
            bar: bar(runs.len() as u64, "runs"),
            started: Instant::now(),
            done: Mutex::new(0.0),
            total,
        };
        let next = AtomicUsize::new(0);
        let tally = Mutex::new(Tally::default());
        let fault: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, runs.len().max(1)) {
                scope.spawn(|| {
                    let mut worker = Worker {
                        engine: self,
                        kept: None,
                    };
                    while !self.interrupted.load(Ordering::SeqCst) {
                        let Some(run) = runs.get(next.fetch_add(1, Ordering::SeqCst)) else {
                            break;
                        };
                        match worker.make(run) {
                            Ok(made) => {
                                if let Ok(mut tally) = tally.lock() {
                                    match made {
                                        Made::Trained => tally.trained += 1,
                                        Made::Failed => tally.failed += 1,
                                        Made::Elsewhere => tally.elsewhere += 1,
                                        Made::Stopped => break,
                                    }
                                }
                                progress.advance(run);
                            }
                            // The store itself is at fault: no use in going on.
                            Err(error) => {
                                if let Ok(mut fault) = fault.lock() {
                                    fault.get_or_insert(error);
                                }
                                self.interrupted.store(true, Ordering::SeqCst);
                            }
                        }
                    }
                });
            }
        });
        progress.bar.finish_and_clear();
        if let Some(error) = fault.into_inner().ok().flatten() {
            return Err(error);
        }
        Ok(tally.into_inner().unwrap_or_default())
    }
}

/// The bar, with the time left from what the runs so far took.
struct Progress {
    bar: ProgressBar,
    started: Instant,
    done: Mutex<f64>,
    total: f64,
}

impl Progress {
    fn advance(&self, run: &Planned) {
        self.bar.inc(1);
        if let Ok(mut done) = self.done.lock() {
            *done += run.cost();
            let left = (self.total - *done).max(0.0);
            let seconds = self.started.elapsed().as_secs_f64() * left / done.max(1e-9);
            let left = Duration::from_secs(seconds as u64);
            self.bar
                .set_message(format!("{}  about {left:?} left by cost", run.name()));
        }
    }
}

/// What became of one run.
enum Made {
    Trained,
    Failed,
    Elsewhere,
    Stopped,
}

/// One thread's work; it keeps the dataset it read last.
struct Worker<'a> {
    engine: &'a Engine<'a>,
    kept: Option<(String, TrainTest)>,
}

impl Worker<'_> {
    fn make(&mut self, run: &Planned) -> anyhow::Result<Made> {
        let store = self.engine.store;
        let Some(_claim) = store.claim(&run.id)? else {
            return Ok(Made::Elsewhere);
        };
        match self.train(run) {
            Ok(Some(record)) => {
                store.put(&record)?;
                Ok(Made::Trained)
            }
            Ok(None) => Ok(Made::Stopped),
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!("{} ({}) failed: {error}", run.name(), run.id);
                store.put_failure(&Failure {
                    version: Record::VERSION,
                    id: run.id.clone(),
                    name: run.name(),
                    error,
                })?;
                Ok(Made::Failed)
            }
        }
    }

    /// Trains a run; `None` if it was stopped, with its state kept.
    fn train(&mut self, run: &Planned) -> anyhow::Result<Option<Record>> {
        let config = &run.config;
        let engine = self.engine;
        let prepared = Prepared::of(config, self.data(config)?, &mut Stop(engine.interrupted))?;
        let threads = Threads::new(engine.threads);
        let trained = Trained::by(config, threads, |lr| {
            let mut keeper = Keeper::new(engine, run, lr);
            let resume = mpu::read_state(&keeper.path)?;
            let outcome = prepared.train(config, lr, threads, resume, &mut keeper)?;
            keeper.keep(&outcome.state, config.sweep.is_some() || !outcome.finished)?;
            Ok(outcome.finished.then_some(outcome))
        })?;
        let record = trained.map(|trained| self.record(run, &prepared, &trained));
        record.transpose()
    }

    fn data(&mut self, config: &RunConfig) -> anyhow::Result<&TrainTest> {
        let data = &config.data;
        let key = format!(
            "{} {} {:?} {:?}",
            data.dataset.slug(),
            data.split_seed,
            data.generated_rows,
            data.max_rows
        );
        if self.kept.as_ref().is_none_or(|(kept, _)| *kept != key) {
            self.kept = None; // two at once may not fit
            let data = mpu::dataset(config, self.engine.locations, &Downloads::default())?;
            self.kept = Some((key, data));
        }
        let (_, data) = self.kept.as_ref().context("no dataset was read")?;
        Ok(data)
    }

    fn record(
        &self,
        run: &Planned,
        prepared: &Prepared,
        trained: &Trained,
    ) -> anyhow::Result<Record> {
        let (config, outcome, lr) = (&run.config, &trained.outcome, trained.lr);
        let params = outcome.params();
        let history = &outcome.state.history;
        let last = outcome.reported().context("no epoch was trained")?;
        let test = prepared.problem.test().context("no test rows")?;
        let true_priors = prepared.true_priors.as_ref();
        let true_priors = true_priors.context("the shares of the pool are not known")?;
        let scores = prepared
            .run(config, lr, trained.threads)
            .predict(params, test.features.values())?;
        let column = |value: fn(&mpu_train::EpochMetrics) -> f64| -> Vec<f64> {
            history.iter().map(|m| round(value(m))).collect()
        };
        let share = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let judged = Probabilities::of(config.method, &prepared.priors, test, &scores)?;
        Ok(Record {
            version: Record::VERSION,
            id: run.id.clone(),
            key: key(config, lr),
            config: serde_json::to_value(config).context("writing the configuration")?,
            program: program(),
            machine: machine(),
            threads: trained.threads.get(),
            seconds: round(trained.seconds),
            data_mark: prepared.facts.mark.clone(),
            split_digest: prepared.facts.split_digest.clone(),
            model_sha256: sha256(&model_to_bytes(params)?),
            scores: Scores {
                accuracy: share(last.test_accuracy),
                accuracy_last_ten: share(RunSummary::last_ten(history)),
                precision: share(last.test_precision),
                recall: share(last.test_recall),
                f1: share(last.test_f1),
                shifted_accuracy: judged
                    .as_ref()
                    .map(|judged| round(judged.shifted.accuracy())),
                shifted_f1: judged
                    .as_ref()
                    .map(|judged| round(judged.shifted.macro_rates().f1)),
                calibration_error: judged.map(|judged| round(judged.calibration_error)),
            },
            priors: true_priors.as_slice().to_vec(),
            prior_gaps: prior_gaps(run, prepared, trained)?,
            curves: Some(Curves {
                train_loss: column(|m| m.loss),
                test_loss: column(|m| m.test_loss.unwrap_or(f64::NAN)),
                oracle_train_accuracy: column(|m| m.oracle_train_accuracy.unwrap_or(f64::NAN)),
                test_accuracy: column(|m| m.test_accuracy.unwrap_or(f64::NAN)),
            }),
            heat: Some(heat(&scores, test, config.data.classes.get())),
        })
    }
}

/// `b_i` of the observed classes, from the scores of their labelled training rows.
fn prior_gaps(run: &Planned, prepared: &Prepared, trained: &Trained) -> anyhow::Result<Vec<f64>> {
    let config = &run.config;
    let classes = config.data.classes;
    let train = prepared.problem.train();
    let rows: Vec<usize> = (0..train.labels.len())
        .filter(|&row| train.labels[row] != MpuLabel::Unlabeled)
        .collect();
    let scores = prepared.run(config, trained.lr, trained.threads).predict(
        trained.outcome.params(),
        train.features.select(&rows).values(),
    )?;
    let mut margins = vec![Vec::new(); classes.n_observed()];
    for (&row, scores) in rows.iter().zip(scores.chunks(classes.get())) {
        if let MpuLabel::Labeled(class) = train.labels[row] {
            margins[class].push(f64::from(scores[class]));
        }
    }
    let gap = |margins: &Vec<f64>| Ok(round(loss_gap(&config.loss, margins)?));
    margins.iter().map(gap).collect()
}

/// The fields by which tables find the run.
pub(crate) fn key(config: &RunConfig, lr: f64) -> RunKey {
    RunKey {
        dataset: config.data.dataset.slug().to_owned(),
        protocol: config.data.protocol.slug().to_owned(),
        classes: config.data.classes.get(),
        prior: config.data.prior,
        method: config.method.slug().to_owned(),
        surrogate: config.loss.surrogate().slug().to_owned(),
        gamma: config.loss.gamma(),
        form: config.loss.form().slug().to_owned(),
        lr,
        swept: config.sweep.is_some(),
        epochs: config.train.epochs,
        seed: config.seed,
    }
}

/// Six digits are enough for a curve and keep records small.
fn round(value: f64) -> f64 {
    format!("{value:.6}").parse().unwrap_or(value)
}

/// Counts and mean margins of test rows by true class and answer.
fn heat(scores: &[f32], test: &Judged, k: usize) -> Heat {
    let mut support = vec![vec![0u64; k]; k];
    let mut sums = vec![vec![0.0; k]; k];
    let given = mpu_eval::top_classes(scores, k);
    for ((row, &truth), &answer) in scores.chunks(k).zip(&test.classes).zip(&given) {
        let rivals = row.iter().enumerate().filter(|(class, _)| *class != truth);
        let rival = rivals.map(|(_, &s)| s).fold(f32::NEG_INFINITY, f32::max);
        support[truth][answer] += 1;
        sums[truth][answer] += f64::from(row[truth] - rival);
    }
    let mean = |(&n, &sum): (&u64, &f64)| (n > 0).then(|| round(sum / n as f64));
    let margin = support.iter().zip(&sums);
    let margin = margin.map(|(n, sum)| n.iter().zip(sum).map(mean).collect());
    Heat {
        margin: margin.collect(),
        support,
    }
}

/// The version, and the commit where this is run in a clone of the project.
fn program() -> String {
    static COMMIT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let commit = COMMIT.get_or_init(|| {
        if !std::path::Path::new("crates/mpu-cli/Cargo.toml").exists() {
            return None;
        }
        let git = ["describe", "--always", "--dirty"];
        let output = std::process::Command::new("git").args(git).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    });
    let version = env!("CARGO_PKG_VERSION");
    match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

fn machine() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    format!("{model}, {}", std::env::consts::OS)
}

/// Hears that priors are no longer to be estimated.
struct Stop<'a>(&'a AtomicBool);

impl Observer for Stop<'_> {
    type Error = std::convert::Infallible;

    fn on(&mut self, _: &Event<'_>) -> Result<Control, Self::Error> {
        Ok(control(self.0))
    }
}

fn control(interrupted: &AtomicBool) -> Control {
    if interrupted.load(Ordering::SeqCst) {
        Control::Stop
    } else {
        Control::Continue
    }
}

/// Keeps the state of a run now and then, and hears that it is to stop.
struct Keeper<'a> {
    folder: std::path::PathBuf,
    path: std::path::PathBuf,
    kept: Instant,
    interrupted: &'a AtomicBool,
}

impl<'a> Keeper<'a> {
    fn new(engine: &Engine<'a>, run: &Planned, lr: f64) -> Self {
        let folder = engine.store.work(&run.id);
        Self {
            path: folder.join(format!("lr-{lr}.safetensors")),
            folder,
            kept: Instant::now(),
            interrupted: engine.interrupted,
        }
    }

    fn keep(&mut self, state: &State, wanted: bool) -> mpu::Result<()> {
        if wanted {
            fs::create_dir_all(&self.folder)?;
            mpu::write_state(&self.path, state)?;
            self.kept = Instant::now();
        }
        Ok(())
    }
}

impl Observer for Keeper<'_> {
    type Error = anyhow::Error;

    fn on(&mut self, event: &Event<'_>) -> anyhow::Result<Control> {
        if let Event::Checkpoint(state) = event {
            self.keep(state, self.kept.elapsed() > KEEP_EVERY)?;
        }
        Ok(control(self.interrupted))
    }
}
