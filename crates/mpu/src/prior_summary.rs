//! Estimated priors for people: a sentence, warnings, a chart.

use mpu_prior::bootstrap::Interval;
use mpu_prior::report::Note;
use mpu_prior::{ClassReport, EstimatorKind, PriorReport};
use mpu_report::chart::Estimate;
use mpu_report::figures::{EstimatorPriors, PriorClass, PriorEstimates};

/// Estimates this far apart are told.
const APART: f64 = 0.05;

/// Says at training time what was estimated.
pub fn prior_sentence(report: &PriorReport, names: &[String]) -> String {
    let each = report.classes.iter().zip(names);
    let each =
        each.map(|(class, name)| format!("{name} {:.3} {}", class.estimate, prior_interval(class)));
    let kind: EstimatorKind = report.estimator;
    format!(
        "estimated priors, the share of each class in the pool with its 95 % interval ({kind}): {}",
        each.collect::<Vec<_>>().join(", ")
    )
}

/// What somebody who trains with estimates should act on. That a bound does not hold, or that rows are few, is told
/// where estimates or the data are looked at.
pub fn prior_calls(report: &PriorReport, classes: &[String]) -> Vec<String> {
    let mut report = report.clone();
    for class in &mut report.classes {
        let minor =
            |note: &Note| matches!(note, Note::LowerAboveUpper { .. } | Note::FewRows { .. });
        class.notes.retain(|note| !minor(note));
    }
    prior_warnings(&[report], classes)
}

/// What a reader of estimates must know, each thing once.
pub fn prior_warnings(estimates: &[PriorReport], classes: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    for report in estimates {
        for (class, name) in report.classes.iter().zip(classes) {
            for note in &class.notes {
                if matches!(note, Note::NothingKnown { .. }) {
                    let share = format!("the share of `{name}` in the pool");
                    warnings.push(nothing_known(&share, class.interval, report.estimator));
                    continue;
                }
                // Bounds and counts do not depend on the estimator: they are told once.
                let told = format!("class {name}: {note}");
                if matches!(note, Note::AboveUpper { .. }) {
                    warnings.push(format!("{}, {told}", report.estimator));
                } else if !warnings.contains(&told) {
                    warnings.push(told);
                }
            }
        }
        let told = report.classes.iter().any(ClassReport::is_unknown);
        if let Some(interval) = report.unknown_negative().filter(|_| !told) {
            let share = "the share of rows of no observed class in the pool";
            warnings.push(nothing_known(share, interval, report.estimator));
        }
        if report.failed_replicates > 0 {
            warnings.push(format!(
                "{}: {} replicates of the bootstrap could not be computed",
                report.estimator, report.failed_replicates
            ));
        }
    }
    for (class, name) in classes.iter().enumerate() {
        let of = |report: &PriorReport| (report.classes[class].estimate, report.estimator);
        let (mut low, mut high) = match estimates.first() {
            Some(first) => (of(first), of(first)),
            None => continue,
        };
        for found in estimates.iter().map(of) {
            low = if found.0 < low.0 { found } else { low };
            high = if found.0 > high.0 { found } else { high };
        }
        if high.0 - low.0 > APART {
            warnings.push(format!(
                "class {name}: the estimators disagree, from {:.3} ({}) to {:.3} ({})",
                low.0, low.1, high.0, high.1
            ));
        }
    }
    warnings
}

fn nothing_known(share: &str, interval: Interval, kind: EstimatorKind) -> String {
    format!(
        "{share} is somewhere between {:.0} % and {:.0} % ({kind}): these rows cannot tell. The estimate is a careful guess; \
         label more rows, or give the share with --priors if you know it",
        100.0 * interval.low,
        100.0 * interval.high
    )
}

/// Estimates as a figure: bounds of the first report, intervals of all.
pub fn prior_chart(
    reports: &[&PriorReport],
    classes: &[String],
    bounds: &PriorReport,
    truth: Option<&[f64]>,
    used: Option<&[f64]>,
    confidence: f64,
) -> PriorEstimates {
    let class = |(class, name): (&ClassReport, &String)| PriorClass {
        class: name.clone(),
        lower: Some(class.lower_if_acceptance_below_alpha),
        upper: Some(class.upper),
        used: used.map(|used| used[class.class]),
        truth: truth.map(|truth| truth[class.class]),
    };
    let estimate = |class: &ClassReport| {
        Some(Estimate {
            value: class.estimate,
            interval: Some((class.interval.low, class.interval.high)),
        })
    };
    let estimator = |report: &&PriorReport| EstimatorPriors {
        estimator: report.estimator.to_string(),
        estimates: report.classes.iter().map(estimate).collect(),
    };
    PriorEstimates {
        classes: bounds.classes.iter().zip(classes).map(class).collect(),
        estimators: reports.iter().map(estimator).collect(),
        confidence: Some(confidence),
    }
}

/// Its interval, as it is shown.
pub fn prior_interval(class: &ClassReport) -> String {
    format!("[{:.3}, {:.3}]", class.interval.low, class.interval.high)
}

#[cfg(test)]
mod tests {
    use mpu_data::Seed;
    use mpu_prior::{EstimateOptions, Margins, Rows};

    use super::*;

    #[test]
    fn a_share_of_which_nothing_is_known_is_told_with_its_ends() {
        // Twelve labelled rows spread over the same margins as the pool: to `moments` all of the pool may be of the
        // class, to `elkan-noto` almost nothing.
        let value = |i, n| f64::from(i * 7 % n) / f64::from(n) + 2.0;
        let rows = |n| Rows::of_one_fold((0..n).map(|i| value(i, n)).collect::<Vec<_>>());
        let margins = Margins::new(vec![rows(12)], rows(60)).unwrap();
        let options = EstimateOptions::default();
        let kind = EstimatorKind::default();
        let report = crate::priors_from_margins(&margins, kind, &options, Seed(1)).unwrap();
        let class = &report.classes[0];
        assert!(class.is_unknown() && class.estimate < 0.9, "{class:?}");
        let told = prior_warnings(std::slice::from_ref(&report), &["a".to_owned()]).join("\n");
        let ends = format!(
            "the share of `a` in the pool is somewhere between {:.0} % and {:.0} %",
            100.0 * class.interval.low,
            100.0 * class.interval.high
        );
        assert!(told.contains(&ends) && told.contains("--priors"), "{told}");
    }
}
