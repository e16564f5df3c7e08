//! Judgements as tables.

use mpu_eval::pu_metrics::{Estimate, State, Varied};
use mpu_report::{Align, Format, Table, prose};

use super::by_pu::ByPu;
use super::by_truth::ByTruth;
use super::{Judgement, Known, held_out, test_rows};
use crate::classifier::Classifier;
use crate::ensemble::Kind;
use crate::error::Result;
use crate::run_report::facts;

impl Judgement {
    /// For readers: tables, then what must be known of them.
    pub fn describe(&self, format: Format) -> Result<String> {
        let say = |line: String| prose(format, &line);
        let mut text = String::new();
        let mut tables = Vec::new();
        if let Some(found) = &self.true_labels {
            text += &say(format!("judged by true labels, on {}", self.rows));
            tables.extend(by_truth(found, &self.classes));
        }
        if let Some(found) = &self.pu_rows {
            text += &say(format!("judged without true labels, on {}", self.rows));
            tables.extend(by_pu(found, &self.classes));
            let shares = facts::shares(&found.shares, &self.classes);
            text += &say(format!("about {}: {shares}", found.about));
        }
        for table in &tables {
            text += &mpu_report::render(format, table, &())?;
        }
        if let Some(found) = &self.pu_rows {
            text += &say(format!(
                "risk: {} with {}; bound: {}",
                found.risk.estimator,
                found.risk.loss.surrogate(),
                found.risk.bound
            ));
            for assumption in &found.assumptions {
                text += &say(format!("assumed: {assumption}"));
            }
        }
        for warning in &self.warnings {
            text += &say(format!("warning: {warning}"));
        }
        for note in &self.notes {
            text += &say(format!("note: {note}"));
        }
        Ok(text)
    }
}

/// What a user wants to know of a model that was just trained: what it is, and how good.
pub fn summary(model: &Classifier) -> Result<Table> {
    let mut table = Table::new([("result", Align::Left), ("value", Align::Right)]);
    let card = model.card();
    table.push(["model".to_owned(), facts::model(card)]);
    if let Some(leaves) = &card.leaves {
        let size = facts::leaf_size(leaves);
        table.push(["leaves of the forest".to_owned(), size.to_owned()]);
    }
    if let Some(choice) = &card.choice {
        for candidate in &choice.candidates {
            let name = format!("loss of the {} on held-out rows", told(candidate.kind));
            table.push([name, format!("{:.4}", candidate.loss)]);
        }
    }
    // The record has the figures of the network's last epoch, which may not be the model that was chosen.
    if let Ok(Some(scored)) = test_rows(model)
        && let Known::Truths(truths) = &scored.known
    {
        let found = ByTruth::new(model, &model.rule(), truths, &scored.scores)?;
        for (name, share) in [
            ("test accuracy", found.accuracy),
            ("test macro precision", found.macro_precision),
            ("test macro recall", found.macro_recall),
            ("test macro F1", found.macro_f1),
        ] {
            table.push([name.to_owned(), percent(share)]);
        }
    }
    if let Some(scored) = held_out(model)
        && let Known::Pu(labels) = &scored.known
    {
        let found = ByPu::new(model, &model.rule(), labels, &scored.scores)?;
        let name = "accuracy estimated without true labels".to_owned();
        table.push([name, estimate(found.judgement.accuracy)]);
    }
    for (name, prior) in model.names().iter().zip(card.priors.as_slice()) {
        table.push([format!("share of {name} in the pool"), percent(*prior)]);
    }
    if let Some(importances) = &card.importances {
        let name = "columns that matter most".to_owned();
        table.push([name, importances.leading(5)]);
    }
    if let Some(record) = model.record() {
        table.push(["seconds".to_owned(), format!("{:.1}", record.seconds)]);
    }
    Ok(table)
}

fn told(kind: Kind) -> &'static str {
    match kind {
        Kind::Forest => "forest",
        Kind::Network => "network",
        Kind::Both => "mean of both",
    }
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A share in per cent with one digit.
pub(crate) fn percent_of(share: f64) -> String {
    format!("{} %", below_all(share))
}

fn maybe(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), percent)
}

/// An estimate with its interval; where counts cannot tell it, it says so.
pub(crate) fn estimate(found: Option<Estimate>) -> String {
    let Some(found) = found else {
        return "–".to_owned();
    };
    let shown = format!(
        "{} % ({:.1} to {:.1})",
        below_all(found.value),
        100.0 * found.low,
        100.0 * found.high
    );
    match found.state {
        State::Identified => shown,
        State::ByProbabilities => format!("{shown}, by probabilities"),
        State::NotIdentified => format!("not identified (counts give {:.1} %)", 100.0 * found.raw),
    }
}

/// A share in per cent; less than all of it is never shown as all.
fn below_all(share: f64) -> String {
    let percent = 100.0 * share;
    let shown = if share < 1.0 {
        percent.min(99.9)
    } else {
        percent
    };
    format!("{shown:.1}")
}

/// An estimate by counts alone, without its interval.
fn counted(found: Option<Estimate>) -> String {
    let not = || "not identified".to_owned();
    found.map_or("–".to_owned(), |found| {
        found.known().map_or_else(not, percent)
    })
}

fn by_truth(found: &ByTruth, names: &[String]) -> Vec<Table> {
    let mut all = Table::new([("by true labels", Align::Left), ("value", Align::Right)]);
    let reliability = found.reliability.as_ref();
    let of_answer = reliability.map(|r| r.top_error);
    let of_classes = reliability.map(|r| r.classwise_error);
    for (name, value) in [
        ("accuracy", percent(found.accuracy)),
        ("macro precision", percent(found.macro_precision)),
        ("macro recall", percent(found.macro_recall)),
        ("macro F1", percent(found.macro_f1)),
        ("macro AUC", maybe(found.macro_auc)),
        ("calibration error of the answer", maybe(of_answer)),
        ("calibration error, mean over classes", maybe(of_classes)),
        ("mean margin of the answer", number(found.margins.top)),
    ] {
        all.push([name.to_owned(), value]);
    }
    for (name, cost) in [
        ("mean cost of an answer", found.mean_cost),
        (
            "mean cost of the likeliest classes",
            found.mean_cost_likeliest,
        ),
    ] {
        if let Some(cost) = cost {
            all.push([name.to_owned(), format!("{cost:.4}")]);
        }
    }

    let mut classes =
        Table::with("class | rows: | precision: | recall: | F1: | AUC: | mean margin:");
    for (class, margin) in found.classes.iter().zip(&found.margins.by_class) {
        classes.push([
            class.class.clone(),
            class.rows.to_string(),
            percent(class.precision),
            percent(class.recall),
            percent(class.f1),
            maybe(class.auc),
            number(*margin),
        ]);
    }

    let heading = ("true class ↓, answer →".to_owned(), Align::Left);
    let answers = names.iter().map(|name| (name.clone(), Align::Right));
    let mut confusion = Table::new(std::iter::once(heading).chain(answers));
    for (name, counts) in names.iter().zip(&found.confusion) {
        let counts = counts.iter().map(ToString::to_string);
        confusion.push(std::iter::once(name.clone()).chain(counts));
    }

    let mut tables = vec![all, classes, confusion];
    if let Some(reliability) = &found.reliability {
        let mut bins = Table::with(
            "probability of the answer | rows: | mean probability: | share of right answers:",
        );
        for bin in &reliability.top {
            bins.push([
                format!("{:.1} to {:.1}", bin.low, bin.high),
                bin.count.to_string(),
                percent(bin.predicted),
                percent(bin.observed),
            ]);
        }
        tables.push(bins);
    }
    tables
}

fn by_pu(found: &ByPu, names: &[String]) -> Vec<Table> {
    let judgement = &found.judgement;
    let mean = judgement.mean.as_ref();
    let mut all = Table::with("estimated without true labels | value (95 % interval):");
    for (name, value) in [
        ("accuracy", estimate(judgement.accuracy)),
        ("macro recall", estimate(mean.map(|m| m.recall))),
        ("macro precision", estimate(mean.map(|m| m.precision))),
        ("macro F1", estimate(mean.map(|m| m.f1))),
        ("macro AUC", maybe(found.macro_auc)),
        ("risk", format!("{:.4}", found.risk.value)),
        ("risk, upper bound of 95 %", number(found.risk.upper)),
    ] {
        all.push([name.to_owned(), value]);
    }

    let mut classes = Table::with(
        "class | labelled rows: | share in the pool: | recall: | precision: | F1: | AUC: | \
         answered in the pool:",
    );
    for (class, name) in names.iter().enumerate() {
        let rates = judgement.classes[class].as_ref();
        let rows = judgement.n_labeled.get(class);
        classes.push([
            name.clone(),
            rows.map_or("–".to_owned(), ToString::to_string),
            format!("{:.3}", found.priors.as_slice()[class]),
            estimate(rates.and_then(|r| r.recall)),
            estimate(rates.and_then(|r| r.precision)),
            estimate(rates.and_then(|r| r.f1)),
            estimate(found.auc[class]),
            maybe(rates.map(|r| r.answered)),
        ]);
    }
    vec![all, classes, sensitivity(found, names)]
}

/// All observed priors changed step by step; each alone by the largest steps. JSON has every step.
fn sensitivity(found: &ByPu, names: &[String]) -> Table {
    let mut table = Table::with(
        "by counts alone, if the share in the pool of | were off by: | accuracy: | \
         macro precision: | macro recall: | macro F1:",
    );
    for one in &found.sensitivity {
        let far = (one.factor - 1.0).abs() > 0.25;
        let name = match one.varied {
            Varied::All => "every observed class",
            Varied::Class(class) if far => names.get(class).map_or("", String::as_str),
            Varied::Class(_) => continue,
        };
        let mean = one.judgement.mean.as_ref();
        table.push([
            name.to_owned(),
            format!("{:+.0} %", 100.0 * (one.factor - 1.0)),
            counted(one.judgement.accuracy),
            counted(mean.map(|m| m.precision)),
            counted(mean.map(|m| m.recall)),
            counted(mean.map(|m| m.f1)),
        ]);
    }
    table
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.4}"))
}
