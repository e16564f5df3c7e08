//! The paper's figures, and others like them, drawn from the records of runs.
//!
//! - [`TrainingCurves`]: figure 1, losses and accuracies of every epoch;
//! - [`PriorSweep`]: figure 2, four scores against the negative class's prior;
//! - [`Misspecification`]: figure 3, what wrong priors do;
//! - [`HeatMaps`]: figure 4, margins and counts by true class and answer.
//!
//! Others are drawn from plain values, which are also what a run's report keeps of them:
//!
//! - [`RunCurves`]: every epoch of one run, or of several in the same panels;
//! - [`Answers`]: confusion and margins;
//! - [`Reliability`]: predicted probabilities against observed frequencies;
//! - [`PriorEstimates`]: class priors with their bounds, estimates and intervals, of one or several estimators;
//! - [`PriorSensitivity`]: what other priors would have given;
//! - [`ExpectedCounts`], [`ScoreHistograms`], [`PrecisionRecall`], [`ColumnWeights`]: what was found in unlabelled rows;
//! - [`Thresholds`]: precision and recall if unsure rows are left unanswered.
//!
//! The runs of a cell are chosen as for the tables ([`crate::artefact`]), among those that hold what is drawn:
//! they are averaged over seeds only where everything else about them is the same, and the figure's note says
//! how many runs were left out. Filter the records to have another choice. What is missing is said in the
//! drawing and in [`Drawn::missing`].

mod answers;
mod curves;
mod findings;
mod heat_maps;
mod misspecification;
mod prior_estimates;
mod prior_sweep;
mod reliability;
mod run_curves;
mod runs;
mod sensitivity;
#[cfg(test)]
mod tests;
mod thresholds;

use crate::chart::Figure;

pub use answers::Answers;
pub use curves::TrainingCurves;
pub use findings::{
    ClassHistogram, ClassPrecisionRecall, ColumnWeight, ColumnWeights, ExpectedCount,
    ExpectedCounts, PrecisionRecall, PrecisionRecallPoint, ScoreHistograms,
};
pub use heat_maps::HeatMaps;
pub use misspecification::{
    Bandwidth, BoundCurves, Misspecification, PerturbedScores, Scheme, ShiftedScore,
};
pub use prior_estimates::{EstimatorPriors, PriorClass, PriorEstimates};
pub use prior_sweep::PriorSweep;
pub use reliability::{ClassReliability, Reliability};
pub use run_curves::{CurveKind, RunCurve, RunCurves};
pub use sensitivity::{PriorSensitivity, SensitivityCurve};
pub use thresholds::Thresholds;

/// The paper's method.
const METHOD: &str = "csmpu-abs";

/// A figure, and what it should show but cannot.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The figure.
    pub figure: Figure,
    /// What is missing, in the order of the panels.
    pub missing: Vec<Missing>,
}

impl Drawn {
    /// The figure as one SVG document.
    pub fn svg(&self) -> String {
        self.figure.to_svg()
    }
}

/// What of a cell is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// There is no run at all.
    Runs,
    /// There are runs, but their records hold no curves.
    Curves,
    /// There are runs, but their records hold no counts by class.
    Heat,
    /// No scores under wrong priors were given.
    PerturbedScores,
    /// No bounds were given.
    Bounds,
    /// No bandwidths were given.
    Bandwidths,
}

impl Lack {
    fn text(self) -> &'static str {
        match self {
            Self::Runs => "no runs",
            Self::Curves => "no curves kept",
            Self::Heat => "no counts by class kept",
            Self::PerturbedScores => "no scores under wrong priors",
            Self::Bounds => "no bounds",
            Self::Bandwidths => "no bandwidths",
        }
    }
}

/// A cell of which something is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    /// The dataset's slug.
    pub dataset: String,
    /// The number of classes `k`; none where it is any.
    pub classes: Option<usize>,
    /// The prior `π_k` of the negative class.
    pub prior: f64,
    /// The method's slug.
    pub method: String,
    /// What is missing.
    pub lack: Lack,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.lack.text(), self.dataset)?;
        if let Some(classes) = self.classes {
            write!(f, ", k = {classes}")?;
        }
        write!(f, ", πₖ = {}, {}", self.prior, self.method)
    }
}
