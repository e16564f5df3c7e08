//! The curves of one run, and of several in the same panels.

use crate::chart::{Figure, Mark, Plot, Point, Series, Style};
use serde::{Deserialize, Serialize};

/// What a curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CurveKind {
    /// The estimated risk of the training rows, as it is.
    TrainRisk,
    /// The same after correction: what is minimised.
    TrainRiskCorrected,
    /// The estimated risk of held-out positive and unlabelled rows.
    ValidationRisk,
    /// Mean loss of test rows with true labels.
    TestLoss,
    /// Accuracy estimated from positive and unlabelled rows.
    PuAccuracy,
    /// Accuracy on training rows by their hidden labels.
    OracleTrainAccuracy,
    /// Accuracy on test rows with true labels.
    TestAccuracy,
    /// What was minimised on the training rows, where no more is known.
    TrainLoss,
}

mpu_data::named!(CurveKind, "curve", {
    TrainRisk => "train-risk",
    TrainRiskCorrected => "train-risk-corrected",
    ValidationRisk => "validation-risk",
    TestLoss => "test-loss",
    PuAccuracy => "pu-accuracy",
    OracleTrainAccuracy => "oracle-train-accuracy",
    TestAccuracy => "test-accuracy",
    TrainLoss => "train-loss",
});

impl CurveKind {
    /// What readers are told.
    pub fn label(self) -> &'static str {
        match self {
            Self::TrainRisk => "training risk, uncorrected",
            Self::TrainRiskCorrected => "training risk, corrected",
            Self::ValidationRisk => "validation risk",
            Self::TestLoss => "test loss",
            Self::PuAccuracy => "estimated from PU rows",
            Self::OracleTrainAccuracy => "training, by hidden labels",
            Self::TestAccuracy => "test accuracy",
            Self::TrainLoss => "training loss",
        }
    }

    /// Whether values are shares, drawn in per cent.
    pub fn is_share(self) -> bool {
        matches!(
            self,
            Self::PuAccuracy | Self::OracleTrainAccuracy | Self::TestAccuracy
        )
    }

    fn style(self) -> Style {
        // Each kind looks the same in every figure, whichever others are there; a loss stands in for risks.
        match self {
            Self::TrainLoss => Self::TrainRisk.style(),
            kind => Style::nth(kind as usize % 4),
        }
    }
}

/// A figure of every epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunCurve {
    /// What it shows.
    pub kind: CurveKind,
    /// One value for each epoch, accuracies as shares; none where it was not measured.
    pub values: Vec<Option<f64>>,
}

/// The curves of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunCurves {
    /// The epoch whose weights were kept, counted from 1.
    #[serde(default)]
    pub kept_epoch: Option<usize>,
    /// The curves.
    pub curves: Vec<RunCurve>,
}

impl RunCurves {
    /// Losses in one panel, accuracies in another.
    pub fn figure(&self, title: &str) -> Figure {
        let mut figure = Figure::new(title).columns(2);
        for (heading, y_title, share) in [
            ("Risk and loss", "risk, mean loss", false),
            ("Accuracy", "accuracy (%)", true),
        ] {
            let curves = || self.curves.iter().filter(|c| c.kind.is_share() == share);
            if !curves().any(RunCurve::any) {
                continue;
            }
            let n_epochs = curves().map(|c| c.values.len()).max().unwrap_or(0);
            let mut plot = axes(heading, y_title, share, n_epochs);
            for curve in curves().filter(|c| c.any()) {
                plot = plot.with(curve.series(curve.kind.label()).styled(curve.kind.style()));
            }
            if let Some(epoch) = self.kept_epoch {
                plot = plot.upright("epoch kept", epoch as f64);
            }
            figure = figure.with(plot);
        }
        figure
    }

    /// Several runs in the same panels: one panel for each kind of curve that some run has, one series for each run.
    pub fn compared(title: &str, runs: &[(&str, &Self)]) -> Figure {
        let mut figure = Figure::new(title);
        for kind in CurveKind::ALL {
            let of = |curves: &Self| {
                let found = curves.curves.iter().find(|c| c.kind == kind && c.any());
                found.cloned()
            };
            let found: Vec<Option<RunCurve>> = runs.iter().map(|(_, curves)| of(curves)).collect();
            let longest = found.iter().flatten().map(|c| c.values.len()).max();
            let Some(n_epochs) = longest else { continue };
            let y_title = match kind {
                kind if kind.is_share() => "accuracy (%)",
                CurveKind::TestLoss | CurveKind::TrainLoss => "mean loss",
                _ => "risk",
            };
            let heading = match kind {
                CurveKind::PuAccuracy => "Accuracy estimated from PU rows".to_owned(),
                CurveKind::OracleTrainAccuracy => "Training accuracy by hidden labels".to_owned(),
                kind => capitalised(kind.label()),
            };
            let mut plot = axes(&heading, y_title, kind.is_share(), n_epochs);
            for (index, ((name, _), curve)) in runs.iter().zip(&found).enumerate() {
                if let Some(curve) = curve {
                    plot = plot.with(curve.series(name).styled(Style::nth(index)));
                }
            }
            figure = figure.with(plot);
        }
        figure
    }
}

impl RunCurve {
    /// Whether there is something to draw.
    fn any(&self) -> bool {
        self.values.iter().flatten().any(|v| v.is_finite())
    }

    fn series(&self, name: &str) -> Series {
        let factor = if self.kind.is_share() { 100.0 } else { 1.0 };
        let points = self.values.iter().enumerate();
        // Epochs that were not measured are stepped over; values that are no numbers leave a gap.
        let known = points.filter_map(|(epoch, value)| Some((epoch, (*value)?)));
        let points = known.map(|(epoch, value)| Point::new(epoch as f64 + 1.0, factor * value));
        Series::new(name, Mark::Line, points)
    }
}

fn axes(heading: &str, y_title: &str, share: bool, n_epochs: usize) -> Plot {
    let mut plot = Plot::new(heading, "epoch", y_title);
    if share {
        plot = plot.y_bounds(0.0, 100.0);
    }
    if n_epochs <= 6 {
        // Few epochs: no numbers between them.
        plot = plot.x_ticks((1..=n_epochs).map(|epoch| (epoch as f64, epoch.to_string())));
    }
    plot
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(kinds: &[CurveKind], n_epochs: usize) -> RunCurves {
        let values = |kind: CurveKind| {
            let value = |epoch: usize| 1.0 / (epoch as f64 + 2.0 + kind as usize as f64);
            (0..n_epochs).map(|epoch| Some(value(epoch))).collect()
        };
        let curve = |&kind: &CurveKind| RunCurve {
            kind,
            values: values(kind),
        };
        RunCurves {
            kept_epoch: Some(2),
            curves: kinds.iter().map(curve).collect(),
        }
    }

    #[test]
    fn panels_without_curves_are_left_out() {
        let all = curves(&CurveKind::ALL, 20).figure("All");
        assert_eq!(all.panels().len(), 2);
        let some = curves(&[CurveKind::TrainRisk], 20);
        assert_eq!(some.figure("Some").panels().len(), 1);
        assert_eq!(RunCurves::default().figure("None").panels().len(), 0);
        let none = RunCurve {
            kind: CurveKind::TestLoss,
            values: vec![None, Some(f64::NAN)],
        };
        let empty = RunCurves {
            kept_epoch: None,
            curves: vec![none],
        };
        assert_eq!(empty.figure("None").panels().len(), 0);
    }

    #[test]
    fn runs_are_compared_by_what_any_of_them_has() {
        let one = curves(&[CurveKind::TrainRisk, CurveKind::TestAccuracy], 20);
        let two = curves(&[CurveKind::TrainRisk], 3);
        let runs = [("one", &one), ("two", &two)];
        let figure = RunCurves::compared("Both", &runs);
        assert_eq!(figure.panels().len(), 2);
        let svg = figure.to_svg();
        assert_eq!(svg.matches(">two</text>").count(), 1);
        assert_eq!(svg.matches(">one</text>").count(), 2);
    }

    #[test]
    fn few_epochs_have_whole_numbers() {
        let svg = curves(&[CurveKind::TrainRisk], 3).figure("Three").to_svg();
        assert!(svg.contains(">3</text>") && !svg.contains(">2.5</text>"));
        let svg = curves(&[CurveKind::TrainRisk], 1).figure("One").to_svg();
        assert!(svg.contains(">1</text>"));
    }
}
