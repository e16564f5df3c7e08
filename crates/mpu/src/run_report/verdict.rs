//! What a reader in a hurry should know of a run on a table of their own: found, how sure, what next.

use mpu_data::MpuLabel;
use mpu_eval::pu_metrics::{ClassJudgement, Estimate, State};
use mpu_report::figures::{ExpectedCount, ExpectedCounts};
use mpu_report::run_report::Verdict;

use super::facts::grouped;
use super::fill::Measured;
use crate::classifier::Classifier;
use crate::error::Result;
use crate::judge::{Known, percent_of};

/// Classes that are named in a sentence at most.
const MOST_NAMED: usize = 6;
/// A class with fewer labelled rows wants more of them.
const FEW_LABELED: u64 = 30;
/// Below this a rate of a class is worth a word.
const LOW_RATE: f64 = 0.85;
/// An answer of a lower probability is unsure.
const UNSURE: f64 = 0.7;
/// An interval of the accuracy that is wider than this wants rows with true labels.
const WIDE: f64 = 0.12;

/// The verdict on a run.
pub(crate) fn verdict(
    model: &Classifier,
    expected: &ExpectedCounts,
    measured: &Measured,
) -> Result<Verdict> {
    Ok(Verdict {
        found: vec![found(expected)],
        sure: sure(measured),
        next: next(model, expected, measured)?,
    })
}

fn found(expected: &ExpectedCounts) -> String {
    let told = |class: &ExpectedCount, name: String| {
        let rows = grouped(class.rows.round() as usize);
        match class.interval {
            Some((low, high)) => format!(
                "{rows} are {name} (between {} and {})",
                grouped(low.round() as usize),
                grouped(high.round() as usize)
            ),
            None => format!("{rows} are {name}"),
        }
    };
    let Some((unknown, observed)) = expected.classes.split_last() else {
        return String::new();
    };
    let mut largest: Vec<&ExpectedCount> = observed.iter().collect();
    if largest.len() > MOST_NAMED {
        largest.sort_by(|a, b| b.rows.total_cmp(&a.rows));
        largest.truncate(MOST_NAMED);
    }
    let mut parts: Vec<String> = largest
        .iter()
        .map(|class| told(class, format!("`{}`", class.class)))
        .collect();
    let more = observed.len() - largest.len();
    if more > 0 {
        parts.push(format!("others are of {more} further classes"));
    }
    parts.push(told(
        unknown,
        format!("none of these, called `{}` here", unknown.class),
    ));
    let given = if expected.classes.iter().all(|c| c.interval.is_none()) {
        ", by the shares that were given"
    } else {
        ""
    };
    format!(
        "Of the {} unlabelled rows, about {}{given}.",
        grouped(expected.unlabeled as usize),
        parts.join(", ")
    )
}

/// A share as a number out of a hundred.
fn of_hundred(share: f64) -> String {
    // Less than all of them is never told as all.
    let most = if share < 1.0 { 99.0 } else { 100.0 };
    format!("{:.0}", (100.0 * share).min(most))
}

fn sure(measured: &Measured) -> Vec<String> {
    let mut told = Vec::new();
    if let Some((scored, found)) = &measured.truth {
        let right = found.n_rows as f64 * found.accuracy;
        let share = Estimate::of_share(right.round() as u64, found.n_rows);
        told.push(format!(
            "{} of the answers to the {} are right, by their true labels (95 % interval: {} to {}).",
            percent_of(share.value),
            scored.rows,
            percent_of(share.low),
            percent_of(share.high)
        ));
    }
    match measured.pu.as_ref().and_then(|pu| pu.1.judgement.accuracy) {
        Some(rate) if rate.state != State::NotIdentified => {
            let ends = format!(
                "between {} and {}",
                of_hundred(rate.low),
                of_hundred(rate.high)
            );
            told.push(if measured.truth.is_some() {
                format!(
                    "Without true labels it was estimated that about {} of 100 are right ({ends}).",
                    of_hundred(rate.value)
                )
            } else {
                format!(
                    "About {} of 100 answers are right ({ends}). This is an estimate: no true label was at hand to check \
                     it. It holds if the labelled rows of a class look like its other rows.",
                    of_hundred(rate.value)
                )
            });
        }
        _ if measured.truth.is_none() => {
            told.push("How many answers are right cannot be told from these rows.".to_owned());
        }
        _ => {}
    }
    told
}

/// What follows from the figures, the most useful first.
fn next(model: &Classifier, expected: &ExpectedCounts, measured: &Measured) -> Result<Vec<String>> {
    let mut next = Vec::new();
    let pu = measured.pu.as_ref();
    let estimate = pu.and_then(|(_, found)| found.judgement.accuracy);
    if let (Some((_, found)), Some(rate)) = (&measured.truth, estimate) {
        let right = (found.n_rows as f64 * found.accuracy).round() as u64;
        if Estimate::of_share(right, found.n_rows).high < rate.low {
            next.push(
                "Trust the true labels: the estimate without them is too high. The labelled rows may be easier to tell \
                 than the others of their class; `mpu-cli prior --by clusters` looks for that."
                    .to_owned(),
            );
        }
    } else if estimate.is_none_or(|e| e.state != State::Identified || e.high - e.low > WIDE) {
        next.push(
            "Look up the true class of about 100 unlabelled rows picked at random, and judge by them with \
             `mpu-cli report RUN --data FILE`: the estimate of how many answers are right is rough."
                .to_owned(),
        );
    }
    let few = |class: &&ExpectedCount| class.labeled.is_some_and(|n| n < FEW_LABELED);
    let vague = |class: &&ExpectedCount| {
        let width = class.interval.map_or(0.0, |(low, high)| high - low);
        class.labeled.is_some() && width > class.rows.max(10.0)
    };
    let named = |classes: Vec<&ExpectedCount>| {
        let names = classes.iter().take(MOST_NAMED);
        let names: Vec<String> = names.map(|class| format!("`{}`", class.class)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let vague: Vec<_> = expected.classes.iter().filter(vague).collect();
    if let Some(names) = named(vague) {
        next.push(format!(
            "Label more rows of {names}, or give their shares with `--priors` if you know them: how many there are is \
             known only roughly."
        ));
    }
    if let Some(names) = named(expected.classes.iter().filter(few).collect()) {
        next.push(format!(
            "Label more rows of {names}: fewer than {FEW_LABELED} are labelled."
        ));
    }
    let known = |rate: Option<Estimate>| rate.and_then(|rate| rate.known());
    if let Some((name, wrong)) = worst(model, measured, |class| known(class.precision)) {
        next.push(format!(
            "Look at rows answered `{name}` before acting on the answer: about {wrong} in 10 are something else."
        ));
    }
    if let Some((name, missed)) = worst(model, measured, |class| known(class.recall)) {
        next.push(format!(
            "Label more rows of `{name}`: about {missed} in 10 of its rows are missed."
        ));
    }
    if let Some(unsure) = unsure(model, expected, measured)? {
        next.push(format!(
            "Have somebody look at the rows that the model is least sure of: in about {} of the unlabelled rows no answer \
             has a probability of {:.0} % or more. In the output of `mpu-cli predict` they have the smallest `margin`.",
            grouped(unsure),
            100.0 * UNSURE
        ));
    }
    if next.is_empty() {
        next.push(
            "Nothing has to be done first: score new rows with `mpu-cli predict`.".to_owned(),
        );
    }
    Ok(next)
}

/// The observed class with the lowest rate, if that is low, and how many in ten are wrong. By true labels if there are
/// any.
fn worst(
    model: &Classifier,
    measured: &Measured,
    rate: impl Fn(&ClassJudgement) -> Option<f64>,
) -> Option<(String, usize)> {
    if measured.truth.is_some() {
        return None;
    }
    let (_, found) = measured.pu.as_ref()?;
    let rates = found.judgement.classes.iter().zip(model.observed());
    let rates = rates.filter_map(|(class, name)| Some((name, rate(class.as_ref()?)?)));
    let (name, low) = rates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let wrong = (10.0 * (1.0 - low)).round() as usize;
    (low < LOW_RATE && wrong > 0).then(|| (name.clone(), wrong))
}

/// How many unlabelled rows have no answer that is sure.
fn unsure(
    model: &Classifier,
    expected: &ExpectedCounts,
    measured: &Measured,
) -> Result<Option<usize>> {
    let Some((scored, _)) = &measured.pu else {
        return Ok(None);
    };
    let Known::Pu(labels) = &scored.known else {
        return Ok(None);
    };
    if model.card().calibration.is_none() {
        return Ok(None);
    }
    let p = model.decide(&model.rule(), &scored.scores)?.probabilities;
    let rows = p.chunks(model.names().len()).zip(labels);
    let pool: Vec<f64> = rows
        .filter(|(_, label)| **label == MpuLabel::Unlabeled)
        .map(|(p, _)| p.iter().copied().fold(0.0, f64::max))
        .collect();
    let n_unsure = pool.iter().filter(|p| **p < UNSURE).count();
    let share = n_unsure as f64 / pool.len().max(1) as f64;
    let rows = (share * expected.unlabeled as f64).round() as usize;
    Ok((rows > 0).then_some(rows))
}
