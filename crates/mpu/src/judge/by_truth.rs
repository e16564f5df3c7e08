//! How good answers are by true labels.

use mpu_eval::margins::{Margins, true_margins};
use mpu_eval::reliability::Reliability;
use mpu_eval::{Confusion, auc};
use serde::Serialize;

use crate::classifier::Classifier;
use crate::error::Result;
use crate::predictions::{Decided, Rule};

/// Bins of a reliability diagram.
const BINS: usize = 10;
/// What a probability counts as at the least, so that margins of logarithms are finite.
const LEAST_PROBABILITY: f64 = 1e-12;

/// The figures of one class.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassFigures {
    /// Its name.
    pub class: String,
    /// Rows of the class.
    pub rows: u64,
    /// Right among the rows answered so.
    pub precision: f64,
    /// Right among the rows of the class.
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
    /// None if the class has no rows or all of them.
    pub auc: Option<f64>,
}

/// Figures that need the true class of every row.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ByTruth {
    /// Rows in all.
    pub n_rows: u64,
    /// Share of right answers.
    pub accuracy: f64,
    /// Mean cost of an answer, where costs decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_cost: Option<f64>,
    /// Mean cost of the likeliest classes as answers, where costs decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_cost_likeliest: Option<f64>,
    /// Mean over classes.
    pub macro_precision: f64,
    /// Mean over classes.
    pub macro_recall: f64,
    /// Mean over classes.
    pub macro_f1: f64,
    /// The mean over classes that have one.
    pub macro_auc: Option<f64>,
    /// What AUC ranks rows by: `probabilities` or `scores`.
    pub auc_by: &'static str,
    /// By class.
    pub classes: Vec<ClassFigures>,
    /// Rows by true class (outer) and answer (inner).
    pub confusion: Vec<Vec<u64>>,
    /// How clear answers are: margins of log-probabilities, or of scores for a model without probabilities.
    pub margins: Margins,
    /// The mean margin of the true class, by true class (outer) and answer (inner): below 0 where another is likelier.
    pub true_margins: Vec<Vec<Option<f64>>>,
    /// Whether probabilities mean what they say; none for a model without them.
    pub reliability: Option<Reliability>,
}

impl ByTruth {
    /// Judges a rule's answers to rows whose true classes are known.
    pub fn new(model: &Classifier, rule: &Rule, truths: &[usize], scores: &[f32]) -> Result<Self> {
        let (names, classes) = (model.names(), model.classes());
        let Decided {
            probabilities,
            answers: given,
        } = model.decide(rule, scores)?;
        let confusion = Confusion::new(classes, truths, &given)?;
        let costs = rule.decision.costs();
        let mean_cost = costs.map(|costs| confusion.mean_cost(costs)).transpose()?;
        let likeliest = |costs| -> Result<f64> {
            let likeliest = mpu_eval::top_classes(&probabilities, classes.get());
            Ok(Confusion::new(classes, truths, &likeliest)?.mean_cost(costs)?)
        };
        let mean_cost_likeliest = costs.map(likeliest).transpose()?;
        let probabilities = model.card().calibration.as_ref().map(|_| probabilities);
        let (areas, auc_by) = match &probabilities {
            Some(p) => (auc::one_versus_rest(classes, truths, p)?, "probabilities"),
            None => (auc::one_versus_rest(classes, truths, scores)?, "scores"),
        };
        // Answers are by probabilities, so that a margin of the scores may have the other sign.
        let logarithms = probabilities.as_ref().map(|p| {
            let logarithms = p.iter().map(|p| p.max(LEAST_PROBABILITY).ln() as f32);
            logarithms.collect::<Vec<f32>>()
        });
        let ranked = logarithms.as_deref().unwrap_or(scores);
        let counts = confusion.rows();
        let figures = names.iter().enumerate().map(|(class, name)| {
            let rates = confusion.rates(class);
            ClassFigures {
                class: name.clone(),
                rows: counts[class].iter().sum(),
                precision: rates.precision,
                recall: rates.recall,
                f1: rates.f1,
                auc: areas[class],
            }
        });
        let rates = confusion.macro_rates();
        let reliability = probabilities.map(|p| Reliability::new(classes, truths, &p, BINS));
        Ok(Self {
            n_rows: confusion.n_rows(),
            accuracy: confusion.accuracy(),
            mean_cost,
            mean_cost_likeliest,
            macro_precision: rates.precision,
            macro_recall: rates.recall,
            macro_f1: rates.f1,
            macro_auc: mean(&areas),
            auc_by,
            classes: figures.collect(),
            confusion: counts,
            margins: Margins::new(classes, truths, ranked)?,
            true_margins: true_margins(classes, truths, &given, ranked)?,
            reliability: reliability.transpose()?,
        })
    }
}

/// The mean of those that are there.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let there: Vec<f64> = values.iter().copied().flatten().collect();
    (!there.is_empty()).then(|| there.iter().sum::<f64>() / there.len() as f64)
}
