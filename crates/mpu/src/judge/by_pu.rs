//! How good answers are, from labelled rows and the pool alone.

use mpu_data::{MpuLabel, Priors};
use mpu_eval::PuJudgement;
use mpu_eval::pu_metrics::{Estimate, Sensitivity, pu_auc, sensitivity};
use mpu_loss::Loss;
use mpu_risk::bounds::{Constants, SampleSizes, risk_upper_bound};
use mpu_risk::{Correction, Estimator, Groups, Objective};
use serde::Serialize;

use crate::error::Result;

use super::by_truth::mean;
use crate::classifier::Classifier;

/// One minus the level of the risk's bound.
const DELTA: f64 = 0.05;

/// The estimated risk of the model's scores.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RiskFigures {
    /// The estimator: unbiased, its negative part kept at 0 or above.
    pub estimator: Objective,
    /// With this loss.
    pub loss: Loss,
    /// The estimate.
    pub value: f64,
    /// Before the correction; below `value` if that was active.
    pub raw: f64,
    /// The risk is at most this with probability `1 - delta`.
    pub upper: Option<f64>,
    /// One minus the level of the bound.
    pub delta: f64,
    /// Which bound it is, or why there is none.
    pub bound: String,
}

/// Figures that need no true negative.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ByPu {
    /// What must hold for the figures to mean what they say.
    pub assumptions: Vec<String>,
    /// The class priors it rests on.
    pub priors: Priors,
    /// Rates with intervals.
    pub judgement: PuJudgement,
    /// By class, the negative one last.
    pub auc: Vec<Option<Estimate>>,
    /// The mean over classes that have one.
    pub macro_auc: Option<f64>,
    /// The estimated risk.
    pub risk: RiskFigures,
    /// The same judgement under other priors; the model and its answers stay as they are.
    pub sensitivity: Vec<Sensitivity>,
    /// What makes the figures doubtful.
    #[serde(skip)]
    pub doubts: Vec<String>,
}

impl ByPu {
    /// Judges the model's answers to labelled rows and a pool.
    pub fn new(model: &Classifier, labels: &[MpuLabel], scores: &[f32]) -> Result<Self> {
        let card = model.card();
        let priors = &card.priors;
        let given = model.answers_to(scores)?;
        let judgement = PuJudgement::new(priors, labels, &given)?;
        let auc = match &card.calibration {
            Some(c) => pu_auc(priors, labels, &c.probabilities(scores)?)?,
            None => pu_auc(priors, labels, scores)?,
        };
        let areas: Vec<Option<f64>> = auc.iter().map(|a| a.map(|a| a.value)).collect();
        Ok(Self {
            assumptions: assumptions(model),
            priors: priors.clone(),
            doubts: doubts(&judgement, &card.class_names),
            macro_auc: mean(&areas),
            auc,
            risk: risk(&card.loss, priors, labels, scores)?,
            sensitivity: sensitivity(priors, labels, &given)?,
            judgement,
        })
    }
}

fn assumptions(model: &Classifier) -> Vec<String> {
    let priors = if model.card().estimated_priors.is_some() {
        "the class priors, which were estimated, are right (see the sensitivity)"
    } else {
        "the class priors that training was told are right (see the sensitivity)"
    };
    [
        "labelled rows of a class look like the rows of that class in the pool",
        "the rows were not trained on, and are independent of each other",
        priors,
        "the priors have no error of their own: the 95 % intervals allow for none",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Estimates that left the range from 0 to 1: the sample is small or a prior wrong.
fn doubts(judgement: &PuJudgement, names: &[String]) -> Vec<String> {
    let mut doubts = Vec::new();
    for (class, name) in judgement.classes.iter().zip(names) {
        let Some(class) = class else {
            doubts.push(format!(
                "class {name} cannot be judged: labelled rows are missing"
            ));
            continue;
        };
        let rates = [("recall", class.recall), ("precision", class.precision)];
        for (what, rate) in rates {
            let Some(rate) = rate else { continue };
            if !(-0.02..=1.02).contains(&rate.raw) {
                doubts.push(format!(
                    "the {what} of class {name} came out as {:.1} %: there are few rows, or its prior is wrong",
                    100.0 * rate.raw
                ));
            }
        }
    }
    doubts
}

/// The unbiased risk of the scores, and how far above it the true one may be.
///
/// One row of a class moves `π_i (μ_i - ν_i)` by at most `4π_i C_ℓ/n_i` and one of the pool `μ_u` by at most
/// `2C_ℓ/n_u`, as in the paper's risk: the deviation of Theorem 4 holds for this one as well.
fn risk(loss: &Loss, priors: &Priors, labels: &[MpuLabel], scores: &[f32]) -> Result<RiskFigures> {
    let objective = Objective::CsmpuExact(Correction::Nn);
    let groups = Groups::new(priors.classes(), labels)?;
    let scores: Vec<f64> = scores.iter().map(|&f| f64::from(f)).collect();
    let estimator = Estimator::new(objective, *loss, priors.clone());
    let terms = estimator.plain(&scores, &groups)?.terms;
    let upper = SampleSizes::of(&groups).and_then(|sizes| {
        risk_upper_bound(
            terms.corrected,
            loss,
            priors,
            &sizes,
            DELTA,
            Constants::Corrected,
        )
    });
    let bound = match &upper {
        Ok(_) => "the deviation of Theorem 4 with corrected constants, for one fixed model and rows it was not trained on".to_owned(),
        Err(error) => format!("none: {error}"),
    };
    Ok(RiskFigures {
        estimator: objective,
        loss: *loss,
        value: terms.corrected,
        raw: terms.raw,
        upper: upper.ok(),
        delta: DELTA,
        bound,
    })
}
