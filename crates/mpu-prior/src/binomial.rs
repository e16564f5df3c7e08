//! Confidence limits of a binomial proportion.

use mpu_data::bad_setting;
use statrs::function::beta::beta_reg;

use crate::error::Result;

/// The upper Clopper–Pearson limit of a proportion: `x` of `n` were counted.
///
/// ```text
/// B^{-1}(1 - δ; x + 1, n - x)
/// ```
///
/// with the quantile function `B^{-1}` of the beta distribution; 1 when `x = n`. It lies below the true
/// proportion with probability at most `δ`, whatever that is.
#[doc(alias = "eq:clopper-pearson-upper")]
pub fn upper_limit(x: u64, n: u64, delta: f64) -> Result<f64> {
    check(x, n, delta)?;
    if x == n {
        return Ok(1.0);
    }
    Ok(1.0 - beta_quantile(delta, (n - x) as f64, x as f64 + 1.0))
}

/// The lower Clopper–Pearson limit of a proportion: `x` of `n` were counted.
///
/// ```text
/// B^{-1}(δ; x, n - x + 1)
/// ```
///
/// 0 when `x = 0`. It lies above the true proportion with probability at most `δ`.
#[doc(alias = "eq:clopper-pearson-lower")]
pub fn lower_limit(x: u64, n: u64, delta: f64) -> Result<f64> {
    check(x, n, delta)?;
    if x == 0 {
        return Ok(0.0);
    }
    Ok(beta_quantile(delta, x as f64, (n - x) as f64 + 1.0))
}

fn check(x: u64, n: u64, delta: f64) -> Result<()> {
    if !(delta > 0.0 && delta < 1.0) {
        let allowed = "a probability between 0 and 1, both excluded";
        return Err(bad_setting("delta", delta, allowed));
    }
    if n == 0 || x > n {
        let allowed = "at most the number of rows, which is at least 1";
        return Err(bad_setting("the count of a proportion", x, allowed));
    }
    Ok(())
}

/// The `x` with `I_x(a, b) = p` for `a, b > 0`, by bisection; small `x` keep their digits.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        // The geometric mean where the ends are far apart in scale: tails are as exact as the middle.
        let middle = if high < 0.5 && low > 0.0 {
            (low * high).sqrt()
        } else {
            f64::midpoint(low, high)
        };
        if middle <= low || middle >= high {
            break;
        }
        if beta_reg(a, b, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.beta.ppf(δ, x, n-x+1)` and `scipy.stats.beta.isf(δ, x+1, n-x)` of SciPy 1.17.1.
    #[test]
    fn limits_are_those_of_scipy() {
        #[rustfmt::skip]
        let golden: [(u64, u64, f64, f64, f64); 9] = [
            (0, 10, 0.05, 0.0, 2.588_655_508_930_522e-01),
            (3, 10, 0.025, 6.673_951_117_773_447e-02, 6.524_528_500_599_973e-01),
            (10, 10, 0.025, 6.915_028_921_812_392e-01, 1.0),
            (17, 678, 0.00125, 1.065_879_163_990_963e-02, 4.890_213_147_233_278e-02),
            (1, 5000, 0.001, 2.001_000_466_966_897e-07, 1.845_163_009_493_604e-03),
            (4950, 5000, 0.00125, 9.849_735_797_210_865e-01, 9.937_285_063_714_693e-01),
            (30000, 60000, 0.025, 4.959_909_880_436_081e-01, 5.040_090_119_563_918e-01),
            (55, 56, 0.0001, 8.090_708_504_764_073e-01, 9.999_982_141_980_172e-01),
            (2, 30000, 1e-05, 1.492_963_544_307_506e-07, 5.516_504_596_560_692e-04),
        ];
        for (x, n, delta, lower, upper) in golden {
            let close = |found: f64, want: f64| (found - want).abs() <= 1e-9 * want.max(1e-12);
            let found = lower_limit(x, n, delta).unwrap();
            assert!(close(found, lower), "{x} {n} {delta}: {found} {lower}");
            let found = upper_limit(x, n, delta).unwrap();
            assert!(close(found, upper), "{x} {n} {delta}: {found} {upper}");
        }
    }

    #[test]
    fn limits_at_the_ends_by_hand() {
        // No success in n: (1 - p)^n = δ. All successes: p^n = δ.
        let upper = upper_limit(0, 20, 0.05).unwrap();
        assert!((upper - (1.0 - 0.05_f64.powf(0.05))).abs() < 1e-12);
        let lower = lower_limit(20, 20, 0.05).unwrap();
        assert!((lower - 0.05_f64.powf(0.05)).abs() < 1e-12);
        assert_eq!(upper_limit(20, 20, 0.05).unwrap(), 1.0);
        assert_eq!(lower_limit(0, 20, 0.05).unwrap(), 0.0);
    }

    #[test]
    fn what_is_no_proportion_is_refused() {
        assert!(upper_limit(3, 2, 0.05).is_err());
        assert!(lower_limit(0, 0, 0.05).is_err());
        for delta in [0.0, 1.0, f64::NAN] {
            assert!(upper_limit(1, 2, delta).is_err());
        }
    }
}
