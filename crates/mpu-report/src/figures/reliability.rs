//! Whether predicted probabilities are met.

use crate::chart::{Figure, Mark, Plot, Point, Series};
use mpu_eval::reliability::{self, Bin, calibration_error};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// How many classes share a panel.
const CLASSES_A_PANEL: usize = 4;

/// The bins of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassReliability {
    /// The class's name.
    pub class: String,
    /// Its expected calibration error, as a share.
    #[serde(default)]
    pub ece: Option<f64>,
    /// The bins, in any order.
    pub bins: Vec<Bin>,
}

/// Predicted probabilities against observed frequencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reliability {
    /// Which rows were counted, such as `test rows`.
    pub rows: String,
    /// The expected calibration error over all classes, as a share.
    #[serde(default)]
    pub ece: Option<f64>,
    /// One entry for each class.
    pub classes: Vec<ClassReliability>,
}

impl Reliability {
    /// What judging gave for classes of these names.
    pub fn new(
        rows: impl Into<String>,
        names: &[String],
        judged: &reliability::Reliability,
    ) -> Self {
        let class = |(name, bins): (&String, &Vec<Bin>)| ClassReliability {
            class: name.clone(),
            ece: Some(calibration_error(bins)),
            bins: bins.clone(),
        };
        Self {
            rows: rows.into(),
            ece: Some(judged.classwise_error),
            classes: names.iter().zip(&judged.classes).map(class).collect(),
        }
    }

    /// The reliability diagram: a few classes in each panel, markers as large as their number of rows.
    pub fn figure(&self, title: &str) -> Figure {
        let bins = self.classes.iter().flat_map(|class| &class.bins);
        let largest = bins.map(|bin| bin.count).max().unwrap_or(0).max(1) as f64;
        let mut figure = Figure::new(title);
        let n_panels = self.classes.len().div_ceil(CLASSES_A_PANEL);
        for (index, classes) in self.classes.chunks(CLASSES_A_PANEL).enumerate() {
            let heading = if n_panels > 1 {
                format!("Reliability ({} of {n_panels})", index + 1)
            } else {
                "Reliability".to_owned()
            };
            let mut plot = Plot::new(heading, "predicted probability", "observed frequency")
                .x_shows([0.0, 1.0])
                .y_shows([0.0, 1.0])
                .subtitle(&self.rows);
            for class in classes {
                plot = plot.with(series(class, largest));
            }
            figure = figure.with(plot.diagonal("met exactly"));
        }
        let mut note =
            "A larger marker stands for more rows. Below the dashed line the model is too sure of the class, \
             above it not sure enough."
                .to_owned();
        if let Some(ece) = self.ece {
            let _ = write!(
                note,
                " Expected calibration error over all classes: {ece:.3}."
            );
        }
        figure.note(note)
    }
}

fn series(class: &ClassReliability, largest: f64) -> Series {
    let mut bins: Vec<&Bin> = class.bins.iter().filter(|bin| bin.count > 0).collect();
    bins.sort_by(|a, b| a.predicted.total_cmp(&b.predicted));
    let points = bins.into_iter().map(|bin| {
        let size = (bin.count as f64 / largest).sqrt();
        Point::new(bin.predicted, bin.observed).sized(0.5 + 1.3 * size)
    });
    let name = match class.ece {
        Some(ece) => format!("{} (ECE {ece:.3})", class.class),
        None => class.class.clone(),
    };
    Series::new(name, Mark::Points, points)
}
