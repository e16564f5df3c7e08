//! The model card: what a model is, takes and gives, how good it is, and what to mind.

use std::fmt::Write as _;
use std::path::Path;

use mpu_data::table::{DataCheck, SamplingScheme};
use mpu_models::onnx::{PROBABILITIES, SCORES};
use mpu_report::run_report::{self, RunReport};
use mpu_report::{Align, Table};

use super::inputs::inputs;
use crate::classifier::Classifier;
use crate::error::Result;
use crate::folder::ModelCard;
use crate::judge::{self, ByPu, Known, estimate, percent};
use crate::run_report::facts;

/// What every card begins with.
pub const HEADING: &str = "# Model card: ";

/// The card of a model in Markdown.
pub fn markdown(model: &Classifier, onnx: &Path) -> Result<String> {
    let card = model.card();
    let mut md = format!("{HEADING}{}\n\n", plain(&card.dataset));
    let onnx = onnx.file_name().unwrap_or_default().to_string_lossy();
    what_it_is(&mut md, card, &onnx);
    inputs(&mut md, card);
    outputs(&mut md, card);
    priors(&mut md, card);
    if let Some(check) = &card.check {
        data(&mut md, check);
    }
    figures(&mut md, model)?;
    limits(&mut md, card);
    cite(&mut md, card);
    Ok(md)
}

/// A name within a line: no line breaks, no marks of Markdown.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let marks = ['`', '*', '_', '<', '[', '\\', '#'];
    let escaped = |c: char| marks.contains(&c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escaped).collect()
}

pub(crate) fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace(['\n', '\r'], " "))
}

fn what_it_is(md: &mut String, card: &ModelCard, onnx: &str) {
    let names = card.class_names.split_last();
    let (negative, observed) = names.map_or(("", &[][..]), |(n, o)| (n, o));
    let names: Vec<String> = observed.iter().map(|name| code(name)).collect();
    let _ = write!(
        md,
        "A classifier of {} classes: it finds {}, and calls everything else {}. It was trained on rows of which \
         some were labelled with an observed class and the rest, of all classes, had no label \
         (multi-class positive-unlabelled learning).\n\n",
        card.class_names.len(),
        names.join(", "),
        code(negative)
    );
    let mut table = Table::new([("", Align::Left), ("value", Align::Left)]);
    for (name, value) in [
        ("file", onnx.to_owned()),
        ("model", facts::model(card)),
        ("method", card.method.slug().to_owned()),
        ("loss", facts::loss(card)),
        ("trained on", card.dataset.clone()),
        ("program", format!("mpu {}", card.mpu_version)),
    ] {
        table.push([name.to_owned(), value]);
    }
    md.push_str(&table.to_md());
}

fn outputs(md: &mut String, card: &ModelCard) {
    let k = card.class_names.len();
    let _ = write!(
        md,
        "\n## Outputs\n\n{}: float32, shape `[N, {k}]`. Scores are no probabilities.\n",
        code(SCORES)
    );
    if let Some(calibration) = &card.calibration {
        let _ = write!(
            md,
            "\n{}: float32, shape `[N, {k}]`, each row sums to 1: softmax(a · scores + b) with a = {:.6}, fitted to rows \
             that were held out of training. They hold for rows that are drawn as {}.\n",
            code(PROBABILITIES),
            calibration.a(),
            match &card.population {
                Some(_) => "labelled rows and pool together were",
                None => "the unlabelled pool was",
            }
        );
        md.push_str(match &card.costs {
            Some(_) => "\nThe answer is the class of the least expected cost, by the costs that training was given.\n",
            None => "\nThe answer is the class of the highest probability.\n",
        });
    } else {
        md.push_str(
            "\nThere are no probabilities: no rows were held out to fit them to. The answer is the class of the highest \
             score.\n",
        );
    }
    md.push_str("\nColumns of the outputs:\n\n");
    let mut table = Table::with("column: | class | kind | prior in training:");
    for (class, name) in card.class_names.iter().enumerate() {
        let negative = class + 1 == k;
        let kind = if negative { "negative" } else { "observed" };
        let prior = card.priors.as_slice().get(class);
        table.push([
            class.to_string(),
            name.clone(),
            kind.to_owned(),
            prior.map_or(String::new(), |prior| format!("{prior:.4}")),
        ]);
    }
    md.push_str(&table.to_md());
}

fn priors(md: &mut String, card: &ModelCard) {
    let _ = write!(
        md,
        "\n## Class priors\n\nThe shares of the classes in the unlabelled pool, as given to training: {}.\n",
        facts::priors_from(card)
    );
    let Some(report) = &card.estimated_priors else {
        return;
    };
    let mut table = Table::with("class | estimate: | interval: | upper bound: | notes");
    for (class, name) in report.classes.iter().zip(&card.class_names) {
        let notes: Vec<String> = class.notes.iter().map(ToString::to_string).collect();
        table.push([
            name.clone(),
            format!("{:.4}", class.estimate),
            format!("{:.4} to {:.4}", class.interval.low, class.interval.high),
            format!("{:.4}", class.upper),
            notes.join("; "),
        ]);
    }
    let _ = write!(
        md,
        "Intervals are {:.0} % intervals ({} bootstrap replicates).\n\n{}",
        100.0 * (1.0 - report.delta),
        report.replicates,
        table.to_md()
    );
}

fn data(md: &mut String, check: &DataCheck) {
    let _ = write!(
        md,
        "\n## Training data\n\n{} rows, {} of them unlabelled; {} numbers per row.\n\n",
        check.rows, check.unlabeled, check.features
    );
    let mut table = Table::new([("class", Align::Left), ("labelled rows", Align::Right)]);
    for class in &check.classes {
        table.push([class.name.clone(), class.labeled.to_string()]);
    }
    md.push_str(&table.to_md());
    let scheme = match check.sampling.scheme {
        SamplingScheme::CaseControl => "labelled rows and pool were drawn separately",
        SamplingScheme::SingleSample => "one sample, of which some rows were labelled",
        SamplingScheme::Unknown => "not known",
    };
    let _ = write!(
        md,
        "\nHow rows were drawn: {scheme}. Missing values: {}. Rows that repeat an earlier row: {}.\n",
        check.missing(),
        check.duplicates.rows
    );
    if check.warnings.is_empty() {
        md.push_str("\nThe data check found no problems.\n");
    } else {
        md.push_str("\nWhat the data check found:\n\n");
        for warning in &check.warnings {
            // Names in it are marked as code already.
            let text = warning.to_string().replace(['\n', '\r'], " ");
            let _ = writeln!(md, "- {}", text.replace('<', "&lt;"));
        }
    }
}

fn figures(md: &mut String, model: &Classifier) -> Result<()> {
    md.push_str("\n## How good it is\n");
    let mut any = false;
    if let Some(scores) = model.record().and_then(|record| record.scores.as_ref()) {
        any = true;
        let _ = write!(
            md,
            "\nBy true labels, on the run's test rows: accuracy {}, macro F1 {}.\n",
            percent(scores.accuracy),
            percent(scores.f1)
        );
    }
    if let Some(scored) = judge::held_out(model)
        && let Known::Pu(labels) = &scored.known
    {
        any = true;
        let found = ByPu::new(model, &model.rule(), labels, &scored.scores)?;
        let _ = write!(
            md,
            "\nEstimated without true labels, on {}, about {} (with 95 % intervals):\n\n",
            scored.rows, found.about
        );
        md.push_str(&estimates(&found, model.names()).to_md());
        let _ = write!(
            md,
            "\nEstimated risk {:.4}{}. These figures assume that:\n\n",
            found.risk.value,
            found.risk.upper.map_or(String::new(), |upper| format!(
                ", at most {upper:.4} with a confidence of 95 % (Theorem 4)"
            ))
        );
        for assumption in &found.assumptions {
            let _ = writeln!(md, "- {assumption}");
        }
        for doubt in &found.doubts {
            let _ = write!(md, "\nDoubtful: {}.\n", plain(doubt));
        }
    }
    if model.record().is_none() {
        md.push_str("\nThe folder of the run has no record.json: what it measured on test rows is not known.\n");
    } else if !any {
        md.push_str("\nNothing was measured: the run has neither test rows nor rows held out of training.\n");
    }
    Ok(())
}

fn estimates(found: &ByPu, names: &[String]) -> Table {
    let mut table = Table::with(" | recall: | precision: | F1:");
    for (name, class) in names.iter().zip(&found.judgement.classes) {
        let class = class.as_ref();
        table.push([
            name.clone(),
            estimate(class.and_then(|c| c.recall)),
            estimate(class.and_then(|c| c.precision)),
            estimate(class.and_then(|c| c.f1)),
        ]);
    }
    let mean = found.judgement.mean.as_ref();
    table.push([
        "mean over classes".to_owned(),
        estimate(mean.map(|m| m.recall)),
        estimate(mean.map(|m| m.precision)),
        estimate(mean.map(|m| m.f1)),
    ]);
    table
}

fn limits(md: &mut String, card: &ModelCard) {
    md.push_str("\n## Limits\n\n");
    let mut limits = vec![
        "The model knows the observed classes only. Everything else is one class, including kinds of items that were not in the pool.".to_owned(),
        "It assumes that labelled rows of a class look like all rows of that class. Where only easy cases were labelled, it misses the others.".to_owned(),
        "Answers and probabilities depend on the class priors. If classes are more or less frequent where the model is used, probabilities are wrong.".to_owned(),
        "Rows outside the range of the training rows also get an answer, but it means little. `mpu-cli predict` and `mpu-cli evaluate` point out such rows; the ONNX model does not.".to_owned(),
    ];
    if let Some(mark) = &card.data_mark {
        limits.push(format!("The data are not as published: {}.", plain(mark)));
    }
    if card.method.uses_hidden_labels() {
        limits.push("It was trained with labels that a user does not have.".to_owned());
    }
    for limit in limits {
        let _ = writeln!(md, "- {limit}");
    }
}

fn cite(md: &mut String, card: &ModelCard) {
    let _ = write!(
        md,
        "\n## Licence\n\nThe program (mpu {}) is licensed under MIT or Apache-2.0, at your choice. The model \
         is yours; what may be done with it depends on the data it was trained on.\n\n",
        card.mpu_version
    );
    let sections = run_report::sections(&[RunReport::default()]);
    if let Some(cite) = sections.iter().find(|section| section.slug == "cite") {
        md.push_str(&cite.to_md());
    }
}
