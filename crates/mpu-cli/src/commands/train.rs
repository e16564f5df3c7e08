//! `mpu-cli train`: from a configuration to a run folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mpu::models::Threads;
use mpu::{NamedCosts, Prepared, RunConfig, RunFolder, TableRows, Trained, files};
use mpu_report::tensorboard::EventWriter;
use mpu_report::{Align, Format, Record, Table};
use mpu_train::{Control, EpochMetrics, Event, Observer, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args;
use crate::commands::{Answer, benchmark};
use crate::console::{Bar, Detectors, Interrupts, cores, interrupts, say};

/// A run that the user stopped: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted after epoch {epoch}\nhint: continue with `mpu-cli train --resume {}`", folder.display())]
pub(crate) struct Interrupted {
    epoch: usize,
    folder: PathBuf,
}

pub(crate) fn run(args: &args::Train) -> anyhow::Result<Answer> {
    let threads = args.threads.unwrap_or_else(cores);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.context("starting threads")?;
    pool.install(|| {
        let resumed = args.resume.as_deref().map(RunFolder::resume).transpose()?;
        if let Some(out) = args.out.as_ref().filter(|_| resumed.is_none()) {
            RunFolder::check_new(out)?; // before the work, which may take long
        }
        let kept = resumed.as_ref().map(|folder| folder.file("config.toml"));
        let file = kept.as_deref().or(args.config.as_deref());
        let overrides = match &resumed {
            Some(_) => Vec::new(),
            None => args.overrides()?,
        };
        let mut detectors = Detectors::new()?;
        if args.data.is_some() || mpu::is_about_a_table(file)? {
            let mut rows = TableRows::read(file, &overrides)?;
            for warning in &rows.table.check.warnings {
                if warning.needs_a_look() {
                    tracing::warn!("{warning}");
                } else if tracing::enabled!(tracing::Level::WARN) {
                    say(&format!("{warning}\n"));
                }
            }
            let names = rows.class_names();
            read_costs(args, &mut rows.config, &names)?;
            let config = rows.config.clone();
            let observed = rows.table.class_names.clone();
            let prepared = rows.prepare(&mut detectors)?;
            if let Some(report) = &prepared.facts.estimated {
                let told = mpu::prior_sentence(report, &observed);
                // What was estimated is information, not a warning; `--quiet` hides it all the same.
                if tracing::enabled!(tracing::Level::WARN) {
                    say(&format!("{told}\n"));
                }
                for warning in mpu::prior_calls(report, &observed) {
                    tracing::warn!("{warning}");
                }
            }
            let name = config.name();
            Session::start(args, config, &name, prepared, resumed, threads)?.run()
        } else {
            let mut config = RunConfig::resolve(file, &overrides)?;
            let names = config.class_names();
            read_costs(args, &mut config, &names)?;
            let prepared = benchmark(&config, &args.place, &mut detectors)?;
            let name = config.name();
            Session::start(args, config, &name, prepared, resumed, threads)?.run()
        }
    })
}

/// Takes the costs of a file into the configuration.
fn read_costs<D>(
    args: &args::Train,
    config: &mut RunConfig<D>,
    names: &[String],
) -> anyhow::Result<()> {
    if let Some(file) = &args.cost_matrix {
        config.costs = Some(NamedCosts::read(file, names)?);
    }
    Ok(())
}

/// A training session: one run, or one for each learning rate of a sweep.
struct Session<'a, D> {
    args: &'a args::Train,
    config: RunConfig<D>,
    folder: RunFolder,
    prepared: Prepared,
    threads: Threads,
    interrupted: &'static Interrupts,
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
        config.device.check()?;
        let model = prepared.model.as_ref();
        let precision = config.precision;
        precision.check(config.engine, config.device, model)?;
        // Only now, so that a fault in the data or a missing device leaves no folder behind.
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
            threads: Threads::new(threads),
            interrupted: interrupts()?,
        })
    }

    fn run(self) -> anyhow::Result<Answer> {
        let mut stopped = 0;
        let trained = Trained::by(&self.config, &self.prepared, self.threads, |lr| {
            let outcome = self.train(lr)?;
            stopped = outcome.state.epochs_done();
            Ok(outcome.finished.then_some(outcome))
        })?;
        let trained = trained.ok_or_else(|| Interrupted {
            epoch: stopped,
            folder: self.folder.path().to_owned(),
        })?;
        let model = trained.classifier(&self.config, &self.prepared)?;
        // Forests are large: what is done with goes before the next copy comes.
        drop((trained, self.prepared));
        model.save_into(&self.folder)?;
        let record = model.record().context("the run has no record")?.clone();
        let text = match self.args.report.format {
            Format::Json => serde_json::to_string_pretty(&record)? + "\n",
            format => {
                let table = if let (None, Some(reported)) = (&model.card().schema, model.reported())
                {
                    table(&record, reported)
                } else {
                    drop(model);
                    // Test rows are found from the folder.
                    mpu::judge::summary(&mpu::Classifier::load(self.folder.path())?)?
                };
                let text = mpu_report::render(format, &table, &record)?;
                let marked = record.data_mark.as_ref();
                let mark = marked.map(|m| format!("data: {m}\n")).unwrap_or_default();
                format!("{text}{mark}run folder: {}\n", self.folder.path().display())
            }
        };
        Ok(Answer::good(text))
    }

    /// Trains at one rate to the end, from its checkpoint if it has one. A run that is stopped leaves one.
    fn train(&self, lr: f64) -> mpu::Result<Outcome> {
        let folder = self.folder_of(lr)?;
        let mut watch = Watch {
            folder: &folder,
            bar: Bar::hidden(),
            teaching: false,
            tensorboard: None,
            interrupted: self.interrupted,
        };
        if self.args.tensorboard {
            let writer = EventWriter::create(folder.path());
            watch.tensorboard = Some(writer.map_err(|e| mpu::Error::Text(Box::new(e)))?);
        }
        let resume = folder.checkpoint()?;
        let (prepared, config) = (&self.prepared, &self.config);
        let outcome = prepared.train(config, lr, self.threads, resume, &mut watch)?;
        watch.bar.finish_and_clear();
        if !outcome.finished {
            folder.write_checkpoint(&outcome.state)?;
        }
        Ok(outcome)
    }

    /// The folder of a rate: the run's own, or in a sweep one inside it.
    fn folder_of(&self, lr: f64) -> mpu::Result<RunFolder> {
        if self.config.sweep.is_none() {
            return Ok(self.folder.clone());
        }
        let path = self.folder.file(&format!("lr-{lr}"));
        if let Ok(folder) = RunFolder::open(&path) {
            return Ok(folder);
        }
        let mut config = self.config.clone();
        config.train.lr = lr;
        config.sweep = None;
        RunFolder::create(&path, &config.to_toml()?)
    }
}

fn table(record: &Record, last: &EpochMetrics) -> Table {
    // An estimate by counts alone may leave the range of a share: then the rows do not tell it.
    let percent = |share: Option<f64>| match share {
        None => "–".to_owned(),
        Some(share) if (0.0..=1.0).contains(&share) => format!("{:.2} %", 100.0 * share),
        Some(share) => format!("not identified (counts give {:.1} %)", 100.0 * share),
    };
    let mut table = Table::new([("last epoch", Align::Left), ("value", Align::Right)]);
    let last_ten = record.scores.map(|scores| scores.accuracy_last_ten);
    let shares = [
        ("test accuracy", last.test_accuracy),
        ("test accuracy, mean of the last ten epochs", last_ten),
        ("test macro precision", last.test_precision),
        ("test macro recall", last.test_recall),
        ("test macro F1", last.test_f1),
        ("test rows answered unknown", last.test_predicted_negative),
        (
            "accuracy estimated from held-out labelled rows and pool",
            last.validation_accuracy,
        ),
    ];
    for (name, share) in shares.into_iter().filter(|(_, share)| share.is_some()) {
        table.push([name.to_owned(), percent(share)]);
    }
    let number = |value: f64| format!("{value:.4}");
    let corrected_steps = percent(Some(last.corrected_steps));
    for (name, value) in [
        ("training risk, raw", number(last.raw_risk)),
        ("training risk, corrected", number(last.corrected_risk)),
        ("steps with an active correction", corrected_steps),
        ("unbiasedness gap", number(last.unbiasedness_gap)),
        ("learning rate", record.key.lr.to_string()),
        ("epochs", record.key.epochs.to_string()),
        ("seconds", format!("{:.1}", record.seconds)),
    ] {
        table.push([name.to_owned(), value]);
    }
    for row in &record.rates {
        let chosen = if row.chosen { " (chosen)" } else { "" };
        let name = format!("lr {}: estimated accuracy, held out{chosen}", row.lr);
        table.push([name, percent(row.validation_accuracy)]);
    }
    table
}

/// Draws the bar, writes checkpoints and event files, and hears Ctrl-C.
struct Watch<'a> {
    folder: &'a RunFolder,
    bar: Bar,
    /// Whether the bar is that of the teacher.
    teaching: bool,
    tensorboard: Option<EventWriter>,
    interrupted: &'a Interrupts,
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
                self.bar = Bar::new((epochs * n_batches) as u64, "steps");
                self.bar.set_position(((epoch - 1) * n_batches) as u64);
            }
            Event::Detector { step, steps } => {
                if !self.teaching {
                    self.teaching = true;
                    self.bar = Bar::new(*steps as u64, "steps");
                    self.bar.set_message("finding targets of the pool");
                }
                self.bar.set_position(*step as u64 - 1);
                self.bar.inc(1);
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
            Event::Checkpoint(state) => self.folder.write_checkpoint(state)?,
            _ => {}
        }
        Ok(self.interrupted.control())
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
