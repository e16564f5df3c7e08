//! How probabilities become answers, by the same flags wherever rows are answered.

use anyhow::Context as _;
use mpu::{Classifier, NamedCosts, Rule, TargetEstimate};
use mpu_data::Priors;
use mpu_eval::shift::Stop;
use mpu_eval::thresholds::PrecisionThreshold;
use mpu_eval::{Decision, Thresholds};
use serde::Serialize;

use crate::args::decision::{DecisionArgs, PerClass, TargetPriors};

/// What the user asks for, read and checked.
pub(crate) struct Asked<'a> {
    args: &'a DecisionArgs,
    decision: Decision,
    /// The precision of each observed class.
    targets: Option<Vec<f64>>,
    /// The shares among the rows, unless they are estimated.
    shares: Option<Priors>,
}

/// A rule and where it is from.
pub(crate) struct Decided {
    pub(crate) rule: Rule,
    /// What was found on the held-out rows, class by class, if a precision was asked for.
    pub(crate) precision: Option<Vec<ClassPrecision>>,
    pub(crate) estimate: Option<Estimate>,
}

/// The threshold of a class.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClassPrecision {
    pub(crate) class: String,
    #[serde(flatten)]
    pub(crate) found: PrecisionThreshold,
}

/// Estimated shares.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Estimate {
    /// All rows of the data.
    pub(crate) rows: u64,
    #[serde(flatten)]
    pub(crate) found: TargetEstimate,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(args: &'a DecisionArgs, model: &Classifier) -> anyhow::Result<Self> {
        let mut decision = model.rule().decision;
        if let Some(file) = &args.cost_matrix {
            let costs = NamedCosts::read(file, model.names())?.matrix(model.names())?;
            decision = Decision::Costs(costs);
        }
        if let Some(thresholds) = &args.threshold {
            let numbers = shares(thresholds, model, "--threshold")?;
            let thresholds = numbers.into_iter().map(|t| Some(as_written(t))).collect();
            decision = Decision::Thresholds(Thresholds::new(thresholds)?);
        }
        let targets = args.precision_target.as_ref();
        let targets = targets.map(|targets| shares(targets, model, "--precision-target"));
        Ok(Self {
            args,
            decision,
            targets: targets.transpose()?,
            shares: target(args, model)?,
        })
    }

    /// The rule; `estimate` finds the shares of the rows if that is asked for.
    pub(crate) fn decide(
        self,
        model: &Classifier,
        estimate: impl FnOnce() -> anyhow::Result<Estimate>,
    ) -> anyhow::Result<Decided> {
        let estimate = match self.args.target_priors {
            TargetPriors::Estimate => Some(estimate()?),
            _ => None,
        };
        let found = estimate.as_ref().map(|estimate| &estimate.found.priors);
        let mut rule = Rule {
            target: found.cloned().or(self.shares),
            decision: self.decision,
        };
        // The population's own shares are named as such, so that they are known to move with the pool's.
        if rule.target.is_none() && self.args.target_priors == TargetPriors::Population {
            rule.target = model.rule().target;
        }
        let mut precision = None;
        if let Some(targets) = &self.targets {
            let found = model.precision_thresholds(&rule, targets)?;
            let thresholds = found.iter().map(|class| class.threshold).collect();
            rule.decision = Decision::Guarded {
                by: Box::new(rule.decision),
                thresholds: Thresholds::new(thresholds)?,
            };
            let named = |(class, found): (&String, PrecisionThreshold)| ClassPrecision {
                class: class.clone(),
                found,
            };
            let named: Vec<_> = model.observed().iter().zip(found).map(named).collect();
            for class in &named {
                tracing::warn!("{}", class.tell(model.unknown()));
            }
            precision = Some(named);
        }
        Ok(Decided {
            rule,
            precision,
            estimate,
        })
    }
}

/// The shares that the user names; none for the population's, the pool's and estimated ones.
fn target(args: &DecisionArgs, model: &Classifier) -> anyhow::Result<Option<Priors>> {
    let priors = match &args.target_priors {
        TargetPriors::Population | TargetPriors::Pool | TargetPriors::Estimate => return Ok(None),
        TargetPriors::Uniform => Priors::uniform(model.classes()),
        TargetPriors::Given(each) => {
            let observed = each.of(model.observed(), "--target-priors")?;
            Priors::from_observed(&observed).with_context(|| {
                let unknown = model.unknown();
                format!("--target-priors: what is left of 1 is the share of `{unknown}`")
            })?
        }
    };
    for (class, name) in model.names().iter().enumerate() {
        let new = priors.as_slice()[class];
        anyhow::ensure!(
            new == 0.0 || model.priors().as_slice()[class] > 0.0,
            "--target-priors {} gives `{name}` the share {new}, but the model was trained with a share of 0\nhint: train again with a share above 0",
            args.target_priors
        );
    }
    Ok(Some(priors))
}

impl ClassPrecision {
    fn tell(&self, unknown: &str) -> String {
        let (class, found) = (&self.class, &self.found);
        match found.threshold {
            Some(threshold) => format!(
                "class {class}: threshold {threshold:.4} for precision {}; the precision is estimated as {:.3}, and at least {:.3} with 95 % confidence; recall {:.3}, from {} labelled and {} pool rows above it",
                found.target,
                found.precision,
                found.lower,
                found.recall,
                found.accepted_labeled,
                found.accepted_pool
            ),
            None => format!(
                "class {class}: precision {} is out of reach: the highest that can be said with 95 % confidence is {:.3}; no row is answered `{class}`; such rows are answered `{unknown}`\nhint: ask for less, label more rows, or review the best rows with `predict --top`",
                found.target, found.lower
            ),
        }
    }
}

impl Estimate {
    /// Says what was found.
    pub(crate) fn tell(&self, model: &Classifier) {
        let found = &self.found;
        let listed = |priors: &Priors| {
            let shares = priors.as_slice().iter().zip(model.names());
            let shares: Vec<String> = shares
                .map(|(share, name)| format!("{name}={share:.4}"))
                .collect();
            shares.join(", ")
        };
        let of = if (found.sampled_rows as u64) < self.rows {
            format!("a sample of {} of {} rows", found.sampled_rows, self.rows)
        } else {
            format!("{} rows", self.rows)
        };
        let shares = listed(&found.found.priors);
        if found.moved {
            tracing::warn!("estimated class shares, from {of}: {shares}");
        } else {
            tracing::warn!(
                "estimated class shares, from {of}: {shares}; that is no more than chance away from the population the model was trained on, whose shares are used: {}",
                listed(&found.priors)
            );
        }
        if found.found.stop == Some(Stop::Limit) {
            tracing::warn!(
                "the estimate had not settled after {} steps (last change {:.1e})",
                found.found.iterations,
                found.found.change
            );
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
