//! The record of a run, whichever way it was made.

use mpu_data::source::content::sha256;
use mpu_data::{ClassCount, Features, MpuLabel, Priors};
use mpu_eval::margins::true_margins;
use mpu_eval::reliability::Reliability;
use mpu_eval::shift::{self, reweighted};
use mpu_eval::{Calibration, Confusion, Decision, top_classes};
use mpu_report::{Curves, Heat, Record, RunKey, Scores};
use mpu_risk::bounds::loss_gap;
use mpu_train::{EpochMetrics, Judged, Method, Outcome, model_to_bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::classifier::Classifier;
use crate::config::RunConfig;
use crate::error::{Context as _, Result};
use crate::fit::Trained;
use crate::predictions::Rule;
use crate::prepared::Prepared;

/// Bins of the calibration error.
const BINS: usize = 15;

impl<D: Clone + Default + Serialize + DeserializeOwned> RunConfig<D> {
    /// The content hash of a resolved configuration: equal runs have equal ids.
    pub fn id(&self) -> Result<String> {
        // How often a run is kept does not change what comes out.
        let mut content = self.clone();
        content.train.checkpoint_every = 0;
        let text = format!("mpu run 1\n{}", content.to_toml()?);
        Ok(sha256(text.as_bytes())[..16].to_owned())
    }
}

impl Trained {
    /// What is kept of the run: what it was, how good it is, every epoch.
    pub fn record<D>(&self, config: &RunConfig<D>, prepared: &Prepared) -> Result<Record>
    where
        D: Clone + Default + Serialize + DeserializeOwned,
    {
        let (facts, priors) = (&prepared.facts, &prepared.priors);
        let outcome = self.outcome.as_ref();
        let history = outcome.map_or(&[][..], |outcome| &outcome.state.history);
        let reported = outcome.and_then(Outcome::reported);
        let true_priors = prepared.true_priors.as_ref();
        let (mut scores, mut heat) = (None, None);
        // A table's model is more than the network: its classifier is judged as it answers.
        if let (None, Some(test), Some(reported)) =
            (&prepared.test, prepared.problem.test(), reported)
        {
            let found = self.scores(config, prepared, &test.features)?;
            scores = measured(reported, history, config.method, priors, test, &found)?;
            let classes = priors.classes();
            let given = top_classes(&found, classes.get());
            heat = Some(by_class(classes, test, &given, &found)?);
        }
        let column = |value: fn(&EpochMetrics) -> Option<f64>| -> Vec<f64> {
            let values: Option<_> = history.iter().map(|m| value(m).map(round)).collect();
            values.unwrap_or_default()
        };
        let last_epoch = history.last().map(|metrics| metrics.epoch);
        Ok(Record {
            version: Record::VERSION,
            id: config.id()?,
            key: RunKey {
                dataset: facts.dataset.clone(),
                protocol: facts.protocol.to_owned(),
                classes: priors.classes().get(),
                prior: facts.prior,
                method: config.method.slug().to_owned(),
                surrogate: config.loss.surrogate().slug().to_owned(),
                gamma: config.loss.gamma(),
                form: config.loss.form().slug().to_owned(),
                lr: self.lr,
                swept: config.sweep.is_some(),
                epochs: config.train.epochs,
                seed: config.seed,
            },
            config: serde_json::to_value(config).context("writing the configuration")?,
            program: program(),
            machine: machine(),
            threads: self.threads.get(),
            seconds: round(self.seconds),
            data_mark: facts.mark.clone(),
            split_digest: facts.split_digest.clone(),
            model_sha256: match outcome {
                Some(outcome) => sha256(&model_to_bytes(outcome.params())?),
                None => String::new(),
            },
            scores,
            priors: true_priors.map_or_else(Vec::new, |p| p.as_slice().to_vec()),
            told_priors: match true_priors {
                Some(known) if known == priors => Vec::new(),
                _ => priors.as_slice().to_vec(),
            },
            kept_epoch: reported
                .map(|reported| reported.epoch)
                .filter(|&epoch| Some(epoch) != last_epoch),
            rates: self.rates.clone(),
            prior_gaps: self.prior_gaps(config, prepared)?,
            curves: Some(Curves {
                train_loss: column(|m| Some(m.loss)),
                test_loss: column(|m| m.test_loss),
                oracle_train_accuracy: column(|m| m.oracle_train_accuracy),
                test_accuracy: column(|m| m.test_accuracy),
            }),
            heat,
        })
    }

    /// The model's scores of scaled rows.
    fn scores<D>(
        &self,
        config: &RunConfig<D>,
        prepared: &Prepared,
        rows: &Features,
    ) -> Result<Vec<f32>> {
        let run = prepared.run(config, self.lr, self.threads);
        let trained = run.zip(self.outcome.as_ref());
        let (run, outcome) = trained.context("no network was trained")?;
        Ok(run.predict(outcome.params(), rows.values())?)
    }

    /// `b_i` of the observed classes, from the scores of their labelled training rows.
    fn prior_gaps<D>(&self, config: &RunConfig<D>, prepared: &Prepared) -> Result<Vec<f64>> {
        if self.outcome.is_none() {
            return Ok(Vec::new());
        }
        let classes = prepared.problem.classes();
        let train = prepared.problem.train();
        let rows: Vec<usize> = (0..train.labels.len())
            .filter(|&row| train.labels[row] != MpuLabel::Unlabeled)
            .collect();
        let scores = self.scores(config, prepared, &train.features.select(&rows))?;
        let mut margins = vec![Vec::new(); classes.n_observed()];
        for (&row, scores) in rows.iter().zip(scores.chunks(classes.get())) {
            if let MpuLabel::Labeled(class) = train.labels[row] {
                margins[class].push(f64::from(scores[class]));
            }
        }
        let gap = |margins: &Vec<f64>| Ok(round(loss_gap(&config.loss, margins)?));
        margins.iter().map(gap).collect()
    }
}

/// How good a classifier's own answers to test rows are, and how many and how sure they are by class.
pub(crate) fn judged(model: &Classifier, test: &Judged) -> Result<(Scores, Heat)> {
    let (classes, rule) = (model.classes(), model.rule());
    let found = model.predict_by(&rule, &test.features)?;
    let confusion = Confusion::new(classes, &test.classes, &found.answers)?;
    let rates = confusion.macro_rates();
    let mut scores = Scores {
        accuracy: confusion.accuracy(),
        accuracy_last_ten: confusion.accuracy(),
        precision: rates.precision,
        recall: rates.recall,
        f1: rates.f1,
        shifted_accuracy: None,
        shifted_f1: None,
        calibration_error: None,
    };
    if model.card().calibration.is_some() {
        let probabilities: Vec<f64> = found.probabilities.iter().map(|&p| f64::from(p)).collect();
        let of_pool = model.probabilities(&found.scores)?;
        let now = shift::estimate_priors(model.priors(), &of_pool)?.priors;
        let moved = Rule {
            target: Some(now),
            ..rule
        };
        let moved = model.decide(&moved, &found.scores)?;
        add_probable(&mut scores, classes, test, &moved.answers, &probabilities)?;
    }
    let heat = by_class(classes, test, &found.answers, &found.scores)?;
    Ok((scores, heat))
}

/// How good answers to test rows are; none if training did not measure it.
fn measured(
    reported: &EpochMetrics,
    history: &[EpochMetrics],
    method: Method,
    priors: &Priors,
    test: &Judged,
    scores: &[f32],
) -> Result<Option<Scores>> {
    let shares = || -> Option<Scores> {
        Some(Scores {
            accuracy: reported.test_accuracy?,
            accuracy_last_ten: last_ten(history)?,
            precision: reported.test_precision?,
            recall: reported.test_recall?,
            f1: reported.test_f1?,
            shifted_accuracy: None,
            shifted_f1: None,
            calibration_error: None,
        })
    };
    let Some(mut found) = shares() else {
        return Ok(None);
    };
    // Where scores are log-probabilities under the pool's priors, probabilities can be judged too.
    if method.scores_are_log_probabilities() && !method.uses_hidden_labels() {
        let classes = priors.classes();
        let identity = Calibration::new(1.0, vec![Some(0.0); classes.get()])?;
        let probabilities = identity.probabilities(scores)?;
        let now = shift::estimate_priors(priors, &probabilities)?.priors;
        let moved = reweighted(priors, &now, &probabilities)?;
        let answers = Decision::Argmax.answers(classes, &moved)?;
        add_probable(&mut found, classes, test, &answers, &probabilities)?;
    }
    Ok(Some(found))
}

/// Adds what needs probabilities: how good answers are under class shares estimated anew, and the calibration error.
fn add_probable(
    scores: &mut Scores,
    classes: ClassCount,
    test: &Judged,
    moved: &[usize],
    probabilities: &[f64],
) -> Result<()> {
    let shifted = Confusion::new(classes, &test.classes, moved)?;
    let reliability = Reliability::new(classes, &test.classes, probabilities, BINS)?;
    scores.shifted_accuracy = Some(round(shifted.accuracy()));
    scores.shifted_f1 = Some(round(shifted.macro_rates().f1));
    scores.calibration_error = Some(round(reliability.top_error));
    Ok(())
}

/// The mean test accuracy of the last ten epochs.
fn last_ten(history: &[EpochMetrics]) -> Option<f64> {
    let last = &history[history.len().saturating_sub(10)..];
    let sum: Option<f64> = last.iter().map(|metrics| metrics.test_accuracy).sum();
    sum.filter(|_| !last.is_empty())
        .map(|sum| sum / last.len() as f64)
}

/// Counts and mean margins of test rows by true class and answer.
fn by_class(classes: ClassCount, test: &Judged, given: &[usize], scores: &[f32]) -> Result<Heat> {
    let mut margin = true_margins(classes, &test.classes, given, scores)?;
    for mean in margin.iter_mut().flatten().flatten() {
        *mean = round(*mean);
    }
    Ok(Heat {
        support: Confusion::new(classes, &test.classes, given)?.rows(),
        margin,
    })
}

/// Six digits are enough for a curve and keep records small.
fn round(value: f64) -> f64 {
    format!("{value:.6}").parse().unwrap_or(value)
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
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    format!("{model}, {}", std::env::consts::OS)
}
