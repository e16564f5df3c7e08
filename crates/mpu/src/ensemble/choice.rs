//! Forest, network or both, and how small a forest's leaves are: which explains rows best that it has not seen.

use mpu_data::{MpuLabel, Priors};
use mpu_eval::{Anchor, Calibration};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What scores rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The forest alone.
    Forest,
    /// The network alone.
    Network,
    /// The mean of their log-probabilities.
    Both,
}

mpu_data::named!(Kind, "kind of model", { Forest => "forest", Network => "network", Both => "both" });

/// One of the models that could be used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which one.
    pub kind: Kind,
    /// The mean of `-log P(s|x)` over the held-out rows: the less, the better it tells which group a row is from.
    pub loss: f64,
    /// How much of that is less than the forest's, and the standard error of the difference.
    pub gain: f64,
    /// The standard error of `gain`.
    pub error: f64,
}

/// The model that is used, and what the others would have been worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The one that is used.
    pub kind: Kind,
    /// All of them, the forest first.
    pub candidates: Vec<Candidate>,
    /// How many rows were held out to choose by.
    pub rows: usize,
}

impl Choice {
    /// Chooses by rows that neither has seen: `k` scores a row of each.
    ///
    /// The forest is used unless another has a lower loss by more than two standard errors of the difference.
    pub fn new(
        priors: &Priors,
        labels: &[MpuLabel],
        forest: &[f32],
        network: &[f32],
    ) -> Result<Self> {
        let both = mean(forest, network, priors.classes().get());
        let base = losses(priors, labels, forest)?;
        let mut candidates = Vec::new();
        for (kind, scores) in [
            (Kind::Forest, forest),
            (Kind::Network, network),
            (Kind::Both, &both),
        ] {
            let own = losses(priors, labels, scores)?;
            let (gain, error) = gain(&base, &own);
            candidates.push(Candidate {
                kind,
                loss: own.iter().sum::<f64>() / own.len().max(1) as f64,
                gain,
                error,
            });
        }
        let better = candidates.iter().filter(|c| c.gain > 2.0 * c.error);
        let best = better.min_by(|a, b| a.loss.total_cmp(&b.loss));
        Ok(Self {
            kind: best.map_or(Kind::Forest, |best| best.kind),
            candidates,
            rows: base.len(),
        })
    }
}

/// How small the leaves of the forest are, and why.
///
/// Trees whose leaves have one row follow their targets closely, which suits classes with sharp borders. Where classes overlap,
/// leaves of several rows average the noise away.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leaves {
    /// Whether leaves may have one row.
    pub fine: bool,
    /// How much less the mean of `-log P(s|x)` over held-out rows is with leaves of one row.
    pub gain: f64,
    /// The standard error of `gain`.
    pub error: f64,
    /// How many rows were held out to choose by.
    pub rows: usize,
}

impl Leaves {
    /// Chooses by rows that neither forest has seen: `k` scores a row of each. Leaves are fine if that gains more than one
    /// standard error.
    pub fn new(priors: &Priors, labels: &[MpuLabel], coarse: &[f32], fine: &[f32]) -> Result<Self> {
        let base = losses(priors, labels, coarse)?;
        let (gain, error) = gain(&base, &losses(priors, labels, fine)?);
        Ok(Self {
            fine: gain > error,
            gain,
            error,
            rows: base.len(),
        })
    }
}

/// `-log P(s|x)` of each row, once the scores are calibrated.
fn losses(priors: &Priors, labels: &[MpuLabel], scores: &[f32]) -> Result<Vec<f64>> {
    let calibration = Calibration::fit(priors, labels, scores, Anchor::default())?;
    Ok(calibration.losses(priors, labels, scores)?)
}

/// How much less the losses are than others in the mean, and the standard error of that.
fn gain(base: &[f64], own: &[f64]) -> (f64, f64) {
    let n = own.len().max(1) as f64;
    let gains = base.iter().zip(own).map(|(base, own)| base - own);
    let gain = gains.clone().sum::<f64>() / n;
    let variance = gains.map(|g| (g - gain) * (g - gain)).sum::<f64>() / n;
    (gain, (variance / n).sqrt())
}

/// The mean of the forest's log-probabilities and those of the network's scores.
pub(crate) fn mean(forest: &[f32], network: &[f32], k: usize) -> Vec<f32> {
    let mut scores = Vec::with_capacity(forest.len());
    for (forest, network) in forest.chunks_exact(k).zip(network.chunks_exact(k)) {
        let top = network.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = network.iter().map(|f| (f - top).exp()).sum();
        let log_sum = top + sum.ln();
        let both = forest.iter().zip(network);
        scores.extend(both.map(|(forest, f)| 0.5 * (forest + f - log_sum)));
    }
    scores
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;

    /// Half of the pool is of class 0; a score tells it with this strength, or not at all.
    fn scores(strength: f32, rows: usize) -> Vec<f32> {
        let of = |row: usize| match row % 4 {
            0 | 1 => [strength, -strength],
            _ => [-strength, strength],
        };
        (0..rows).flat_map(of).collect()
    }

    fn labels(rows: usize) -> Vec<MpuLabel> {
        let of = |row: usize| match row % 4 {
            0 => Labeled(0),
            _ => Unlabeled,
        };
        (0..rows).map(of).collect()
    }

    #[test]
    fn what_explains_the_rows_best_is_used_if_it_is_more_than_chance() {
        let priors = Priors::new(vec![1.0 / 3.0, 2.0 / 3.0]).unwrap();
        let blind = vec![0.0; 800];
        let kind = |forest: &[f32], network: &[f32], rows: usize| {
            Choice::new(&priors, &labels(rows), forest, network).unwrap()
        };
        let choice = kind(&blind, &scores(3.0, 400), 400);
        assert_ne!(choice.kind, Kind::Forest, "{choice:?}");
        let choice = kind(&scores(3.0, 400), &blind, 400);
        assert_eq!(choice.kind, Kind::Forest, "{choice:?}");
        // The same scores are no better, and one row in a hundred is chance.
        let mut almost = scores(1.0, 400);
        almost[..4].fill(0.0);
        let choice = kind(&almost, &scores(1.0, 400), 400);
        assert_eq!(choice.kind, Kind::Forest, "{choice:?}");
        assert!(choice.candidates[1].gain.abs() < 2.0 * choice.candidates[1].error);
    }

    #[test]
    fn leaves_are_fine_if_held_out_rows_say_so() {
        let priors = Priors::new(vec![1.0 / 3.0, 2.0 / 3.0]).unwrap();
        let (sharp, blurred) = (scores(3.0, 400), vec![0.0; 800]);
        let leaves = |coarse: &[f32], fine: &[f32]| {
            Leaves::new(&priors, &labels(400), coarse, fine).unwrap()
        };
        let found = leaves(&blurred, &sharp);
        assert!(found.fine && found.gain > found.error, "{found:?}");
        assert_eq!(found.rows, 400);
        let found = leaves(&sharp, &blurred);
        assert!(!found.fine && found.gain < -found.error, "{found:?}");
        // The same scores gain nothing.
        let found = leaves(&sharp, &sharp);
        assert!(!found.fine && found.gain == 0.0, "{found:?}");
    }

    #[test]
    fn gains_by_hand() {
        // Gains of 1, 1, 1 and 5: 2 in the mean with a variance of 3.
        let (gain, error) = gain(&[2.0, 2.0, 2.0, 6.0], &[1.0; 4]);
        assert!((gain - 2.0).abs() < 1e-15 && (error - (3.0_f64 / 4.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn both_is_the_mean_of_log_probabilities() {
        let forest: Vec<f32> = [0.2_f32, 0.8].iter().map(|p| p.ln()).collect();
        let network = [3.0, 1.0];
        let found = mean(&forest, &network, 2);
        let log_sum = (3.0_f64.exp() + 1.0_f64.exp()).ln();
        for (class, found) in found.iter().enumerate() {
            let wanted = 0.5 * (f64::from(forest[class]) + f64::from(network[class]) - log_sum);
            assert!((f64::from(*found) - wanted).abs() < 1e-6);
        }
    }
}
