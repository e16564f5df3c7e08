//! How good answers are, from labelled rows and the pool alone.

use mpu_data::{MpuLabel, Priors};
use mpu_eval::PuJudgement;
use mpu_eval::pu_metrics::{Estimate, Evidence, Sensitivity, State, Target, pu_auc, sensitivity};
use mpu_loss::Loss;
use mpu_risk::bounds::{Constants, SampleSizes, risk_upper_bound};
use mpu_risk::{Correction, Estimator, Groups, Objective};
use serde::Serialize;

use crate::error::Result;

use super::by_truth::mean;
use crate::classifier::Classifier;
use crate::predictions::Rule;

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
    /// Which rows the rates are about.
    pub about: String,
    /// Their class shares.
    pub shares: Priors,
    /// The class priors of the pool that it rests on.
    pub priors: Priors,
    /// Rates with intervals.
    pub judgement: PuJudgement,
    /// By class, the unknown one last, in the pool.
    pub auc: Vec<Option<Estimate>>,
    /// The mean over classes that have one.
    pub macro_auc: Option<f64>,
    /// The estimated risk.
    pub risk: RiskFigures,
    /// The same judgement under other priors; the model and its answers stay as they are.
    pub sensitivity: Vec<Sensitivity>,
    /// The judgement by counts alone, which the sensitivity varies.
    #[serde(skip)]
    pub counted: PuJudgement,
    /// What makes the figures doubtful.
    #[serde(skip)]
    pub doubts: Vec<String>,
}

impl ByPu {
    /// Judges a rule's answers to labelled rows and a pool.
    pub fn new(
        model: &Classifier,
        rule: &Rule,
        labels: &[MpuLabel],
        scores: &[f32],
    ) -> Result<Self> {
        let card = model.card();
        let priors = &card.priors;
        let given = model.decide(rule, scores)?.answers;
        let probabilities = card.calibration.as_ref().map(|c| c.probabilities(scores));
        let probabilities = probabilities.transpose()?;
        let (uncertain, target) = (model.uncertain_priors()?, model.target(rule));
        let evidence = Evidence {
            priors: &uncertain,
            target: &target,
            labels,
            probabilities: probabilities.as_deref(),
        };
        let judgement = PuJudgement::of(&evidence, &given)?;
        let counts_alone = Evidence {
            probabilities: None,
            ..evidence
        };
        let auc = match &probabilities {
            Some(p) => pu_auc(priors, labels, p)?,
            None => pu_auc(priors, labels, scores)?,
        };
        let areas: Vec<Option<f64>> = auc.iter().map(|a| a.and_then(|a| a.known())).collect();
        Ok(Self {
            about: about(&target).to_owned(),
            shares: rule.target.as_ref().unwrap_or(priors).clone(),
            assumptions: assumptions(model),
            priors: priors.clone(),
            doubts: doubts(&judgement, model.names()),
            macro_auc: mean(&areas),
            auc,
            risk: risk(&card.loss, priors, labels, scores)?,
            sensitivity: sensitivity(&evidence, &given)?,
            counted: PuJudgement::of(&counts_alone, &given)?,
            judgement,
        })
    }
}

/// Which rows the rates are about.
fn about(target: &Target) -> &'static str {
    match target {
        Target::Pool => "rows like those of the pool",
        Target::Population(_) => "rows of the population, which is labelled rows and pool together",
        Target::Shares(_) => "rows with the class shares asked for",
    }
}

fn assumptions(model: &Classifier) -> Vec<String> {
    let priors = if model.card().estimated_priors.is_some() {
        "the class shares of the pool, which were estimated, are within their intervals (see what other shares would give)"
    } else {
        "the class shares of the pool that training was told are right (see what other shares would give)"
    };
    [
        "labelled rows of a class look like the rows of that class in the pool",
        "the rows were not trained on, and are independent of each other",
        priors,
        "the 95 % intervals allow for few rows, for the intervals of estimated shares, and for probabilities that are a little off",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Rates that counts alone cannot tell: there are few rows, or a prior is too high.
fn doubts(judgement: &PuJudgement, names: &[String]) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut tell = |what: &str, rate: Option<Estimate>| {
        let Some(rate) = rate else { return };
        let instead = match rate.state {
            State::Identified => return,
            State::ByProbabilities => "; the figure shown comes from the probabilities",
            State::NotIdentified => "",
        };
        let off = rate.raw.min(0.0) + (rate.raw - 1.0).max(0.0);
        if off.abs() > 0.02 || rate.state == State::NotIdentified {
            doubts.push(format!(
                "{what} is not identified: counts give {:.1} %, because there are few rows or a class share of the pool is too {}{instead}",
                100.0 * rate.raw,
                if off > 0.0 { "high" } else { "low" }
            ));
        }
    };
    tell("the accuracy", judgement.accuracy);
    for (class, name) in judgement.classes.iter().zip(names) {
        if let Some(class) = class {
            tell(&format!("the recall of class {name}"), class.recall);
            tell(&format!("the precision of class {name}"), class.precision);
        }
    }
    for (class, name) in judgement.classes.iter().zip(names) {
        if class.is_none() {
            doubts.push(format!(
                "class {name} cannot be judged: labelled rows are missing"
            ));
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
