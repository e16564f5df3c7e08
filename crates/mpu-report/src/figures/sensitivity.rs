//! What other priors would have given.

use crate::chart::{Figure, Mark, Plot, Point, Series};
use mpu_eval::PuJudgement;
use mpu_eval::pu_metrics::{Sensitivity, Varied};
use serde::{Deserialize, Serialize};

/// One figure of merit under changed priors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SensitivityCurve {
    /// Its name, with its unit.
    pub metric: String,
    /// Pairs of relative change and value, in any order; no value leaves a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// How figures of merit move with the priors that training was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PriorSensitivity {
    /// What was changed, such as `prior of the negative class`.
    pub changed: String,
    /// One curve for each figure of merit.
    pub curves: Vec<SensitivityCurve>,
}

impl PriorSensitivity {
    /// What is estimated from labelled rows and the pool, as it is and with all observed priors changed.
    pub fn new(judged: &PuJudgement, changed: &[Sensitivity]) -> Self {
        type Pick = fn(&PuJudgement) -> Option<f64>;
        let picks: [(&str, Pick); 3] = [
            ("estimated accuracy (%)", |j| j.accuracy?.known()),
            ("estimated macro precision (%)", |j| {
                j.mean.as_ref()?.precision.known()
            }),
            ("estimated macro F1 (%)", |j| j.mean.as_ref()?.f1.known()),
        ];
        let curve = |(metric, pick): (&str, Pick)| {
            let percent = |judged: &PuJudgement| pick(judged).map(|share| 100.0 * share);
            let all = changed.iter().filter(|one| one.varied == Varied::All);
            let points = all.map(|one| (one.factor - 1.0, percent(&one.judgement)));
            let mut points: Vec<_> = points.chain([(0.0, percent(judged))]).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            SensitivityCurve {
                metric: metric.to_owned(),
                points,
            }
        };
        Self {
            changed: "observed priors".to_owned(),
            curves: picks.map(curve).into_iter().collect(),
        }
    }

    /// One panel for each figure of merit, against the relative change in per cent.
    pub fn figure(&self, title: &str) -> Figure {
        let x_title = format!("change of the {} (%)", self.changed);
        let panel = |curve: &SensitivityCurve| {
            let mut points = curve.points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let points = points
                .into_iter()
                .map(|(change, value)| Point::new(100.0 * change, value.unwrap_or(f64::NAN)));
            Plot::new("If the priors were others", &x_title, &curve.metric)
                .with(Series::new("with changed priors", Mark::Points, points))
                .upright("as trained", 0.0)
        };
        self.curves
            .iter()
            .map(panel)
            .fold(Figure::new(title), Figure::with)
    }
}
