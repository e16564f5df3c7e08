//! What was found in the unlabelled rows: how many of each class, how sure, and by which columns.

use crate::chart::{Estimate, Figure, IntervalRow, Intervals, Mark, Plot, Point, Series};
use serde::{Deserialize, Serialize};

/// How many curves share a panel.
const CURVES_A_PANEL: usize = 4;
/// How many columns are drawn.
const MOST_COLUMNS: usize = 15;
/// Half the width of a 95 % interval in standard errors.
const Z: f64 = 1.96;

/// How many of the unlabelled rows are of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExpectedCount {
    /// The class's name.
    pub class: String,
    /// Its labelled rows; none for what is none of the classes.
    #[serde(default)]
    pub labeled: Option<u64>,
    /// About how many unlabelled rows are of it.
    pub rows: f64,
    /// The ends of a 95 % interval; none where the share was given by the user.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
}

/// How many of the unlabelled rows are of each class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExpectedCounts {
    /// The number of unlabelled rows.
    pub unlabeled: u64,
    /// The classes, what is none of them last.
    pub classes: Vec<ExpectedCount>,
}

impl ExpectedCounts {
    /// One row for each class.
    pub fn figure(&self, title: &str) -> Figure {
        let mut panel =
            Intervals::new("Unlabelled rows of each class", "rows", ["expected"]).subtitle(
                format!("of {} unlabelled rows, with 95 % intervals", self.unlabeled),
            );
        for class in &self.classes {
            panel = panel.with(one_estimate(&class.class, class.rows, class.interval));
        }
        Figure::new(title).with(panel)
    }
}

/// How probable a class is, in bins of equal width from 0 to 1: of its labelled rows and of the unlabelled ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassHistogram {
    /// The class's name.
    pub class: String,
    /// How many labelled rows of the class are in each bin.
    pub labeled: Vec<u64>,
    /// How many unlabelled rows are in each bin.
    pub unlabeled: Vec<u64>,
}

/// Histograms of the observed classes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ScoreHistograms {
    /// The observed classes.
    pub classes: Vec<ClassHistogram>,
}

impl ScoreHistograms {
    /// A panel for each class.
    pub fn figure(&self, title: &str) -> Figure {
        let panel = |class: &ClassHistogram| {
            let n_bins = class.labeled.len().max(class.unlabeled.len()).max(1);
            let edge = |bin: usize| 100.0 * bin as f64 / n_bins as f64;
            let ticks = (0..n_bins).map(|bin| {
                let text = format!("{:.0}–{:.0}", edge(bin), edge(bin + 1));
                (bin as f64, text)
            });
            let series = |name: &str, counts: &[u64]| {
                let all = counts.iter().sum::<u64>().max(1) as f64;
                let points = counts.iter().enumerate();
                let points = points.map(|(b, &n)| Point::new(b as f64, 100.0 * n as f64 / all));
                Series::new(name, Mark::Bars, points)
            };
            let plot = Plot::new(
                &class.class,
                "probability of the class (%)",
                "share of the rows (%)",
            );
            plot.x_ticks(ticks)
                .y_shows([0.0, 100.0])
                .y_bounds(0.0, 100.0)
                .with(series("labelled rows of the class", &class.labeled))
                .with(series("unlabelled rows", &class.unlabeled))
        };
        self.classes
            .iter()
            .map(panel)
            .fold(Figure::new(title), Figure::with)
    }
}

/// One class at one threshold of its probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecallPoint {
    /// Rows whose probability of the class is at least this are taken as the class.
    pub threshold: f64,
    /// The share of them that are of the class.
    pub precision: f64,
    /// The share of the class that is among them.
    pub recall: f64,
}

/// The curve of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassPrecisionRecall {
    /// The class's name.
    pub class: String,
    /// The points, the lowest threshold first.
    pub points: Vec<PrecisionRecallPoint>,
}

/// Precision against recall, estimated without true labels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrecisionRecall {
    /// The observed classes.
    pub classes: Vec<ClassPrecisionRecall>,
}

impl PrecisionRecall {
    /// A few classes in each panel.
    pub fn figure(&self, title: &str) -> Figure {
        let mut figure = Figure::new(title);
        for classes in self.classes.chunks(CURVES_A_PANEL) {
            let mut plot = Plot::new(
                "Precision against recall",
                "recall: share of the class that is found (%)",
                "precision: share that is right (%)",
            )
            .subtitle("estimated without true labels")
            .x_shows([0.0, 100.0])
            .y_shows([0.0, 100.0])
            .y_bounds(0.0, 100.0);
            for class in classes {
                let points = class.points.iter();
                let points = points.map(|p| Point::new(100.0 * p.recall, 100.0 * p.precision));
                plot = plot.with(Series::new(&class.class, Mark::Line, points));
            }
            figure = figure.with(plot);
        }
        figure
    }
}

/// How much a column matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnWeight {
    /// The column.
    pub column: String,
    /// How much the loss of held-out rows rises if its values are mixed up.
    pub rise: f64,
    /// The standard error of that.
    pub error: f64,
}

/// How much each column matters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnWeights {
    /// How many held-out rows it was measured on.
    pub rows: usize,
    /// Columns that were not tried.
    #[serde(default)]
    pub not_tried: usize,
    /// The columns, the one that matters most first.
    pub columns: Vec<ColumnWeight>,
}

impl ColumnWeights {
    /// The columns that are drawn.
    pub fn leading(&self) -> &[ColumnWeight] {
        &self.columns[..self.columns.len().min(MOST_COLUMNS)]
    }

    /// One row for each of the columns that matter most.
    pub fn figure(&self, title: &str) -> Figure {
        let mut panel = Intervals::new(
            "What is lost without a column",
            "rise of the loss on held-out rows",
            ["values mixed up"],
        )
        .subtitle(format!(
            "measured on {} rows, with 95 % intervals",
            self.rows
        ));
        for column in self.leading() {
            let half = Z * column.error;
            let interval = Some((column.rise - half, column.rise + half));
            panel = panel.with(one_estimate(&column.column, column.rise, interval));
        }
        Figure::new(title).with(panel)
    }
}

/// A row of one estimate and its interval.
fn one_estimate(name: &str, value: f64, interval: Option<(f64, f64)>) -> IntervalRow {
    IntervalRow {
        name: name.to_owned(),
        estimates: vec![Some(Estimate { value, interval })],
        ..IntervalRow::default()
    }
}
