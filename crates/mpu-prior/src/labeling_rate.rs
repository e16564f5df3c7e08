//! How large a part of each class is labelled, seen where its labelled rows are surest, and the priors that follow.

use crate::error::Result;
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator};
use crate::margins::{Counts, Group, Margins};

/// The share of a class's labelled rows that may be less sure than what counts as its plateau.
///
/// Above it lie rows that no other class reaches, if there are such rows, and enough of them for their noise not to
/// matter. Chosen on fifteen tables of which no figure is published (docs/PRIORS.md).
const PLATEAU: f64 = 0.85;

/// As many labelled rows make the labels themselves count as much as the probabilities that a detector gives.
const TRUSTED_ROWS: f64 = 100.0;

/// A class that is labelled at a higher rate has hardly a row in the pool.
const NEARLY_ALL: f64 = 0.95;

/// Probabilities that differ by less are the same.
const ALIKE: f64 = 1e-9;

/// What is believed of rates that differ between classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rates {
    /// Each class has its own, whatever the others have: labelled rows were collected apart from the pool.
    Own,
    /// Somebody labelled rows as they came, so that rates are alike unless a class shows otherwise: labelled rows and
    /// pool are one population.
    Shared,
}

/// The estimators `labeling-rate` and `shared-rate`. They take margins for log odds against the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelingRate {
    /// Whether classes lend each other what they know.
    pub rates: Rates,
}

/// Probabilities that rows of the pool are of a class, by the rate `c` at which the class is labelled.
///
/// ```text
/// q(x) = min(1, (1-c)/c · P(s=i|x) / (1 - P(s=i|x)))
/// ```
///
/// Where `P(s=i|x) = c` all rows are of the class, and a share `c` of them is labelled.
#[doc(alias = "eq:rate-posterior")]
pub fn pool_posterior(c: f64, labeled: f64) -> f64 {
    if labeled >= 1.0 {
        return 1.0;
    }
    ((1.0 - c) / c * labeled / (1.0 - labeled)).min(1.0)
}

/// Rates drawn towards the largest of them, each by how little the rows say of it.
///
/// ```text
/// logit γ'_i = R_i logit γ_i + (1 - R_i) max_j logit γ_j
/// ```
///
/// `R_i` is the share of the variance of class `i` that is explained: 1 where its rows are known one by one, 0 where
/// nothing is. Where classes overlap a rate can only come out too low, never too high, because rows of other
/// classes pass for its own: so the largest rate is the one that is known best. A class of which nearly everything is
/// labelled was labelled in a way of its own and says nothing of the others.
#[doc(alias = "eq:shared-rate")]
pub fn shared_rates(rates: &[f64], explained: &[f64]) -> Vec<f64> {
    let logit = |rate: f64| libm::log(rate / (1.0 - rate));
    let usual = rates.iter().copied().filter(|&rate| rate <= NEARLY_ALL);
    let largest = usual.map(logit).fold(f64::MIN, f64::max);
    let shared = rates.iter().zip(explained).map(|(&rate, &known)| {
        if rate > NEARLY_ALL {
            return rate;
        }
        let moved = known * logit(rate) + (1.0 - known) * largest;
        1.0 / (1.0 + libm::exp(-moved))
    });
    shared.collect()
}

impl PriorEstimator for LabelingRate {
    fn kind(&self) -> EstimatorKind {
        match self.rates {
            Rates::Own => EstimatorKind::LabelingRate,
            Rates::Shared => EstimatorKind::SharedRate,
        }
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        let width = margins.n_observed();
        let rows = |group: Group| margins.rows(group).values.chunks_exact(width);
        let pool: Vec<Softmax<'_>> = rows(Group::Pool).map(Softmax::new).collect();
        let classes = (0..width).map(|class| {
            let own = rows(Group::Class(class)).map(|row| Softmax::new(row).of(class));
            let mut probabilities: Vec<f64> = own.collect();
            let n_labeled = probabilities.len();
            probabilities.extend(pool.iter().map(|row| row.of(class)));
            let mut order: Vec<u32> = (0..probabilities.len() as u32).collect();
            let p = |row: u32| probabilities[row as usize];
            order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
            Class {
                probabilities,
                n_labeled,
                order,
            }
        });
        Ok(Box::new(PreparedRates {
            rates: self.rates,
            classes: classes.collect(),
        }))
    }
}

/// The probability of being labelled as each class: a softmax over a row's margins and the pool's zero.
struct Softmax<'a> {
    margins: &'a [f64],
    top: f64,
    sum: f64,
}

impl<'a> Softmax<'a> {
    fn new(margins: &'a [f64]) -> Self {
        let top = margins.iter().copied().fold(0.0, f64::max);
        let sum: f64 = margins.iter().map(|z| libm::exp(z - top)).sum();
        Self {
            margins,
            top,
            sum: sum + libm::exp(-top),
        }
    }

    /// `e^{z_i} / (1 + Σ_j e^{z_j})`.
    fn of(&self, class: usize) -> f64 {
        libm::exp(self.margins[class] - self.top) / self.sum
    }
}

struct PreparedRates {
    rates: Rates,
    classes: Vec<Class>,
}

/// How probable it is that a row is labelled as one class: of its labelled rows, then of the pool's.
struct Class {
    probabilities: Vec<f64>,
    n_labeled: usize,
    /// All rows from the least probable on.
    order: Vec<u32>,
}

impl Class {
    fn count(&self, row: u32, labeled: &[u16], pool: &[u16]) -> f64 {
        let row = row as usize;
        let counts = labeled.get(row);
        f64::from(*counts.unwrap_or_else(|| &pool[row - self.n_labeled]))
    }

    /// The probabilities in the order of rows, freed of their noise: drawn to the monotone function of them that
    /// fits the labels best, the more the more labelled rows there are.
    ///
    /// ```text
    /// p'(x) = λ m(p(x)) + (1 - λ) p(x),   λ = n_i / (n_i + 100),   m = argmin over monotone m of Σ (1[s=i] - m(p))²
    /// ```
    #[doc(alias = "eq:monotone-probability")]
    fn smoothed(&self, labeled: &[u16], pool: &[u16]) -> Vec<f64> {
        // Blocks of rows in order: how many, how many of them labelled, and where the block ends.
        let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
        let mut n_labeled = 0.0;
        let p = |row: u32| self.probabilities[row as usize];
        for alike in self.order.chunk_by(|&a, &b| p(b) - p(a) < ALIKE) {
            let before = blocks.last().map_or(0, |last| last.2);
            let mut block = (0.0, 0.0, before + alike.len());
            for &row in alike {
                let count = self.count(row, labeled, pool);
                block.0 += count;
                if (row as usize) < self.n_labeled {
                    block.1 += count;
                    n_labeled += count;
                }
            }
            // A block that is less labelled than the one before joins it.
            while let Some(&(n, own, _)) = blocks.last() {
                if own * block.0 < block.1 * n {
                    break;
                }
                blocks.pop();
                block = (block.0 + n, block.1 + own, block.2);
            }
            blocks.push(block);
        }
        let weight = n_labeled / (n_labeled + TRUSTED_ROWS);
        let mut smoothed = Vec::with_capacity(self.order.len());
        for (n, own, end) in blocks {
            let mean = if n > 0.0 { own / n } else { 0.0 };
            for &row in &self.order[smoothed.len()..end] {
                let p = self.probabilities[row as usize];
                smoothed.push(weight * mean + (1.0 - weight) * p);
            }
        }
        smoothed
    }

    /// The plateau: a high quantile over the labelled rows, between neighbours in a straight line.
    fn plateau(&self, smoothed: &[f64], labeled: &[u16], level: f64) -> f64 {
        let total: u64 = labeled.iter().map(|&count| u64::from(count)).sum();
        let place = level * total.saturating_sub(1) as f64;
        let (below, part) = (place.floor() as u64, place.fract());
        let (mut seen, mut low) = (0, None);
        for (&row, &value) in self.order.iter().zip(smoothed) {
            if row as usize >= self.n_labeled {
                continue;
            }
            seen += u64::from(labeled[row as usize]);
            if low.is_none() && seen > below {
                low = Some(value);
            }
            if seen > below + 1 {
                return low.unwrap_or(value) * (1.0 - part) + value * part;
            }
        }
        low.unwrap_or_default()
    }

    /// The prior and the share of its variance that is explained.
    fn prior(&self, labeled: &[u16], pool: &[u16], level: f64) -> (f64, f64) {
        let smoothed = self.smoothed(labeled, pool);
        let c = self.plateau(&smoothed, labeled, level);
        let c = c.clamp(1e-6, 1.0 - 1e-6);
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (&row, &probability) in self.order.iter().zip(&smoothed) {
            if (row as usize) < self.n_labeled {
                continue;
            }
            let count = self.count(row, labeled, pool);
            let q = pool_posterior(c, probability);
            n += count;
            sum += count * q;
            squares += count * q * q;
        }
        let mean = sum / n;
        let variance = (squares / n - mean * mean).max(0.0);
        (mean, (variance / (mean * (1.0 - mean)).max(1e-9)).min(1.0))
    }
}

impl PreparedRates {
    /// The estimates with another plateau, and with rates that are shared or not.
    fn at(&self, counts: &Counts, level: f64, rates: Rates) -> Vec<f64> {
        let pool = counts.at(self.classes.len());
        let classes = self.classes.iter().enumerate();
        let (mut priors, explained): (Vec<f64>, Vec<f64>) = classes
            .map(|(index, class)| class.prior(counts.at(index), pool, level))
            .unzip();
        if rates == Rates::Shared && priors.len() > 1 {
            let n_pool = counts.total(priors.len()) as f64;
            let n_labeled = (0..priors.len()).map(|class| counts.total(class) as f64);
            let n_labeled: Vec<f64> = n_labeled.collect();
            let rates = priors.iter().zip(&n_labeled);
            let rates = rates.map(|(prior, n)| n / (n + n_pool * prior.max(1e-3)));
            let rates: Vec<f64> = rates.collect();
            let shared = shared_rates(&rates, &explained);
            for ((prior, rate), n) in priors.iter_mut().zip(shared).zip(&n_labeled) {
                *prior = (n / n_pool * (1.0 - rate) / rate).min(1.0);
            }
        }
        priors
    }
}

impl Prepared for PreparedRates {
    fn point(&self, counts: &Counts) -> Result<Vec<f64>> {
        Ok(self.at(counts, PLATEAU, self.rates))
    }

    /// What comes out where the plateau is the upper half or the very top, and where rates are not shared.
    fn others(&self, counts: &Counts) -> Result<Vec<Vec<f64>>> {
        let mut others = vec![
            self.at(counts, 0.5, self.rates),
            self.at(counts, 1.0, self.rates),
        ];
        if self.rates == Rates::Shared {
            others.push(self.at(counts, PLATEAU, Rates::Own));
        }
        Ok(others)
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::margins::Rows;
    use crate::testing::{gaussian, separable};

    const OWN: LabelingRate = LabelingRate { rates: Rates::Own };
    const SHARED: LabelingRate = LabelingRate {
        rates: Rates::Shared,
    };

    #[test]
    fn by_hand() {
        // Half of the class is labelled: c = 0.5. A row of the pool that is as probable is surely of the class.
        assert!((pool_posterior(0.5, 0.5) - 1.0).abs() < 1e-15);
        assert!((pool_posterior(0.5, 0.25) - 1.0 / 3.0).abs() < 1e-15);
        assert!((pool_posterior(0.2, 0.5) - 1.0).abs() < 1e-15, "clipped");
        assert!((pool_posterior(0.2, 1.0) - 1.0).abs() < 1e-15);
        let log_odds = |p: f64| libm::log(p / (1.0 - p));
        let rows =
            |p: &[f64]| Rows::of_one_fold(p.iter().copied().map(log_odds).collect::<Vec<_>>());
        let margins = Margins::new(vec![rows(&[0.5; 8])], rows(&[0.5, 0.5, 1e-9, 1e-9])).unwrap();
        let found = OWN.estimate(&margins).unwrap()[0];
        assert!((found - 0.5).abs() < 1e-6, "{found}");
        // Quantiles of counted rows are those of the rows written out.
        let class = Class {
            probabilities: vec![0.3, 0.1, 0.2],
            n_labeled: 3,
            order: vec![1, 2, 0],
        };
        let sorted = [0.1, 0.2, 0.3];
        // 0.1 0.1 0.2 0.3 0.3 0.3: place 0.85 · 5 = 4.25.
        assert!((class.plateau(&sorted, &[3, 2, 1], 0.85) - 0.3).abs() < 1e-15);
        // 0.1 0.2 0.3: place 1.7.
        assert!((class.plateau(&sorted, &[1, 1, 1], 0.85) - 0.27).abs() < 1e-15);
    }

    #[test]
    fn the_monotone_fit_by_hand() {
        // Two labelled rows, then four of the pool. In order: pool, labelled, pool, pool, labelled, pool.
        let class = Class {
            probabilities: vec![0.2, 0.5, 0.1, 0.3, 0.4, 0.6],
            n_labeled: 2,
            order: vec![2, 0, 3, 4, 1, 5],
        };
        // The best monotone fit: 0, then one of three, then one of two. λ = 2/102.
        let wanted = [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.5, 0.5];
        let p = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let found = class.smoothed(&[1, 1], &[1, 1, 1, 1]);
        for ((found, wanted), p) in found.iter().zip(wanted).zip(p) {
            let wanted = 2.0 / 102.0 * wanted + 100.0 / 102.0 * p;
            assert!((found - wanted).abs() < 1e-15, "{found} {wanted}");
        }
        // A row counted twice is two rows; rows that are alike get one value.
        let twice = Class {
            probabilities: vec![0.2, 0.5, 0.5, 0.1],
            n_labeled: 2,
            order: vec![3, 0, 1, 2],
        };
        let found = twice.smoothed(&[1, 2], &[1, 1]);
        let weight = 3.0 / 103.0;
        let block = weight * 0.75 + (1.0 - weight) * 0.2;
        assert!((found[1] - block).abs() < 1e-15, "{found:?}");
        assert!((found[2] - found[3]).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn rates_are_drawn_to_the_largest_by_what_is_not_known() {
        let rates = [0.5, 0.2];
        let own = shared_rates(&rates, &[1.0, 1.0]);
        assert!((own[1] - 0.2).abs() < 1e-12);
        let none = shared_rates(&rates, &[1.0, 0.0]);
        assert!((none[0] - 0.5).abs() < 1e-12 && (none[1] - 0.5).abs() < 1e-12);
        // A class that is labelled in full moves no other and is not moved.
        let full = shared_rates(&[0.5, 0.2, 0.999], &[1.0, 0.0, 0.0]);
        assert!((full[1] - 0.5).abs() < 1e-12 && (full[2] - 0.999).abs() < 1e-12);
        // Half way in log odds, from 1 and 1/4 to 1/2.
        let half = shared_rates(&rates, &[0.0, 0.5]);
        assert!((half[1] - 1.0 / 3.0).abs() < 1e-12, "{half:?}");
    }

    #[test]
    fn separable_classes_give_their_priors() {
        for priors in [vec![0.3], vec![0.3, 0.2], vec![0.05, 0.6, 0.1]] {
            let margins = separable(&priors, 200, 2000, Seed(1));
            for estimator in [OWN, SHARED] {
                let found = estimator.estimate(&margins).unwrap();
                for (found, wanted) in found.iter().zip(&priors) {
                    let error = (found - wanted).abs();
                    assert!(error < 0.02, "{found} {wanted} by {}", estimator.kind());
                }
            }
        }
    }

    #[test]
    fn a_class_that_is_well_known_helps_one_that_is_not() {
        // A quarter of both classes is labelled. The second lies within the negatives, the first apart from all.
        let means = [8.0, 0.5, 0.0];
        let margins = gaussian(&means, &[0.15, 0.15], 100, 2000, Seed(5));
        let own = OWN.estimate(&margins).unwrap();
        let shared = SHARED.estimate(&margins).unwrap();
        assert!((shared[0] - 0.15).abs() < 0.02, "{shared:?}");
        assert!(own[1] > 0.4, "hardly anything speaks against it: {own:?}");
        assert!((shared[1] - 0.15).abs() < 0.1, "{shared:?}");
    }
}
