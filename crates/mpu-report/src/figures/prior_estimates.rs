//! Estimates of class priors.

use crate::chart::{Estimate, Figure, IntervalRow, Intervals};
use serde::{Deserialize, Serialize};

/// How many times as far as all others the negative class must reach to stand apart.
const DWARFED: f64 = 3.0;

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

/// What one estimator says of every class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EstimatorPriors {
    /// The estimator's name.
    pub estimator: String,
    /// One estimate for each class, in the order of [`PriorEstimates::classes`]; none where there is none.
    pub estimates: Vec<Option<Estimate>>,
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
    /// One row for each class: its possible range, each estimator's value and interval, the value used in training and
    /// the true one. A negative class whose prior dwarfs the others has a panel of its own.
    pub fn figure(&self, title: &str) -> Figure {
        let figure = Figure::new(title).columns(2);
        let n_observed = self.classes.len().saturating_sub(1);
        let reach =
            |range: std::ops::Range<usize>| range.map(|i| self.reach(i)).fold(0.0, f64::max);
        if n_observed > 1 && reach(n_observed..n_observed + 1) > DWARFED * reach(0..n_observed) {
            let negative = self.panel("Share of unknown rows", n_observed..n_observed + 1);
            return figure
                .with(self.panel("Shares of the observed classes", 0..n_observed))
                .with(negative);
        }
        figure.with(self.panel("Class shares of the unlabelled rows", 0..self.classes.len()))
    }

    fn panel(&self, title: &str, classes: std::ops::Range<usize>) -> Intervals {
        let names = self.estimators.iter().map(|e| e.estimator.as_str());
        let mut panel = Intervals::new(title, "share (prior)", names);
        if let Some(confidence) = self.confidence {
            let per_cent = (1e4 * confidence).round() / 100.0;
            panel = panel.subtitle(format!("intervals of {per_cent} % confidence"));
        }
        for index in classes {
            let Some(class) = self.classes.get(index) else {
                continue;
            };
            panel = panel.with(IntervalRow {
                name: class.class.clone(),
                bounds: (class.lower, class.upper),
                truth: class.truth,
                used: class.used,
                estimates: self.estimators.iter().map(|e| e.of(index)).collect(),
            });
        }
        panel
    }

    /// The largest value that a class's row shows.
    fn reach(&self, class: usize) -> f64 {
        let Some(known) = self.classes.get(class) else {
            return 0.0;
        };
        let estimates = self.estimators.iter().filter_map(|e| e.of(class));
        let ends = estimates.map(|e| e.interval.map_or(e.value, |ends| ends.1.max(e.value)));
        let values = [known.lower, known.upper, known.used, known.truth];
        let values = values.into_iter().flatten().chain(ends);
        values.filter(|v| v.is_finite()).fold(0.0, f64::max)
    }
}

impl EstimatorPriors {
    fn of(&self, class: usize) -> Option<Estimate> {
        self.estimates.get(class).copied().flatten()
    }
}
