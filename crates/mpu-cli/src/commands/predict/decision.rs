//! How probabilities become answers: the likeliest class, thresholds, a precision asked for, or costs.

use mpu_eval::thresholds::PrecisionThreshold;
use mpu_eval::{Decision, Thresholds};
use serde::Serialize;

use crate::args::predict::{PerClass, Predict, TargetPriors};
use mpu::{Classifier, NamedCosts};

/// A decision and where its thresholds are from.
pub(super) struct Decided {
    pub(super) decision: Decision,
    /// What was found on the held-out rows, class by class, if a precision was asked for.
    pub(super) precision: Option<Vec<ClassPrecision>>,
}

/// The threshold of a class.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ClassPrecision {
    pub(super) class: String,
    #[serde(flatten)]
    pub(super) found: PrecisionThreshold,
}

/// The decision that the user asks for.
pub(super) fn decide(args: &Predict, model: &Classifier) -> anyhow::Result<Decided> {
    let plain = |decision| Decided {
        decision,
        precision: None,
    };
    if let Some(file) = &args.cost_matrix {
        let costs = NamedCosts::read(file, model.names())?.matrix(model.names())?;
        return Ok(plain(Decision::Costs(costs)));
    }
    if let Some(thresholds) = &args.threshold {
        let numbers = shares(thresholds, model, "--threshold")?;
        let thresholds = numbers.into_iter().map(|t| Some(as_written(t))).collect();
        return Ok(plain(Decision::Thresholds(Thresholds::new(thresholds)?)));
    }
    match &args.precision_target {
        Some(targets) => for_precision(args, targets, model),
        None => Ok(plain(model.rule().decision)),
    }
}

fn for_precision(
    args: &Predict,
    targets: &PerClass,
    model: &Classifier,
) -> anyhow::Result<Decided> {
    anyhow::ensure!(
        args.target_priors == TargetPriors::Pool,
        "--precision-target is about the pool that was trained on, but --target-priors is `{}`: the precision among other rows is not known from it\nhint: leave one of them out, or give --threshold",
        args.target_priors
    );
    let targets = shares(targets, model, "--precision-target")?;
    let found = model.precision_thresholds(&targets)?;
    let thresholds = found.iter().map(|class| class.threshold).collect();
    let decision = Decision::Thresholds(Thresholds::new(thresholds)?);
    let named = |(class, found): (&String, PrecisionThreshold)| ClassPrecision {
        class: class.clone(),
        found,
    };
    let precision: Vec<ClassPrecision> = model.observed().iter().zip(found).map(named).collect();
    for class in &precision {
        tracing::warn!("{}", class.tell(model.unknown()));
    }
    Ok(Decided {
        decision,
        precision: Some(precision),
    })
}

impl ClassPrecision {
    fn tell(&self, unknown: &str) -> String {
        let (class, found) = (&self.class, &self.found);
        match found.threshold {
            Some(threshold) => format!(
                "class {class}: threshold {threshold:.4} for precision {}; estimated precision {:.3}, recall {:.3}, from {} labelled and {} pool rows above it",
                found.target,
                found.precision.min(1.0),
                found.recall,
                found.accepted_labeled,
                found.accepted_pool
            ),
            None => format!(
                "class {class}: precision {} is out of reach, the highest found is {:.3}; no row is answered `{class}`; such rows are answered `{unknown}`\nhint: ask for less, label more rows, or review the best rows with --top",
                found.target,
                found.precision.min(1.0)
            ),
        }
    }
}

/// Numbers between 0 and 1, one for each observed class.
fn shares(numbers: &PerClass, model: &Classifier, flag: &str) -> anyhow::Result<Vec<f64>> {
    let numbers = numbers.of(model.observed(), flag)?;
    for number in &numbers {
        anyhow::ensure!(
            (0.0..=1.0).contains(number),
            "{flag} is {number}: it must be between 0 and 1"
        );
    }
    Ok(numbers)
}

/// A probability as it is written and decided on: an `f32`. A threshold of 0.9 accepts what is written as 0.9.
fn as_written(p: f64) -> f64 {
    f64::from(p as f32)
}
