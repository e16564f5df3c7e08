//! Whether labelled rows are a random draw of their class, and priors that do without that: each class in
//! sub-groups of rows that are alike.

use mpu_data::{ClassCount, MpuLabel, Scaling, Seed, Stream};
use mpu_prior::scar::{ClassSelection, Subgroup};
use mpu_prior::{
    EstimateOptions, EstimatorKind, GroupedReport, Margins, Selection, SubgroupOptions,
    estimate_by_subgroups, subgroups,
};
use mpu_train::Sample;

use crate::error::{Context as _, Result};
use crate::prepared::Watcher;
use crate::prior_estimate::detector_margins;

/// Standard deviations beyond which a feature counts no more: a single odd value is no sub-group.
const FAR: f32 = 3.0;
/// Features named of a sub-group, and how many standard deviations they must be from the class's mean.
const MOST_TRAITS: usize = 2;
const LEAST_DEVIATION: f64 = 0.5;

/// A feature by which a sub-group differs from its class.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trait {
    feature: usize,
    /// Mean of the sub-group minus mean of the class's labelled rows, in standard deviations of the table.
    deviation: f64,
}

/// A sample whose observed classes are split into sub-groups, with margins of its rows for each of them.
#[derive(Debug, Clone)]
pub struct Subgrouped {
    margins: Margins,
    /// The class of each sub-group.
    classes: Vec<usize>,
    /// What is typical of each sub-group.
    traits: Vec<Vec<Trait>>,
}

impl Subgrouped {
    /// Splits the labelled rows of each class, and lets detectors tell the sub-groups and the pool apart.
    pub fn of(
        sample: &Sample,
        classes: ClassCount,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Self> {
        Self::by(sample, classes, seed, |labels, n_groups| {
            let split = Sample {
                features: sample.features.clone(),
                labels: labels.to_vec(),
            };
            detector_margins(&split, n_groups, seed, observer)
        })
    }

    /// The same with margins by other means: `margins` gets the sub-group of each row, and how many there are, the pool
    /// included.
    pub fn by(
        sample: &Sample,
        classes: ClassCount,
        seed: Seed,
        margins: impl FnOnce(&[MpuLabel], ClassCount) -> Result<Margins>,
    ) -> Result<Self> {
        let _span = tracing::info_span!("subgroups").entered();
        let mut features = sample.features.clone();
        let rows: Vec<usize> = (0..features.n_rows()).collect();
        let scaler = Scaling::Standardize.fit(&features, &rows)?;
        scaler.apply(&mut features)?;
        for value in features.values_mut() {
            *value = value.clamp(-FAR, FAR);
        }
        let width = features.shape().len();
        let mut by_class = classes.rows_by_group(&sample.labels)?;
        by_class.pop();
        let mut labels = sample.labels.clone();
        let (mut of_group, mut traits) = (Vec::new(), Vec::new());
        for (class, rows) in by_class.iter().enumerate() {
            let own = features.select(rows);
            let mut rng = seed.stream_at(Stream::Subgroups, class as u64);
            let options = SubgroupOptions::default();
            let groups = subgroups(own.values(), width, &options, &mut rng)?;
            let first = of_group.len();
            let n_groups = groups.iter().max().map_or(1, |most| most + 1);
            for (&row, group) in rows.iter().zip(&groups) {
                labels[row] = MpuLabel::Labeled(first + group);
            }
            of_group.extend(vec![class; n_groups]);
            let describe = |group| typical(own.values(), width, &groups, group);
            traits.extend((0..n_groups).map(describe));
        }
        let n_groups = ClassCount::new(of_group.len() + 1)?;
        Ok(Self {
            margins: margins(&labels, n_groups)?,
            classes: of_group,
            traits,
        })
    }

    /// Priors as sums over sub-groups, and what these say about the choice of labelled rows.
    pub fn estimate(
        &self,
        kind: EstimatorKind,
        options: &EstimateOptions,
        seed: Seed,
    ) -> Result<GroupedReport> {
        let (margins, classes, estimator) = (&self.margins, &self.classes, kind.build());
        estimate_by_subgroups(margins, classes, estimator.as_ref(), options, seed)
            .context("estimating the class priors by sub-groups")
    }

    /// For each class: what is known about the choice of its labelled rows, in words.
    pub fn sentences(
        &self,
        report: &GroupedReport,
        classes: &[String],
        features: &[String],
    ) -> Vec<String> {
        let each = report.selection.iter().zip(classes);
        each.map(|(found, name)| self.sentence(found, name, features))
            .collect()
    }

    fn sentence(&self, found: &ClassSelection, name: &str, features: &[String]) -> String {
        let first = self.classes.partition_point(|&class| class < found.class);
        let who = |at: usize| words(&self.traits[first + at], features);
        let n_rows: usize = found.groups.iter().map(|group| group.rows).sum();
        match found.selection {
            Selection::TooFewRows => format!(
                "class `{name}`: whether its labelled rows are a random draw of the class cannot be seen: \
                 its {n_rows} rows do not fall into groups of at least {}",
                SubgroupOptions::default().least_rows
            ),
            Selection::NotSeen => format!(
                "class `{name}`: whether its labelled rows are a random draw of the class cannot be seen: \
                 rows of other kinds in the pool look like most of its groups"
            ),
            Selection::Random => format!(
                "class `{name}`: no sign that some kinds of rows were labelled more often than others \
                 ({} groups of rows compared)",
                found.groups.iter().filter(|group| group.seen).count()
            ),
            Selection::Uneven => {
                let groups = found.groups.iter().enumerate();
                let seen = groups.filter(|(_, group)| group.seen);
                let told = seen.clone();
                let told = told.map(|(at, group)| format!("rows {}: {}", who(at), shares(group)));
                let told: Vec<String> = told.collect();
                let missing = |group: &Subgroup| group.pool_share - group.labeled_share;
                let rare = seen.filter(|(_, group)| group.labeled_share < group.pool_share);
                let rare = rare.max_by(|a, b| missing(a.1).total_cmp(&missing(b.1)));
                let who = rare.map_or_else(String::new, |(at, _)| format!(" {}", who(at)));
                format!(
                    "class `{name}`: its labelled rows do not look like a random draw of the class. {}. Its share of the \
                     pool is then estimated too low, and its other rows are found too rarely. Label some more rows{who}; \
                     estimates by clusters (`mpu-cli prior --by clusters`) do not need a random draw",
                    told.join("; ")
                )
            }
        }
    }
}

fn shares(group: &Subgroup) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    format!(
        "{} of the labelled rows, but about {} of the class in the pool ({} to {})",
        percent(group.labeled_share),
        percent(group.pool_share),
        percent(group.interval.low),
        percent(group.interval.high)
    )
}

/// `with high a and low b`.
fn words(traits: &[Trait], features: &[String]) -> String {
    let word = |found: &Trait| {
        let name = features.get(found.feature).map_or("?", String::as_str);
        let how = if found.deviation > 0.0 { "high" } else { "low" };
        match name.split_once('=') {
            Some(_) if found.deviation > 0.0 => format!("often `{name}`"),
            Some(_) => format!("seldom `{name}`"),
            None => format!("{how} `{name}`"),
        }
    };
    if traits.is_empty() {
        return "near the middle of the class".to_owned();
    }
    let words: Vec<String> = traits.iter().map(word).collect();
    format!("with {}", words.join(" and "))
}

/// The features by which a group differs most from all of these rows.
fn typical(values: &[f32], width: usize, groups: &[usize], group: usize) -> Vec<Trait> {
    let mut traits: Vec<Trait> = (0..width)
        .map(|feature| {
            let (mut all, mut own, mut n_own) = (0.0, 0.0, 0.0);
            for (row, of) in values.chunks_exact(width).zip(groups) {
                let value = f64::from(row[feature]);
                all += value;
                if *of == group {
                    own += value;
                    n_own += 1.0;
                }
            }
            let deviation = own / f64::max(n_own, 1.0) - all / groups.len().max(1) as f64;
            Trait { feature, deviation }
        })
        .filter(|found| found.deviation.abs() >= LEAST_DEVIATION)
        .collect();
    traits.sort_by(|a, b| b.deviation.abs().total_cmp(&a.deviation.abs()));
    traits.truncate(MOST_TRAITS);
    traits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_are_named_in_words() {
        let values = [1.0, 0.0, 1.2, 0.0, -1.0, 0.1, -1.2, 0.1];
        let traits = typical(&values, 2, &[0, 0, 1, 1], 1);
        assert_eq!(traits.len(), 1);
        let names = ["len".to_owned(), "colour=red".to_owned()];
        assert_eq!(words(&traits, &names), "with low `len`");
        let red = Trait {
            feature: 1,
            deviation: 1.0,
        };
        assert_eq!(
            words(&[traits[0], red], &names),
            "with low `len` and often `colour=red`"
        );
        assert_eq!(words(&[], &names), "near the middle of the class");
    }
}
