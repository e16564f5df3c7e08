//! The two functions that a calibration minimises, each with its derivatives.

use mpu_data::{ClassCount, MpuLabel, Priors};

use crate::newton::Smooth;

/// Scored rows, cut down to the classes whose prior is above 0.
pub(super) struct Rows {
    /// The classes kept, ascending.
    pub(super) classes: Vec<usize>,
    /// Whether the negative class is among them, whose offset is then fixed at 0.
    pub(super) anchored: bool,
    /// `m` scores a row, less the mean of the row: that changes no probability.
    scores: Vec<f64>,
    /// The place in `classes` of each labelled row's class; `None` for a row of the pool.
    own: Vec<Option<usize>>,
}

impl Rows {
    /// Rows that are checked; those labelled with a class of prior 0 are left out.
    pub(super) fn new(priors: &Priors, labels: &[MpuLabel], scores: &[f32]) -> Self {
        let count: ClassCount = priors.classes();
        let pi = priors.as_slice();
        let classes: Vec<usize> = (0..count.get()).filter(|&j| pi[j] > 0.0).collect();
        let mut rows = Self {
            anchored: priors.negative() > 0.0,
            scores: Vec::with_capacity(labels.len() * classes.len()),
            own: Vec::with_capacity(labels.len()),
            classes,
        };
        for (label, row) in labels.iter().zip(scores.chunks(count.get())) {
            let own = match *label {
                MpuLabel::Unlabeled => None,
                MpuLabel::Labeled(class) => match rows.classes.iter().position(|&c| c == class) {
                    None => continue,
                    own => own,
                },
            };
            let kept = || rows.classes.iter().map(|&j| f64::from(row[j]));
            let mean = kept().sum::<f64>() / rows.classes.len() as f64;
            let kept: Vec<f64> = kept().map(|f| f - mean).collect();
            rows.scores.extend(kept);
            rows.own.push(own);
        }
        rows
    }

    /// The number of classes kept.
    pub(super) fn m(&self) -> usize {
        self.classes.len()
    }

    /// How many offsets are free.
    pub(super) fn n_free(&self) -> usize {
        self.m() - usize::from(self.anchored)
    }

    /// The root mean square of the scores about the mean of their class; 1 if they are all alike.
    pub(super) fn spread(&self) -> f64 {
        let (m, n) = (self.m(), self.own.len().max(1) as f64);
        let mut means = vec![0.0; m];
        for (at, f) in self.scores.iter().enumerate() {
            means[at % m] += f / n;
        }
        let about = |(at, f): (usize, &f64)| (f - means[at % m]).powi(2);
        let square: f64 = self.scores.iter().enumerate().map(about).sum();
        let spread = (square / (n * m as f64)).sqrt();
        if spread > 0.0 { spread } else { 1.0 }
    }

    /// Whether a class kept has labelled rows.
    pub(super) fn has_rows(&self, j: usize) -> bool {
        self.own.contains(&Some(j))
    }

    fn each(&self) -> impl Iterator<Item = (&[f64], Option<usize>)> {
        self.scores.chunks(self.m()).zip(self.own.iter().copied())
    }
}

/// `z = a f + b` of one row into `z`; an offset that is not there is 0.
fn logits(f: &[f64], a: f64, b: &[f64], z: &mut [f64]) {
    for (j, z) in z.iter_mut().enumerate() {
        *z = a * f[j] + b.get(j).copied().unwrap_or(0.0);
    }
}

/// The case-control likelihood, a mean over rows, as a function of `(log a, b)`.
pub(super) struct Likelihood<'a> {
    rows: &'a Rows,
    /// `log(1 + n_j / (π_j n_u))`.
    log_weights: Vec<f64>,
    /// The ridge, already divided by the number of rows.
    ridge: f64,
}

impl<'a> Likelihood<'a> {
    pub(super) fn new(rows: &'a Rows, priors: &Priors, ridge: f64) -> Self {
        let pool = rows.own.iter().filter(|own| own.is_none()).count() as f64;
        let log_weight = |j: usize| {
            let n = rows.own.iter().filter(|&&own| own == Some(j)).count() as f64;
            (n / (priors.as_slice()[rows.classes[j]] * pool)).ln_1p()
        };
        Self {
            rows,
            log_weights: (0..rows.m()).map(log_weight).collect(),
            ridge: ridge / rows.own.len().max(1) as f64,
        }
    }

    /// The terms of [`mean_loss`](Self::mean_loss), one for each row.
    pub(super) fn losses(&self, x: &[f64]) -> Vec<f64> {
        let (a, b) = (x[0].exp(), &x[1..]);
        let mut z = vec![0.0; self.rows.m()];
        let rows = self.rows.each().map(|(f, own)| {
            logits(f, a, b, &mut z);
            let taken = match own {
                Some(class) => z[class],
                None => log_sum_exp(&z),
            };
            for (z, c) in z.iter_mut().zip(&self.log_weights) {
                *z += c;
            }
            log_sum_exp(&z) - taken
        });
        rows.collect()
    }

    /// The mean of `-log P(s | x)` without its constants, plus the ridge.
    ///
    /// ```text
    /// labelled i:  log Σ_j (1 + w_j) e^{z_j} - z_i          w_j = n_j / (π_j n_u)
    /// pool:        log Σ_j (1 + w_j) e^{z_j} - log Σ_j e^{z_j}
    /// ```
    #[doc(alias = "eq:case-control-likelihood")]
    fn mean_loss(&self, x: &[f64]) -> f64 {
        let sum: f64 = self.losses(x).iter().sum();
        let ridge: f64 = x.iter().map(|x| x * x).sum();
        sum / self.rows.own.len() as f64 + 0.5 * self.ridge * ridge
    }
}

impl Smooth for Likelihood<'_> {
    fn value(&self, x: &[f64]) -> f64 {
        self.mean_loss(x)
    }

    fn derivatives(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (a, b) = (x[0].exp(), &x[1..]);
        let (m, n) = (self.rows.m(), x.len());
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        let mut z = vec![0.0; m];
        let mut q = vec![0.0; m];
        for (f, own) in self.rows.each() {
            logits(f, a, b, &mut z);
            if let Some(class) = own {
                // -z_y: linear in b, and in log a through a f_y.
                gradient[0] -= a * f[class];
                hessian[0] -= a * f[class];
                gradient[class + 1] -= 1.0;
            } else {
                softmax(&z, &mut q);
                add_log_sum_exp(-1.0, a, f, &q, &mut gradient, &mut hessian);
            }
            for (z, c) in z.iter_mut().zip(&self.log_weights) {
                *z += c;
            }
            softmax(&z, &mut q);
            add_log_sum_exp(1.0, a, f, &q, &mut gradient, &mut hessian);
        }
        let rows = self.rows.own.len() as f64;
        for (g, x) in gradient.iter_mut().zip(x) {
            *g = *g / rows + self.ridge * x;
        }
        for h in &mut hessian {
            *h /= rows;
        }
        for i in 0..n {
            hessian[i * n + i] += self.ridge;
        }
        (gradient, hessian)
    }
}

/// Adds `sign` times the derivatives of `log Σ exp(z)` in `(log a, b)`, given `q = softmax(z)`.
fn add_log_sum_exp(
    sign: f64,
    a: f64,
    f: &[f64],
    q: &[f64],
    gradient: &mut [f64],
    hessian: &mut [f64],
) {
    let n = gradient.len();
    let (mut mean, mut square) = (0.0, 0.0);
    for (q, f) in q.iter().zip(f) {
        mean += q * a * f;
        square += q * (a * f).powi(2);
    }
    gradient[0] += sign * mean;
    hessian[0] += sign * (square - mean * mean + mean);
    for i in 1..n {
        gradient[i] += sign * q[i - 1];
        let cross = sign * q[i - 1] * (a * f[i - 1] - mean);
        hessian[i] += cross;
        hessian[i * n] += cross;
        hessian[i * n + i] += sign * q[i - 1];
        for j in 1..n {
            hessian[i * n + j] -= sign * q[i - 1] * q[j - 1];
        }
    }
}

/// The convex function of some offsets whose slope vanishes where the pool's mean probabilities of those
/// classes are their priors. It sees the change of these offsets, the others stay.
pub(super) struct Matching<'a> {
    pub(super) rows: &'a Rows,
    pub(super) priors: &'a Priors,
    pub(super) a: f64,
    /// The offsets to start from.
    pub(super) b: &'a [f64],
    /// The places of the offsets that are moved.
    pub(super) moved: &'a [usize],
}

impl Matching<'_> {
    fn pool(&self) -> impl Iterator<Item = &[f64]> {
        let rows = self.rows.each();
        rows.filter_map(|(f, own)| own.is_none().then_some(f))
    }

    /// The offsets after a change.
    pub(super) fn offsets(&self, change: &[f64]) -> Vec<f64> {
        let mut b = self.b.to_vec();
        for (&j, change) in self.moved.iter().zip(change) {
            b[j] += change;
        }
        b
    }

    fn pi(&self, j: usize) -> f64 {
        self.priors.as_slice()[self.rows.classes[j]]
    }

    /// `mean_u log Σ_j exp(a f_j + b_j) - Σ_j π_j b_j`, the second sum over the moved offsets.
    #[doc(alias = "eq:pool-matching")]
    fn potential(&self, change: &[f64]) -> f64 {
        let b = self.offsets(change);
        let mut z = vec![0.0; self.rows.m()];
        let (mut sum, mut n) = (0.0, 0.0);
        for f in self.pool() {
            logits(f, self.a, &b, &mut z);
            sum += log_sum_exp(&z);
            n += 1.0;
        }
        let linear: f64 = self.moved.iter().map(|&j| self.pi(j) * b[j]).sum();
        sum / n - linear
    }
}

impl Smooth for Matching<'_> {
    fn value(&self, change: &[f64]) -> f64 {
        self.potential(change)
    }

    fn derivatives(&self, change: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let b = self.offsets(change);
        let (m, n) = (self.rows.m(), change.len());
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        let (mut z, mut q) = (vec![0.0; m], vec![0.0; m]);
        let mut rows = 0.0;
        for f in self.pool() {
            logits(f, self.a, &b, &mut z);
            softmax(&z, &mut q);
            rows += 1.0;
            for (s, &i) in self.moved.iter().enumerate() {
                gradient[s] += q[i];
                hessian[s * n + s] += q[i];
                for (t, &j) in self.moved.iter().enumerate() {
                    hessian[s * n + t] -= q[i] * q[j];
                }
            }
        }
        for (g, &j) in gradient.iter_mut().zip(self.moved) {
            *g = *g / rows - self.pi(j);
        }
        for h in &mut hessian {
            *h /= rows;
        }
        (gradient, hessian)
    }
}

/// `log Σ exp(z)`, whatever the size of `z`.
pub(crate) fn log_sum_exp(z: &[f64]) -> f64 {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + z.iter().map(|z| (z - top).exp()).sum::<f64>().ln()
}

/// `exp(z) / Σ exp(z)` into `q`, whatever the size of `z`; entries of `-∞` become 0.
pub(super) fn softmax(z: &[f64], q: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (q, z) in q.iter_mut().zip(z) {
        *q = (z - top).exp();
        sum += *q;
    }
    for q in q {
        *q /= sum;
    }
}

#[cfg(test)]
mod tests {
    use mpu_data::MpuLabel::{Labeled, Unlabeled};

    use super::*;
    use crate::newton::tests::check_derivatives;

    fn rows(priors: &Priors) -> Rows {
        let labels = [Labeled(0), Labeled(0), Labeled(1), Unlabeled, Unlabeled];
        let scores = [
            1.0, -0.5, 0.2, 0.7, 0.3, -1.0, -0.4, 0.8, 0.1, 0.2, -0.6, 0.9, -1.5, 0.5, 0.4,
        ];
        Rows::new(priors, &labels, &scores)
    }

    #[test]
    fn derivatives_of_the_likelihood_are_central_differences() {
        for pi in [[0.3, 0.2, 0.5], [0.4, 0.6, 0.0], [0.5, 0.0, 0.5]] {
            let priors = Priors::new(pi.to_vec()).unwrap();
            let rows = rows(&priors);
            let likelihood = Likelihood::new(&rows, &priors, 0.7);
            let x = [0.3, -0.4, 0.6];
            check_derivatives(&likelihood, &x[..=rows.n_free()]);
            let all: Vec<usize> = (0..rows.n_free()).collect();
            for moved in [&all[..], &all[..1]] {
                let matching = Matching {
                    rows: &rows,
                    priors: &priors,
                    a: 1.3,
                    b: &vec![0.2; rows.n_free()],
                    moved,
                };
                check_derivatives(&matching, &x[..moved.len()]);
            }
        }
    }

    /// Against `P(s|x)` as it stands in the derivation, without log-sum-exp.
    #[test]
    fn the_likelihood_is_that_of_drawing_from_the_union() {
        let priors = Priors::new(vec![0.3, 0.2, 0.5]).unwrap();
        let rows = rows(&priors);
        let n = [2.0, 1.0, 0.0];
        let n_u = 2.0;
        let mean = |x: &[f64]| {
            let mut sum = 0.0;
            for (f, own) in rows.each() {
                let e: Vec<f64> = (0..3)
                    .map(|j| (x[0].exp() * f[j] + [x[1], x[2], 0.0][j]).exp())
                    .collect();
                let q: Vec<f64> = e.iter().map(|v| v / e.iter().sum::<f64>()).collect();
                let group: Vec<f64> = (0..3).map(|i| n[i] / priors.as_slice()[i] * q[i]).collect();
                let total = n_u + group.iter().sum::<f64>();
                sum -= (own.map_or(n_u, |i| group[i]) / total).ln();
            }
            sum / 5.0
        };
        let likelihood = Likelihood::new(&rows, &priors, 0.0);
        let (x, y) = ([0.3, -0.4, 0.6], [-0.5, 1.0, 0.1]);
        let difference = likelihood.value(&x) - likelihood.value(&y);
        assert!((difference - (mean(&x) - mean(&y))).abs() < 1e-12);
    }
}
