//! Whether labelled rows are a random draw of their class ("selected completely at random", SCAR), and estimates
//! that do without that assumption.
//!
//! Every estimator takes a class's labelled rows for a random draw of the class. If easy rows were labelled more often than hard ones,
//! the estimate is too low: it is right for the rows that were preferred, not for the class. Here each class comes in
//! sub-groups of rows that are alike, each with a margin of its own. The assumption is then needed within a
//! sub-group only; priors of sub-groups are estimated as if they were classes, and summed.

use mpu_data::Seed;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::binary::ElkanNoto;
use crate::bootstrap::{Interval, IntervalKind, Keep, Replicates, bootstrap, percentile};
use crate::error::{Error, Result};
use crate::estimator::{PriorEstimator, feasible};
use crate::margins::{Counts, Group, Margins};
use crate::np_bound::{NpBound, np_bounds};
use crate::report::{ClassReport, EstimateOptions, Note, PriorReport};
use crate::settle::settle_with;
use crate::tail::Tails;

/// What is known of one sub-group of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subgroup {
    /// Its labelled rows.
    pub rows: usize,
    /// Its share of the class's labelled rows.
    pub labeled_share: f64,
    /// Its share of the class's rows in the pool, as estimated.
    pub pool_share: f64,
    /// A 95 % interval of that share.
    pub interval: Interval,
    /// Its prior: its share of the whole pool.
    pub prior: f64,
    /// Whether its prior is seen: the estimate hardly depends on how many of its rows it is made from.
    pub seen: bool,
}

/// What the sub-groups of a class say about how its labelled rows were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Nothing: there are too few labelled rows to compare sub-groups.
    TooFewRows,
    /// Nothing: fewer than two sub-groups stand out enough from the rest of the pool.
    NotSeen,
    /// Labelled rows and the class's rows in the pool have the same sub-groups, as far as can be seen.
    Random,
    /// Some sub-groups were labelled more often than others.
    Uneven,
}

/// One class in sub-groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassSelection {
    /// The class, counted from 0.
    pub class: usize,
    /// What can be said.
    pub selection: Selection,
    /// Its sub-groups.
    pub groups: Vec<Subgroup>,
}

/// Priors estimated by sub-groups, and what these say about the choice of labelled rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupedReport {
    /// The classes' priors: sums over their sub-groups.
    pub priors: PriorReport,
    /// The comparison, class by class.
    pub selection: Vec<ClassSelection>,
}

/// Shares must differ by this factor to be told: estimates of sub-groups are not more exact than that.
const FACTOR: f64 = 1.5;
/// And by this much.
const LEAST_DIFFERENCE: f64 = 0.1;
/// How often a table without a preference may be said to have one, at most, by chance.
const FALSE_ALARMS: f64 = 0.01;
/// The parts of a sub-group, highest margins first, that must say about the same.
const SOME_OF_GROUP: f64 = 0.3;
const MOST_OF_GROUP: f64 = 0.9;
/// A sub-group whose estimate grows by more is not seen.
const MOST_GROWTH: f64 = 1.5;

/// Estimates sub-groups as if they were classes, sums them, and compares shares. The margins must be log odds: where
/// nothing is known, sums are drawn towards guesses ([`settle`](mod@crate::settle)).
///
/// `margins` has a group of labelled rows for each sub-group; `classes[g]` is the class of sub-group `g`, and every class from 0
/// has at least one.
///
/// ```text
/// π̂_i = Σ_{g ∈ i} π̂_g
/// ```
#[doc(alias = "eq:grouped-prior")]
pub fn estimate_by_subgroups(
    margins: &Margins,
    classes: &[usize],
    estimator: &dyn PriorEstimator,
    options: &EstimateOptions,
    seed: Seed,
) -> Result<GroupedReport> {
    let members = members(margins, classes)?;
    let mut step1 = options.np.clone();
    step1.delta /= classes.len() as f64 / members.len() as f64;
    let bounds = np_bounds(margins, &step1)?;
    let prepared = estimator.prepare(margins)?;
    let priors = feasible(&prepared.point(&Counts::once(margins))?)?;
    let mut step3 = options.bootstrap;
    step3.replicates = step3.replicates.min(estimator.most_replicates());
    let drawn = bootstrap(prepared.as_ref(), margins, &step3, seed)?;
    let of_class = |priors: &[f64], class: usize| -> f64 {
        members[class].iter().map(|&group| priors[group]).sum()
    };
    let sums = |priors: &[f64]| (0..members.len()).map(|i| of_class(priors, i)).collect();
    let summed = Replicates {
        priors: drawn.priors.iter().map(|priors| sums(priors)).collect(),
        failed: drawn.failed,
    };
    let mut reports = Vec::with_capacity(members.len());
    for (class, groups) in members.iter().enumerate() {
        let estimate = of_class(&priors, class);
        let percentile = summed.percentile(class, step3.delta);
        let basic = summed.basic(class, step3.delta, estimate);
        let sum = |bound: fn(&NpBound) -> f64| {
            let bounds = groups.iter().map(|&g| bound(&bounds[g]));
            bounds.sum::<f64>().min(1.0)
        };
        let lower = sum(|bound| bound.lower_if_acceptance_below_alpha);
        let upper = sum(|bound| bound.upper);
        let rows = groups.iter().map(|&g| margins.n_rows(Group::Class(g)));
        let rows = rows.sum();
        let mut notes = Vec::new();
        notes.extend((estimate > upper).then_some(Note::AboveUpper { upper }));
        notes.extend((lower > upper).then_some(Note::LowerAboveUpper { upper }));
        notes.extend((rows < 30).then_some(Note::FewRows { rows }));
        reports.push(ClassReport {
            class,
            estimate,
            interval: match step3.interval {
                IntervalKind::Percentile => percentile,
                IntervalKind::Basic => basic,
            },
            percentile,
            basic,
            lower_if_acceptance_below_alpha: lower,
            upper,
            detectable: groups.iter().any(|&g| bounds[g].detectable),
            notes,
        });
    }
    let growth: Vec<f64> = (0..classes.len())
        .map(|group| growth(margins, &priors, group))
        .collect();
    let comparisons = members.iter().filter(|groups| groups.len() > 1);
    let comparisons = comparisons.map(Vec::len).sum::<usize>().max(1);
    let limit = Normal::standard().inverse_cdf(1.0 - 0.5 * FALSE_ALARMS / comparisons as f64);
    let selection = members
        .iter()
        .enumerate()
        .map(|(class, groups)| compare(margins, &priors, &drawn, &growth, class, groups, limit));
    let report = PriorReport {
        estimator: estimator.kind(),
        classes: reports,
        matching: None,
        negative: Some(summed.negative(step3.delta)),
        replicates: summed.priors.len(),
        failed_replicates: summed.failed,
        delta: step3.delta,
        kept: (step3.keep == Keep::Replicates).then_some(summed.priors),
    };
    let guesses: Vec<f64> = sums(&ElkanNoto.estimate(margins)?);
    Ok(GroupedReport {
        selection: selection.collect(),
        priors: settle_with(report, &guesses),
    })
}

/// The sub-groups of each class.
fn members(margins: &Margins, classes: &[usize]) -> Result<Vec<Vec<usize>>> {
    let n_classes = classes.iter().max().map_or(0, |most| most + 1);
    let mut members = vec![Vec::new(); n_classes];
    for (group, &class) in classes.iter().enumerate() {
        members[class].push(group);
    }
    let empty = members.iter().position(Vec::is_empty);
    if classes.len() != margins.n_observed() || empty.is_some() {
        let none = empty.map_or(String::new(), |class| format!(", none of class {class}"));
        return Err(Error::Refused(format!(
            "{} sub-groups for margins of {}{none}: every sub-group needs labelled rows, and every class a sub-group",
            classes.len(),
            margins.n_observed()
        )));
    }
    Ok(members)
}

/// How much the estimate of a sub-group grows when most of it is used instead of its highest margins.
///
/// ```text
/// growth = max(1, ρ(t_0.9) / ρ(t_0.3)),   ρ(t) = (P_U[z_g ≥ t] - Σ_{h≠g} π̂_h P_h[z_g ≥ t]) / P_g[z_g ≥ t]
/// ```
///
/// where the share `a` of the sub-group reaches `t_a`. Rows of the pool that look like the sub-group without being of its
/// class make `ρ` grow with every row that is taken in; then the estimate is an upper limit at best. Infinite if nothing
/// of the pool has such high margins.
#[doc(alias = "eq:subgroup-growth")]
fn growth(margins: &Margins, priors: &[f64], group: usize) -> f64 {
    let tails = Tails::new(margins, group);
    let n = margins.n_rows(Group::Class(group)) as f64;
    let ratio = |part: f64| {
        let needed = (part * n).ceil() as u64;
        let above = tails.with_labeled(&Counts::once(margins), needed)?;
        let share = |of: Group| {
            let reach = margins.margin(of, group).filter(|z| *z >= above.threshold);
            reach.count() as f64 / margins.n_rows(of) as f64
        };
        let others = (0..priors.len()).filter(|&other| other != group);
        let others = others.map(|other| priors[other] * share(Group::Class(other)));
        let own = share(Group::Pool) - others.sum::<f64>();
        Some(own.max(0.0) / share(Group::Class(group)))
    };
    match (ratio(SOME_OF_GROUP), ratio(MOST_OF_GROUP)) {
        (Some(some), Some(most)) if some > 0.0 => (most / some).max(1.0),
        _ => f64::INFINITY,
    }
}

/// Compares the shares of a class's sub-groups among its labelled rows with those among its rows in the pool.
///
/// ```text
/// |s_g - q_g| > z √(Var* s_g + q_g (1 - q_g) / n_i),   s_g = π̂_g / Σ_h π̂_h,  q_g = n_g / n_i
/// ```
///
/// over the sub-groups that are seen; `Var*` is the variance over bootstrap replicates and `z` the normal quantile for one false alarm
/// in a hundred tables. Besides, the shares must differ by a half and by a tenth, and all of that must also hold with
/// each `π̂_g` divided by its growth: estimates are not more exact than that.
#[doc(alias = "eq:uneven-selection")]
fn compare(
    margins: &Margins,
    priors: &[f64],
    drawn: &Replicates,
    growth: &[f64],
    class: usize,
    groups: &[usize],
    limit: f64,
) -> ClassSelection {
    let rows = |group: usize| margins.n_rows(Group::Class(group));
    let total = |of: &[usize]| of.iter().map(|&g| rows(g)).sum::<usize>().max(1) as f64;
    let share = |priors: &[f64], group: usize, of: &[usize]| {
        let sum: f64 = of.iter().map(|&g| priors[g]).sum();
        if sum > 0.0 { priors[group] / sum } else { 0.0 }
    };
    let is_seen = |group: usize| growth[group] <= MOST_GROWTH;
    // Where the estimate grows, the truth may lie as far below it.
    let pairs = priors.iter().zip(growth);
    let careful: Vec<f64> = pairs.map(|(prior, growth)| prior / growth).collect();
    let told: Vec<usize> = groups.iter().copied().filter(|&g| is_seen(g)).collect();
    let is_uneven = |group: usize| {
        let of = |priors: &[f64]| share(priors, group, &told);
        let n = drawn.priors.len() as f64;
        let shares = || drawn.priors.iter().map(|priors| of(priors));
        let mean = shares().sum::<f64>() / n;
        let squares = shares().map(|share| (share - mean) * (share - mean));
        let spread = squares.sum::<f64>() / n;
        let labeled = rows(group) as f64 / total(&told);
        let noise = (spread + labeled * (1.0 - labeled) / total(&told)).sqrt();
        let apart = |pool: f64| {
            let (low, high) = (pool.min(labeled), pool.max(labeled));
            let least = LEAST_DIFFERENCE.max(limit * noise);
            let told = high - low > least && high > FACTOR * low;
            told.then_some(pool > labeled)
        };
        let found = apart(of(priors));
        found.is_some() && found == apart(of(&careful))
    };
    let selection = match told.len() {
        _ if groups.len() < 2 => Selection::TooFewRows,
        0 | 1 => Selection::NotSeen,
        _ if told.iter().any(|&group| is_uneven(group)) => Selection::Uneven,
        _ => Selection::Random,
    };
    let report = |&group: &usize| {
        let shares = drawn
            .priors
            .iter()
            .map(|priors| share(priors, group, groups));
        Subgroup {
            rows: rows(group),
            labeled_share: rows(group) as f64 / total(groups),
            pool_share: share(priors, group, groups),
            interval: percentile(shares.collect(), 0.05),
            prior: priors[group],
            seen: is_seen(group),
        }
    };
    ClassSelection {
        class,
        selection,
        groups: groups.iter().map(report).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::Matching;
    use crate::testing::{gaussian_counts, options};

    /// A class in three sub-groups far apart, a tenth of the pool each, then negatives.
    fn run(labeled: &[usize], negative: f64, seed: u64) -> GroupedReport {
        let means = [0.0, 9.0, 18.0, negative];
        let margins = gaussian_counts(&means, &[0.1, 0.1, 0.1], labeled, 1500, Seed(seed));
        let estimator = Matching::default();
        estimate_by_subgroups(&margins, &[0, 0, 0], &estimator, &options(100), Seed(seed)).unwrap()
    }

    #[test]
    fn preferred_rows_are_noticed_and_a_random_draw_is_not() {
        let (mut alarms, mut noticed, mut errors) = (0, 0, 0.0);
        for seed in 0..20 {
            let random = run(&[50, 50, 50], -9.0, seed);
            alarms += u32::from(random.selection[0].selection == Selection::Uneven);
            let biased = run(&[110, 20, 20], -9.0, seed);
            noticed += u32::from(biased.selection[0].selection == Selection::Uneven);
            errors += (biased.priors.classes[0].estimate - 0.3).abs() / 20.0;
            let group = &biased.selection[0].groups[0];
            assert!((group.labeled_share - 110.0 / 150.0).abs() < 1e-12);
            assert!((group.pool_share - 1.0 / 3.0).abs() < 0.12, "{group:?}");
        }
        assert!(alarms <= 1 && noticed >= 19, "{alarms} and {noticed} of 20");
        assert!(errors < 0.03, "{errors}");
    }

    #[test]
    fn overlap_is_not_taken_for_a_preference() {
        // Half of the negatives' rows look like the third sub-group: its prior cannot be seen.
        let (mut alarms, mut unseen) = (0, 0);
        for seed in 0..20 {
            let found = run(&[50, 50, 50], 19.0, seed);
            let of = &found.selection[0];
            unseen += u32::from(!of.groups[2].seen);
            alarms += u32::from(of.selection == Selection::Uneven);
        }
        assert!(unseen >= 15 && alarms <= 1, "{unseen} {alarms}");
    }

    #[test]
    fn one_group_says_nothing_and_sums_are_sums() {
        let margins = gaussian_counts(&[0.0, 9.0, 18.0], &[0.2, 0.3], &[60, 60], 1000, Seed(1));
        let estimator = Matching::default();
        let by = |classes: &[usize]| {
            estimate_by_subgroups(&margins, classes, &estimator, &options(100), Seed(1))
        };
        let apart = by(&[0, 1]).unwrap();
        assert_eq!(apart.selection[1].selection, Selection::TooFewRows);
        let plain = crate::estimate(&margins, &estimator, &options(100), Seed(1)).unwrap();
        assert_eq!(apart.priors.observed(), plain.observed());
        let together = by(&[0, 0]).unwrap().priors.observed();
        assert!((together[0] - plain.observed().iter().sum::<f64>()).abs() < 1e-12);
        assert!(by(&[0]).unwrap_err().to_string().contains("1 sub-groups"));
        assert!(by(&[0, 2]).unwrap_err().to_string().contains("class 1"));
    }
}
