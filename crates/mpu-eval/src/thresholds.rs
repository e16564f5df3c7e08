//! Thresholds that give each class the precision asked for, from held-out rows without negatives.
//!
//! ```
//! use mpu_data::{MpuLabel::{Labeled, Unlabeled}, Priors};
//! use mpu_eval::pu_metrics::{Evidence, Target, UncertainPriors};
//! use mpu_eval::thresholds::precision_thresholds;
//!
//! let priors = UncertainPriors::exact(Priors::new(vec![0.5, 0.5])?);
//! let labels = [vec![Labeled(0); 50], vec![Unlabeled; 400]].concat();
//! // Rows of class 0 are easy to tell: they make up half of the pool.
//! let row = |row: usize| if row < 50 || row % 2 == 0 { [0.99, 0.01] } else { [0.01, 0.99] };
//! let p: Vec<f64> = (0..450).flat_map(row).collect();
//! let answers: Vec<usize> = p.chunks(2).map(|p| usize::from(p[1] > p[0])).collect();
//! let evidence = Evidence { priors: &priors, target: &Target::Pool, labels: &labels, probabilities: Some(&p) };
//! let found = precision_thresholds(&evidence, &answers, &p, &[0.9])?;
//! // Every row that is answered 0 may keep its answer.
//! assert_eq!(found[0].threshold, Some(0.0));
//! assert!(found[0].lower >= 0.9);
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::{MpuLabel, bad_setting, mismatch};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::held_out::Block;
use crate::pu_metrics::{Evidence, Rate, Tally};

/// The 95 % point of the normal distribution: limits are one-sided.
const Z: f64 = 1.644_853_626_951_472_7;

/// The shares of the answers to a class that a threshold may leave it, most first. Few, because with every further
/// one the chance grows that a lucky one is taken.
const KEPT: [f64; 10] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// The threshold of one class and what it is estimated to give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionThreshold {
    /// The precision asked for.
    pub target: f64,
    /// The lowest threshold at which the precision is at least that, with 95 % confidence; `None` if there is none.
    pub threshold: Option<f64>,
    /// The estimated precision at it; without one, where the lower limit is highest (0 if no row is given
    /// this class).
    pub precision: f64,
    /// The precision is at least this with 95 % confidence.
    pub lower: f64,
    /// The share of the labelled rows of the class that is accepted at it; 0 without one.
    pub recall: f64,
    /// The number of labelled rows of the class accepted at it: few make the estimate rough.
    pub accepted_labeled: u64,
    /// The number of pool rows accepted at it.
    pub accepted_pool: u64,
}

/// The lowest threshold of each observed class at which its precision is as high as asked for, with confidence.
///
/// ```text
/// lowest t with  value_i(t) - 1.645 √variance_i(t) ≥ target_i
/// accept: the decision gives class i, and p_i ≥ t
/// ```
///
/// Value and variance of the precision are those of `eq:pu-combined`: they allow for the chance of few rows, for the
/// uncertainty of the priors, and for probabilities that are a little off. Only some thresholds are tried: those
/// that leave all answers to the class, 90 %, 80 % and so on of them.
///
/// `answers` are those of the decision that is made stricter, `probabilities` those that it is made by. A threshold
/// of 0 leaves it as it is; none ever makes it answer more.
#[doc(alias = "eq:precision-threshold")]
pub fn precision_thresholds(
    evidence: &Evidence<'_>,
    answers: &[usize],
    probabilities: &[f64],
    targets: &[f64],
) -> Result<Vec<PrecisionThreshold>> {
    let classes = evidence.priors.priors().classes();
    let k = classes.get();
    Block::Probability.labeled_rows(classes, evidence.labels, probabilities)?;
    if let Some(p) = evidence.probabilities {
        Block::Probability.labeled_rows(classes, evidence.labels, p)?;
    }
    classes.check(answers)?;
    for (what, found, needed) in [
        ("number of precision targets", targets.len(), k - 1),
        ("number of answers", answers.len(), evidence.labels.len()),
    ] {
        if found != needed {
            return Err(mismatch(what, found, format!("{needed} are needed")));
        }
    }
    if let Some(target) = targets.iter().find(|t| !(0.0..=1.0).contains(*t)) {
        return Err(bad_setting("precision target", target, "between 0 and 1"));
    }
    let mut sizes = vec![0u64; k];
    for &label in evidence.labels {
        sizes[classes.group(label)?] += 1;
    }
    let found = targets.iter().enumerate().map(|(class, &target)| {
        let mut rows: Vec<usize> = (0..answers.len())
            .filter(|&row| answers[row] == class)
            .collect();
        let p = |row: usize| probabilities[row * k + class];
        rows.sort_by(|&a, &b| p(b).total_cmp(&p(a)));
        let search = Search {
            evidence,
            class,
            target,
            sizes: &sizes,
            rows,
        };
        search.lowest(p)
    });
    Ok(found.collect())
}

/// The rows that are given a class, the likeliest first.
struct Search<'a> {
    evidence: &'a Evidence<'a>,
    class: usize,
    target: f64,
    sizes: &'a [u64],
    rows: Vec<usize>,
}

impl Search<'_> {
    fn lowest(&self, p: impl Fn(usize) -> f64) -> PrecisionThreshold {
        let k = self.sizes.len();
        let mut best = PrecisionThreshold {
            target: self.target,
            threshold: None,
            precision: 0.0,
            lower: 0.0,
            recall: 0.0,
            accepted_labeled: 0,
            accepted_pool: 0,
        };
        let (mut given, mut sums) = (vec![0u64; k], vec![0.0; k]);
        let mut taken = 0;
        for kept in KEPT.into_iter().rev() {
            let mut end = (kept * self.rows.len() as f64).ceil() as usize;
            // Equal probabilities are accepted together.
            while end > 0 && end < self.rows.len() && p(self.rows[end]) == p(self.rows[end - 1]) {
                end += 1;
            }
            while taken < end {
                let row = self.rows[taken];
                match self.evidence.labels[row] {
                    MpuLabel::Labeled(class) => given[class] += 1,
                    MpuLabel::Unlabeled => {
                        given[k - 1] += 1;
                        if let Some(p) = self.evidence.probabilities {
                            let row = &p[row * k..(row + 1) * k];
                            sums.iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
                        }
                    }
                }
                taken += 1;
            }
            let n_labeled = self.sizes[self.class];
            if given[k - 1] == 0 || n_labeled == 0 {
                continue;
            }
            let sums = self.evidence.probabilities.map(|_| sums.as_slice());
            let tally = Tally::of_class(self.evidence, self.class, self.sizes, &given, sums);
            let precision = tally.combined(Rate::Precision, &[self.class], 1.0);
            let lower = (precision.value - Z * precision.variance.sqrt()).clamp(0.0, 1.0);
            let threshold = if end == self.rows.len() {
                0.0
            } else {
                p(self.rows[end - 1]).clamp(0.0, 1.0)
            };
            if lower >= self.target {
                let own = given[self.class];
                best = PrecisionThreshold {
                    threshold: Some(threshold),
                    precision: precision.value,
                    lower,
                    recall: own as f64 / n_labeled as f64,
                    accepted_labeled: own,
                    accepted_pool: given[k - 1],
                    ..best
                };
            } else if best.threshold.is_none() && lower >= best.lower {
                best.precision = precision.value;
                best.lower = lower;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};
    use mpu_data::Priors;

    use super::*;
    use crate::decide::{Decision, Thresholds};
    use crate::metrics::Confusion;
    use crate::pu_metrics::trust::Told;
    use crate::pu_metrics::{PuJudgement, Target, UncertainPriors};
    use crate::testing::{Draws, Plane};

    /// Exact priors and the pool as the population.
    fn found(
        priors: &Priors,
        labels: &[MpuLabel],
        p: &[f64],
        targets: &[f64],
    ) -> Result<Vec<PrecisionThreshold>> {
        let priors = UncertainPriors::exact(priors.clone());
        let evidence = Evidence {
            priors: &priors,
            target: &Target::Pool,
            labels,
            probabilities: None,
        };
        let classes = priors.priors().classes();
        let answers = Decision::Argmax.answers(classes, p)?;
        precision_thresholds(&evidence, &answers, p, targets)
    }

    #[test]
    fn unattainable_targets_are_said_to_be() {
        let priors = Priors::new(vec![0.2, 0.8]).unwrap();
        let labels = [vec![Labeled(0); 30], vec![Unlabeled; 100]].concat();
        // Half of the pool looks like the class, which makes up a fifth of it.
        let row = |row: usize| {
            if row < 30 || row.is_multiple_of(2) {
                [0.6, 0.4]
            } else {
                [0.4, 0.6]
            }
        };
        let p: Vec<f64> = (0..130).flat_map(row).collect();
        let high = found(&priors, &labels, &p, &[0.9]).unwrap()[0];
        assert_eq!((high.threshold, high.recall), (None, 0.0));
        assert!(
            (high.precision - 0.4).abs() < 1e-9 && high.lower < 0.4,
            "{high:?}"
        );
        // Little is asked for: every answer stays.
        let low = found(&priors, &labels, &p, &[0.1]).unwrap()[0];
        assert_eq!(
            (low.threshold, low.accepted_labeled, low.accepted_pool),
            (Some(0.0), 30, 50)
        );
        // No labelled rows: nothing is known.
        let none = found(&priors, &labels[30..], &p[60..], &[0.0]).unwrap()[0];
        assert_eq!(none.threshold, None);
        assert!(found(&priors, &labels, &p, &[]).is_err());
        assert!(found(&priors, &labels, &p, &[1.5]).is_err());
    }

    fn told(radius: f64, rows: (usize, usize), off: f64, draws: &mut Draws) -> Told {
        let plane = Plane::new(&[0.2, 0.15, 0.65], radius);
        Told::new(plane, rows, off, 1.5, draws)
    }

    fn thresholds(told: &Told, target: f64) -> (Decision, Vec<PrecisionThreshold>) {
        let (p, moved, answers) = told.answers(&told.scores);
        let evidence = told.evidence(&p);
        let found = precision_thresholds(&evidence, &answers, &moved, &[target; 2]).unwrap();
        let limits = found.iter().map(|class| class.threshold).collect();
        let decision = Decision::Guarded {
            by: Box::new(Decision::Argmax),
            thresholds: Thresholds::new(limits).unwrap(),
        };
        (decision, found)
    }

    /// The judgement of the stricter answers says the same of the precision.
    #[test]
    fn the_precision_is_that_of_the_stricter_answers() {
        let mut draws = Draws(8);
        let mut seen = 0;
        for _ in 0..20 {
            let told = told(1.8, (40, 400), 0.05, &mut draws);
            let (decision, found) = thresholds(&told, 0.6);
            let (p, moved, plain) = told.answers(&told.scores);
            let three = told.plane.priors.classes();
            let answers = decision.answers(three, &moved).unwrap();
            let strict = plain.iter().zip(&answers).all(|(a, b)| a == b || *b == 2);
            assert!(strict, "never more than without thresholds");
            let judged = PuJudgement::of(&told.evidence(&p), &answers).unwrap();
            let reached = found
                .iter()
                .enumerate()
                .filter(|(_, f)| f.threshold.is_some());
            for (class, found) in reached {
                let class = judged.classes[class].as_ref().unwrap();
                let precision = class.precision.unwrap();
                assert!(
                    (precision.value - found.precision).abs() < 1e-2,
                    "{precision:?} {found:?}"
                );
                assert!((class.recall.unwrap().value - found.recall).abs() < 1e-12);
                assert!(found.lower >= 0.6 && found.lower <= found.precision);
                seen += 1;
            }
        }
        assert!(seen >= 20, "{seen}");
    }

    /// On new rows the precision asked for is reached by nine classes in ten, also if the priors are off.
    #[test]
    fn the_precision_asked_for_is_reached() {
        let mut draws = Draws(31);
        let (mut all, mut reached, mut asked) = (0, 0, 0);
        for radius in [1.2, 2.0, 3.0] {
            for rows in [(15, 150), (60, 600)] {
                for off in [0.0, 0.05, -0.05] {
                    for target in [0.8, 0.9, 0.95] {
                        let (mut given, mut good) = (0, 0);
                        for _ in 0..3 {
                            let told = told(radius, rows, off, &mut draws);
                            let (decision, _) = thresholds(&told, target);
                            let (classes, scores) = told.truth(4000, &mut draws);
                            let (_, moved, _) = told.answers(&scores);
                            let three = told.plane.priors.classes();
                            let answers = decision.answers(three, &moved).unwrap();
                            let truth = Confusion::new(three, &classes, &answers).unwrap();
                            for class in 0..2 {
                                let n: u64 = (0..3).map(|y| truth.count(y, class)).sum();
                                asked += 1;
                                if n > 0 {
                                    given += 1;
                                    // Two deviations of the truth's own sample.
                                    let p = truth.rates(class).precision;
                                    let slack = 2.0 * (target * (1.0 - target) / n as f64).sqrt();
                                    good += i32::from(p >= target - slack.min(0.01));
                                }
                            }
                        }
                        println!(
                            "radius {radius} {rows:?} off {off} target {target}: {good} of {given} given of 6"
                        );
                        all += given;
                        reached += good;
                    }
                }
            }
        }
        println!("{reached} of {all}, {asked} asked for");
        assert!(reached * 10 >= all * 9, "{reached} of {all}");
        assert!(all * 2 > asked, "not useless: {all} of {asked}");
    }
}
