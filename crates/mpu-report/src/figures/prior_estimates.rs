//! Estimates of class priors.

use crate::chart::{Estimate, Figure, IntervalRow, Intervals};
use serde::{Deserialize, Serialize};

/// What is known of the prior of one class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PriorClass {
    /// The class's name.
    pub class: String,
    /// The lowest value it can have.
    #[serde(default)]
    pub lower: Option<f64>,
    /// The highest value it can have.
    #[serde(default)]
    pub upper: Option<f64>,
    /// The value used in training.
    #[serde(default)]
    pub used: Option<f64>,
    /// The true value, where it is known.
    #[serde(default)]
    pub truth: Option<f64>,
}

/// An estimated prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PriorEstimate {
    /// The estimate.
    pub value: f64,
    /// The ends of its interval.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
}

/// What one estimator says of every class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EstimatorPriors {
    /// The estimator's name.
    pub estimator: String,
    /// One estimate a class, in the order of [`PriorEstimates::classes`]; none where there is none.
    pub estimates: Vec<Option<PriorEstimate>>,
}

/// Class priors as one or several estimators see them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PriorEstimates {
    /// The classes, the negative one last.
    pub classes: Vec<PriorClass>,
    /// The estimators.
    #[serde(default)]
    pub estimators: Vec<EstimatorPriors>,
    /// The confidence of the intervals, such as 0.95.
    #[serde(default)]
    pub confidence: Option<f64>,
}

impl PriorEstimates {
    /// One row a class: its possible range, each estimator's value and interval, the value used in training and
    /// the true one.
    pub fn figure(&self, title: &str) -> Figure {
        let names = self.estimators.iter().map(|e| e.estimator.as_str());
        let mut panel = Intervals::new("Class priors", "prior", names);
        if let Some(confidence) = self.confidence {
            panel = panel.subtitle(format!("intervals of {} % confidence", 100.0 * confidence));
        }
        for (index, class) in self.classes.iter().enumerate() {
            panel = panel.with(IntervalRow {
                name: class.class.clone(),
                bounds: (class.lower, class.upper),
                truth: class.truth,
                used: class.used,
                estimates: self.estimators.iter().map(|e| e.of(index)).collect(),
            });
        }
        Figure::new(title).columns(1).with(panel)
    }
}

impl EstimatorPriors {
    fn of(&self, class: usize) -> Option<Estimate> {
        let estimate = self.estimates.get(class).copied().flatten()?;
        Some(Estimate {
            value: estimate.value,
            interval: estimate.interval,
        })
    }
}
