//! Lemmas 1 and 2 and Theorem 2: how far the learned classifier is from the best one.

use mpu_data::Priors;
use mpu_loss::Loss;

use super::{Constants, SampleSizes, check_delta, check_non_negative, loss_bound};
use crate::error::{Result, check_len};

/// Rademacher complexities of the coordinate classes `G_j` of the scoring functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Complexities {
    /// `ℜ_{n_i,p_i}(G_i)` of each observed class on its own labelled data.
    pub labeled_own: Vec<f64>,
    /// `ℜ_{n_i,p_i}(G_k)` of the negative class on the labelled data of each observed class.
    pub labeled_negative: Vec<f64>,
    /// `ℜ_{n_u,p_u}(G_i)` of each observed class on the pool.
    pub pool_observed: Vec<f64>,
    /// `ℜ_{n_u,p_u}(G_k)` of the negative class on the pool.
    pub pool_negative: f64,
}

impl Complexities {
    /// The same bound for every coordinate, as a function of the sample size: for instance
    /// [`Network::complexity`](super::Network::complexity).
    pub fn from_sizes(sizes: &SampleSizes, complexity: impl Fn(usize) -> f64) -> Self {
        let labeled: Vec<f64> = sizes.labeled().iter().map(|&n| complexity(n)).collect();
        let pool = complexity(sizes.unlabeled());
        Self {
            labeled_own: labeled.clone(),
            labeled_negative: labeled.clone(),
            pool_observed: vec![pool; labeled.len()],
            pool_negative: pool,
        }
    }

    fn check(&self, n_observed: usize) -> Result<()> {
        for list in [
            &self.labeled_own,
            &self.labeled_negative,
            &self.pool_observed,
        ] {
            check_len("the complexities", list.len(), n_observed)?;
            check_non_negative("a complexity", list)?;
        }
        check_non_negative("a complexity", &[self.pool_negative])
    }
}

/// Lemma 1: the excess risk from the uniform deviations `sup |R̂_i - R_i|` of the parts.
///
/// ```text
/// corrected: R(f̂) - R(f*) ≤ 4 Σ_{i<k} π_i sup_i + 2 sup_u
/// printed:   R(f̂) - R(f*) ≤ 2 Σ_{i<k} π_i sup_i + 2 sup_u
/// ```
///
/// The risk weights part `i` by `2π_i` and an excess risk is at most twice the uniform deviation,
/// hence the 4, where `R_i` is the mean of `L_i`. (Printed, it holds if `R_i` is read as twice that.)
#[doc(alias = "eq:excess-from-deviations")]
pub fn excess_from_deviations(
    priors: &Priors,
    labeled: &[f64],
    pool: f64,
    constants: Constants,
) -> Result<f64> {
    check_len("the deviations", labeled.len(), priors.observed().len())?;
    check_non_negative("a deviation", labeled)?;
    check_non_negative("a deviation", &[pool])?;
    let factor = match constants {
        Constants::Corrected => 4.0,
        Constants::Printed => 2.0,
    };
    let labeled: f64 = priors
        .observed()
        .iter()
        .zip(labeled)
        .map(|(pi, s)| pi * s)
        .sum();
    Ok(factor * labeled + 2.0 * pool)
}

/// Lemma 2: with probability `1 - δ`, the uniform deviation of one part of `n` samples with losses
/// in `[0, C_L]` and complexity `ℜ` of the *loss* class.
///
/// ```text
/// corrected: sup |R̂ - R| ≤ 2ℜ +  C_L sqrt( log(2/δ) / (2n) )
/// printed:   sup |R̂ - R| ≤ 2ℜ + 2C_L sqrt( 2 log(2/δ) / n )
/// ```
///
/// The corrected form is McDiarmid's inequality on both sides; the printed one is four times as
/// wide.
#[doc(alias = "eq:uniform-deviation")]
pub fn uniform_deviation(
    complexity: f64,
    loss_range: f64,
    n: usize,
    delta: f64,
    constants: Constants,
) -> Result<f64> {
    check_delta(delta)?;
    check_non_negative("a complexity", &[complexity])?;
    check_non_negative("the range of the loss", &[loss_range])?;
    SampleSizes::new(vec![n], n)?;
    let n = n as f64;
    let width = match constants {
        Constants::Corrected => ((2.0 / delta).ln() / (2.0 * n)).sqrt(),
        Constants::Printed => 2.0 * (2.0 * (2.0 / delta).ln() / n).sqrt(),
    };
    Ok(2.0 * complexity + loss_range * width)
}

/// Theorem 2: with probability `1 - δ`, the excess risk `R(f̂) - R(f*)` of the minimiser of the
/// paper's empirical risk, with `C_L = 2C_ℓ`.
///
/// ```text
/// corrected: 4 Σ_{i<k} π_i ( 2L_ℓ(ℜ_i(G_i) + ℜ_i(G_k))         + C_L sqrt(log(2k/δ) / (2n_i)) )
///          + 2             ( 2L_ℓ(Σ_{j<k} ℜ_u(G_j) + ℜ_u(G_k)) + C_L sqrt(log(2k/δ) / (2n_u)) )
/// printed:   4 Σ_{i<k} π_i ( 2L_ℓ(ℜ_i(G_i) + ℜ_i(G_k))         + C_L sqrt(2 log(2/δ) / n_i) )
///          + 4             (  L_ℓ(ℜ_u(G_i) + ℜ_u(G_k))         + C_L sqrt(log(2/δ) / n_u) )
/// ```
///
/// Corrected: Lemmas 1 and 2 with a union bound over all `k` parts (each gets `δ/k`), and the
/// complexity of `max_{j<k} f_j`, which `L_k` contains, bounded by the sum over the observed
/// classes. In the printed pool term `i` is not bound to anything; it is read here as the largest
/// over the observed classes.
#[doc(alias = "eq:estimation-error")]
pub fn estimation_error(
    loss: &Loss,
    priors: &Priors,
    sizes: &SampleSizes,
    complexities: &Complexities,
    delta: f64,
    constants: Constants,
) -> Result<f64> {
    check_delta(delta)?;
    sizes.check(priors)?;
    complexities.check(priors.observed().len())?;
    let lipschitz = loss.facts().lipschitz;
    let range = 2.0 * loss_bound(loss)?;
    let labeled_complexity =
        |i: usize| lipschitz * (complexities.labeled_own[i] + complexities.labeled_negative[i]);

    match constants {
        Constants::Corrected => {
            let each = delta / priors.classes().get() as f64;
            let labeled: Vec<f64> = (0..sizes.labeled().len())
                .map(|i| {
                    let n = sizes.labeled()[i];
                    uniform_deviation(labeled_complexity(i), range, n, each, constants)
                })
                .collect::<Result<_>>()?;
            let top: f64 = complexities.pool_observed.iter().sum();
            let pool = uniform_deviation(
                lipschitz * (top + complexities.pool_negative),
                range,
                sizes.unlabeled(),
                each,
                constants,
            )?;
            excess_from_deviations(priors, &labeled, pool, constants)
        }
        Constants::Printed => {
            let log = (2.0 / delta).ln();
            let labeled: f64 = (0..sizes.labeled().len())
                .map(|i| {
                    let width = (2.0 * log / sizes.labeled()[i] as f64).sqrt();
                    priors.observed()[i] * (2.0 * labeled_complexity(i) + range * width)
                })
                .sum();
            let largest = complexities
                .pool_observed
                .iter()
                .copied()
                .fold(0.0, f64::max);
            let width = (log / sizes.unlabeled() as f64).sqrt();
            let pool = lipschitz * (largest + complexities.pool_negative) + range * width;
            Ok(4.0 * labeled + 4.0 * pool)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> (Loss, Priors) {
        (Loss::default(), Priors::new(vec![0.25, 0.25, 0.5]).unwrap())
    }

    #[test]
    fn lemmas_by_hand() {
        let (_, priors) = setting();
        let at = |c| excess_from_deviations(&priors, &[0.1, 0.3], 0.05, c).unwrap();
        assert!((at(Constants::Corrected) - (4.0 * 0.1 + 0.1)).abs() < 1e-15);
        assert!((at(Constants::Printed) - (2.0 * 0.1 + 0.1)).abs() < 1e-15);
        // δ = 2e^{-2}: log(2/δ) = 2.
        let delta = 2.0 * (-2.0f64).exp();
        let at = |c| uniform_deviation(0.1, 2.0, 100, delta, c).unwrap();
        assert!((at(Constants::Corrected) - (0.2 + 2.0 * 0.1)).abs() < 1e-12);
        assert!((at(Constants::Printed) - (0.2 + 2.0 * 2.0 * 0.2)).abs() < 1e-12);
    }

    #[test]
    fn theorem_by_hand() {
        let (loss, priors) = setting();
        let sizes = SampleSizes::new(vec![100, 400], 100).unwrap();
        let complexities = Complexities {
            labeled_own: vec![0.1, 0.2],
            labeled_negative: vec![0.3, 0.4],
            pool_observed: vec![0.5, 0.6],
            pool_negative: 0.7,
        };
        // sigmoid: L = 1/4, C_L = 2. Printed with log(2/δ) = 2: widths 0.2, 0.1 and sqrt(0.02).
        let delta = 2.0 * (-2.0f64).exp();
        let printed = estimation_error(
            &loss,
            &priors,
            &sizes,
            &complexities,
            delta,
            Constants::Printed,
        );
        let labeled = 0.25 * (0.5 * 0.4 + 2.0 * 0.2) + 0.25 * (0.5 * 0.6 + 2.0 * 0.1);
        let pool = 0.25 * 1.3 + 2.0 * 0.02f64.sqrt();
        assert!((printed.unwrap() - 4.0 * (labeled + pool)).abs() < 1e-12);
        // Corrected with log(2k/δ) = 2: widths 0.1, 0.05 and 0.1.
        let delta = 6.0 * (-2.0f64).exp();
        let corrected = estimation_error(
            &loss,
            &priors,
            &sizes,
            &complexities,
            delta,
            Constants::Corrected,
        );
        let labeled = 0.25 * (0.5 * 0.4 + 2.0 * 0.1) + 0.25 * (0.5 * 0.6 + 2.0 * 0.05);
        let pool = 0.5 * (1.1 + 0.7) + 2.0 * 0.1;
        assert!((corrected.unwrap() - (4.0 * labeled + 2.0 * pool)).abs() < 1e-12);
    }

    #[test]
    fn the_bound_falls_with_every_sample_size() {
        let (loss, priors) = setting();
        for constants in [Constants::Corrected, Constants::Printed] {
            let at = |labeled: [usize; 2], pool| {
                let sizes = SampleSizes::new(labeled.to_vec(), pool).unwrap();
                let rate = Complexities::from_sizes(&sizes, |n| 3.0 / (n as f64).sqrt());
                estimation_error(&loss, &priors, &sizes, &rate, 0.05, constants).unwrap()
            };
            let base = at([100, 100], 100);
            assert!(at([200, 100], 100) < base && at([100, 200], 100) < base);
            assert!(at([100, 100], 200) < base);
            assert!(at([1 << 40, 1 << 40], 1 << 40) < 1e-4, "consistency");
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let (loss, priors) = setting();
        let sizes = SampleSizes::new(vec![10, 10], 10).unwrap();
        let good = Complexities::from_sizes(&sizes, |_| 0.1);
        let bound = |c: &Complexities, delta| {
            estimation_error(&loss, &priors, &sizes, c, delta, Constants::Corrected)
        };
        assert!(bound(&good, 0.1).is_ok());
        assert!(bound(&good, 0.0).is_err());
        assert!(
            bound(
                &Complexities {
                    labeled_own: vec![0.1],
                    ..good.clone()
                },
                0.1
            )
            .is_err()
        );
        assert!(
            bound(
                &Complexities {
                    pool_negative: -0.1,
                    ..good.clone()
                },
                0.1
            )
            .is_err()
        );
        assert!(uniform_deviation(0.1, 1.0, 0, 0.1, Constants::Corrected).is_err());
        assert!(excess_from_deviations(&priors, &[0.1], 0.1, Constants::Corrected).is_err());
    }

    /// A finite class of scoring functions on a finite domain, drawn again and again: the corrected
    /// bound on the deviation of the risk must hold in at least 1 - δ of the draws.
    #[test]
    fn the_corrected_bound_holds_in_simulation() {
        use mpu_loss::SampleLoss;

        let (loss, priors) = setting();
        let (k, n_points, n_functions, delta) = (3usize, 6usize, 8usize, 0.1);
        let mut state = 7u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let functions: Vec<Vec<Vec<f64>>> = (0..n_functions)
            .map(|_| {
                (0..n_points)
                    .map(|_| (0..k).map(|_| 4.0 * uniform() - 2.0).collect())
                    .collect()
            })
            .collect();
        // Class y lives on points 2y and 2y+1, and its neighbour's with probability 0.3.
        let point = |y: usize, u: f64, v: f64| {
            let class = if u < 0.3 { (y + 1) % k } else { y };
            2 * class + usize::from(v < 0.5)
        };
        let sizes = SampleSizes::new(vec![40, 40], 80).unwrap();
        // Massart's lemma: scores lie in [-2, 2] and there are eight functions.
        let massart = |n: usize| 2.0 * (2.0 * (n_functions as f64).ln() / n as f64).sqrt();
        let rate = Complexities::from_sizes(&sizes, massart);
        let bound =
            estimation_error(&loss, &priors, &sizes, &rate, delta, Constants::Corrected).unwrap();

        let draw_pool_class = |u: f64| {
            if u < 0.25 {
                0
            } else {
                usize::from(u >= 0.5) + 1
            }
        };
        let mut risk_of = |n_labeled: usize, n_pool: usize| -> Vec<f64> {
            let labeled: Vec<(usize, usize)> = (0..2)
                .flat_map(|class| std::iter::repeat_n(class, n_labeled))
                .map(|class| (class, point(class, uniform(), uniform())))
                .collect();
            let pool: Vec<usize> = (0..n_pool)
                .map(|_| point(draw_pool_class(uniform()), uniform(), uniform()))
                .collect();
            functions
                .iter()
                .map(|f| {
                    let own: f64 = labeled
                        .iter()
                        .map(|&(class, x)| {
                            2.0 * priors.observed()[class] / n_labeled as f64
                                * SampleLoss::Csmpu.value(&loss, &f[x], class).unwrap()
                        })
                        .sum();
                    let pool: f64 = pool
                        .iter()
                        .map(|&x| SampleLoss::Csmpu.value(&loss, &f[x], k - 1).unwrap())
                        .sum();
                    own + pool / n_pool as f64
                })
                .collect()
        };
        let truth = risk_of(200_000, 400_000);
        let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
        let trials = 200;
        let held = (0..trials)
            .filter(|_| {
                let empirical = risk_of(40, 80);
                let learned = (0..n_functions)
                    .min_by(|&a, &b| empirical[a].total_cmp(&empirical[b]))
                    .unwrap();
                truth[learned] - best <= bound
            })
            .count();
        assert!(
            held as f64 >= (1.0 - delta) * f64::from(trials),
            "{held} of {trials}"
        );
    }
}
