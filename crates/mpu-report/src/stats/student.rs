//! Student's t.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
    if !(p > 0.0 && p < 1.0 && dof.is_finite()) {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, dof).ok()?;
    Some(distribution.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;

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
