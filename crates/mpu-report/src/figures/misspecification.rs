//! Figure 3.

use super::{Drawn, Lack, METHOD, Missing};
use crate::chart::{Figure, Mark, Plot, Point, Series, Style};
use crate::wording::count;
use serde::Serialize;
use std::collections::BTreeSet;

/// How priors were made wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// The error is put on the negative class, whose prior stands last.
    ScalarLast,
    /// The error is put where it hurts most.
    Adversarial,
}

mpu_data::named!(Scheme, "scheme", { ScalarLast => "scalar-last", Adversarial => "adversarial" });

/// The score at one wrong prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShiftedScore {
    /// How wrong it is: `‖Δ‖₁`.
    pub delta: f64,
    /// Mean macro F1 over runs, as a share.
    pub f1: f64,
    /// Its standard deviation, if there were several runs.
    pub std: Option<f64>,
}

/// Scores under wrong priors of one scheme.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerturbedScores {
    /// The number of classes `k`.
    pub classes: usize,
    /// How priors were made wrong.
    pub scheme: Scheme,
    /// The scores.
    pub points: Vec<ShiftedScore>,
}

/// Bounds of the excess risk under wrong priors, as pairs of `‖Δ‖₁` and bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundCurves {
    /// The number of classes `k`.
    pub classes: usize,
    /// `Σ λ_i |b_i| |Δ_i|`.
    pub empirical: Vec<(f64, f64)>,
    /// `2 C_Δ Σ λ_i |Δ_i|`.
    pub theoretical: Vec<(f64, f64)>,
}

/// The largest `‖Δ‖₁` at which the score has dropped by no more than an allowed amount.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bandwidth {
    /// The number of classes `k`.
    pub classes: usize,
    /// How priors were made wrong.
    pub scheme: Scheme,
    /// The allowed drop in percentage points.
    pub drop: f64,
    /// The bandwidth.
    pub delta: f64,
    /// Its standard deviation, if there were several runs.
    pub std: Option<f64>,
}

mpu_data::defaults! {
    /// Figure 3: what wrong priors do to the score and to the bounds. The order of the lists does not matter.
    /// By default the paper's figure on Fashion-MNIST at `π_k` = 0.5, without values.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    pub struct Misspecification {
        /// The dataset's slug.
        pub dataset: String = "fashion-mnist".to_owned(),
        /// The true prior `π_k`.
        pub prior: f64 = 0.5,
        /// The method's slug.
        pub method: String = METHOD.to_owned(),
        /// How many seeds were averaged; 0 leaves it unsaid.
        pub n_seeds: usize = 0,
        /// Epochs of a run; 0 leaves it unsaid.
        pub epochs: usize = 0,
        /// Panel (a).
        pub scores: Vec<PerturbedScores> = Vec::new(),
        /// Panel (b).
        pub bounds: Vec<BoundCurves> = Vec::new(),
        /// Panel (c).
        pub bandwidths: Vec<Bandwidth> = Vec::new(),
        /// Panels side by side.
        pub columns: usize = 3,
    }
}

impl Misspecification {
    /// Draws the figure.
    pub fn draw(&self) -> Drawn {
        let mut missing = Vec::new();
        let scores = self.or_notice(self.score_panel(), Lack::PerturbedScores, &mut missing);
        let bounds = self.or_notice(self.bound_panel(), Lack::Bounds, &mut missing);
        let widths = self.or_notice(self.bandwidth_panel(), Lack::Bandwidths, &mut missing);
        let title = format!("Wrong priors: {}, πₖ = {}", self.dataset, self.prior);
        let figure = Figure::new(title)
            .columns(self.columns)
            .with(scores)
            .with(bounds)
            .with(widths)
            .note("Δ: assumed less true priors. Error bars: one standard deviation over seeds.");
        Drawn { figure, missing }
    }

    fn or_notice(&self, plot: Plot, lack: Lack, missing: &mut Vec<Missing>) -> Plot {
        if plot.y_range().is_some() {
            let mut said = vec![self.method.clone()];
            for (n, what) in [(self.n_seeds, "seed"), (self.epochs, "epoch")] {
                if n > 0 {
                    said.push(count(n, what));
                }
            }
            return plot.subtitle(said.join(", "));
        }
        let lack = Missing {
            dataset: self.dataset.clone(),
            classes: None,
            prior: self.prior,
            method: self.method.clone(),
            lack,
        };
        let plot = plot.notice(lack.to_string());
        missing.push(lack);
        plot
    }

    /// Every `k` that occurs has one colour in all panels.
    fn colour(&self, classes: usize) -> usize {
        let mut all: BTreeSet<usize> = self.scores.iter().map(|s| s.classes).collect();
        all.extend(self.bounds.iter().map(|b| b.classes));
        all.extend(self.bandwidths.iter().map(|b| b.classes));
        all.range(..classes).count()
    }

    /// Lines of the second kind are dashed and have hollow markers.
    fn style(&self, classes: usize, dash: usize) -> Style {
        let colour = self.colour(classes);
        Style {
            colour,
            dash,
            marker: colour % 3 + 3 * dash,
        }
    }

    fn score_panel(&self) -> Plot {
        let mut plot = Plot::new("(a) Macro F1 under wrong priors", "‖Δ‖₁", "macro F1 (%)")
            .y_bounds(0.0, 100.0);
        let mut sets: Vec<&PerturbedScores> = self.scores.iter().collect();
        sets.sort_by_key(|set| (set.classes, set.scheme));
        for set in sets {
            let points = set.points.iter().map(|p| {
                let std = p.std.map(|s| 100.0 * s);
                Point::new(p.delta, 100.0 * p.f1).spread(std)
            });
            let name = format!("k = {}, {}", set.classes, set.scheme.slug());
            let style = self.style(set.classes, set.scheme as usize);
            plot = plot.with(Series::new(name, Mark::Points, by_x(points)).styled(style));
        }
        plot
    }

    fn bound_panel(&self) -> Plot {
        let mut plot = Plot::new("(b) Bounds of the excess risk", "‖Δ‖₁", "bound");
        let mut sets: Vec<&BoundCurves> = self.bounds.iter().collect();
        sets.sort_by_key(|set| set.classes);
        for set in sets {
            for (curve, name, dash) in [
                (&set.empirical, "empirical", 0),
                (&set.theoretical, "theory", 1),
            ] {
                if curve.is_empty() {
                    continue;
                }
                let points = curve.iter().map(|&(delta, bound)| Point::new(delta, bound));
                let name = format!("k = {}, {name}", set.classes);
                let series = Series::new(name, Mark::Line, by_x(points));
                plot = plot.with(series.styled(self.style(set.classes, dash)));
            }
        }
        plot
    }

    fn bandwidth_panel(&self) -> Plot {
        let mut drops: Vec<f64> = self.bandwidths.iter().map(|b| b.drop).collect();
        drops.sort_by(f64::total_cmp);
        drops.dedup();
        // Allowed drops are names here: they stand at equal distances.
        let place = |drop: f64| drops.iter().position(|&d| d == drop).unwrap_or(0) as f64;
        let ticks = drops.iter().map(|&drop| (place(drop), drop.to_string()));
        let mut plot = Plot::new(
            "(c) Robust bandwidth",
            "allowed drop (percentage points)",
            "largest ‖Δ‖₁",
        )
        .y_bounds(0.0, f64::INFINITY)
        .x_ticks(ticks);
        let kinds = self.bandwidths.iter().map(|b| (b.classes, b.scheme));
        for (classes, scheme) in kinds.collect::<BTreeSet<_>>() {
            let of_kind = |b: &&Bandwidth| (b.classes, b.scheme) == (classes, scheme);
            let points = self.bandwidths.iter().filter(of_kind);
            let points = points.map(|b| Point::new(place(b.drop), b.delta).spread(b.std));
            let name = format!("k = {classes}, {}", scheme.slug());
            let series = Series::new(name, Mark::Bars, by_x(points));
            plot = plot.with(series.styled(self.style(classes, scheme as usize)));
        }
        plot
    }
}

/// Points from left to right.
fn by_x(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}
