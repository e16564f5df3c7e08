//! Step 1: the printed Neyman–Pearson quantity of each observed class, and a rigorous upper bound.

use mpu_data::bad_setting;
use serde::{Deserialize, Serialize};

use crate::binomial;
use crate::error::{Result, check_open_share};
use crate::margins::{Counts, Margins};
use crate::tail::Tails;

/// Which labelled rows stand for a class when its detector's threshold is set.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proxy {
    /// All labelled rows.
    #[default]
    Labeled,
    /// The given share of the labelled rows, those with the largest margin: for labels that are partly wrong
    /// ("weak positives").
    Top(f64),
}

mpu_data::defaults! {
    /// How step 1 is done.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct NpOptions {
        /// Levels `α` of the detectors.
        pub alphas: Vec<f64> = vec![0.01, 0.02, 0.05],
        /// The least acceptance rate on the class that is divided by, `ε`.
        pub epsilon: f64 = 1e-3,
        /// Which labelled rows stand for the class.
        pub proxy: Proxy = Proxy::Labeled,
        /// One minus the confidence of the upper bound, for one class.
        pub delta: f64 = 0.05,
        /// How many thresholds the upper bound is the least over.
        pub n_thresholds: u32 = 20,
    }
}

impl NpOptions {
    fn check(&self) -> Result<()> {
        for &alpha in &self.alphas {
            check_open_share("alpha", alpha)?;
        }
        check_open_share("epsilon", self.epsilon)?;
        check_open_share("delta", self.delta)?;
        if self.alphas.is_empty() {
            return Err(bad_setting("the number of levels alpha", 0.0, "at least 1"));
        }
        if self.n_thresholds == 0 {
            return Err(bad_setting("n-thresholds", 0.0, "at least 1"));
        }
        match self.proxy {
            Proxy::Top(share) if !(share > 0.0 && share <= 1.0) => {
                let allowed = "above 0 and at most 1";
                Err(bad_setting("the share of the proxy", share, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// What step 1 says of one observed class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NpBound {
    /// The printed quantity, the largest over the levels `α`. A lower bound of the prior *if* the detector accepts
    /// at most a share `α` of the pool's rows of other classes; with overlap it can exceed the prior.
    pub lower_if_acceptance_below_alpha: f64,
    /// Whether that is positive for some `α`. If not, the paper fixes the prior to 0.
    pub detectable: bool,
    /// The upper bound, which needs no assumption on overlap.
    pub upper: f64,
}

/// Step 1 for every class; sorted once, then evaluated for any counts.
#[derive(Debug, Clone)]
pub(crate) struct NpStep {
    tails: Vec<Tails>,
    options: NpOptions,
}

impl NpStep {
    pub(crate) fn new(margins: &Margins, options: &NpOptions) -> Result<Self> {
        options.check()?;
        let classes = 0..margins.n_observed();
        Ok(Self {
            tails: classes.map(|class| Tails::new(margins, class)).collect(),
            options: options.clone(),
        })
    }

    /// The printed quantity of each class.
    pub(crate) fn lower(&self, counts: &Counts) -> Vec<f64> {
        let largest = |tails: &Tails| {
            let levels = self.options.alphas.iter();
            let at = levels.map(|&alpha| self.at_level(tails, counts, alpha));
            at.fold(0.0, f64::max)
        };
        self.tails.iter().map(largest).collect()
    }

    fn at_level(&self, tails: &Tails, counts: &Counts, alpha: f64) -> f64 {
        let (n_labeled, n_pool) = tails.totals(counts);
        let n_proxy = match self.options.proxy {
            Proxy::Labeled => n_labeled,
            Proxy::Top(share) => ((share * n_labeled as f64).ceil() as u64).max(1),
        };
        // At most a share alpha of the proxy is rejected.
        let kept = n_proxy - (alpha * n_proxy as f64).floor() as u64;
        let Some(above) = tails.with_labeled(counts, kept.max(1)) else {
            return 0.0;
        };
        let on_pool = above.pool as f64 / n_pool as f64;
        let on_class = above.labeled.min(n_proxy) as f64 / n_proxy as f64;
        np_lower_bound(on_pool, on_class, alpha, self.options.epsilon)
    }

    /// The upper bound of each class, from all rows counted once.
    pub(crate) fn upper(&self, once: &Counts) -> Result<Vec<f64>> {
        let bound = |tails: &Tails| {
            let (n_labeled, n_pool) = tails.totals(once);
            let m = u64::from(self.options.n_thresholds);
            let delta = 0.5 * (self.options.delta / m as f64);
            let mut least = 1.0_f64;
            for i in 1..=m {
                let rank = (n_labeled * i).div_ceil(m);
                if let Some(above) = tails.with_labeled(once, rank) {
                    let pool = binomial::upper_limit(above.pool, n_pool, delta)?;
                    // With ties more lie above; the rank is what was fixed beforehand.
                    let class = binomial::lower_limit(rank, n_labeled, delta)?;
                    least = least.min(pool / class);
                }
            }
            Ok(least)
        };
        self.tails.iter().map(bound).collect()
    }
}

/// The printed quantity of step 1 at one level.
///
/// ```text
/// max(0, (P_U[φ = 1] - α) / max(P_i[φ = 1], ε))
/// ```
///
/// `on_pool` is `P_U[φ = 1]` and `on_class` is `P_i[φ = 1]`, the shares that the detector `φ = [z_i ≥ t]` accepts;
/// `t` is the largest margin at which it rejects at most a share `α` of the class's labelled rows.
///
/// The paper calls this a lower bound of `π_i`. That holds if the detector accepts at most a share `α` of rows that
/// are *not* of class `i`; a threshold set on rows of class `i` does not see to that. Blanchard et al.'s argument,
/// with class `i` as the nominal sample, bounds `1 - π_i` from below: see [`np_upper_bound`].
#[doc(alias = "eq:np-lower-bound")]
pub fn np_lower_bound(on_pool: f64, on_class: f64, alpha: f64, epsilon: f64) -> f64 {
    ((on_pool - alpha) / on_class.max(epsilon)).max(0.0)
}

/// An upper bound of a class's prior that holds with probability `1 - δ` whatever the overlap.
///
/// ```text
/// π_i ≤ min_t  upper(P_U[z_i ≥ t]) / lower(P_i[z_i ≥ t])
/// ```
///
/// with Clopper–Pearson limits at `δ/(2m)` each, `m` thresholds: a union bound, because the least of `m` ratios is
/// taken. It follows from `P_U ≥ π_i P_i`. The thresholds are the labelled margins of ranks fixed beforehand
/// (`n/m, 2n/m, …, n` from the top). That keeps both limits exact: the share of the class above its margin of rank
/// `r` has the distribution `Beta(r, n - r + 1)` or lies higher, which is where the lower limit of `r` in `n` comes
/// from, and the pool's rows are drawn without regard to the labelled ones. One caveat: rows are taken as independent
/// given the models of the folds, as always with cross-fitting.
#[doc(alias = "eq:np-upper-bound")]
pub fn np_upper_bound(margins: &Margins, options: &NpOptions) -> Result<Vec<f64>> {
    NpStep::new(margins, options)?.upper(&Counts::once(margins))
}

/// Step 1 for every observed class.
pub fn np_bounds(margins: &Margins, options: &NpOptions) -> Result<Vec<NpBound>> {
    let step = NpStep::new(margins, options)?;
    let once = Counts::once(margins);
    let bounds = step.lower(&once).into_iter().zip(step.upper(&once)?);
    let bound = |(lower, upper)| NpBound {
        lower_if_acceptance_below_alpha: lower,
        detectable: lower > 0.0,
        upper,
    };
    Ok(bounds.map(bound).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margins::Rows;

    fn rows(values: impl IntoIterator<Item = f64>) -> Rows {
        Rows::of_one_fold(values.into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_printed_quantity_by_hand() {
        assert_eq!(np_lower_bound(0.3, 0.5, 0.05, 1e-3), 0.5);
        assert_eq!(np_lower_bound(0.04, 0.5, 0.05, 1e-3), 0.0);
        assert!((np_lower_bound(0.06, 0.0, 0.05, 0.1) - 0.1).abs() < 1e-12);
        // Class: 1..100. At α = 0.05 the threshold is 6 (95 accepted); 30 of 100 pool rows are at 7, 10, …, the
        // rest at 3: accepted only at α ≤ 0.02, where the threshold is 2 or 3.
        let class = rows((1..=100).map(f64::from));
        let accepted = |i: i32| 7.0 + 3.0 * f64::from(i);
        let pool = rows((0..100).map(|i| if i < 30 { accepted(i) } else { 3.0 }));
        let margins = Margins::new(vec![class], pool).unwrap();
        let only = |alpha: f64| {
            let options = NpOptions {
                alphas: vec![alpha],
                ..NpOptions::default()
            };
            np_bounds(&margins, &options).unwrap()[0]
        };
        let at = only(0.05);
        assert!((at.lower_if_acceptance_below_alpha - 0.25 / 0.95).abs() < 1e-12);
        let wide = only(0.02).lower_if_acceptance_below_alpha;
        assert!(
            (wide - 0.98 / 0.98).abs() < 1e-12,
            "{wide}: overlap breaks the assumption"
        );
        assert!(at.upper >= 0.3 && at.upper < 0.65, "{}", at.upper);
    }

    #[test]
    fn the_proxy_is_the_top_share() {
        // The top 10 % of 1..100 are 91..100; at α = 0.1 nine of the ten are kept: threshold 92.
        let class = rows((1..=100).map(f64::from));
        let pool = rows((0..10).map(|i| if i < 5 { 91.5 } else { 95.0 }));
        let margins = Margins::new(vec![class], pool).unwrap();
        let options = NpOptions {
            alphas: vec![0.1],
            proxy: Proxy::Top(0.1),
            ..NpOptions::default()
        };
        let found = np_bounds(&margins, &options).unwrap()[0];
        assert!(
            (found.lower_if_acceptance_below_alpha - 0.4 / 0.9).abs() < 1e-12,
            "{found:?}"
        );
    }

    #[test]
    fn an_absent_class_is_not_detectable() {
        let class = rows((1..=100).map(f64::from));
        let margins = Margins::new(vec![class], rows((0..1000).map(|i| -f64::from(i)))).unwrap();
        let found = np_bounds(&margins, &NpOptions::default()).unwrap()[0];
        assert!(!found.detectable && found.lower_if_acceptance_below_alpha == 0.0);
        assert!(found.upper < 0.02, "{}", found.upper);
    }

    #[test]
    fn the_upper_bound_holds_in_repeated_draws_with_overlap() {
        use mpu_data::{Seed, Stream};
        use rand_chacha::rand_core::Rng;
        // Class: uniform on (0, 1). Others: uniform on (-1, 1/2): half of the class is covered by others.
        let mut broken = 0;
        for repeat in 0..200 {
            let mut rng = Seed(7).stream_at(Stream::Generate, repeat);
            let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let class = rows((0..60).map(|_| uniform()));
            let pool = rows((0..400).map(|_| match uniform() {
                own if own < 0.3 => uniform(),
                _ => 1.5 * uniform() - 1.0,
            }));
            let margins = Margins::new(vec![class], pool).unwrap();
            let upper = np_upper_bound(&margins, &NpOptions::default()).unwrap()[0];
            broken += u32::from(upper < 0.3);
        }
        assert!(broken <= 10, "{broken} of 200 at 95 %");
    }

    #[test]
    fn bad_settings_are_refused() {
        let margins = Margins::new(vec![rows([1.0])], rows([0.0])).unwrap();
        let with = |change: fn(&mut NpOptions)| {
            let mut options = NpOptions::default();
            change(&mut options);
            np_bounds(&margins, &options).unwrap_err().to_string()
        };
        assert!(with(|o| o.alphas = vec![1.0]).contains("alpha is 1"));
        assert!(with(|o| o.alphas.clear()).contains("levels"));
        assert!(with(|o| o.epsilon = 0.0).contains("epsilon"));
        assert!(with(|o| o.n_thresholds = 0).contains("n-thresholds"));
        assert!(with(|o| o.proxy = Proxy::Top(0.0)).contains("proxy"));
    }
}
