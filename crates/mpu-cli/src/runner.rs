//! The local engine: many runs of a plan, a thread each, into a store.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use mpu_data::dataset::TrainTest;
use mpu_data::source::resolve::Locations;
use mpu_report::Record;
use mpu_report::store::{Failure, Store};
use mpu_train::{Control, Event, Observer, State};

use crate::console::{Bar, Downloads, Interrupts};
use crate::plan::Planned;
use mpu::models::Threads;
use mpu::{Prepared, RunConfig, Trained};

/// How many runs at once and with how many threads each; where data are; who says stop.
pub(crate) struct Engine<'a> {
    pub(crate) store: &'a Store,
    pub(crate) locations: &'a Locations,
    pub(crate) jobs: usize,
    pub(crate) threads: usize,
    pub(crate) interrupted: &'a Interrupts,
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
            bar: Bar::new(runs.len() as u64, "runs"),
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
                    while !self.interrupted.asked() {
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
                                self.interrupted.ask();
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
    bar: Bar,
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
        let trained = Trained::by(config, &prepared, threads, |lr| {
            let mut keeper = Keeper::new(engine, run, lr);
            let resume = mpu::read_state(&keeper.path)?;
            let outcome = prepared.train(config, lr, threads, resume, &mut keeper)?;
            keeper.keep(&outcome.state, config.sweep.is_some() || !outcome.finished)?;
            Ok(outcome.finished.then_some(outcome))
        })?;
        let record = trained.map(|trained| trained.record(config, &prepared));
        Ok(record.transpose()?)
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
}

/// Hears that priors are no longer to be estimated.
struct Stop<'a>(&'a Interrupts);

impl Observer for Stop<'_> {
    type Error = std::convert::Infallible;

    fn on(&mut self, _: &Event<'_>) -> Result<Control, Self::Error> {
        Ok(self.0.control())
    }
}

/// Keeps the state of a run now and then, and hears that it is to stop.
struct Keeper<'a> {
    folder: std::path::PathBuf,
    path: std::path::PathBuf,
    kept: Instant,
    interrupted: &'a Interrupts,
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
        Ok(self.interrupted.control())
    }
}
