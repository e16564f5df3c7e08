//! What happens if unsure rows are left unanswered.

use crate::chart::{Figure, Mark, Plot, Point, Series};
use mpu_eval::abstain::ThresholdPoint;
use serde::{Deserialize, Serialize};

/// Precision, recall and answered rows against the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Thresholds {
    /// Which rows were counted, such as `test rows`.
    pub rows: String,
    /// The points, in any order.
    pub points: Vec<ThresholdPoint>,
}

/// One of a point's values.
type Pick = fn(&ThresholdPoint) -> Option<f64>;

impl Thresholds {
    /// One panel with three curves.
    pub fn figure(&self, title: &str) -> Figure {
        let mut points = self.points.clone();
        points.sort_by(|a, b| a.threshold.total_cmp(&b.threshold));
        let picks: [(&str, Pick); 3] = [
            ("precision", |p| p.precision),
            ("recall", |p| p.recall),
            ("answered rows", |p| p.answered),
        ];
        let mut plot = Plot::new(
            "If unsure rows are left unanswered",
            "least predicted probability of an answer",
            "share (%)",
        )
        .subtitle(&self.rows)
        .y_bounds(0.0, 100.0);
        for (name, pick) in picks {
            let known = points.iter().filter_map(|p| Some((p.threshold, pick(p)?)));
            let known: Vec<Point> = known.map(|(x, y)| Point::new(x, 100.0 * y)).collect();
            if !known.is_empty() {
                plot = plot.with(Series::new(name, Mark::Line, known));
            }
        }
        Figure::new(title).with(plot)
    }
}
