//! DEDPUL (D. Ivanov, "DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning", ICMLA 2020).

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_not_negative, check_open_share};
use crate::estimator::{EstimatorKind, Prepared, PriorEstimator, one_by_one};
use crate::margins::{Counts, Group, Margins};

mpu_data::defaults! {
    /// The estimator `dedpul`, on one margin at a time.
    ///
    /// Densities of the margin are estimated by Gaussian kernels, for the class's labelled rows and for the pool. Their
    /// ratio at the pool's rows is smoothed and made monotone where margins are high. What is left is a question about
    /// one number: which prior agrees with the mean of the posteriors that it implies (`fixed_point`, `kink`)?
    ///
    /// The author gives class and pool different kernel widths. Here both have the class's, because a mixture
    /// smoothed by one kernel is the same mixture of the smoothed parts: the ratio stays below `1/π`. In pools of more than
    /// 1000 rows the ratio is taken at 1000 quantiles, and at `1000 √(10/k)` with more than ten classes. The author's rolling median spans a tenth of the pool, which
    /// wipes out classes with smaller priors; here it spans a tenth of the rows with high margins. The author's last two
    /// steps (monotone trends, sorting) are left out: sorting does not change a mean, and trends repeat what the running
    /// maximum does.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct Dedpul {
        /// The width of the kernels, in Silverman's widths for the class's labelled rows.
        pub width: f64 = 1.0,
        /// Neighbours on each side in the last rolling median, as a share of the places with high margins.
        pub neighbors: f64 = 0.05,
        /// By how much a kink's prior may exceed its mean posterior.
        pub most_gap: f64 = 0.05,
    }
}

/// The most places at which the ratio is evaluated, with up to ten classes.
const MOST_PLACES: f64 = 1000.0;
/// Cells of the grid for each kernel width, and the most widths in the range of the class's margins.
const CELLS_PER_WIDTH: f64 = 4.0;
const MOST_WIDTHS: f64 = 512.0;
/// Kernels end here, in widths.
const REACH: f64 = 4.0;
/// Neighbours on each side in the first rolling median.
const FIRST_NEIGHBORS: usize = 5;
/// When the fixed point is reached, and the steps of the grid in which a kink is looked for.
const TOLERANCE: f64 = 1e-5;
const STEPS: usize = 1000;

/// The most places with so many classes: 80 take no more than six times as long as ten.
fn most_places(n_classes: usize) -> usize {
    (MOST_PLACES * (10.0 / n_classes as f64).min(1.0).sqrt()) as usize
}

impl Dedpul {
    /// The width of the kernels: Silverman's `0.9 min(sd, IQR/1.34) n^(-1/5)` times the setting, and not so narrow
    /// that the grid would need too many cells.
    fn kernel_width(&self, labeled: &[f64]) -> f64 {
        let (low, high) = ends(labeled);
        // A class with one margin only: any narrow kernel will do.
        let least = 1e-6 * (1.0 + low.abs().max(high.abs()));
        (self.width * silverman(labeled))
            .max((high - low) / MOST_WIDTHS)
            .max(least)
    }
}

impl PriorEstimator for Dedpul {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::Dedpul
    }

    fn prepare(&self, margins: &Margins) -> Result<Box<dyn Prepared>> {
        check_open_share("neighbors", self.neighbors)?;
        check_open_share("most-gap", self.most_gap)?;
        check_not_negative("width", self.width)?;
        Ok(one_by_one(margins, |class| {
            let ratio = Ratio::new(self, margins, class);
            move |counts: &Counts| ratio.point(counts)
        }))
    }
}

/// Margins of a class and of the pool, and the grid on which densities are estimated.
struct Ratio {
    settings: Dedpul,
    class_index: usize,
    pool_index: usize,
    /// The class's labelled margins, by row.
    labeled: Vec<f64>,
    /// The pool's margins in ascending order, and the row of each.
    pool: Vec<f64>,
    pool_rows: Vec<u32>,
    /// The first cell's margin and the width of a cell.
    start: f64,
    cell: f64,
    n_cells: usize,
    most_places: usize,
    /// Weights of the kernel, from the middle outwards.
    kernel: Vec<f64>,
}

impl Ratio {
    fn new(settings: &Dedpul, margins: &Margins, class: usize) -> Self {
        let labeled: Vec<f64> = margins.margin(Group::Class(class), class).collect();
        let values: Vec<f64> = margins.margin(Group::Pool, class).collect();
        let mut pool_rows: Vec<u32> = (0..values.len() as u32).collect();
        pool_rows.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        let (low, high) = ends(&labeled);
        let width = settings.kernel_width(&labeled);
        let span = high - low + 2.0 * REACH * width;
        let cell = width / CELLS_PER_WIDTH;
        let taps = (REACH * width / cell).ceil() as usize;
        let weight = |at: usize| {
            let far = at as f64 * cell / width;
            libm::exp(-0.5 * far * far)
        };
        Self {
            settings: *settings,
            class_index: class,
            pool_index: margins.index(Group::Pool),
            pool: pool_rows.iter().map(|&row| values[row as usize]).collect(),
            pool_rows,
            labeled,
            start: low - REACH * width,
            cell,
            n_cells: (span / cell).ceil() as usize + 2,
            most_places: most_places(margins.n_observed()),
            kernel: (0..=taps).map(weight).collect(),
        }
    }

    fn point(&self, counts: &Counts) -> f64 {
        prior(self.ratios(counts), self.settings.most_gap)
    }

    /// The smoothed ratio of densities at the pool's places, in ascending order of the margin.
    ///
    /// ```text
    /// r(z) = f_j(z) / f_U(z),   f(z) = Σ_i K((z - z_i)/h) / (n h)
    /// ```
    ///
    /// A rolling median over 11 places, the running maximum above the middle between the mean margins of class and
    /// pool, and a rolling median over a tenth of the places above that middle.
    #[doc(alias = "eq:dedpul-ratio")]
    fn ratios(&self, counts: &Counts) -> Vec<f64> {
        let (own, pool) = (counts.at(self.class_index), counts.at(self.pool_index));
        let labeled = self.labeled.iter().zip(own);
        let labeled = labeled.map(|(&z, &count)| (z, f64::from(count)));
        let weight = |row: &u32| f64::from(pool[*row as usize]);
        let pooled = self.pool.iter().zip(&self.pool_rows);
        let pooled = pooled.map(|(&z, row)| (z, weight(row)));
        let (on_class, class_mean) = self.density(labeled);
        let (on_pool, pool_mean) = self.density(pooled);
        let places = self.places(pool);
        let middle = f64::midpoint(class_mean, pool_mean);
        let from = places.partition_point(|&z| z < middle);
        let at = |&z: &f64| {
            let below = self.at(&on_pool, z);
            if below > 0.0 {
                self.at(&on_class, z) / below
            } else {
                0.0
            }
        };
        let raw: Vec<f64> = places.iter().map(at).collect();
        let mut ratios = rolling_median(&raw, FIRST_NEIGHBORS);
        for i in from + 1..ratios.len() {
            ratios[i] = ratios[i].max(ratios[i - 1]);
        }
        let neighbors = self.settings.neighbors * (ratios.len() - from) as f64;
        rolling_median(&ratios, (neighbors as usize).max(FIRST_NEIGHBORS))
    }

    /// A density on the grid, without the factor that class and pool share, and the mean margin.
    fn density(&self, rows: impl Iterator<Item = (f64, f64)>) -> (Vec<f64>, f64) {
        let mut cells = vec![0.0; self.n_cells];
        let (mut total, mut sum) = (0.0, 0.0);
        for (z, count) in rows {
            total += count;
            sum += count * z;
            if let Some((cell, share)) = self.cell(z) {
                cells[cell] += count * (1.0 - share);
                cells[cell + 1] += count * share;
            }
        }
        let total = f64::max(total, 1.0);
        let mut density = vec![0.0; self.n_cells];
        for (i, &mass) in cells.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let mass = mass / total;
            for (far, weight) in self.kernel.iter().enumerate() {
                if i + far < self.n_cells {
                    density[i + far] += mass * weight;
                }
                if far > 0 && far <= i {
                    density[i - far] += mass * weight;
                }
            }
        }
        (density, sum / total)
    }

    /// The cell left of a margin and how far into the cell it lies; none if it is beyond the grid.
    fn cell(&self, z: f64) -> Option<(usize, f64)> {
        let at = (z - self.start) / self.cell;
        let cell = at.floor();
        (cell >= 0.0 && cell < (self.n_cells - 1) as f64).then_some((cell as usize, at - cell))
    }

    fn at(&self, density: &[f64], z: f64) -> f64 {
        self.cell(z).map_or(0.0, |(cell, share)| {
            (1.0 - share) * density[cell] + share * density[cell + 1]
        })
    }

    /// Margins of the pool at places of equal weight: every row, or quantiles if there are many.
    fn places(&self, counts: &[u16]) -> Vec<f64> {
        let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let n = (total as usize).min(self.most_places);
        let mut places = Vec::with_capacity(n);
        let mut seen = 0.0;
        for (&z, &row) in self.pool.iter().zip(&self.pool_rows) {
            seen += f64::from(counts[row as usize]);
            while places.len() < n && (places.len() as f64 + 0.5) * total as f64 <= seen * n as f64
            {
                places.push(z);
            }
        }
        places
    }
}

/// The prior that a sample of density ratios implies: the fixed point, or the kink if that is degenerate.
fn prior(mut ratios: Vec<f64>, most_gap: f64) -> f64 {
    ratios.sort_by(f64::total_cmp);
    let mean = MeanPosterior::new(&ratios);
    let fixed = fixed_point(&mean);
    // Somewhere the mean posterior exceeds the prior: the fixed point is between there and one.
    let crosses = (1..STEPS).any(|i| mean.at(i as f64 / STEPS as f64) > i as f64 / STEPS as f64);
    if crosses && fixed > 1.0 / STEPS as f64 {
        fixed
    } else {
        fixed.max(kink(&mean, most_gap))
    }
}

/// `g(α) = mean over the pool of min(1, α r)`: the mean posterior if the prior is `α`.
struct MeanPosterior<'a> {
    ratios: &'a [f64],
    /// Sums of the least ratios: of none, of one, …
    sums: Vec<f64>,
}

impl<'a> MeanPosterior<'a> {
    /// Takes ratios in ascending order.
    fn new(ratios: &'a [f64]) -> Self {
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for ratio in ratios {
            sum += ratio;
            sums.push(sum);
        }
        Self { ratios, sums }
    }

    fn at(&self, alpha: f64) -> f64 {
        let n = self.ratios.len();
        let below = self.ratios.partition_point(|ratio| alpha * ratio < 1.0);
        (alpha * self.sums[below] + (n - below) as f64) / n.max(1) as f64
    }

    fn is_cut(&self, alpha: f64) -> bool {
        self.ratios.last().is_some_and(|most| alpha * most > 1.0)
    }
}

/// Expectation–maximisation from `α = 1`.
///
/// ```text
/// α ← mean_u min(1, α r(x)),   until α moves by less than 10⁻⁵ or no posterior is cut at 1
/// ```
///
/// Where nothing is cut the map is linear and says no more about `α`.
#[doc(alias = "eq:dedpul-fixed-point")]
fn fixed_point(mean: &MeanPosterior<'_>) -> f64 {
    let mut alpha = 1.0;
    for _ in 0..1000 {
        let before = alpha;
        alpha = mean.at(before);
        if (alpha - before).abs() < TOLERANCE || !mean.is_cut(alpha) {
            break;
        }
    }
    alpha
}

/// Where the gap between prior and mean posterior bends most.
///
/// ```text
/// argmax_α  D(α-s) - 2D(α) + D(α+s)  among D(α) < 0.05,   D(α) = α - mean_u min(1, α r(x)),  s = 1/1000
/// ```
///
/// With exact densities `D` is 0 up to the true prior and grows from there.
#[doc(alias = "eq:dedpul-kink")]
fn kink(mean: &MeanPosterior<'_>, most_gap: f64) -> f64 {
    let alpha = |i: usize| i as f64 / STEPS as f64;
    let gaps: Vec<f64> = (0..=STEPS).map(|i| alpha(i) - mean.at(alpha(i))).collect();
    // Bends as small as rounding errors are none.
    let mut best = (1e-9, 0.0);
    for i in 1..STEPS {
        let bend = gaps[i - 1] - 2.0 * gaps[i] + gaps[i + 1];
        if gaps[i] < most_gap && bend > best.0 {
            best = (bend, alpha(i));
        }
    }
    best.1
}

fn silverman(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|z| (z - mean) * (z - mean));
    let deviation = (squares.sum::<f64>() / n).sqrt();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |i: usize| sorted[(i * sorted.len() / 4).min(sorted.len() - 1)];
    let range = (quartile(3) - quartile(1)) / 1.34;
    let spread = if range > 0.0 {
        deviation.min(range)
    } else {
        deviation
    };
    0.9 * spread * libm::pow(n, -0.2)
}

fn ends(values: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let step = |(low, high): (f64, f64), &z: &f64| (low.min(z), high.max(z));
    values.iter().fold(start, step)
}

/// Medians of windows of `2 neighbors + 1` values, cut at the ends.
fn rolling_median(values: &[f64], neighbors: usize) -> Vec<f64> {
    let place = |window: &[f64], value: f64| window.partition_point(|known| *known < value);
    let mut window: Vec<f64> = Vec::with_capacity(2 * neighbors + 1);
    let mut medians = Vec::with_capacity(values.len());
    let mut next = 0;
    for i in 0..values.len() {
        while next < values.len() && next <= i + neighbors {
            window.insert(place(&window, values[next]), values[next]);
            next += 1;
        }
        if i > neighbors {
            window.remove(place(&window, values[i - neighbors - 1]));
        }
        let n = window.len();
        medians.push(f64::midpoint(window[(n - 1) / 2], window[n / 2]));
    }
    medians
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;

    use super::*;
    use crate::margins::Rows;
    use crate::testing::{gaussian, separable};

    fn found(margins: &Margins) -> f64 {
        Dedpul::default().estimate(margins).unwrap()[0]
    }

    /// The same, written down row by row: no grid, no quantiles, no sums kept.
    fn by_definition(margins: &Margins) -> f64 {
        let labeled: Vec<f64> = margins.margin(Group::Class(0), 0).collect();
        let mut pool: Vec<f64> = margins.margin(Group::Pool, 0).collect();
        pool.sort_by(f64::total_cmp);
        let width = Dedpul::default().kernel_width(&labeled);
        let density = |rows: &[f64], z: f64| {
            let each = rows
                .iter()
                .map(|x| libm::exp(-0.5 * ((z - x) / width).powi(2)));
            each.sum::<f64>() / rows.len() as f64
        };
        let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
        let middle = f64::midpoint(mean(&labeled), mean(&pool));
        let median = |values: &[f64], side: usize| -> Vec<f64> {
            let window = |i: usize| {
                let mut part =
                    values[i.saturating_sub(side)..(i + side + 1).min(values.len())].to_vec();
                part.sort_by(f64::total_cmp);
                f64::midpoint(part[(part.len() - 1) / 2], part[part.len() / 2])
            };
            (0..values.len()).map(window).collect()
        };
        let ratios: Vec<f64> = pool
            .iter()
            .map(|&z| density(&labeled, z) / density(&pool, z))
            .collect();
        let mut ratios = median(&ratios, 5);
        let mut most = 0.0_f64;
        for (ratio, z) in ratios.iter_mut().zip(&pool) {
            if *z >= middle {
                most = most.max(*ratio);
                *ratio = most;
            }
        }
        let n_high = pool.iter().filter(|z| **z >= middle).count();
        let ratios = median(&ratios, (n_high / 20).max(5));
        let posterior = |alpha: f64| {
            let each: Vec<f64> = ratios.iter().map(|r| (alpha * r).min(1.0)).collect();
            mean(&each)
        };
        let mut fixed = 1.0;
        for _ in 0..1000 {
            let before = fixed;
            fixed = posterior(before);
            if (before - fixed).abs() < 1e-5 || ratios.iter().all(|r| fixed * r <= 1.0) {
                break;
            }
        }
        let gap = |i: usize| f64::from(i as u32) / 1000.0 - posterior(f64::from(i as u32) / 1000.0);
        if (1..1000).any(|i| gap(i) < 0.0) && fixed > 0.001 {
            return fixed;
        }
        let bend = |i: usize| gap(i - 1) - 2.0 * gap(i) + gap(i + 1);
        let allowed = (1..1000).filter(|&i| gap(i) < 0.05 && bend(i) > 1e-9);
        let kink = allowed.max_by(|&a, &b| bend(a).total_cmp(&bend(b)));
        kink.map_or(fixed, |i| fixed.max(f64::from(i as u32) / 1000.0))
    }

    #[test]
    fn it_is_what_its_definition_gives() {
        for (seed, distance) in [(1, 8.0), (2, 3.0), (3, 2.0), (4, 1.0)] {
            for prior in [0.1, 0.5, 0.9] {
                let margins = gaussian(&[distance, 0.0], &[prior], 150, 600, Seed(seed));
                let (found, want) = (found(&margins), by_definition(&margins));
                assert!(
                    (found - want).abs() < 0.01,
                    "{distance} {prior}: {found} {want}"
                );
            }
        }
    }

    #[test]
    fn known_priors_are_found() {
        // Distance, labelled rows, prior, largest mean error over ten draws.
        for (distance, n_labeled, prior, most) in [
            (8.0, 300, 0.3, 0.03),
            (8.0, 300, 0.95, 0.04),
            (8.0, 300, 0.02, 0.02),
            (8.0, 30, 0.3, 0.06),
            (3.0, 300, 0.3, 0.05),
            (3.0, 30, 0.3, 0.08),
            (3.0, 300, 0.9, 0.06),
        ] {
            let errors = (0..10).map(|seed| {
                let margins = gaussian(&[distance, 0.0], &[prior], n_labeled, 2000, Seed(seed));
                (found(&margins) - prior).abs()
            });
            let error = errors.sum::<f64>() / 10.0;
            println!("{distance} {n_labeled} {prior}: {error:.4}");
            assert!(error < most, "{distance} {n_labeled} {prior}: {error}");
        }
        let absent = separable(&[0.0], 300, 2000, Seed(1));
        assert!(found(&absent) < 0.005, "{}", found(&absent));
    }

    #[test]
    fn fixed_points_and_kinks_by_hand() {
        // Three tenths of the pool have the ratio 1/0.3, the others 0: the gap is 0 up to 0.3 and bends there.
        let exact: Vec<f64> = (0..1000)
            .map(|i| if i < 700 { 0.0 } else { 1.0 / 0.3 })
            .collect();
        let mean = MeanPosterior::new(&exact);
        assert!((mean.at(0.15) - 0.15).abs() < 1e-12 && (mean.at(0.6) - 0.3).abs() < 1e-12);
        assert!((fixed_point(&mean) - 0.3).abs() < 1e-5);
        assert!((kink(&mean, 0.05) - 0.3).abs() < 1e-9);
        // Ratios a tenth too low: nothing but 0 agrees with itself, and the kink is where 1/r is.
        let low: Vec<f64> = exact.iter().map(|ratio| 0.9 * ratio).collect();
        assert!((kink(&MeanPosterior::new(&low), 0.05) - 0.333).abs() < 1e-9);
        assert!((prior(low, 0.05) - 0.333).abs() < 1e-9);
        assert_eq!(prior(vec![0.0; 10], 0.05), 0.0);
    }

    #[test]
    fn many_classes_have_fewer_places_and_much_the_same_priors() {
        assert_eq!([1, 10, 40, 1000].map(most_places), [1000, 1000, 500, 100]);
        let margins = gaussian(&[8.0, 0.0], &[0.3], 300, 4000, Seed(1));
        let of = |most_places: usize| {
            let ratio = Ratio::new(&Dedpul::default(), &margins, 0);
            let counts = Counts::once(&margins);
            Ratio {
                most_places,
                ..ratio
            }
            .point(&counts)
        };
        let (few, many) = (of(most_places(80)), of(most_places(1)));
        assert!((few - many).abs() < 0.01, "{few} {many}");
    }

    #[test]
    fn medians_by_hand() {
        assert_eq!(
            rolling_median(&[5.0, 1.0, 3.0, 2.0], 1),
            [3.0, 3.0, 2.0, 2.5]
        );
        assert_eq!(rolling_median(&[5.0, 1.0, 3.0], 0), [5.0, 1.0, 3.0]);
        assert!(rolling_median(&[], 3).is_empty());
    }

    #[test]
    fn equal_margins_and_single_rows_are_handled() {
        let rows = |values: &[f64]| Rows::of_one_fold(values);
        for (class, pool) in [
            (vec![1.0], vec![1.0]),
            (vec![1.0; 20], vec![0.0; 30]),
            (vec![1e9, -1e9], vec![0.0, 1e9]),
        ] {
            let margins = Margins::new(vec![rows(&class)], rows(&pool)).unwrap();
            let found = found(&margins);
            assert!((0.0..=1.0).contains(&found), "{found}");
        }
        let margins = Margins::new(vec![rows(&[1.0])], rows(&[1.0])).unwrap();
        let bad = Dedpul {
            neighbors: 1.0,
            ..Dedpul::default()
        };
        assert!(bad.estimate(&margins).is_err());
    }
}
