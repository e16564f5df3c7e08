//! Figure 1, and the learning curves of any records.

use super::cells::{self, Cell, Wanted};
use super::{Drawn, Lack, METHOD, Missing};
use crate::chart::{Figure, Mark, Plot, Point, Series};
use crate::record::{Curves, Record};
use std::collections::BTreeMap;

/// Figure 1: losses and accuracies of training and test rows against epochs, two panels a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingCurves {
    /// The datasets' slugs.
    pub datasets: Vec<String>,
    /// The number of classes `k`.
    pub classes: usize,
    /// The prior `π_k`.
    pub prior: f64,
    /// The method's slug.
    pub method: String,
    /// Seeds that are to be there; empty takes those that are.
    pub seeds: Vec<u64>,
    /// Panels side by side: 1 or 2 put the panels of a dataset together; as many as there are datasets
    /// puts the losses above the accuracies.
    pub columns: usize,
}

impl Default for TrainingCurves {
    /// The three sets of the paper's figure at `k` = 4, `π_k` = 0.2, with any seeds.
    fn default() -> Self {
        Self {
            datasets: ["mnist", "fashion-mnist", "kmnist"]
                .map(str::to_owned)
                .to_vec(),
            classes: 4,
            prior: 0.2,
            method: METHOD.to_owned(),
            seeds: Vec::new(),
            columns: 3,
        }
    }
}

impl TrainingCurves {
    /// Draws the figure.
    pub fn draw(&self, records: &[Record]) -> Drawn {
        let (mut pairs, mut missing, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for dataset in &self.datasets {
            let wanted = Wanted {
                dataset,
                classes: self.classes,
                prior: self.prior,
                method: &self.method,
                seeds: &self.seeds,
            };
            let found = cells::find(records, &wanted, Lack::Curves, has_curves);
            let heading = format!("{dataset}, k = {}, πₖ = {}", self.classes, self.prior);
            match found {
                Ok(cell) => {
                    let below = format!("{}, {}", self.method, cell.extent());
                    pairs.push(pair(&heading, &below, &cell.runs));
                    if !cell.absent.is_empty() {
                        missing.push(wanted.missing(Lack::Seeds, cell.absent.clone()));
                    }
                    cells.push(cell);
                }
                Err(lack) => {
                    pairs.push(empty_pair(&heading, &lack));
                    missing.push(lack);
                }
            }
        }
        let title = format!("Training and test curves of {}", self.method);
        let mut figure = Figure::new(title)
            .columns(self.columns)
            .note(cells::note(&cells));
        if self.columns == self.datasets.len() {
            let (losses, accuracies): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            figure = losses
                .into_iter()
                .chain(accuracies)
                .fold(figure, Figure::with);
        } else {
            figure = pairs
                .into_iter()
                .fold(figure, |f, (loss, acc)| f.with(loss).with(acc));
        }
        Drawn { figure, missing }
    }
}

/// The learning curves of any records: for each dataset, number of classes and prior, losses and
/// accuracies. Where there is one setting only, training and test stand together; several settings are
/// compared by their training loss, test loss and test accuracy. Records without curves are listed as
/// missing.
pub fn learning_curves(records: &[Record], title: &str, columns: usize) -> Drawn {
    let mut problems: BTreeMap<(String, usize, String), Vec<&Record>> = BTreeMap::new();
    for record in records {
        let key = &record.key;
        let problem = (key.dataset.clone(), key.classes, key.prior.to_string());
        problems.entry(problem).or_default().push(record);
    }
    let mut figure = Figure::new(title).columns(columns);
    let (mut missing, mut drawn_cells) = (Vec::new(), Vec::new());
    for ((dataset, classes, prior), runs) in problems {
        let heading = format!("{dataset}, k = {classes}, πₖ = {prior}");
        for (_, seeds) in cells::by_setting(runs.iter().copied().filter(|r| !has_curves(r))) {
            missing.extend(without_curves(&seeds));
        }
        let sets = cells::by_setting(runs.into_iter().filter(|r| has_curves(r)));
        let names = names(sets.keys());
        let cells: Vec<Cell<'_>> = sets
            .into_values()
            .map(|runs| Cell {
                runs: runs.into_values().collect(),
                n_left_out: 0,
                absent: Vec::new(),
            })
            .collect();
        figure = match cells.as_slice() {
            [] => match missing.last() {
                Some(lack) => {
                    let (loss, accuracy) = empty_pair(&heading, lack);
                    figure.with(loss).with(accuracy)
                }
                None => figure,
            },
            [cell] => {
                let below = format!("{}, {}", names[0], cell.extent());
                let (loss, accuracy) = pair(&heading, &below, &cell.runs);
                figure.with(loss).with(accuracy)
            }
            several => compare(&heading, &names, several)
                .into_iter()
                .fold(figure, Figure::with),
        };
        drawn_cells.extend(cells);
    }
    Drawn {
        figure: figure.note(cells::note(&drawn_cells)),
        missing,
    }
}

fn has_curves(record: &Record) -> bool {
    record
        .curves
        .as_ref()
        .is_some_and(|c| !c.test_accuracy.is_empty() || !c.train_loss.is_empty())
}

fn without_curves(seeds: &BTreeMap<u64, &Record>) -> Option<Missing> {
    let key = &seeds.values().next()?.key;
    Some(Missing {
        dataset: key.dataset.clone(),
        classes: Some(key.classes),
        prior: key.prior,
        method: key.method.clone(),
        seeds: seeds.keys().copied().collect(),
        lack: Lack::Curves,
    })
}

/// Settings by what tells them apart, or by their method if nothing does.
fn names<'a>(settings: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let settings: Vec<Vec<String>> = settings.cloned().collect();
    let named = settings.iter().zip(cells::told_apart(&settings).1);
    named
        .map(|(setting, own)| {
            if own.is_empty() {
                setting[0].clone()
            } else {
                own
            }
        })
        .collect()
}

fn loss_plot(heading: &str, what: &str) -> Plot {
    Plot::new(format!("{heading}: {what}"), "epoch", what)
}

fn accuracy_plot(heading: &str, what: &str) -> Plot {
    Plot::new(format!("{heading}: {what}"), "epoch", "accuracy (%)").y_bounds(0.0, 100.0)
}

/// Loss and accuracy of one setting, training and test together.
fn pair(heading: &str, below: &str, runs: &[&Record]) -> (Plot, Plot) {
    let loss = with_curve(
        loss_plot(heading, "loss"),
        "training",
        runs,
        |c| &c.train_loss,
        1.0,
    );
    let loss = with_curve(loss, "test", runs, |c| &c.test_loss, 1.0);
    let accuracy = with_curve(
        accuracy_plot(heading, "accuracy"),
        "training, by hidden labels",
        runs,
        |c| &c.oracle_train_accuracy,
        100.0,
    );
    let accuracy = with_curve(accuracy, "test", runs, |c| &c.test_accuracy, 100.0);
    (loss.subtitle(below), accuracy.subtitle(below))
}

fn empty_pair(heading: &str, lack: &Missing) -> (Plot, Plot) {
    let notice = lack.to_string();
    (
        loss_plot(heading, "loss").notice(&notice),
        accuracy_plot(heading, "accuracy").notice(&notice),
    )
}

/// Several settings side by side.
fn compare(heading: &str, names: &[String], cells: &[Cell<'_>]) -> [Plot; 3] {
    let mut plots = [
        loss_plot(heading, "training loss"),
        loss_plot(heading, "test loss"),
        accuracy_plot(heading, "test accuracy"),
    ];
    for (name, cell) in names.iter().zip(cells) {
        let name = format!("{name} ({})", cells::count(cell.runs.len(), "seed"));
        let [train, test, accuracy] = plots;
        plots = [
            with_curve(train, &name, &cell.runs, |c| &c.train_loss, 1.0),
            with_curve(test, &name, &cell.runs, |c| &c.test_loss, 1.0),
            with_curve(accuracy, &name, &cell.runs, |c| &c.test_accuracy, 100.0),
        ];
    }
    plots
}

/// Adds the mean of a curve over runs, as far as all of them go; a curve that one has not is left out.
fn with_curve(
    plot: Plot,
    name: &str,
    runs: &[&Record],
    pick: impl Fn(&Curves) -> &Vec<f64>,
    factor: f64,
) -> Plot {
    let curves: Vec<&Vec<f64>> = runs
        .iter()
        .filter_map(|r| r.curves.as_ref())
        .map(pick)
        .collect();
    let length = curves.iter().map(|curve| curve.len()).min().unwrap_or(0);
    if length == 0 {
        return plot;
    }
    let points = (0..length).map(|epoch| {
        let values: Vec<f64> = curves.iter().map(|curve| factor * curve[epoch]).collect();
        let (mean, std) = cells::mean_std(&values);
        Point::new(epoch as f64 + 1.0, mean).spread(std)
    });
    plot.with(Series::new(name, Mark::Line, points))
}
