//! Figure 4.

use super::runs::{find, note};
use super::{Drawn, Lack, METHOD};
use crate::cell::Wanted;
use crate::chart::{Figure, HeatMap, Shading};
use crate::record::{Heat, Record};

mpu_data::defaults! {
    /// Figure 4: mean margins and counts of test rows by true class and answer. Over several seeds counts are
    /// summed and margins weighted with them.
    /// By default MNIST at `k` = 4, `π_k` = 0.2.
    #[derive(Debug, Clone, PartialEq)]
    pub struct HeatMaps {
        /// The dataset's slug.
        pub dataset: String = "mnist".to_owned(),
        /// The number of classes `k`.
        pub classes: usize = 4,
        /// The prior `π_k`.
        pub prior: f64 = 0.2,
        /// The method's slug.
        pub method: String = METHOD.to_owned(),
    }
}

impl HeatMaps {
    /// Draws the figure.
    pub fn draw(&self, records: &[Record]) -> Drawn {
        let wanted = Wanted::usual(&self.dataset, self.classes, self.prior, &self.method);
        let k = self.classes;
        let holds = |r: &Record| r.heat.as_ref().is_some_and(|heat| is_square(heat, k));
        let title = format!(
            "Answers by class: {}, k = {k}, πₖ = {}",
            self.dataset, self.prior
        );
        let figure = Figure::new(title).columns(2);
        let map = |title: &str, shading, decimals, cells| {
            HeatMap::new(title, shading, decimals, cells).axes("true class", "answer")
        };
        let cell = match find(records, &wanted, Lack::Heat, holds) {
            Ok(cell) => cell,
            Err(lack) => {
                let empty =
                    |title, shading| map(title, shading, 0, Vec::new()).notice(lack.to_string());
                let figure = figure
                    .with(empty("Mean margin", Shading::Diverging))
                    .with(empty("Test rows", Shading::Sequential));
                let missing = vec![lack];
                return Drawn { figure, missing };
            }
        };
        let heats = cell.records.iter().filter_map(|run| run.heat.as_ref());
        let (margins, supports) = pooled(&heats.collect::<Vec<_>>(), k);
        let below = format!("{}, {}", self.method, cell.extent());
        let several = cell.n() > 1;
        let summed = if several { "; summed over seeds" } else { "" };
        let figure = figure
            .with(
                map("Mean margin", Shading::Diverging, 2, margins)
                    .logarithmic()
                    .subtitle(&below),
            )
            .with(
                map("Test rows", Shading::Sequential, 0, supports)
                    .subtitle(format!("{below}{summed}")),
            )
            .note(format!(
                "Margin: the true class's score less its strongest rival's; its colour follows the logarithm of its \
                 size. The last class is the negative one. {}",
                note([&cell]).replace(" Mean ± standard deviation over seeds.", "")
            ));
        let missing = Vec::new();
        Drawn { figure, missing }
    }
}

fn is_square(heat: &Heat, k: usize) -> bool {
    heat.support.len() == k
        && heat.margin.len() == k
        && heat.support.iter().all(|row| row.len() == k)
        && heat.margin.iter().all(|row| row.len() == k)
}

type Cells = Vec<Vec<Option<f64>>>;

/// Margins weighted with their supports, and supports summed; none where there are no rows.
fn pooled(heats: &[&Heat], k: usize) -> (Cells, Cells) {
    let mut margins = vec![vec![None; k]; k];
    let mut supports = vec![vec![None; k]; k];
    for row in 0..k {
        for column in 0..k {
            let support: u64 = heats.iter().map(|heat| heat.support[row][column]).sum();
            let known = heats.iter().filter_map(|heat| {
                let rows = heat.support[row][column] as f64;
                heat.margin[row][column]
                    .filter(|_| rows > 0.0)
                    .map(|margin| (rows, margin))
            });
            let (rows, sum) = known.fold((0.0, 0.0), |(n, s), (rows, m)| (n + rows, s + rows * m));
            margins[row][column] = (rows > 0.0).then(|| sum / rows);
            supports[row][column] = (support > 0).then_some(support as f64);
        }
    }
    (margins, supports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_weighted_with_their_supports() {
        let one = Heat {
            support: vec![vec![3, 0], vec![1, 2]],
            margin: vec![vec![Some(1.0), None], vec![Some(-1.0), Some(2.0)]],
        };
        let two = Heat {
            support: vec![vec![1, 0], vec![0, 2]],
            margin: vec![vec![Some(5.0), None], vec![None, Some(4.0)]],
        };
        let (margins, supports) = pooled(&[&one, &two], 2);
        assert_eq!(margins, [[Some(2.0), None], [Some(-1.0), Some(3.0)]]);
        assert_eq!(supports, [[Some(4.0), None], [Some(1.0), Some(4.0)]]);
    }
}
