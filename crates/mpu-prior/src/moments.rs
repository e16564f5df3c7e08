//! Moments of margins: histograms of every margin in every group, the region of margins that negatives hardly
//! reach, and the matching problem of that region.

use mpu_data::bad_setting;
use serde::{Deserialize, Serialize};

use crate::error::{Result, check_not_negative};
use crate::margins::{Counts, Group, Margins};
use crate::system::System;

/// Summary functions `ψ_r` of a margin, inside the region of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// Histogram bins with about the same number of the class's labelled rows. One bin is the whole region.
    Bins(usize),
    /// Sigmoids `σ((z - c_r)/s)` with knots `c_r` at quantiles of the class in the region, `s` the mean distance
    /// between knots (they see a margin through its bin of the grid).
    Sigmoids(usize),
}

impl Summary {
    fn len(self) -> usize {
        match self {
            Self::Bins(n) | Self::Sigmoids(n) => n,
        }
    }
}

mpu_data::defaults! {
    /// How the region of high margins is chosen.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct RegionOptions {
        /// Thresholds tried per class: that many quantiles of its labelled margins (at most 254).
        pub n_thresholds: usize = 200,
        /// Half-widths of the Wilson limits, in standard errors.
        pub deviations: f64 = 5.0,
        /// The least share of the class's labelled rows in its region.
        pub least_share: f64 = 0.1,
    }
}

impl RegionOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=254).contains(&self.n_thresholds) {
            let allowed = "from 1 to 254";
            return Err(bad_setting("n-thresholds", self.n_thresholds, allowed));
        }
        check_not_negative("deviations", self.deviations)?;
        if !(0.0..=1.0).contains(&self.least_share) {
            return Err(bad_setting("least-share", self.least_share, "from 0 to 1"));
        }
        Ok(())
    }
}

/// The margins from which a class is matched: `z_j ≥ threshold`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The class, counted from 0.
    pub class: usize,
    /// The least margin of the region.
    pub threshold: f64,
    /// The share of the class's labelled rows in it.
    pub labeled_share: f64,
    /// The share of the pool in it.
    pub pool_share: f64,
}

/// Every margin of every row as the number of thresholds it reaches.
#[derive(Debug, Clone)]
pub(crate) struct Binned {
    n_observed: usize,
    /// Ascending quantiles of the labelled margins, by class.
    thresholds: Vec<Vec<f64>>,
    /// By group, row-major.
    codes: Vec<Vec<u8>>,
}

impl Binned {
    pub(crate) fn new(margins: &Margins, n_thresholds: usize) -> Self {
        let n_observed = margins.n_observed();
        let quantiles = |class| {
            let mut own: Vec<f64> = margins.margin(Group::Class(class), class).collect();
            own.sort_by(f64::total_cmp);
            let at = (0..n_thresholds).map(|i| own[i * own.len() / n_thresholds]);
            at.collect::<Vec<f64>>()
        };
        let thresholds: Vec<Vec<f64>> = (0..n_observed).map(quantiles).collect();
        let code = |class: usize, z: f64| thresholds[class].partition_point(|t| *t <= z) as u8;
        let codes = margins.all_groups().map(|group| {
            let rows = margins.rows(group).values.chunks_exact(n_observed);
            rows.flat_map(|row| row.iter().enumerate().map(|(class, &z)| code(class, z)))
                .collect()
        });
        Self {
            n_observed,
            codes: codes.collect(),
            thresholds,
        }
    }

    /// How many rows of every group reach every threshold.
    pub(crate) fn shares<'a>(&'a self, counts: &'a Counts) -> Shares<'a> {
        let n = self.n_observed;
        let mut pool = vec![[0_u32; 256]; n];
        for (row, &count) in self.codes[n].chunks_exact(n).zip(counts.at(n)) {
            let count = u32::from(count);
            for (bins, &code) in pool.iter_mut().zip(row) {
                bins[code as usize] += count;
            }
        }
        let top = |group: usize| {
            let mut top = vec![0; n];
            let rows = self.codes[group].chunks_exact(n).zip(counts.at(group));
            for (row, _) in rows.filter(|(_, count)| **count > 0) {
                for (top, &code) in top.iter_mut().zip(row) {
                    *top = code.max(*top);
                }
            }
            top
        };
        Shares {
            n_observed: n,
            binned: self,
            counts,
            pool,
            tops: (0..=n).map(top).collect(),
            totals: (0..=n)
                .map(|group| counts.total(group).max(1) as f64)
                .collect(),
        }
    }
}

/// The share of each group at or above each threshold of each class.
///
/// Of `k` groups and classes only few pairs are ever looked at, so that the rows of a labelled group are counted when they
/// are asked for; else the cost would grow with the square of the classes.
#[derive(Debug, Clone)]
pub(crate) struct Shares<'a> {
    n_observed: usize,
    binned: &'a Binned,
    counts: &'a Counts,
    /// Rows of the pool by class of the margin and number of thresholds reached. 256 slots: a code is a byte and needs
    /// no bounds check.
    pool: Vec<[u32; 256]>,
    /// The most thresholds that a row reaches, by group and class.
    tops: Vec<Vec<u8>>,
    /// Counted rows by group.
    totals: Vec<f64>,
}

impl Shares<'_> {
    /// Rows of a group by the number of thresholds of a class that they reach.
    fn counted(&self, group: usize, class: usize) -> [u32; 256] {
        if group == self.n_observed {
            return self.pool[class];
        }
        let mut bins = [0; 256];
        let rows = self.binned.codes[group].chunks_exact(self.n_observed);
        for (row, &count) in rows.zip(self.counts.at(group)) {
            bins[row[class] as usize] += u32::from(count);
        }
        bins
    }

    pub(crate) fn n_observed(&self) -> usize {
        self.n_observed
    }

    /// The share of a group at or above each threshold of a class.
    fn above(&self, group: usize, class: usize) -> Vec<f64> {
        let n_thresholds = self.binned.thresholds[class].len();
        let counted = self.counted(group, class);
        let (mut sum, mut tails) = (0, vec![0.0; n_thresholds]);
        for (tail, &count) in tails.iter_mut().zip(&counted[1..=n_thresholds]).rev() {
            sum += count;
            *tail = f64::from(sum) / self.totals[group];
        }
        tails
    }

    /// The share of a group in each bin of a class's margin; what lies below the first threshold is left out.
    pub(crate) fn bins(&self, group: usize, class: usize) -> Vec<f64> {
        let tails = self.above(group, class);
        let next = tails[1..].iter().chain([&0.0]);
        tails.iter().zip(next).map(|(t, next)| t - next).collect()
    }

    /// Whether any row of a group reaches a threshold of a class.
    fn reaches(&self, group: usize, class: usize, threshold: usize) -> bool {
        usize::from(self.tops[group][class]) > threshold
    }

    /// The first threshold of each class's region.
    ///
    /// ```text
    /// argmin_t  upper(P_U[z_j ≥ t]) / lower(P_j[z_j ≥ t])
    /// ```
    ///
    /// The ratio without limits is `π_j` plus what all others have above `t`, relative to the class. That part falls as
    /// `t` grows, while chance grows because fewer rows are left: the upper limit of the ratio is least where the
    /// ratio has reached its plateau and is still supported by many rows. Both limits are Wilson's, which leave room
    /// even when nothing was counted. What other observed classes still have in the region is taken off by the
    /// matching; what negatives have there remains in the estimate.
    #[doc(alias = "eq:plateau-region")]
    pub(crate) fn plateau(&self, options: &RegionOptions) -> Vec<usize> {
        let pick = |class: usize| {
            let own = self.above(class, class);
            let pool = self.above(self.n_observed, class);
            let (n_own, n_pool) = (self.totals[class], self.totals[self.n_observed]);
            let mut best = (0, f64::INFINITY);
            for t in 0..own.len() {
                if own[t] <= 0.0 || (own[t] < options.least_share && best.1.is_finite()) {
                    break;
                }
                let (_, high) = wilson(pool[t], n_pool, options.deviations);
                let (low, _) = wilson(own[t], n_own, options.deviations);
                if high / low < best.1 {
                    best = (t, high / low);
                }
            }
            best.0
        };
        (0..self.n_observed).map(pick).collect()
    }

    /// The matching problem of the regions: a row for each class's region and summary.
    pub(crate) fn system(&self, starts: &[usize], summary: Summary) -> Result<System> {
        let n = self.n_observed;
        let (mut matrix, mut target) = (Vec::new(), Vec::new());
        for (class, &start) in starts.iter().enumerate() {
            let weights = weights(summary, &self.binned.thresholds[class][start..]);
            // With many classes hardly any group reaches the region of another.
            let reaching = |group: usize| {
                let bins = || self.bins(group, class).split_off(start);
                self.reaches(group, class, start).then(bins)
            };
            let groups: Vec<Option<Vec<f64>>> = (0..=n).map(reaching).collect();
            let moment = |bins: &Option<Vec<f64>>, weights: &[f64]| -> f64 {
                bins.as_ref().map_or(0.0, |bins| {
                    let products = bins.iter().zip(weights);
                    products.map(|(share, weight)| share * weight).sum()
                })
            };
            for weights in &weights {
                matrix.extend(groups[..n].iter().map(|bins| moment(bins, weights)));
                target.push(moment(&groups[n], weights));
            }
        }
        System::new(n, matrix, target)
    }

    /// The regions that start at these thresholds.
    pub(crate) fn regions(&self, starts: &[usize]) -> Vec<Region> {
        let region = |(class, &t): (usize, &usize)| Region {
            class,
            threshold: self.binned.thresholds[class][t],
            labeled_share: self.above(class, class)[t],
            pool_share: self.above(self.n_observed, class)[t],
        };
        starts.iter().enumerate().map(region).collect()
    }
}

/// The weight of each bin of a region in each summary; the bins begin at the given thresholds.
fn weights(summary: Summary, thresholds: &[f64]) -> Vec<Vec<f64>> {
    let n_bins = thresholds.len();
    let n = summary.len().clamp(1, n_bins);
    match summary {
        Summary::Bins(_) => {
            let inside = |r: usize, bin: usize| f64::from(u8::from(bin * n / n_bins == r));
            (0..n)
                .map(|r| (0..n_bins).map(|bin| inside(r, bin)).collect())
                .collect()
        }
        Summary::Sigmoids(_) => {
            let middle = |bin: usize| {
                let next = (bin + 1).min(n_bins - 1);
                f64::midpoint(thresholds[bin], thresholds[next])
            };
            let spread = (thresholds[n_bins - 1] - thresholds[0]) / n as f64;
            let scale = if spread > 0.0 { spread } else { 1.0 };
            let sigmoid = |knot: f64, z: f64| 1.0 / (1.0 + libm::exp((knot - z) / scale));
            (0..n)
                .map(|r| {
                    let knot = thresholds[r * n_bins / n];
                    (0..n_bins).map(|bin| sigmoid(knot, middle(bin))).collect()
                })
                .collect()
        }
    }
}

/// Wilson's limits of a proportion `p` of `n`, `c` standard errors wide.
fn wilson(p: f64, n: f64, c: f64) -> (f64, f64) {
    let square = c * c / n;
    let middle = p + 0.5 * square;
    let half = c * (p * (1.0 - p) / n + 0.25 * square / n).max(0.0).sqrt();
    (
        (middle - half) / (1.0 + square),
        (middle + half) / (1.0 + square),
    )
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::margins::Rows;
    use crate::testing::gaussian;

    /// One class with margins 1..=10; the pool has 2, 4, 6, 8, 10 and five rows at -1.
    fn small() -> Margins {
        let pool = (1..=5).map(|i| 2.0 * f64::from(i)).chain([-1.0; 5]);
        let class: Vec<f64> = (1..=10).map(f64::from).collect();
        let pool = Rows::of_one_fold(pool.collect::<Vec<_>>());
        Margins::new(vec![Rows::of_one_fold(class)], pool).unwrap()
    }

    #[test]
    fn shares_and_systems_by_hand() {
        let margins = small();
        let binned = Binned::new(&margins, 5);
        assert_eq!(binned.thresholds[0], [1.0, 3.0, 5.0, 7.0, 9.0]);
        let counts = Counts::once(&margins);
        let shares = binned.shares(&counts);
        assert_eq!(shares.above(0, 0), [1.0, 0.8, 0.6, 0.4, 0.2]);
        assert_eq!(shares.above(1, 0), [0.5, 0.4, 0.3, 0.2, 0.1]);
        let system = shares.system(&[1], Summary::Bins(2)).unwrap();
        let rows: Vec<(f64, f64)> = system.rows().map(|(row, b)| (row[0], b)).collect();
        for ((a, b), (want_a, want_b)) in rows.iter().zip([(0.4, 0.2), (0.4, 0.2)]) {
            assert!(
                (a - want_a).abs() < 1e-12 && (b - want_b).abs() < 1e-12,
                "{rows:?}"
            );
        }
        let region = shares.regions(&[1])[0];
        assert_eq!(
            (region.threshold, region.labeled_share, region.pool_share),
            (3.0, 0.8, 0.4)
        );
        // Counting the pool row at 10 six times: six of fifteen at or above 9.
        let counts = Counts::new(&margins, |group, row| match (group, row) {
            (Group::Pool, 4) => 6,
            _ => 1,
        });
        assert_eq!(binned.shares(&counts).above(1, 0)[4], 6.0 / 15.0);
    }

    #[test]
    fn sigmoids_are_sums_over_bins() {
        let margins = small();
        let binned = Binned::new(&margins, 5);
        let counts = Counts::once(&margins);
        let shares = binned.shares(&counts);
        let system = shares.system(&[0], Summary::Sigmoids(2)).unwrap();
        // Knots 1 and 5, scale 4, bins at 2, 4, 6, 8, 9, a fifth of the class in each.
        let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
        for ((row, b), knot) in system.rows().zip([1.0, 5.0]) {
            let bins = [2.0, 4.0, 6.0, 8.0, 9.0];
            let sum: f64 = bins.map(|z| sigmoid((z - knot) / 4.0)).iter().sum();
            assert!((row[0] - 0.2 * sum).abs() < 1e-12 && (b - 0.1 * sum).abs() < 1e-12);
        }
    }

    #[test]
    fn the_region_leaves_out_what_negatives_reach() {
        let margins = gaussian(&[3.0, 0.0], &[0.3], 3000, 20_000, Seed(9));
        let (binned, counts) = (Binned::new(&margins, 200), Counts::once(&margins));
        let shares = binned.shares(&counts);
        let start = shares.plateau(&RegionOptions::default())[0];
        let share = shares.above(0, 0)[start];
        assert!((0.1..0.95).contains(&share), "{share}");
        let ratio = |t: usize| shares.above(1, 0)[t] / shares.above(0, 0)[t];
        let (in_region, in_all) = (ratio(start), ratio(0));
        assert!(
            (in_region - 0.3).abs() < 0.03 && in_all > 0.5,
            "{in_region} {in_all}"
        );
    }

    #[test]
    fn wilson_by_hand() {
        // Nothing in n: c²/n / (1 + c²/n).
        let (low, high) = wilson(0.0, 100.0, 2.0);
        assert!(low.abs() < 1e-15 && (high - 0.04 / 1.04).abs() < 1e-12);
        let (low, high) = wilson(0.5, 100.0, 2.0);
        assert!((f64::midpoint(low, high) - 0.5).abs() < 1e-12);
        assert!((high - 0.5 - 2.0 * (0.0026_f64).sqrt() / 1.04).abs() < 1e-12);
    }

    #[test]
    fn bad_settings_are_refused() {
        let with = |n_thresholds, deviations, least_share| {
            let options = RegionOptions {
                n_thresholds,
                deviations,
                least_share,
            };
            options.check()
        };
        assert!(with(254, 4.0, 0.1).is_ok());
        assert!(with(255, 4.0, 0.1).is_err() && with(0, 4.0, 0.1).is_err());
        assert!(with(10, f64::NAN, 0.1).is_err() && with(10, 4.0, 1.1).is_err());
    }
}
