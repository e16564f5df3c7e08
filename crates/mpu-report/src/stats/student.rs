//! Student's t: quantiles by inverting the regularised incomplete beta function.

use super::{mean, std_dev};

/// An interval of real numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The t confidence interval of the mean at `level` (0.95 for 95 %); none below two values.
pub fn t_interval(values: &[f64], level: f64) -> Option<Interval> {
    let n = values.len() as f64;
    let (center, spread) = (mean(values)?, std_dev(values)?);
    let half_width = t_quantile(f64::midpoint(1.0, level), n - 1.0)? * spread / n.sqrt();
    Some(Interval {
        low: center - half_width,
        high: center + half_width,
    })
}

/// The value that a t variable with `dof` degrees of freedom stays below with probability `p`; none
/// unless `0 < p < 1` and `dof > 0`.
pub fn t_quantile(p: f64, dof: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && dof > 0.0 && dof.is_finite()) {
        return None;
    }
    // The smaller tail is the one that is known to the last bit.
    let tail = p.min(1.0 - p);
    let mut high = 1.0;
    while upper_tail(high, dof) > tail {
        high *= 2.0;
        if !f64::is_finite(high) {
            return None;
        }
    }
    let mut low = 0.0;
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if upper_tail(middle, dof) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    // At one half the bisection walks into the smallest numbers; the answer is zero.
    let t = if tail == 0.5 { 0.0 } else { high };
    Some(if p < 0.5 { -t } else { t })
}

/// The probability that a t variable exceeds `t >= 0`.
fn upper_tail(t: f64, dof: f64) -> f64 {
    let square = t * t;
    let (x, rest) = if square.is_finite() {
        (dof / (dof + square), square / (dof + square))
    } else {
        (0.0, 1.0)
    };
    0.5 * incomplete_beta(x, rest, dof / 2.0, 0.5)
}

/// The regularised incomplete beta function at `x`, with `rest = 1 - x` given apart, so that neither
/// loses digits.
fn incomplete_beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let log_front = a * x.ln() + b * rest.ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(x, a, b) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(rest, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const STEPS: usize = 10_000;
    let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=STEPS {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        let change = c * d;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function for `x > 0`: Stirling's series, far enough out to be exact.
fn ln_gamma(x: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < 15.0 {
        shift += z.ln();
        z += 1.0;
    }
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0
            - square
                * (1.0 / 360.0
                    - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (z - 0.5) * z.ln() - z + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_of_gamma_at_known_places() {
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-14);
        assert!((ln_gamma(5.0) - 24.0f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn quantiles_with_a_closed_form() {
        // One degree of freedom: the Cauchy distribution.
        for p in [0.6, 0.75, 0.9, 0.975, 0.999] {
            let expected = (std::f64::consts::PI * (p - 0.5)).tan();
            let found = t_quantile(p, 1.0).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-12, "{p}: {found}");
        }
        // Two: t = (2p - 1) / sqrt(2p(1 - p)).
        let expected = 0.95 / (2.0 * 0.975 * 0.025f64).sqrt();
        assert!((t_quantile(0.975, 2.0).unwrap() - expected).abs() < 1e-12);
        assert_eq!(t_quantile(0.5, 4.0), Some(0.0));
        assert_eq!(t_quantile(0.25, 7.0).map(|t| -t), t_quantile(0.75, 7.0));
    }

    #[test]
    fn outside_its_range_there_is_no_quantile() {
        for (p, dof) in [(0.0, 3.0), (1.0, 3.0), (f64::NAN, 3.0), (0.5, 0.0)] {
            assert_eq!(t_quantile(p, dof), None);
        }
        assert_eq!(t_interval(&[1.0], 0.95), None);
    }
}
