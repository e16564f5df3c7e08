//! How good answers are by true labels.

use mpu_data::ClassCount;
use mpu_eval::margins::Margins;
use mpu_eval::reliability::Reliability;
use mpu_eval::{Calibration, Confusion, auc};
use serde::Serialize;

/// Bins of a reliability diagram.
const BINS: usize = 10;

/// The figures of one class.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ClassFigures {
    pub(crate) class: String,
    /// Rows of the class.
    pub(crate) rows: u64,
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) f1: f64,
    /// None if the class has no rows or all of them.
    pub(crate) auc: Option<f64>,
}

/// Figures that need the true class of every row.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ByTruth {
    pub(crate) n_rows: u64,
    pub(crate) accuracy: f64,
    pub(crate) macro_precision: f64,
    pub(crate) macro_recall: f64,
    pub(crate) macro_f1: f64,
    /// The mean over classes that have one.
    pub(crate) macro_auc: Option<f64>,
    /// What AUC ranks rows by: `probabilities` or `scores`.
    pub(crate) auc_by: &'static str,
    pub(crate) classes: Vec<ClassFigures>,
    /// Rows by true class (outer) and answer (inner).
    pub(crate) confusion: Vec<Vec<u64>>,
    pub(crate) margins: Margins,
    /// The mean margin of the true class, by true class (outer) and answer (inner): below 0 where it loses.
    pub(crate) true_margins: Vec<Vec<Option<f64>>>,
    /// Whether probabilities mean what they say; none for a model without them.
    pub(crate) reliability: Option<Reliability>,
}

impl ByTruth {
    pub(crate) fn new(
        names: &[String],
        truths: &[usize],
        scores: &[f32],
        calibration: Option<&Calibration>,
    ) -> anyhow::Result<Self> {
        let classes = ClassCount::new(names.len())?;
        let k = classes.get();
        let given = mpu_eval::top_classes(scores, k);
        let confusion = Confusion::new(classes, truths, &given)?;
        let probabilities = calibration.map(|c| c.probabilities(scores)).transpose()?;
        let (areas, auc_by) = match &probabilities {
            Some(p) => (auc::one_versus_rest(classes, truths, p)?, "probabilities"),
            None => (auc::one_versus_rest(classes, truths, scores)?, "scores"),
        };
        let counts: Vec<Vec<u64>> = (0..k)
            .map(|y| (0..k).map(|j| confusion.count(y, j)).collect())
            .collect();
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
            macro_precision: rates.precision,
            macro_recall: rates.recall,
            macro_f1: rates.f1,
            macro_auc: mean(&areas),
            auc_by,
            classes: figures.collect(),
            confusion: counts,
            margins: Margins::new(classes, truths, scores)?,
            true_margins: true_margins(classes, truths, &given, scores)?,
            reliability: reliability.transpose()?,
        })
    }
}

fn true_margins(
    classes: ClassCount,
    truths: &[usize],
    given: &[usize],
    scores: &[f32],
) -> anyhow::Result<Vec<Vec<Option<f64>>>> {
    let k = classes.get();
    let mut margins = vec![vec![None; k]; k];
    for answer in 0..k {
        let (mut own_truths, mut own_scores) = (Vec::new(), Vec::new());
        for (row, &truth) in truths.iter().enumerate() {
            if given[row] == answer {
                own_truths.push(truth);
                own_scores.extend_from_slice(&scores[row * k..(row + 1) * k]);
            }
        }
        let own = Margins::new(classes, &own_truths, &own_scores)?;
        for (truth, margin) in own.by_class.into_iter().enumerate() {
            margins[truth][answer] = margin;
        }
    }
    Ok(margins)
}

/// The mean of those that are there.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let there: Vec<f64> = values.iter().copied().flatten().collect();
    (!there.is_empty()).then(|| there.iter().sum::<f64>() / there.len() as f64)
}
