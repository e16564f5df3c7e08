//! One posterior out of several detectors, by how well each tells which group a row is from.

use mpu_data::{MpuLabel, Priors, mismatch};

use crate::calibrate::log_sum_exp;
use crate::error::Result;
use crate::newton::{Smooth, minimise};

/// The weight of the ridge on the logarithms of the weights, beside the sum over rows.
const RIDGE: f64 = 1.0;
/// The same for the offset, which only keeps it finite.
const OFFSET_RIDGE: f64 = 0.05;
/// The most rows of a group that the weights are fitted to: there are only a handful of them.
const MOST_ROWS: usize = 20_000;

/// Log odds of several detectors, weighted and moved, as those of the classes.
///
/// ```text
/// q_i(x) ∝ exp(Σ_m a_m log(P_m(s=i|x)/P_m(s=u|x)) + b),   q_k(x) ∝ 1
/// ```
///
/// Each detector gives `P_m(s|x)`: which observed class a row is labelled as, or the pool `u`. `q` is how probable each class
/// is for a row of the pool. The weights `a_m > 0` and `b` make the labels that were given likeliest, `P(s=i|x) ∝ (n_i/π_i) q_i(x)` and
/// `P(s=u|x) ∝ n_u` (`eq:case-control-likelihood`). A ridge `½ Σ (log M a_m)²` keeps `M` detectors near their mean where the
/// rows say little.
///
/// One offset is enough: a detector that saw too few rows of the pool is wrong by the same factor for every class. And
/// however sure detectors are, a row is labelled no more often than its class is. That is what odds of groups alone do not know.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    weights: Vec<f64>,
    offset: f64,
    /// The classes whose prior is above 0.
    classes: Vec<usize>,
    n_classes: usize,
}

impl Stack {
    /// Fits the weights to the rows that `used` says yes to, at most 20 000 of each group. `answers` has `k` probabilities a
    /// row from each detector, the pool's last, all above 0, from models that have not seen the row.
    #[doc(alias = "eq:stacked-posterior")]
    pub fn fit(
        priors: &Priors,
        labels: &[MpuLabel],
        used: impl Fn(usize) -> bool,
        answers: &[Vec<f32>],
    ) -> Result<Self> {
        let count = priors.classes();
        let (k, m) = (count.get(), answers.len());
        for answers in answers {
            if answers.len() != labels.len() * k {
                return Err(mismatch(
                    "number of a detector's answers",
                    answers.len(),
                    format!("there are {} rows of {k} groups", labels.len()),
                ));
            }
        }
        let mut n = vec![0_usize; k];
        for (row, &label) in labels.iter().enumerate() {
            n[count.group(label)?] += usize::from(used(row));
        }
        let pi = priors.as_slice();
        let classes: Vec<usize> = (0..k).filter(|&class| pi[class] > 0.0).collect();
        let mut rows = Rows::new(m, &classes, k);
        let (mut met, mut taken) = (vec![0_usize; k], vec![0_usize; k]);
        for (row, &label) in labels.iter().enumerate().filter(|&(row, _)| used(row)) {
            let group = count.group(label)?;
            let step = n[group].div_ceil(MOST_ROWS);
            met[group] += 1;
            let own = classes.iter().position(|&class| class == group);
            if !met[group].is_multiple_of(step) || group < k - 1 && own.is_none() {
                continue;
            }
            taken[group] += 1;
            rows.own.push(own.filter(|_| group < k - 1));
            rows.odds.extend(odds(answers, row, k, &classes));
        }
        let pool = taken[k - 1].max(1) as f64;
        rows.log_weights = classes[..rows.width]
            .iter()
            .map(|&class| (taken[class] as f64 / (pi[class] * pool)).ln_1p())
            .collect();
        let mut start = vec![-(m.max(1) as f64).ln(); m];
        start.push(0.0);
        let found = minimise(&rows, start);
        Ok(Self {
            weights: found[..m].iter().map(|log| log.exp()).collect(),
            offset: found[m],
            classes,
            n_classes: k,
        })
    }

    /// The weight of each detector.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How probable each class is for every row that the detectors have answered, as for a row of the pool, `k` to a row.
    pub fn probabilities(&self, answers: &[Vec<f32>]) -> Vec<f32> {
        let (k, width) = (self.n_classes, observed(&self.classes, self.n_classes));
        let n_rows = answers.first().map_or(0, |answers| answers.len() / k);
        let mut found = vec![0.0; n_rows * k];
        let mut z = vec![0.0; self.classes.len()];
        for (row, found) in found.chunks_exact_mut(k).enumerate() {
            let odds: Vec<f64> = odds(answers, row, k, &self.classes).collect();
            for (class, z) in z[..width].iter_mut().enumerate() {
                *z = self.offset + dot(&self.weights, &odds, class, width);
            }
            let log_sum = log_sum_exp(&z);
            for (&class, z) in self.classes.iter().zip(&z) {
                found[class] = (z - log_sum).exp() as f32;
            }
        }
        found
    }
}

/// How many of some classes are observed ones.
fn observed(classes: &[usize], k: usize) -> usize {
    classes.len() - usize::from(classes.last() == Some(&(k - 1)))
}

/// The log odds of a row against the pool: of each detector, of each of these classes that is an observed one.
fn odds(
    answers: &[Vec<f32>],
    row: usize,
    k: usize,
    classes: &[usize],
) -> impl Iterator<Item = f64> {
    let classes = &classes[..observed(classes, k)];
    answers.iter().flat_map(move |answers| {
        let row = &answers[row * k..][..k];
        let pool = f64::from(row[k - 1]).ln();
        let odds = move |&class: &usize| f64::from(row[class]).ln() - pool;
        classes.iter().map(odds)
    })
}

fn dot(weights: &[f64], odds: &[f64], class: usize, width: usize) -> f64 {
    let each = weights.iter().enumerate();
    each.map(|(m, a)| a * odds[m * width + class]).sum()
}

/// The mean of `-log P(s|x)` without its constants, with the ridge, as a function of `(log a, b)`.
struct Rows {
    m: usize,
    /// Observed classes, and whether there is the unknown one beside them, with log odds 0.
    width: usize,
    unknown: bool,
    /// `log(1 + n_i / (π_i n_u))` of the observed classes.
    log_weights: Vec<f64>,
    /// Log odds row by row, in it detector by detector.
    odds: Vec<f64>,
    /// The class of labelled rows; `None` for the pool.
    own: Vec<Option<usize>>,
}

/// A row as it is seen with some weights.
struct Seen<'a> {
    odds: &'a [f64],
    own: Option<usize>,
    /// Log odds of all classes.
    z: &'a [f64],
    /// The same with `log_weights` added.
    weighted: &'a [f64],
}

impl Rows {
    fn new(m: usize, classes: &[usize], k: usize) -> Self {
        let width = observed(classes, k);
        Self {
            m,
            width,
            unknown: width < classes.len(),
            log_weights: vec![0.0; width],
            odds: Vec::new(),
            own: Vec::new(),
        }
    }

    fn each(&self, x: &[f64], mut see: impl FnMut(Seen<'_>)) {
        let a: Vec<f64> = x[..self.m].iter().map(|log| log.exp()).collect();
        let mut z = vec![0.0; self.width + usize::from(self.unknown)];
        let mut weighted = z.clone();
        let rows = self.odds.chunks_exact((self.m * self.width).max(1));
        for (odds, &own) in rows.zip(&self.own) {
            for class in 0..self.width {
                z[class] = x[self.m] + dot(&a, odds, class, self.width);
                weighted[class] = z[class] + self.log_weights[class];
            }
            see(Seen {
                odds,
                own,
                z: &z,
                weighted: &weighted,
            });
        }
    }

    /// The ridge of each variable and where it is 0.
    fn ridge(&self, variable: usize) -> (f64, f64) {
        let n = self.own.len().max(1) as f64;
        if variable < self.m {
            (RIDGE / n, -(self.m as f64).ln())
        } else {
            (OFFSET_RIDGE / n, 0.0)
        }
    }
}

impl Smooth for Rows {
    fn value(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.each(x, |row| {
            let taken = row.own.map_or_else(|| log_sum_exp(row.z), |own| row.z[own]);
            sum += log_sum_exp(row.weighted) - taken;
        });
        let ridges = x.iter().enumerate().map(|(variable, x)| {
            let (weight, centre) = self.ridge(variable);
            0.5 * weight * (x - centre) * (x - centre)
        });
        sum / self.own.len().max(1) as f64 + ridges.sum::<f64>()
    }

    fn derivatives(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.m + 1;
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        let a: Vec<f64> = x[..self.m].iter().map(|log| log.exp()).collect();
        // How the log odds of an observed class move with each variable, and the mean of it.
        let (mut slope, mut mean) = (vec![1.0; n], vec![0.0; n]);
        self.each(x, |row| {
            let mut slopes = |class: usize| {
                for (m, slope) in slope[..self.m].iter_mut().enumerate() {
                    *slope = a[m] * row.odds[m * self.width + class];
                }
                slope.clone()
            };
            // The derivatives of a log-sum-exp, by its softmax.
            let mut add = |sign: f64, z: &[f64]| {
                let log_sum = log_sum_exp(z);
                mean.fill(0.0);
                for (class, z) in z[..self.width].iter().enumerate() {
                    let (q, slope) = ((z - log_sum).exp(), slopes(class));
                    for i in 0..n {
                        mean[i] += q * slope[i];
                        for j in 0..n {
                            hessian[i * n + j] += sign * q * slope[i] * slope[j];
                        }
                    }
                }
                for i in 0..n {
                    gradient[i] += sign * mean[i];
                    for j in 0..n {
                        hessian[i * n + j] -= sign * mean[i] * mean[j];
                    }
                    hessian[i * n + i] += if i < self.m { sign * mean[i] } else { 0.0 };
                }
            };
            add(1.0, row.weighted);
            match row.own {
                None => add(-1.0, row.z),
                Some(own) => {
                    let slope = slopes(own);
                    for i in 0..n {
                        gradient[i] -= slope[i];
                        hessian[i * n + i] -= if i < self.m { slope[i] } else { 0.0 };
                    }
                }
            }
        });
        let rows = self.own.len().max(1) as f64;
        for value in gradient.iter_mut().chain(&mut hessian) {
            *value /= rows;
        }
        for i in 0..n {
            let (weight, centre) = self.ridge(i);
            gradient[i] += weight * (x[i] - centre);
            hessian[i * n + i] += weight;
        }
        (gradient, hessian)
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;
    use crate::newton::tests::check_derivatives;
    use crate::testing::{Draws, Plane};

    fn plane() -> Plane {
        Plane::new(&[0.3, 0.2, 0.5], 1.8)
    }

    /// Answers `P(s|x)` of a detector that sees the log odds of the classes scaled, moved and blurred.
    fn answers(
        plane: &Plane,
        points: &[[f64; 2]],
        (scale, moved, blur): (f64, f64, f64),
        draws: &mut Draws,
    ) -> Vec<f32> {
        let rows = points.iter().flat_map(|&x| {
            let z = plane.log_joint(x);
            let e: Vec<f64> = (0..2)
                .map(|i| (scale * (z[i] - z[2]) + moved + blur * draws.normal()).exp())
                .collect();
            let sum = 1.0 + e[0] + e[1];
            [e[0] / sum, e[1] / sum, 1.0 / sum]
        });
        rows.map(|p| p as f32).collect()
    }

    #[test]
    fn derivatives_of_the_stack_are_central_differences() {
        let odds = vec![
            0.3, -1.0, 0.5, 0.2, -0.7, 1.1, 0.4, 0.9, -2.0, 1.5, 0.6, -0.1,
        ];
        for classes in [&[0, 1, 2][..], &[0, 1]] {
            let rows = Rows {
                log_weights: vec![0.4, 1.3],
                odds: odds.clone(),
                own: vec![Some(0), None, Some(1)],
                ..Rows::new(2, classes, 3)
            };
            check_derivatives(&rows, &[0.3, -0.4, 0.6]);
            check_derivatives(&rows, &[-1.0, 0.2, -0.5]);
        }
    }

    /// From groups alone: neither the scale of a detector nor how much of the pool it saw is known.
    #[test]
    fn posteriors_of_a_known_mixture_are_found_by_a_detector_of_another_scale_and_offset() {
        let (plane, mut draws) = (plane(), Draws(3));
        let (labels, points, _) = plane.sample(2000, 12_000, &mut draws);
        let seen = [answers(&plane, &points, (0.5, 1.7, 0.0), &mut draws)];
        let stack = Stack::fit(&plane.priors, &labels, |_| true, &seen).unwrap();
        assert!((stack.weights()[0] - 2.0).abs() < 0.15, "{stack:?}");
        let found = stack.probabilities(&seen);
        let mut off = 0.0;
        for (x, found) in points.iter().zip(found.chunks(3)) {
            assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            for (exact, found) in plane.posterior(*x).iter().zip(found) {
                off += (exact - f64::from(*found)).abs();
            }
        }
        assert!(off / 3.0 / (points.len() as f64) < 0.02, "{off}");
    }

    #[test]
    fn a_detector_that_knows_nothing_hardly_counts_and_two_are_better_than_one() {
        let (plane, mut draws) = (plane(), Draws(4));
        let (labels, points, classes) = plane.sample(200, 3000, &mut draws);
        let one = answers(&plane, &points, (1.0, 0.0, 2.0), &mut draws);
        let other = answers(&plane, &points, (1.0, 0.0, 2.0), &mut draws);
        let blind = answers(&plane, &points, (0.0, -2.0, 1.0), &mut draws);
        // Fitted to every second row, judged by the true classes of the pool's others.
        let loss = |members: &[Vec<f32>]| {
            let stack = Stack::fit(&plane.priors, &labels, |row| row % 2 == 0, members).unwrap();
            let p = stack.probabilities(members);
            let judged = (0..labels.len()).filter(|&row| row % 2 == 1 && labels[row] == Unlabeled);
            let losses: Vec<f64> = judged
                .map(|row| -f64::from(p[row * 3 + classes[row]]).ln())
                .collect();
            (losses.iter().sum::<f64>() / losses.len() as f64, stack)
        };
        let (alone, _) = loss(std::slice::from_ref(&one));
        let (both, _) = loss(&[one.clone(), other]);
        assert!(both < alone - 0.05, "{both} {alone}");
        let (with_blind, stack) = loss(&[one, blind]);
        assert!(with_blind < alone + 0.02, "{with_blind} {alone}");
        assert!(stack.weights()[1] < 0.5 * stack.weights()[0], "{stack:?}");
    }

    #[test]
    fn a_class_that_is_not_in_the_pool_has_no_share_of_it() {
        let labels = [Labeled(0), Labeled(1), Unlabeled, Unlabeled, Labeled(0)];
        let seen = [vec![
            0.5, 0.1, 0.4, 0.1, 0.5, 0.4, 0.2, 0.2, 0.6, 0.1, 0.1, 0.8, 0.6, 0.1, 0.3,
        ]];
        for (pi, none) in [([0.4, 0.0, 0.6], 1), ([0.4, 0.6, 0.0], 2)] {
            let priors = Priors::new(pi.to_vec()).unwrap();
            let stack = Stack::fit(&priors, &labels, |_| true, &seen).unwrap();
            for p in stack.probabilities(&seen).chunks(3) {
                assert_eq!(p[none], 0.0);
                assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{p:?}");
            }
        }
    }

    #[test]
    fn answers_that_do_not_fit_the_rows_are_refused() {
        let labels = [Labeled(0), Unlabeled];
        let priors = Priors::new(vec![0.3, 0.2, 0.5]).unwrap();
        assert!(Stack::fit(&priors, &labels, |_| true, &[vec![0.3; 5]]).is_err());
    }
}
