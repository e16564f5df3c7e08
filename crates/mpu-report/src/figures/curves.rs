//! Figure 1.

use super::runs::{find, note};
use super::{Drawn, Lack, METHOD};
use crate::cell::Wanted;
use crate::chart::{Figure, Mark, Plot, Point, Series};
use crate::record::{Curves, Record};
use crate::stats::Spread;

mpu_data::defaults! {
    /// Figure 1: losses of training and test rows against epochs, one panel for each dataset, and accuracies below.
    /// By default the three sets of the paper's figure at `k` = 4, `π_k` = 0.2.
    #[derive(Debug, Clone, PartialEq)]
    pub struct TrainingCurves {
        /// The datasets' slugs.
        pub datasets: Vec<String> = ["mnist", "fashion-mnist", "kmnist"]
            .map(str::to_owned)
            .to_vec(),
        /// The number of classes `k`.
        pub classes: usize = 4,
        /// The prior `π_k`.
        pub prior: f64 = 0.2,
        /// The method's slug.
        pub method: String = METHOD.to_owned(),
    }
}

impl TrainingCurves {
    /// Draws the figure.
    pub fn draw(&self, records: &[Record]) -> Drawn {
        let (mut losses, mut accuracies) = (Vec::new(), Vec::new());
        let (mut missing, mut cells) = (Vec::new(), Vec::new());
        for dataset in &self.datasets {
            let heading = format!("{dataset}, k = {}, πₖ = {}", self.classes, self.prior);
            let mut loss = Plot::new(format!("{heading}: loss"), "epoch", "loss");
            let mut accuracy = Plot::new(format!("{heading}: accuracy"), "epoch", "accuracy (%)")
                .y_bounds(0.0, 100.0);
            let wanted = Wanted::usual(dataset, self.classes, self.prior, &self.method);
            match find(records, &wanted, Lack::Curves, has_curves) {
                Ok(cell) => {
                    let below = format!("{}, {}", self.method, cell.extent());
                    let runs = &cell.records;
                    loss = with_curve(loss, "training", runs, |c| &c.train_loss, 1.0);
                    loss = with_curve(loss, "test", runs, |c| &c.test_loss, 1.0).subtitle(&below);
                    let name = "training, by hidden labels";
                    accuracy =
                        with_curve(accuracy, name, runs, |c| &c.oracle_train_accuracy, 100.0);
                    accuracy = with_curve(accuracy, "test", runs, |c| &c.test_accuracy, 100.0);
                    accuracy = accuracy.subtitle(below);
                    cells.push(cell);
                }
                Err(lack) => {
                    loss = loss.notice(lack.to_string());
                    accuracy = accuracy.notice(lack.to_string());
                    missing.push(lack);
                }
            }
            losses.push(loss);
            accuracies.push(accuracy);
        }
        let figure = Figure::new(format!("Training and test curves of {}", self.method))
            .columns(self.datasets.len())
            .note(note(&cells));
        let plots = losses.into_iter().chain(accuracies);
        Drawn {
            figure: plots.fold(figure, Figure::with),
            missing,
        }
    }
}

fn has_curves(record: &Record) -> bool {
    let curves = record.curves.as_ref();
    curves.is_some_and(|c| !c.test_accuracy.is_empty() || !c.train_loss.is_empty())
}

/// Adds the mean of a curve over runs, as far as all of them go; a curve that one has not is left out.
fn with_curve(
    plot: Plot,
    name: &str,
    runs: &[&Record],
    pick: impl Fn(&Curves) -> &Vec<f64>,
    factor: f64,
) -> Plot {
    let curves = runs.iter().filter_map(|r| r.curves.as_ref());
    let curves: Vec<&Vec<f64>> = curves.map(pick).collect();
    let length = curves.iter().map(|curve| curve.len()).min().unwrap_or(0);
    if length == 0 {
        return plot;
    }
    let points = (0..length).map(|epoch| {
        let values: Vec<f64> = curves.iter().map(|curve| factor * curve[epoch]).collect();
        let spread = Spread::of(&values);
        Point::new(epoch as f64 + 1.0, spread.mean).spread(spread.std)
    });
    plot.with(Series::new(name, Mark::Line, points))
}
