//! Protocols: from the choices to the size of every group.

use serde::{Deserialize, Serialize};

use crate::class::ClassCount;
use crate::error::{Error, Result, bad_setting};
use crate::named;
use crate::seed::Seed;

/// Which rows make up the classes of an MPU problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Protocol {
    /// Keep classes `0..k` of the dataset, drop the others from training and test; class `k - 1` is
    /// negative. What the authors' script does, and the only reading that fits the paper's counts.
    #[default]
    FirstK,
    /// The negative class is every class from `k - 1` on, merged. What the paper's words say.
    Residual,
}

named!(Protocol, "split protocol", { FirstK => "first-k", Residual => "residual" });

/// How labelled and unlabelled rows came about. The risk weights of the two differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scenario {
    /// Labelled rows and pool are separate samples: `X_i ~ p_i`, `X_u ~ Σ π_j p_j`.
    #[default]
    CaseControl,
    /// One sample with the asked priors; labelled rows are drawn out of it and what is left is the
    /// pool, whose priors are therefore others.
    SingleSample,
}

named!(Scenario, "scenario", { CaseControl => "case-control", SingleSample => "single-sample" });

/// The choices of a split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitSpec {
    /// Which rows make up the classes.
    #[serde(default)]
    pub protocol: Protocol,
    /// How labelled and unlabelled rows came about.
    #[serde(default)]
    pub scenario: Scenario,
    /// The number of classes `k`, the negative one included.
    pub classes: ClassCount,
    /// The asked prior `π_k` of the negative class, more than 0 and less than 1.
    pub prior: f64,
    /// The fraction of each observed class that goes unlabelled; one half unless given. With
    /// `first-k` and `case-control` the prior decides it and it must not be given.
    #[serde(default)]
    pub unlabeled_fraction: Option<f64>,
    /// The share of every labelled group and of the pool that is held out for validation.
    #[serde(default)]
    pub validation_share: f64,
    /// The seed of the draw.
    pub seed: Seed,
}

impl SplitSpec {
    /// A case-control split without validation rows.
    pub fn new(protocol: Protocol, classes: ClassCount, prior: f64, seed: Seed) -> Self {
        Self {
            protocol,
            scenario: Scenario::CaseControl,
            classes,
            prior,
            unlabeled_fraction: None,
            validation_share: 0.0,
            seed,
        }
    }

    /// The fraction left unlabelled where it is free.
    fn fraction(&self) -> f64 {
        self.unlabeled_fraction.unwrap_or(0.5)
    }

    fn check(&self, n_dataset_classes: usize) -> Result<()> {
        let open = "more than 0 and less than 1";
        if !(self.prior > 0.0 && self.prior < 1.0) {
            return Err(bad_setting("prior", self.prior, open));
        }
        if !(0.0..1.0).contains(&self.validation_share) {
            let (value, allowed) = (self.validation_share, "at least 0 and less than 1");
            return Err(bad_setting("validation share", value, allowed));
        }
        if let Some(fraction) = self.unlabeled_fraction {
            if !(fraction > 0.0 && fraction < 1.0) {
                return Err(bad_setting("unlabeled fraction", fraction, open));
            }
            if (self.protocol, self.scenario) == (Protocol::FirstK, Scenario::CaseControl) {
                let allowed = "left out with first-k and case-control, where the prior decides it";
                return Err(bad_setting("unlabeled fraction", fraction, allowed));
            }
        }
        if self.classes.get() > n_dataset_classes {
            let allowed = format!("from 2 to {n_dataset_classes}, the dataset's number of classes");
            return Err(bad_setting("classes", self.classes.get(), allowed));
        }
        Ok(())
    }
}

/// Something about a split that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// Only a fifth of the negatives was kept, because with all of them the pool would have left an
    /// observed class less than a tenth of its rows.
    #[error(
        "kept {kept} of {of} negatives (20 %): with all of them an observed class would keep less than 10 % of its rows labelled"
    )]
    NegativesReduced {
        /// How many were kept.
        kept: usize,
        /// Out of how many.
        of: usize,
    },
}

/// The size of every group before validation rows are held out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The MPU class of each class of the dataset; none if its rows are dropped.
    pub mpu_class: Vec<Option<usize>>,
    /// Rows of each observed class that go into the pool.
    pub pool: Vec<usize>,
    /// Rows of each observed class that are labelled.
    pub labeled: Vec<usize>,
    /// Negatives in the pool.
    pub negatives: usize,
    /// What the reader should know.
    pub notes: Vec<Note>,
}

impl Plan {
    /// The group sizes for a training part with these class counts.
    ///
    /// ```text
    /// first-k, case-control:  pool: all n_neg rows of class k-1, and of each observed class
    ///                               min(n_c, ⌊n_neg (1/π_k - 1) / (k - 1)⌋) rows;
    ///                         labelled: the remaining observed rows.
    ///                         If that leaves an observed class less than 10 % of its rows, only
    ///                         ⌊n_neg / 5⌋ negatives are kept first.
    /// residual, case-control: pool: ⌊f n_c⌋ rows of each observed class, f = 1/2, and negatives so
    ///                         that they make up π_k of it; where there are too few negatives, all of
    ///                         them, and the observed rows are thinned instead;
    ///                         labelled: the other n_c - ⌊f n_c⌋ rows.
    /// single-sample:          a sample with the asked prior, made as the pool above (residual: of all
    ///                         rows), of which ⌊f m⌋ of m observed rows stay unlabelled.
    /// ```
    pub fn new(spec: &SplitSpec, class_counts: &[usize]) -> Result<Self> {
        spec.check(class_counts.len())?;
        let negative = spec.classes.negative();
        if let Some(class) = class_counts.iter().take(negative).position(|&n| n == 0) {
            let problem = format!("class {class} has no training row");
            return Err(infeasible(&problem, ""));
        }
        if class_counts[negative..].iter().all(|&n| n == 0) {
            return Err(infeasible("there is no negative training row", ""));
        }
        let plan = match spec.protocol {
            Protocol::FirstK => Self::first_k(spec, class_counts),
            Protocol::Residual => Self::residual(spec, class_counts),
        };
        plan.check(spec)
    }

    fn first_k(spec: &SplitSpec, class_counts: &[usize]) -> Self {
        let negative = spec.classes.negative();
        let observed = &class_counts[..negative];
        let n_neg = class_counts[negative];
        let odds = 1.0 / spec.prior - 1.0;
        let share = |n_neg: usize| (n_neg as f64 * odds / negative as f64).floor() as usize;
        let too_many = |share: usize| {
            observed.iter().any(|&n| match spec.scenario {
                // Less than a tenth left: n - share < n / 10, in whole numbers.
                Scenario::CaseControl => 10 * n.saturating_sub(share) < n,
                Scenario::SingleSample => share > n,
            })
        };
        let mut notes = Vec::new();
        let mut negatives = n_neg;
        if too_many(share(n_neg)) {
            negatives = n_neg / 5;
            notes.push(Note::NegativesReduced {
                kept: negatives,
                of: n_neg,
            });
        }
        let sampled: Vec<usize> = observed.iter().map(|&n| n.min(share(negatives))).collect();
        let (pool, labeled) = match spec.scenario {
            Scenario::CaseControl => {
                let rest = observed.iter().zip(&sampled).map(|(n, pooled)| n - pooled);
                (sampled.clone(), rest.collect())
            }
            Scenario::SingleSample => label_out_of(&sampled, spec.fraction()),
        };
        Self {
            mpu_class: (0..class_counts.len())
                .map(|class| (class <= negative).then_some(class))
                .collect(),
            pool,
            labeled,
            negatives,
            notes,
        }
    }

    fn residual(spec: &SplitSpec, class_counts: &[usize]) -> Self {
        let negative = spec.classes.negative();
        let observed = &class_counts[..negative];
        let n_neg: usize = class_counts[negative..].iter().sum();
        let unlabeled = |n: usize| (n as f64 * spec.fraction()).floor() as usize;
        let candidates: Vec<usize> = match spec.scenario {
            Scenario::CaseControl => observed.iter().map(|&n| unlabeled(n)).collect(),
            Scenario::SingleSample => observed.to_vec(),
        };
        let n_candidates: usize = candidates.iter().sum();
        let wanted = (n_candidates as f64 * spec.prior / (1.0 - spec.prior)).round() as usize;
        let (negatives, sampled) = if wanted <= n_neg {
            (wanted, candidates)
        } else {
            let n_kept = (n_neg as f64 * (1.0 - spec.prior) / spec.prior).round() as usize;
            (n_neg, proportionally(&candidates, n_kept.min(n_candidates)))
        };
        let (pool, labeled) = match spec.scenario {
            Scenario::CaseControl => {
                let labeled = observed.iter().map(|&n| n - unlabeled(n)).collect();
                (sampled, labeled)
            }
            Scenario::SingleSample => label_out_of(&sampled, spec.fraction()),
        };
        Self {
            mpu_class: (0..class_counts.len())
                .map(|class| Some(class.min(negative)))
                .collect(),
            pool,
            labeled,
            negatives,
            notes: Vec::new(),
        }
    }

    /// Refuses plans with an empty group, or whose sample misses the prior by more than rounding.
    fn check(self, spec: &SplitSpec) -> Result<Self> {
        let hint = |what: &str| format!("\nhint: choose {what}, or another number of classes");
        if let Some(class) = self.labeled.iter().position(|&n| n == 0) {
            let problem = format!("no row of class {class} is left to be labelled");
            return Err(infeasible(&problem, &hint("a larger prior")));
        }
        if let Some(class) = self.pool.iter().position(|&n| n == 0) {
            let problem = format!("no row of class {class} is left for the pool");
            return Err(infeasible(&problem, &hint("a smaller prior")));
        }
        if self.negatives == 0 {
            let problem = "no negative row is left for the pool";
            return Err(infeasible(problem, &hint("a larger prior")));
        }
        let mut n_sample = self.negatives + self.pool.iter().sum::<usize>();
        if spec.scenario == Scenario::SingleSample {
            n_sample += self.labeled.iter().sum::<usize>();
        }
        // Each of the k - 1 floors may lose a row.
        let miss = (self.negatives as f64 - spec.prior * n_sample as f64).abs();
        if miss > spec.classes.n_observed() as f64 {
            let problem = format!(
                "a prior of {} cannot be reached: {} negatives in {n_sample} rows is the nearest",
                spec.prior, self.negatives
            );
            return Err(infeasible(&problem, &hint("another prior")));
        }
        Ok(self)
    }
}

fn infeasible(problem: &str, hint: &str) -> Error {
    Error::Refused(format!("cannot split: {problem}{hint}"))
}

/// Leaves the fraction of each class unlabelled: `(pool, labelled)`.
fn label_out_of(sampled: &[usize], fraction: f64) -> (Vec<usize>, Vec<usize>) {
    let pool: Vec<usize> = sampled
        .iter()
        .map(|&n| (n as f64 * fraction).floor() as usize)
        .collect();
    let labeled = sampled
        .iter()
        .zip(&pool)
        .map(|(n, pooled)| n - pooled)
        .collect();
    (pool, labeled)
}

/// `total` split in proportion to `weights`, by largest remainder; ties go to the first class.
fn proportionally(weights: &[usize], total: usize) -> Vec<usize> {
    let sum = weights.iter().sum::<usize>().max(1) as u128;
    let exact = |weight: usize| weight as u128 * total as u128;
    let mut shares: Vec<usize> = weights.iter().map(|&w| (exact(w) / sum) as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(exact(weights[i]) % sum));
    let missing = total - shares.iter().sum::<usize>();
    for &i in order.iter().take(missing) {
        shares[i] += 1;
    }
    shares
}

#[cfg(test)]
mod tests;
