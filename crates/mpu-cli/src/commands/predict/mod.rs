//! `mpu-cli predict`: rows scored with a trained model, in memory that does not grow with them.

mod because;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod queue;
mod rows;
mod sink;
mod summary;
mod target;

use std::time::Instant;

use anyhow::Context as _;
use mpu::{Classifier, Place, Predictions, Rule};
use mpu_eval::Decision;
use rayon::prelude::*;

use crate::args::predict::{OutputFormat, Predict};
use crate::commands::Answer;
use crate::commands::decision::Asked;
use crate::console::{Bar, Interrupted, Interrupts, cores, interrupts, say};

use because::{Reason, reasons};
use output::{Columns, Destination, KeyKind, Keys, Lines};
use queue::Queues;
use rows::{Block, Blocks};
use sink::Sink;
use summary::{PredictionReport, Tally};

pub(crate) fn run(args: &Predict) -> anyhow::Result<Answer> {
    let threads = args.threads.unwrap_or_else(cores);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.context("starting threads")?.install(|| predict(args))
}

fn predict(args: &Predict) -> anyhow::Result<Answer> {
    let started = Instant::now();
    let interrupted = interrupts()?;
    let format = match args.out_format {
        Some(format) => format,
        None => OutputFormat::of(&args.out)?,
    };
    Destination::check(&args.out, args.force)?;
    Destination::check_inputs(&args.out, &args.data, &args.model)?;
    let model = Classifier::load(&args.model)?;
    let schema = model.schema()?;
    if args.explain.is_some() {
        anyhow::ensure!(
            !schema.is_images(),
            "--explain says which columns moved an answer, and images have no columns\nhint: leave out --explain"
        );
        anyhow::ensure!(
            model.background().is_some(),
            "{} kept no training rows to compare with, because an earlier version made it\nhint: train again, or leave out --explain",
            model.title()
        );
    }
    if model.card().calibration.is_none() {
        tracing::warn!(
            "{} was trained without held-out rows: probabilities are the softmax of its scores and not calibrated",
            model.title()
        );
    }
    let asked = Asked::new(&args.decision, &model)?;
    // Begun before the work, so that a folder that cannot be written to is told at once.
    let destination = Destination::open(&args.out, args.force)?;
    let bar = Bar::of_rows();
    let decided = asked.decide(&model, || target::estimate(args, &model, interrupted, &bar))?;
    if let Some(estimate) = &decided.estimate {
        bar.set_length(estimate.rows);
    }
    bar.set_message("scoring");
    let job = Job {
        args,
        model: &model,
        rule: decided.rule,
        interrupted,
        bar: &bar,
    };
    let done = match job.run(format, destination) {
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if to_stdout(args) && is_broken_pipe(&error) => {
            return Ok(Answer::good(String::new()));
        }
        done => done?,
    };
    bar.finish_and_clear();
    let outside = done.tally.outside(&model)?;
    let priors = job.rule.target.as_ref().unwrap_or(model.priors());
    let summary = PredictionReport {
        model: args.model.clone(),
        data: args.data.clone(),
        out: args.out.clone(),
        rows: done.tally.rows(),
        rows_written: done.written,
        classes: done.tally.classes(&model),
        decision: job.rule.decision.slug(),
        thresholds: match &job.rule.decision {
            Decision::Thresholds(thresholds) | Decision::Guarded { thresholds, .. } => {
                Some(thresholds.as_slice().to_vec())
            }
            Decision::Argmax | Decision::Costs(_) => None,
        },
        precision: decided.precision,
        target: args.decision.target_priors.slug(),
        priors: priors.as_slice().to_vec(),
        estimate: decided.estimate,
        outside_rows: done.outside_rows,
        outside,
        noticed: done.noticed,
        seconds: started.elapsed().as_secs_f64(),
    };
    summary.warn();
    let text = summary.describe(args.report.format)?;
    if to_stdout(args) {
        // Standard output is for the rows.
        if tracing::enabled!(tracing::Level::WARN) {
            say(&text);
        }
        return Ok(Answer::good(String::new()));
    }
    Ok(Answer::good(text))
}

/// One pass over the rows.
struct Job<'a> {
    args: &'a Predict,
    model: &'a Classifier,
    rule: Rule,
    interrupted: &'a Interrupts,
    bar: &'a Bar,
}

/// What a pass leaves behind.
struct Done {
    tally: Tally,
    outside_rows: u64,
    written: u64,
    noticed: mpu_data::table::EncodeReport,
}

impl Job<'_> {
    fn run(&self, format: OutputFormat, destination: Destination) -> anyhow::Result<Done> {
        let (args, model) = (self.args, self.model);
        let mut blocks = Blocks::open(model.schema()?, args)?;
        let first = blocks.next()?;
        let first = first.with_context(|| no_rows(args))?;
        let keys = if first.ids.is_some() {
            KeyKind::Ids
        } else {
            KeyKind::Numbers
        };
        let columns = Columns::new(model, keys, args)?;
        let mut sink = Sink::begin(columns, format, destination)?;
        let n_observed = model.observed().len();
        let mut queues = args.top.map(|most| Queues::new(n_observed, most.get()));
        let mut done = Done {
            tally: Tally::new(model.names().len()),
            outside_rows: 0,
            written: 0,
            noticed: blocks.report(),
        };
        let mut next = Some(first);
        while let Some(block) = next {
            stopped(self.interrupted)?;
            self.block(&block, &mut sink, queues.as_mut(), &mut done)?;
            self.bar.inc(block.n_rows as u64);
            next = blocks.next()?;
        }
        if let Some(queues) = queues {
            let queued = queues.into_queued();
            let because = self.because(&queued.values, &queued.scored)?;
            let lines = Lines {
                keys: match keys {
                    KeyKind::Ids => Keys::Ids(&queued.ids),
                    KeyKind::Numbers => Keys::Numbers(&queued.numbers),
                },
                queue: Some(&queued.places),
                because: because.as_deref(),
                scored: &queued.scored,
            };
            let rendered = sink.render(&lines)?;
            sink.write(&lines, &rendered, &args.out)?;
            done.written = queued.numbers.len() as u64;
        }
        stopped(self.interrupted)?;
        sink.finish(&args.out)?;
        done.noticed = blocks.report();
        Ok(done)
    }

    /// What moved the answers to rows, if that is asked for.
    fn because(
        &self,
        values: &[f32],
        scored: &Predictions,
    ) -> anyhow::Result<Option<Vec<Vec<Reason>>>> {
        let Some(most) = self.args.explain else {
            return Ok(None);
        };
        let answers = &scored.answers;
        let found = reasons(self.model, &self.rule, values, answers, most.get())?;
        Ok(Some(found))
    }

    /// Scores a block part by part, on all threads, and hands the parts on in order.
    fn block(
        &self,
        block: &Block,
        sink: &mut Sink,
        mut queues: Option<&mut Queues>,
        done: &mut Done,
    ) -> anyhow::Result<()> {
        let parts = Part::of(block, self.model.part_rows(), self.model.schema()?.width());
        let is_queued = queues.is_some();
        let sink_ref = &*sink;
        let scored: Vec<anyhow::Result<ScoredPart>> = parts
            .par_iter()
            .map(|part| {
                let place = Place {
                    file: Some(&self.args.data),
                    number: &|row| part.numbers[row],
                };
                let scored = self.model.predict_part(&self.rule, part.values, &place)?;
                if is_queued {
                    return Ok(ScoredPart {
                        scored,
                        ..ScoredPart::default()
                    });
                }
                stopped(self.interrupted)?;
                let because = self.because(part.values, &scored)?;
                let rendered = sink_ref.render(&part.lines(&scored, because.as_deref()))?;
                Ok(ScoredPart {
                    scored,
                    because,
                    rendered,
                })
            })
            .collect();
        for (part, result) in parts.iter().zip(scored) {
            let ScoredPart {
                scored,
                because,
                rendered,
            } = result?;
            done.tally.add(&scored);
            done.outside_rows += scored.outside.iter().flatten().count() as u64;
            let lines = part.lines(&scored, because.as_deref());
            if let Some(queues) = &mut queues {
                let values = self.args.explain.map(|_| part.values);
                queues.add(lines.keys, part.numbers[0], &scored, values);
            } else {
                sink.write(&lines, &rendered, &self.args.out)?;
                done.written += scored.answers.len() as u64;
            }
        }
        Ok(())
    }
}

/// What became of a part.
#[derive(Default)]
struct ScoredPart {
    scored: Predictions,
    because: Option<Vec<Vec<Reason>>>,
    rendered: Vec<u8>,
}

/// Rows of a block that one thread works on.
struct Part<'a> {
    values: &'a [f32],
    ids: Option<&'a [String]>,
    /// The numbers of the rows, counted from 1; there is one at least.
    numbers: Vec<u64>,
}

impl<'a> Part<'a> {
    fn of(block: &'a Block, part_rows: usize, width: usize) -> Vec<Self> {
        let part = |start: usize| {
            let end = (start + part_rows).min(block.n_rows);
            let number = |row: usize| block.first_row + row as u64 + 1;
            Self {
                values: &block.values[start * width..end * width],
                ids: block.ids.as_ref().map(|ids| &ids[start..end]),
                numbers: (start..end).map(number).collect(),
            }
        };
        (0..block.n_rows).step_by(part_rows).map(part).collect()
    }

    fn lines<'l>(
        &'l self,
        scored: &'l Predictions,
        because: Option<&'l [Vec<Reason>]>,
    ) -> Lines<'l> {
        Lines {
            keys: match self.ids {
                Some(ids) => Keys::Ids(ids),
                None => Keys::Numbers(&self.numbers),
            },
            queue: None,
            because,
            scored,
        }
    }
}

fn to_stdout(args: &Predict) -> bool {
    args.out == std::path::Path::new("-")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut faults = error.chain().filter_map(|cause| cause.downcast_ref());
    faults.any(|fault: &std::io::Error| fault.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Ends the work once Ctrl-C was pressed.
fn stopped(interrupted: &Interrupts) -> anyhow::Result<()> {
    if interrupted.asked() {
        return Err(Interrupted("before the end: no output was written").into());
    }
    Ok(())
}

fn no_rows(args: &Predict) -> String {
    format!("{}: there are no rows to score", args.data.display())
}
