//! `mpu-cli train`: from a configuration to a run folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use indicatif::ProgressBar;
use mpu_eval::{Anchor, Calibration};
use mpu_models::Params;
use mpu_report::tensorboard::EventWriter;
use mpu_report::{Align, Format, Table};
use mpu_train::{Control, EpochMetrics, Event, Observer, Outcome, State};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args;
use crate::commands::Answer;
use crate::config::RunConfig;
use crate::console::{bar, interrupts};
use crate::files;
use crate::own::OwnRows;
use crate::run_folder::{HeldOutScores, ModelCard, RunFolder, Summary, SweepRow};
use crate::training::{Prepared, chosen};

/// A run that the user stopped: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted after epoch {epoch}\nhint: continue with `mpu-cli train --resume {}`", folder.display())]
pub(crate) struct Interrupted {
    epoch: usize,
    folder: PathBuf,
}

pub(crate) fn run(args: &args::Train) -> anyhow::Result<Answer> {
    let threads = args.threads.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.context("starting threads")?;
    pool.install(|| {
        let resumed = args.resume.as_deref().map(RunFolder::open).transpose()?;
        let kept = resumed.as_ref().map(|folder| folder.file("config.toml"));
        let file = kept.as_deref().or(args.config.as_deref());
        let overrides = match &resumed {
            Some(_) => Vec::new(),
            None => args.overrides()?,
        };
        if args.data.is_some() || crate::config::is_own(file)? {
            let rows = OwnRows::read(file, &overrides)?;
            for warning in &rows.table.check.warnings {
                tracing::warn!("{warning}");
            }
            let prepared = rows.prepare()?;
            if let Some(report) = &prepared.facts.estimated {
                let told = crate::commands::prior::told(report, &rows.table.class_names);
                tracing::warn!("{told}");
                for warning in crate::commands::prior::warnings(
                    std::slice::from_ref(report),
                    &rows.table.class_names,
                ) {
                    tracing::warn!("{warning}");
                }
            }
            let name = rows.config.name();
            Session::start(args, rows.config, &name, prepared, resumed, threads)?.run()
        } else {
            let config = RunConfig::resolve(file, &overrides)?;
            let prepared = Prepared::load(&config, &args.place.locations())?;
            let name = config.name();
            Session::start(args, config, &name, prepared, resumed, threads)?.run()
        }
    })
}

/// A training session: one run, or one for each learning rate of a sweep.
struct Session<'a, D> {
    args: &'a args::Train,
    config: RunConfig<D>,
    folder: RunFolder,
    prepared: Prepared,
    threads: usize,
    interrupted: &'static AtomicBool,
    started: Instant,
}

impl<'a, D: Clone + Default + Serialize + DeserializeOwned> Session<'a, D> {
    fn start(
        args: &'a args::Train,
        config: RunConfig<D>,
        name: &str,
        prepared: Prepared,
        resumed: Option<RunFolder>,
        threads: usize,
    ) -> anyhow::Result<Self> {
        if let Some(mark) = &prepared.facts.mark {
            tracing::warn!("the data are not as published: {mark}");
        }
        // Only now, so that a fault in the data leaves no folder behind.
        let folder = if let Some(folder) = resumed {
            folder
        } else {
            let free = || files::free_name(Path::new("runs"), name);
            let path = args.out.clone().unwrap_or_else(free);
            RunFolder::create(&path, &config.to_toml()?)?
        };
        Ok(Self {
            args,
            config,
            folder,
            prepared,
            threads,
            interrupted: interrupts()?,
            started: Instant::now(),
        })
    }

    fn run(self) -> anyhow::Result<Answer> {
        let (outcome, lr, sweep) = match &self.config.sweep {
            None => {
                let lr = self.config.train.lr;
                (self.train(lr, &self.folder)?, lr, Vec::new())
            }
            Some(sweep) => {
                let mut outcomes = Vec::new();
                for &lr in &sweep.lrs {
                    let path = self.folder.file(&format!("lr-{lr}"));
                    let folder = if path.exists() {
                        RunFolder::open(&path)?
                    } else {
                        let mut config = self.config.clone();
                        config.train.lr = lr;
                        config.sweep = None;
                        RunFolder::create(&path, &config.to_toml()?)?
                    };
                    outcomes.push(self.train(lr, &folder)?);
                }
                let (best, last) = chosen(sweep, &outcomes)?;
                let row = |(index, metrics): (usize, &EpochMetrics)| SweepRow {
                    lr: sweep.lrs[index],
                    validation_accuracy: metrics.validation_accuracy,
                    validation_risk: metrics.validation_risk,
                    test_accuracy: metrics.test_accuracy,
                    chosen: index == best,
                };
                let rows = last.iter().enumerate().map(row).collect();
                (outcomes.swap_remove(best), sweep.lrs[best], rows)
            }
        };
        self.conclude(&outcome, lr, sweep)
    }

    /// Trains one run to its end, from its checkpoint if it has one.
    fn train(&self, lr: f64, folder: &RunFolder) -> anyhow::Result<Outcome> {
        let resume = folder.checkpoint()?;
        let wanted = self
            .args
            .tensorboard
            .then(|| EventWriter::create(folder.path()));
        let tensorboard = wanted.transpose()?;
        let mut watch = Watch {
            folder,
            bar: ProgressBar::hidden(),
            tensorboard,
            interrupted: self.interrupted,
        };
        let outcome = self
            .prepared
            .train(&self.config, lr, self.threads, resume, &mut watch)?;
        watch.bar.finish_and_clear();
        if !outcome.finished {
            folder.write_checkpoint(&outcome.state)?;
            let (epoch, folder) = (outcome.state.epochs_done(), self.folder.path().to_owned());
            return Err(Interrupted { epoch, folder }.into());
        }
        Ok(outcome)
    }

    /// The scores of the rows that were held out, if any were.
    fn held_out(&self, params: &Params, lr: f64) -> anyhow::Result<Option<HeldOutScores>> {
        let Some(held) = self.prepared.problem.validation() else {
            return Ok(None);
        };
        let run = self.prepared.run(&self.config, lr, self.threads);
        Ok(Some(HeldOutScores {
            labels: held.labels.clone(),
            scores: run.predict(params, held.features.values())?,
        }))
    }

    fn conclude(&self, outcome: &Outcome, lr: f64, sweep: Vec<SweepRow>) -> anyhow::Result<Answer> {
        let config = &self.config;
        let params = outcome.params();
        let held = self.held_out(params, lr)?;
        let calibration = held.as_ref().map(|held| {
            let anchor = Anchor::default();
            Calibration::fit(&self.prepared.priors, &held.labels, &held.scores, anchor)
                .context("fitting probabilities to the held-out rows")
        });
        let card = ModelCard::new(config, &self.prepared, calibration.transpose()?);
        if let Some(held) = &held {
            self.folder.write_held_out(held, &card.class_names)?;
        }
        let last = outcome.reported().context("no epoch was trained")?.clone();
        self.folder.write_metrics(&outcome.state.history)?;
        let model_sha256 = self.folder.write_model(params, &card)?;
        let summary = Summary {
            version: Summary::VERSION,
            mpu_version: env!("CARGO_PKG_VERSION").to_owned(),
            method: config.method,
            dataset: self.prepared.facts.dataset.clone(),
            classes: self.prepared.problem.classes().get(),
            prior: self.prepared.priors.negative(),
            seed: config.seed,
            epochs: outcome.state.epochs_done(),
            last,
            test_accuracy_last_ten: Summary::last_ten(&outcome.state.history),
            lr,
            sweep,
            split_digest: self.prepared.facts.split_digest.clone(),
            model_sha256,
            data_mark: self.prepared.facts.mark.clone(),
            threads: self.threads,
            seconds: self.started.elapsed().as_secs_f64(),
        };
        self.folder.write_summary(&summary)?;
        let text = match self.args.report.format {
            Format::Json => serde_json::to_string_pretty(&summary)? + "\n",
            format => {
                let text = mpu_report::render(format, &table(&summary), &summary)?;
                let marked = summary.data_mark.as_ref();
                let mark = marked.map(|m| format!("data: {m}\n")).unwrap_or_default();
                format!("{text}{mark}run folder: {}\n", self.folder.path().display())
            }
        };
        Ok(Answer::good(text))
    }
}

fn table(summary: &Summary) -> Table {
    let percent =
        |share: Option<f64>| share.map_or("–".to_owned(), |s| format!("{:.2} %", 100.0 * s));
    let last = &summary.last;
    let mut table = Table::new([("last epoch", Align::Left), ("value", Align::Right)]);
    let shares = [
        ("test accuracy", last.test_accuracy),
        (
            "test accuracy, mean of the last ten epochs",
            summary.test_accuracy_last_ten,
        ),
        ("test macro precision", last.test_precision),
        ("test macro recall", last.test_recall),
        ("test macro F1", last.test_f1),
        ("test rows answered negative", last.test_predicted_negative),
        (
            "accuracy estimated from held-out labelled rows and pool",
            last.validation_accuracy,
        ),
    ];
    for (name, share) in shares.into_iter().filter(|(_, share)| share.is_some()) {
        table.push([name.to_owned(), percent(share)]);
    }
    for (name, value) in [
        ("training risk, raw", format!("{:.4}", last.raw_risk)),
        (
            "training risk, corrected",
            format!("{:.4}", last.corrected_risk),
        ),
        (
            "steps with an active correction",
            percent(Some(last.corrected_steps)),
        ),
        ("unbiasedness gap", format!("{:.4}", last.unbiasedness_gap)),
        ("learning rate", format!("{}", summary.lr)),
        ("epochs", summary.epochs.to_string()),
        ("seconds", format!("{:.1}", summary.seconds)),
    ] {
        table.push([name.to_owned(), value]);
    }
    for row in &summary.sweep {
        let chosen = if row.chosen { " (chosen)" } else { "" };
        let name = format!("lr {}: estimated accuracy, held out{chosen}", row.lr);
        table.push([name, percent(row.validation_accuracy)]);
    }
    table
}

/// Draws the bar, writes checkpoints and event files, and hears Ctrl-C.
struct Watch<'a> {
    folder: &'a RunFolder,
    bar: ProgressBar,
    tensorboard: Option<EventWriter>,
    interrupted: &'a AtomicBool,
}

impl Observer for Watch<'_> {
    type Error = anyhow::Error;

    fn on(&mut self, event: &Event<'_>) -> anyhow::Result<Control> {
        match event {
            Event::Started {
                epoch,
                epochs,
                n_batches,
                ..
            } => {
                self.bar = bar((epochs * n_batches) as u64, "steps");
                self.bar.set_position(((epoch - 1) * n_batches) as u64);
            }
            Event::Step { .. } => self.bar.inc(1),
            Event::Epoch(metrics) => {
                let accuracy = metrics.test_accuracy.unwrap_or(metrics.labeled_accuracy);
                self.bar.set_message(format!(
                    "epoch {}  loss {:.4}  accuracy {:.2} %",
                    metrics.epoch,
                    metrics.loss,
                    100.0 * accuracy
                ));
                if let Some(writer) = &mut self.tensorboard {
                    write_scalars(writer, metrics)?;
                }
            }
            Event::PriorsRaised { given, found } => {
                let message = format!(
                    "the priors may be too low: they give {:.0} % of the pool to observed classes, the warm-up model finds {:.0} %; self-training uses the latter",
                    100.0 * given,
                    100.0 * found
                );
                self.bar.suspend(|| {
                    tracing::warn!(
                        "{message}\nhint: check the priors, for instance with `mpu-cli prior`; `--set train.self-training.sure=1` keeps them as they are"
                    );
                });
            }
            Event::FellBack { epoch, sign } => {
                let message = format!(
                    "self-training failed: after epoch {epoch} {sign}; the warm-up model is used"
                );
                self.bar.suspend(|| {
                    tracing::warn!(
                        "{message}\nhint: check the scale of the features and the priors, for instance with `mpu-cli prior`"
                    );
                });
            }
            Event::Checkpoint(state) => self.checkpoint(state)?,
            _ => {}
        }
        let stop = self.interrupted.load(Ordering::SeqCst);
        Ok(if stop {
            Control::Stop
        } else {
            Control::Continue
        })
    }
}

impl Watch<'_> {
    fn checkpoint(&self, state: &State) -> anyhow::Result<()> {
        self.folder.write_checkpoint(state)
    }
}

/// Every figure of the epoch as a TensorBoard scalar.
fn write_scalars(writer: &mut EventWriter, metrics: &EpochMetrics) -> anyhow::Result<()> {
    let value = serde_json::to_value(metrics)?;
    let fields = value.as_object().into_iter().flatten();
    let scalars: Vec<(String, f32)> = fields
        .filter(|(name, _)| name.as_str() != "epoch")
        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()? as f32)))
        .collect();
    Ok(writer.scalars(metrics.epoch as u64, &scalars)?)
}
