//! Which columns matter: what is lost if the values of one are mixed up, and which moved one row's answer.
//!
//! Both take a column as a whole: the features that a categorical column becomes stay together.

use std::ops::Range;

use mpu_data::split::draw::shuffle;
use mpu_data::{MpuLabel, Seed, Stream};
use serde::{Deserialize, Serialize};

/// How much the loss of rows rises if the values of a column are mixed up among them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Importance {
    /// The mean rise. Near 0 the column is of no use, or others tell the same.
    pub rise: f64,
    /// Its standard error over rows.
    pub error: f64,
}

/// Orders that rows are mixed up by: the same for every column, whatever the threads.
pub fn orders(n_rows: usize, repeats: usize, seed: Seed) -> Vec<Vec<usize>> {
    let order = |repeat: usize| {
        let mut rows: Vec<usize> = (0..n_rows).collect();
        let mut stream = seed.stream_at(Stream::Explain, repeat as u64);
        shuffle(&mut rows, &mut stream);
        rows
    };
    (0..repeats).map(order).collect()
}

impl Importance {
    /// The importance of a column: the features at `column` of rows of `width` features are mixed up by each of some
    /// [`orders`], and `losses` says what each row then costs.
    ///
    /// ```text
    /// I_c = 1/n Σ_j d_j ,   d_j = 1/R Σ_r (ℓ_j(x with column c of row σ_r(j)) - ℓ_j(x)) ,   ℓ_j = -log P(s_j|x_j)
    /// ```
    ///
    /// `base` has `ℓ_j(x)`, and the standard error is `√(Σ_j (d_j - I_c)² / (n(n-1)))`. The rows must not have been
    /// trained on: for rows that it has memorised, a model needs every column.
    #[doc(alias = "eq:permutation-importance")]
    pub fn of_column<E>(
        rows: &[f32],
        width: usize,
        column: Range<usize>,
        base: &[f64],
        orders: &[Vec<usize>],
        losses: impl Fn(&[f32]) -> Result<Vec<f64>, E>,
    ) -> Result<Self, E> {
        let mut rises = vec![0.0; base.len()];
        let mut mixed = rows.to_vec();
        for order in orders {
            for (row, &from) in mixed.chunks_exact_mut(width).zip(order) {
                row[column.clone()].copy_from_slice(&rows[from * width..][column.clone()]);
            }
            for ((rise, loss), base) in rises.iter_mut().zip(losses(&mixed)?).zip(base) {
                *rise += (loss - base) / orders.len() as f64;
            }
        }
        let n = rises.len().max(1) as f64;
        let rise = rises.iter().sum::<f64>() / n;
        let squares = rises.iter().map(|d| (d - rise) * (d - rise));
        let error = (squares.sum::<f64>() / (n * (n - 1.0).max(1.0))).sqrt();
        Ok(Self { rise, error })
    }
}

/// The columns in which a class's labelled rows differ most from the pool, at most so many of them, in order: a quick
/// look before importances are computed, where there are very many columns.
///
/// What counts of a column is the largest difference of two means among its features and the classes, in standard
/// deviations.
pub fn most_different(
    rows: &[f32],
    width: usize,
    columns: &[Range<usize>],
    labels: &[MpuLabel],
    most: usize,
) -> Vec<usize> {
    if columns.len() <= most {
        return (0..columns.len()).collect();
    }
    let n_observed = labels.iter().map(|label| match *label {
        MpuLabel::Labeled(class) => class + 1,
        MpuLabel::Unlabeled => 0,
    });
    let n_groups = n_observed.max().unwrap_or(0) + 1;
    let difference = |feature: usize| {
        let (mut sums, mut counts) = (vec![0.0; n_groups], vec![0.0; n_groups]);
        let (mut sum, mut squares, mut n) = (0.0, 0.0, 0.0);
        for (row, label) in rows.chunks_exact(width).zip(labels) {
            let value = f64::from(row[feature]);
            if !value.is_finite() {
                continue;
            }
            let group = match *label {
                MpuLabel::Labeled(class) => class,
                MpuLabel::Unlabeled => n_groups - 1,
            };
            sums[group] += value;
            counts[group] += 1.0;
            sum += value;
            squares += value * value;
            n += 1.0;
        }
        let n = f64::max(n, 1.0);
        let deviation = (squares / n - (sum / n) * (sum / n)).max(0.0).sqrt();
        let mean = |group: usize| sums[group] / f64::max(counts[group], 1.0);
        let apart = (0..n_groups - 1).filter(|&class| counts[class] > 0.0);
        let apart = apart.map(|class| (mean(class) - mean(n_groups - 1)).abs());
        apart.fold(0.0, f64::max) / deviation.max(1e-12)
    };
    let score = |column: &Range<usize>| column.clone().map(difference).fold(0.0, f64::max);
    let scores: Vec<f64> = columns.iter().map(score).collect();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(most);
    order.sort_unstable();
    order
}

/// The log odds of a class among the probabilities of a row.
fn log_odds(probabilities: &[f64], class: usize) -> f64 {
    /// Where a probability is 0 in `f64`, the odds are taken to be these.
    const LEAST: f64 = 1e-12;
    let others = probabilities.iter().enumerate();
    let others: f64 = others.filter(|(j, _)| *j != class).map(|(_, p)| p).sum();
    probabilities[class].max(LEAST).ln() - others.max(LEAST).ln()
}

/// How much a column's value moved a row towards its answer: the log odds of the answer, less their mean with the
/// column's value replaced by those of other rows.
///
/// ```text
/// e_c(x) = logit p_ŷ(x) - 1/B Σ_b logit p_ŷ(x with column c of row b) ,   logit p = log(p/(1-p))
/// ```
///
/// `own` has the `k` probabilities of the row, `replaced` those with the values of each of the `B` other rows. Above
/// 0 the value speaks for the answer, below 0 against it.
#[doc(alias = "eq:replacement-effect")]
pub fn replacement_effect(answer: usize, own: &[f64], replaced: &[f64]) -> f64 {
    let rows = replaced.chunks_exact(own.len().max(1));
    let n = rows.len().max(1) as f64;
    let own = log_odds(own, answer);
    rows.map(|p| own - log_odds(p, answer)).sum::<f64>() / n
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use mpu_data::Priors;

    use super::*;
    use crate::testing::Draws;
    use crate::{Anchor, Calibration};

    const WIDTH: usize = 4;

    /// Rows of a class that the first two features decide together, then noise, then a constant.
    fn rows(n: usize) -> (Vec<f32>, Vec<MpuLabel>) {
        let mut draws = Draws(5);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for row in 0..n {
            let labeled = row % 3 == 0;
            let positive = labeled || draws.uniform() < 0.4;
            let centre = if positive { 1.5 } else { -1.5 };
            let feature = centre + draws.normal();
            values.extend([feature, -feature, draws.normal(), 7.0].map(|x| x as f32));
            labels.push(if labeled { Labeled(0) } else { Unlabeled });
        }
        (values, labels)
    }

    /// Scores by the first two features, and a little by the noise.
    fn scores(rows: &[f32]) -> Vec<f32> {
        let score = |row: &[f32]| {
            let f = 0.7 * row[0] - 0.7 * row[1] + 0.02 * row[2] + 0.1 * row[3];
            [f, -f]
        };
        rows.chunks(WIDTH).flat_map(score).collect()
    }

    #[test]
    fn a_column_that_decides_comes_first_noise_is_near_0_and_a_constant_is_0() {
        let (rows, labels) = rows(900);
        let priors = Priors::new(vec![0.4, 0.6]).unwrap();
        let calibration =
            Calibration::fit(&priors, &labels, &scores(&rows), Anchor::default()).unwrap();
        let losses = |rows: &[f32]| calibration.losses(&priors, &labels, &scores(rows));
        let base = losses(&rows).unwrap();
        let orders = orders(labels.len(), 3, Seed(1));
        // The first column is two features wide.
        let found: Vec<Importance> = [0..2, 2..3, 3..4]
            .into_iter()
            .map(|c| Importance::of_column(&rows, WIDTH, c, &base, &orders, losses).unwrap())
            .collect();
        assert!(found[0].rise > 5.0 * found[0].error, "{found:?}");
        assert!(found[1].rise.abs() <= 2.0 * found[1].error, "{found:?}");
        assert!(found[0].rise > 20.0 * found[1].rise.abs(), "{found:?}");
        assert_eq!(found[2], Importance::default());
        // A part of a column tells less than the whole.
        let half = Importance::of_column(&rows, WIDTH, 0..1, &base, &orders, losses).unwrap();
        assert!(half.rise < 0.8 * found[0].rise, "{half:?} {found:?}");
    }

    #[test]
    fn rises_and_errors_by_hand() {
        // Two rows swap their only value; the loss is the value.
        let losses = |rows: &[f32]| -> Result<Vec<f64>, ()> {
            Ok(rows.iter().map(|&x| f64::from(x)).collect())
        };
        let found = Importance::of_column(&[1.0, 4.0], 1, 0..1, &[1.0, 4.0], &[vec![1, 0]], losses);
        // The differences are 3 and -3: their mean is 0, its standard error √(18/2).
        let expected = Importance {
            rise: 0.0,
            error: 3.0,
        };
        assert_eq!(found, Ok(expected));
        assert_eq!(orders(50, 2, Seed(3)), orders(50, 2, Seed(3)));
        assert_ne!(orders(50, 2, Seed(3))[0], orders(50, 2, Seed(3))[1]);
    }

    #[test]
    fn a_quick_look_keeps_what_differs() {
        let (rows, labels) = rows(300);
        let columns = [3..4, 2..3, 0..1, 1..2];
        let kept = |most| most_different(&rows, WIDTH, &columns, &labels, most);
        assert_eq!(kept(2), [2, 3]);
        assert_eq!(kept(4), [0, 1, 2, 3]);
    }

    #[test]
    fn effects_are_differences_of_log_odds() {
        let own = [0.8, 0.1, 0.1];
        let replaced = [0.5, 0.25, 0.25, 0.2, 0.4, 0.4];
        let expected = 4.0_f64.ln() - 0.5 * (0.0 + 0.25_f64.ln());
        assert!((replacement_effect(0, &own, &replaced) - expected).abs() < 1e-12);
        assert_eq!(replacement_effect(0, &own, &own), 0.0);
        let sure = replacement_effect(0, &[1.0, 0.0], &[0.0, 1.0]);
        assert!(sure.is_finite() && sure > 0.0);
    }
}
