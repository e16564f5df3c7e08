//! The figures of an epoch: sums over its steps, and what held-out and test rows say.

use mpu_data::MpuLabel;
use mpu_eval::{Confusion, pu_accuracy, top_class, top_classes};
use mpu_risk::{Estimator, Groups, unbiasedness_gap};

use crate::engine::Step;
use crate::error::Result;
use crate::outcome::EpochMetrics;
use crate::problem::{Judged, Problem, Sample};
use crate::trainer::Run;

/// Sums over the steps of an epoch.
#[derive(Default)]
pub(crate) struct Tally {
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
    pub(crate) fn add(
        &mut self,
        run: &Run,
        problem: &Problem,
        rows: &[usize],
        step: &Step,
    ) -> Result<()> {
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
        self.gap += unbiasedness_gap(&run.loss, &run.priors, &step.scores, &groups)?;
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

    pub(crate) fn metrics(&self, epoch: usize, lr: f64, has_oracle: bool) -> EpochMetrics {
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
            ..EpochMetrics::default()
        }
    }
}

impl EpochMetrics {
    /// Adds what scores of held-out rows say, by labelled rows and the pool alone.
    pub(crate) fn judge_validation(
        &mut self,
        run: &Run,
        estimator: &Estimator,
        sample: &Sample,
        scores: &[f32],
    ) -> Result<()> {
        let classes = run.priors.classes();
        let answers = top_classes(scores, classes.get());
        self.validation_accuracy = pu_accuracy(&run.priors, &sample.labels, &answers);
        if !estimator.objective().uses_hidden_labels() {
            let scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            let groups = Groups::batch(classes, &sample.labels)?;
            let risk = estimator.plain(&scores, &groups)?;
            self.validation_risk = Some(risk.terms.corrected);
        }
        Ok(())
    }

    /// Adds what scores of test rows say, by their true classes.
    pub(crate) fn judge_test(
        &mut self,
        estimator: &Estimator,
        test: &Judged,
        scores: &[f32],
    ) -> Result<()> {
        let classes = estimator.priors().classes();
        let mut loss = 0.0;
        for (row, &class) in scores.chunks(classes.get()).zip(&test.classes) {
            let row: Vec<f64> = row.iter().map(|&score| f64::from(score)).collect();
            loss += estimator.loss_of(&row, class)?;
        }
        let answers = top_classes(scores, classes.get());
        let confusion = Confusion::new(classes, &test.classes, &answers)?;
        let rates = confusion.macro_rates();
        self.test_loss = Some(loss / test.classes.len().max(1) as f64);
        self.test_accuracy = Some(confusion.accuracy());
        self.test_precision = Some(rates.precision);
        self.test_recall = Some(rates.recall);
        self.test_f1 = Some(rates.f1);
        self.test_predicted_negative = Some(confusion.predicted_negative());
        Ok(())
    }
}
