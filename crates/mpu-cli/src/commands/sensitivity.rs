//! `mpu-cli sensitivity`: what wrong priors cost, on a benchmark or on the user's own rows.

use std::fmt::Write as _;

use anyhow::Context as _;
use mpu_data::{MpuLabel, Priors, Seed};
use mpu_eval::PuJudgement;
use mpu_prior::bootstrap::Keep as KeepReplicates;
use mpu_prior::{EstimateOptions, EstimatorKind, perturb, propagate};
use mpu_report::figures::{Misspecification, Scheme};
use mpu_report::{Format, Table, stats};
use mpu_risk::bounds::loss_gap;
use mpu_train::Unobserved;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::args::priors::{Sensitivity, Wrong};
use crate::commands::{Answer, benchmark};
use crate::console::{Bar, Detectors};
use crate::misspecification::{Measured, study};
use mpu::Prepared;
use mpu::files;
use mpu::models::Threads;
use mpu::{BenchmarkData, RunConfig};
use mpu::{TableData, TableRows};

/// What one run gives.
struct Scored {
    f1: f64,
    /// `b_i` of the observed classes.
    gaps: Vec<f64>,
}

/// The study as it is written in JSON.
#[derive(Serialize)]
struct Found<'a> {
    dataset: &'a str,
    method: &'a str,
    /// What macro-F1 was measured on.
    measured_on: &'a str,
    priors: &'a [f64],
    study: &'a Misspecification,
}

pub(crate) fn run(args: &Sensitivity) -> anyhow::Result<Answer> {
    let mut overrides = args.source.overrides();
    overrides.extend(args.method.map(|method| format!("method=\"{method}\"")));
    overrides.extend(args.epochs.map(|epochs| format!("train.epochs={epochs}")));
    overrides.extend_from_slice(&args.set);
    let jobs = args.jobs.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.context("starting threads")?.install(|| {
        if args.source.data.is_some() {
            let rows = TableRows::read(None, &overrides)?;
            let config = rows.config.clone();
            let prepared = rows.prepare(&mut Detectors::new()?)?;
            Study::<TableData>::new(args, config, prepared).run()
        } else {
            let config = RunConfig::resolve(None, &overrides)?;
            let prepared = benchmark(&config, &args.source.place, &mut Detectors::new()?)?;
            Study::<BenchmarkData>::new(args, config, prepared).run()
        }
    })
}

/// One set of priors and what came of it.
#[derive(Serialize)]
struct Listed {
    priors: String,
    values: Vec<f64>,
    macro_f1: f64,
    deviation: Option<f64>,
}

/// The sizes of figure 3.
const SIZES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];

struct Study<'a, D> {
    args: &'a Sensitivity,
    config: RunConfig<D>,
    prepared: Prepared,
}

impl<'a, D: Sync> Study<'a, D>
where
    D: Serialize + for<'de> Deserialize<'de>,
{
    fn new(args: &'a Sensitivity, config: RunConfig<D>, prepared: Prepared) -> Self {
        Self {
            args,
            config,
            prepared,
        }
    }

    fn run(&self) -> anyhow::Result<Answer> {
        anyhow::ensure!(self.args.seeds > 0, "--seeds is 0: at least 1 is needed");
        match self.args.wrong {
            Wrong::Shifted => self.shifted(),
            Wrong::Scaled => self.scaled(),
            Wrong::Sampled => self.sampled(),
        }
    }

    /// Figure 3: two schemes of shifts that sum to zero.
    fn shifted(&self) -> anyhow::Result<Answer> {
        let args = self.args;
        let priors = &self.prepared.priors;
        let sizes = match args.sizes.as_slice() {
            [] => SIZES.to_vec(),
            given => given.to_vec(),
        };
        for size in &sizes {
            anyhow::ensure!(
                *size > 0.0 && *size < 2.0,
                "--sizes has {size}: a sum of absolute differences is above 0 and below 2"
            );
        }
        let bar = self.bar(1 + Scheme::ALL.len() * sizes.len());
        let base = self.scores(priors, &bar)?;
        let n = base[0].gaps.len();
        let mean = |class| base.iter().map(|run| run.gaps[class]).sum::<f64>() / base.len() as f64;
        let gaps: Vec<f64> = (0..n).map(mean).collect();
        let mut measured = Measured {
            classes: priors.classes().get(),
            true_f1: base.iter().map(|run| run.f1).collect(),
            shifted: Vec::new(),
            gaps,
        };
        for scheme in Scheme::ALL {
            for &size in &sizes {
                let shift = match scheme {
                    Scheme::ScalarLast => perturb::scalar_last(priors, size),
                    Scheme::Adversarial => perturb::adversarial(priors, size, &measured.gaps),
                };
                let shift = shift.with_context(|| {
                    format!(
                        "a {} shift of {size}; leave it out with --sizes",
                        scheme.slug()
                    )
                })?;
                let moved = priors.as_slice().iter().zip(&shift);
                let moved = moved.map(|(p, d)| (p + d).max(0.0)).collect();
                let runs = self.scores(&Priors::new(moved)?, &bar)?;
                let f1 = runs.iter().map(|run| run.f1).collect();
                measured.shifted.push((scheme, size, shift, f1));
            }
        }
        bar.finish_and_clear();
        let mut figure = study(&[measured])?;
        figure.dataset.clone_from(&self.prepared.facts.dataset);
        figure.prior = priors.negative();
        self.config.method.slug().clone_into(&mut figure.method);
        if let Some(path) = &args.plot {
            files::write_atomic(path, figure.draw().svg().as_bytes())?;
        }
        let found = Found {
            dataset: &figure.dataset,
            method: &figure.method,
            measured_on: self.measured_on(),
            priors: priors.as_slice(),
            study: &figure,
        };
        let text = match args.report.format {
            Format::Json => serde_json::to_string_pretty(&found)? + "\n",
            format => found.describe(format)?,
        };
        Ok(Answer::good(text))
    }

    /// All observed priors by a factor, up and down.
    fn scaled(&self) -> anyhow::Result<Answer> {
        let sizes = match self.args.sizes.as_slice() {
            [] => propagate::SWEEP.to_vec(),
            given => given.to_vec(),
        };
        let swept = propagate::sweep(self.prepared.priors.observed(), &sizes).context("--sizes")?;
        let mut told = vec![("as they are".to_owned(), self.prepared.priors.clone())];
        let named =
            |one: propagate::ScaledPriors| (format!("{:+.0} %", 100.0 * one.change), one.priors);
        told.extend(swept.into_iter().map(named));
        self.list(&told)
    }

    /// Priors drawn from the bootstrap of their estimate.
    fn sampled(&self) -> anyhow::Result<Answer> {
        anyhow::ensure!(self.args.draws > 0, "--draws is 0: at least 1 is needed");
        let (problem, seed) = (&self.prepared.problem, Seed(self.config.seed));
        let (train, classes) = (problem.train(), problem.classes());
        let margins = mpu::detector_margins(train, classes, seed, &mut Detectors::new()?)?;
        let mut options = EstimateOptions::default();
        options.bootstrap.keep = KeepReplicates::Replicates;
        let estimator = EstimatorKind::default().build();
        let report = mpu_prior::estimate(&margins, estimator.as_ref(), &options, seed)?;
        let drawn = propagate::sample(&report, self.args.draws, seed)?;
        let mut told = vec![("the estimate".to_owned(), report.priors()?)];
        let numbered = drawn.into_iter().enumerate();
        told.extend(numbered.map(|(i, priors)| (format!("draw {}", i + 1), priors)));
        self.list(&told)
    }

    /// Macro-F1 with each of some priors, and over all but the first together.
    fn list(&self, told: &[(String, Priors)]) -> anyhow::Result<Answer> {
        let bar = self.bar(told.len());
        let mut rows = Vec::new();
        for (name, priors) in told {
            let runs = self.scores(priors, &bar)?;
            let f1: Vec<f64> = runs.iter().map(|run| run.f1).collect();
            rows.push(Listed {
                priors: name.clone(),
                values: priors.as_slice().to_vec(),
                macro_f1: stats::mean(&f1).unwrap_or(f64::NAN),
                deviation: stats::std_dev(&f1),
            });
        }
        bar.finish_and_clear();
        let rest: Vec<f64> = rows.iter().skip(1).map(|row| row.macro_f1).collect();
        let mut table = Table::with("priors | values | macro-F1: | ± over seeds:");
        for row in &rows {
            let values: Vec<String> = row.values.iter().map(|p| format!("{p:.3}")).collect();
            table.push([
                row.priors.clone(),
                values.join(" "),
                format!("{:.2} %", 100.0 * row.macro_f1),
                over_seeds(row.deviation),
            ]);
        }
        let format = self.args.report.format;
        let mut text = mpu_report::render(format, &table, &rows)?;
        if let (Format::Table, Some(mean)) = (format, stats::mean(&rest)) {
            let deviation = stats::std_dev(&rest).unwrap_or(0.0);
            let _ = writeln!(
                text,
                "over all but the first: {:.2} ± {:.2} %; macro-F1 on {}",
                100.0 * mean,
                100.0 * deviation,
                self.measured_on()
            );
        }
        Ok(Answer::good(text))
    }

    fn bar(&self, settings: usize) -> Bar {
        Bar::new(self.args.seeds * settings as u64, "runs")
    }

    fn measured_on(&self) -> &'static str {
        match self.prepared.problem.test() {
            Some(_) => "test rows with true labels",
            None => "held-out labelled rows and pool, under the unshifted priors",
        }
    }

    /// A run for every seed with these priors, side by side.
    fn scores(&self, told: &Priors, bar: &Bar) -> anyhow::Result<Vec<Scored>> {
        let one = |seed: u64| -> anyhow::Result<Scored> {
            let scored = self.score(told, self.config.seed + seed)?;
            bar.inc(1);
            Ok(scored)
        };
        (0..self.args.seeds).into_par_iter().map(one).collect()
    }

    fn score(&self, told: &Priors, seed: u64) -> anyhow::Result<Scored> {
        let (problem, config) = (&self.prepared.problem, &self.config);
        let run = self.prepared.run(config, config.train.lr, Threads::ONE);
        let mut run = run.context("a forest alone cannot be studied: use a network")?;
        run.priors = told.clone();
        run.seed = Seed(seed);
        let outcome = run.train(problem, None, &mut Unobserved)?;
        let params = outcome.params();
        let k = problem.classes().get();
        let last = outcome.reported().context("no epoch was trained")?;
        let f1 = match (last.test_f1, problem.validation()) {
            (Some(f1), _) => f1,
            (None, Some(held)) => {
                let scores = run.predict(params, held.features.values())?;
                let given = mpu_eval::top_classes(&scores, k);
                let judged = PuJudgement::new(&self.prepared.priors, &held.labels, &given)?;
                let mean = judged.mean.context("there are too few held-out rows")?;
                mean.f1.value
            }
            (None, None) => anyhow::bail!("there are no rows to judge by"),
        };
        let train = problem.train();
        let labeled = |&row: &usize| train.labels[row] != MpuLabel::Unlabeled;
        let rows: Vec<usize> = (0..train.labels.len()).filter(labeled).collect();
        let scores = run.predict(params, train.features.select(&rows).values())?;
        let mut margins = vec![Vec::new(); k - 1];
        for (&row, scores) in rows.iter().zip(scores.chunks(k)) {
            if let MpuLabel::Labeled(class) = train.labels[row] {
                margins[class].push(f64::from(scores[class]));
            }
        }
        let gap = |margins: &Vec<f64>| Ok(loss_gap(&config.loss, margins)?);
        let gaps = margins.iter().map(gap).collect::<anyhow::Result<_>>()?;
        Ok(Scored { f1, gaps })
    }
}

/// A deviation over seeds, in points.
fn over_seeds(deviation: Option<f64>) -> String {
    deviation.map_or("–".to_owned(), |s| format!("{:.2}", 100.0 * s))
}

impl Found<'_> {
    fn describe(&self, format: Format) -> anyhow::Result<String> {
        let mut table = Table::with("scheme | sum of |Δ|: | macro-F1: | ± over seeds:");
        for scores in &self.study.scores {
            for point in &scores.points {
                table.push([
                    scores.scheme.slug().to_owned(),
                    format!("{:.2}", point.delta),
                    format!("{:.2} %", 100.0 * point.f1),
                    over_seeds(point.std),
                ]);
            }
        }
        let mut text = mpu_report::render(format, &table, self)?;
        if format == Format::Table {
            let _ = writeln!(
                text,
                "{} on {}; macro-F1 on {}",
                self.method, self.dataset, self.measured_on
            );
            for width in &self.study.bandwidths {
                let _ = writeln!(
                    text,
                    "{}: macro-F1 stays within {} points up to a sum of |Δ| of {:.2}",
                    width.scheme.slug(),
                    width.drop,
                    width.delta
                );
            }
        }
        Ok(text)
    }
}
