//! Figure 2.

use super::runs::{find, note};
use super::{Drawn, Lack, METHOD, Missing};
use crate::cell::{CellRuns, Wanted};
use crate::chart::{Figure, Mark, Plot, Point, Series};
use crate::record::{Record, Scores};
use crate::wording::{count, list};

/// A score by its name.
type Named = (&'static str, fn(&Scores) -> f64);

/// The four scores.
const SCORES: [Named; 4] = [
    ("accuracy", |s| s.accuracy),
    ("macro precision", |s| s.precision),
    ("macro recall", |s| s.recall),
    ("macro F1", |s| s.f1),
];

mpu_data::defaults! {
    /// Figure 2: accuracy, macro precision, recall and F1 against `π_k`, one panel for each `k`.
    /// By default the paper's figure on MNIST.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PriorSweep {
        /// The dataset's slug.
        pub dataset: String = "mnist".to_owned(),
        /// The numbers of classes, one panel each.
        pub classes: Vec<usize> = vec![4, 6, 8],
        /// The priors `π_k`.
        pub priors: Vec<f64> = vec![0.2, 0.5, 0.8],
        /// The method's slug.
        pub method: String = METHOD.to_owned(),
    }
}

impl PriorSweep {
    /// Draws the figure; the panels share their vertical axis.
    pub fn draw(&self, records: &[Record]) -> Drawn {
        let (mut plots, mut missing, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for &classes in &self.classes {
            let (mut found, mut lacks) = (Vec::new(), Vec::new());
            for &prior in &self.priors {
                let wanted = Wanted::usual(&self.dataset, classes, prior, &self.method);
                match find(records, &wanted, Lack::Runs, |_| true) {
                    Ok(cell) => found.push((prior, cell)),
                    Err(lack) => lacks.push(lack),
                }
            }
            plots.push(self.panel(classes, &found, &lacks));
            missing.extend(lacks);
            all.extend(found.into_iter().map(|(_, cell)| cell));
        }
        let shown: Vec<f64> = plots
            .iter()
            .filter_map(Plot::y_range)
            .flat_map(|(low, high)| [low, high])
            .collect();
        let title = format!("{} on {} against πₖ", self.method, self.dataset);
        let mut figure = Figure::new(title).note(note(&all));
        for plot in plots {
            figure = figure.with(plot.y_shows(shown.iter().copied()));
        }
        Drawn { figure, missing }
    }

    fn panel(&self, classes: usize, found: &[(f64, CellRuns<'_>)], lacks: &[Missing]) -> Plot {
        let ticks = self.priors.iter().map(|&prior| (prior, prior.to_string()));
        let mut plot = Plot::new(
            format!("{}, k = {classes}", self.dataset),
            "πₖ",
            "share (%)",
        )
        .x_ticks(ticks)
        .y_bounds(0.0, 100.0);
        let absent = list(lacks.iter().map(|lack| lack.prior));
        if found.is_empty() {
            return plot.notice(format!(
                "no runs: {}, k = {classes}, πₖ = {absent}, {}",
                self.dataset, self.method
            ));
        }
        let mut below = format!("{}, {}", self.method, extent(found));
        if !lacks.is_empty() {
            below.push_str("; no runs at πₖ = ");
            below.push_str(&absent);
        }
        for (name, score) in SCORES {
            let points = found.iter().map(|(prior, cell)| {
                let spread = cell.spread(100.0, score);
                Point::new(*prior, spread.mean).spread(spread.std)
            });
            plot = plot.with(Series::new(name, Mark::Points, points));
        }
        plot.subtitle(below)
    }
}

/// How many seeds and epochs the cells of a panel have.
fn extent(found: &[(f64, CellRuns<'_>)]) -> String {
    let range = |values: Vec<usize>, noun: &str| {
        let low = values.iter().copied().min().unwrap_or(0);
        let high = values.iter().copied().max().unwrap_or(0);
        if low == high {
            count(low, noun)
        } else {
            format!("{low}–{high} {noun}s")
        }
    };
    let seeds = found.iter().map(|(_, cell)| cell.n()).collect();
    let epochs = found.iter().map(|(_, cell)| cell.epochs()).collect();
    format!("{}, {}", range(seeds, "seed"), range(epochs, "epoch"))
}
