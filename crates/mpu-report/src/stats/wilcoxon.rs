//! The Wilcoxon signed-rank test of paired samples.

use super::ranks;

/// Up to this many pairs the null distribution is exact; above, it is taken as normal.
pub const EXACT_UP_TO: usize = 25;

/// The outcome of a two-sided paired signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wilcoxon {
    /// The smaller of the two rank sums.
    pub statistic: f64,
    /// The pairs that differ; the others are dropped.
    pub n: usize,
    /// The two-sided p-value.
    pub p: f64,
    /// Whether the null distribution is exact.
    pub exact: bool,
}

/// The two-sided signed-rank test of paired `differences`; none where no pair differs or one is not
/// a number.
///
/// Zeros are dropped (SciPy's `zero_method="wilcox"`), equal sizes share the middle rank. The exact
/// null distribution is that of the ranks at hand, ties included: every sign pattern has the same
/// chance. Of `n` pairs the smallest p-value there is is `2 / 2^n`: **0.0625 for five seeds**, so that five
/// seeds can never be significant at 5 %. Above [`EXACT_UP_TO`] pairs the statistic is taken as
/// normal, its variance corrected for ties, without a continuity correction, as SciPy does.
pub fn wilcoxon(differences: &[f64]) -> Option<Wilcoxon> {
    if differences.iter().any(|d| d.is_nan()) {
        return None;
    }
    let kept: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    if kept.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let ranks = ranks(&sizes);
    let side = |positive: bool| -> f64 {
        let of_side = kept.iter().zip(&ranks);
        of_side
            .filter(|(d, _)| (**d > 0.0) == positive)
            .map(|(_, rank)| rank)
            .sum()
    };
    let statistic = side(true).min(side(false));
    let exact = kept.len() <= EXACT_UP_TO;
    let p = if exact {
        exact_p(&ranks, statistic)
    } else {
        normal_p(&ranks, statistic)
    };
    Some(Wilcoxon {
        statistic,
        n: kept.len(),
        p,
        exact,
    })
}

/// Twice the share of sign patterns whose positive ranks sum to at most `statistic`.
fn exact_p(ranks: &[f64], statistic: f64) -> f64 {
    // Middle ranks are multiples of one half, so that doubled ranks are whole.
    let doubled: Vec<usize> = ranks.iter().map(|r| (2.0 * r).round() as usize).collect();
    let mut patterns = vec![0.0f64; doubled.iter().sum::<usize>() + 1];
    patterns[0] = 1.0;
    for rank in doubled {
        for sum in (rank..patterns.len()).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let reached = (2.0 * statistic).round() as usize;
    let below: f64 = patterns.iter().take(reached + 1).sum();
    (2.0 * below / (ranks.len() as f64).exp2()).min(1.0)
}

fn normal_p(ranks: &[f64], statistic: f64) -> f64 {
    let n = ranks.len() as f64;
    let mut sorted = ranks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64)
        .sum();
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2.0) / 24.0;
    let z = (statistic - n * (n + 1.0) / 4.0) / variance.sqrt();
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_pairs_cannot_go_below_one_in_sixteen() {
        let mut smallest = 1.0f64;
        for signs in 0..32u32 {
            let differences: Vec<f64> = (0..5)
                .map(|i| f64::from(i + 1) * if signs >> i & 1 == 1 { 1.0 } else { -1.0 })
                .collect();
            smallest = smallest.min(wilcoxon(&differences).unwrap().p);
        }
        assert_eq!(smallest, 0.0625);
        assert_eq!(wilcoxon(&[9.0; 5]).unwrap().p, 0.0625);
    }

    #[test]
    fn zeros_are_dropped_and_nothing_is_no_test() {
        let with = wilcoxon(&[0.0, 1.0, -2.0, 3.0, 0.0]).unwrap();
        assert_eq!(Some(with), wilcoxon(&[1.0, -2.0, 3.0]));
        assert_eq!((with.n, with.statistic), (3, 2.0));
        assert_eq!(wilcoxon(&[0.0, 0.0]), None);
        assert_eq!(wilcoxon(&[]), None);
        assert_eq!(wilcoxon(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn the_sign_of_all_differences_does_not_matter() {
        let differences = [1.5, -0.5, 2.0, 2.0, -3.0, 4.0];
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        assert_eq!(wilcoxon(&differences), wilcoxon(&turned));
    }
}
