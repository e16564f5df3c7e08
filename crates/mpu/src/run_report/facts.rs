//! What was done, and with what: the facts of a run.

use mpu_data::table::{ColumnKind, FeatureSchema};
use mpu_models::ModelSpec;
use mpu_report::run_report::Fact;

use crate::classifier::Classifier;
use crate::folder::{ModelCard, RunSummary};

/// Data, method, priors, epochs, seed, time.
pub(crate) fn of_run(model: &Classifier, summary: &RunSummary) -> Vec<Fact> {
    let card = model.card();
    let mut facts = vec![
        Fact::new("data", data(card)),
        Fact::new("method", card.method.slug()),
        Fact::new("loss", loss(card)),
        Fact::new("class priors", priors_from(card)),
        Fact::new("epochs", epochs(summary)),
        Fact::new("learning rate", learning_rate(summary)),
        Fact::new("seed", summary.seed.to_string()),
        Fact::new("time", time(summary)),
        Fact::new("program", format!("mpu {}", summary.mpu_version)),
    ];
    if let Some(mark) = &card.data_mark {
        facts.insert(1, Fact::new("data differ", mark.clone()));
    }
    facts
}

/// Network, inputs, classes, weights.
pub(crate) fn of_model(model: &Classifier, summary: &RunSummary) -> Vec<Fact> {
    let card = model.card();
    let trainable = model.weights().trainable().len();
    let calibration = match &card.calibration {
        Some(c) => format!(
            "softmax(a f + b) with a = {:.3}, fitted to held-out rows",
            c.a()
        ),
        None => "none: no rows were held out to fit them to".to_owned(),
    };
    vec![
        Fact::new("network", network(&card.model)),
        Fact::new("inputs", inputs(card)),
        Fact::new("scaling", card.scaler.scaling().slug()),
        Fact::new("classes", card.class_names.join(", ")),
        Fact::new("trainable parameters", grouped(trainable)),
        Fact::new("probabilities", calibration),
        Fact::new("SHA-256 of the weights", summary.model_sha256.clone()),
    ]
}

fn data(card: &ModelCard) -> String {
    match &card.check {
        None => format!("benchmark {}", card.dataset),
        Some(check) => format!(
            "{}: {} rows, of which {} are labelled",
            card.dataset,
            grouped(check.rows as usize),
            grouped((check.rows - check.unlabeled.min(check.rows)) as usize)
        ),
    }
}

pub(crate) fn loss(card: &ModelCard) -> String {
    let loss = &card.loss;
    format!(
        "{}, γ = {}, {}",
        loss.surrogate(),
        loss.gamma(),
        loss.form()
    )
}

/// How the priors were got.
pub(crate) fn priors_from(card: &ModelCard) -> String {
    match &card.estimated_priors {
        Some(report) => format!("estimated from the data ({})", report.estimator),
        None if card.schema.is_some() => "given by the user".to_owned(),
        None => "as the benchmark's protocol sets them".to_owned(),
    }
}

fn epochs(summary: &RunSummary) -> String {
    if summary.last.epoch == summary.epochs {
        summary.epochs.to_string()
    } else {
        format!(
            "{}, of which epoch {} was kept",
            summary.epochs, summary.last.epoch
        )
    }
}

fn learning_rate(summary: &RunSummary) -> String {
    match summary.sweep.len() {
        0 => summary.lr.to_string(),
        n => format!("{}, the best of {n} by estimates from PU rows", summary.lr),
    }
}

fn time(summary: &RunSummary) -> String {
    let seconds = summary.seconds;
    let time = if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    };
    let threads = if summary.threads == 1 {
        "thread"
    } else {
        "threads"
    };
    format!("{time} on {} {threads}", summary.threads)
}

pub(crate) fn network(spec: &ModelSpec) -> String {
    match spec {
        ModelSpec::Mlp(mlp) => {
            let widths: Vec<String> = mlp.hidden.iter().map(ToString::to_string).collect();
            format!(
                "multi-layer perceptron, hidden layers of {}",
                widths.join(", ")
            )
        }
        ModelSpec::ResNet(resnet) => format!("ResNet-{}", resnet.depth),
    }
}

fn inputs(card: &ModelCard) -> String {
    let width = card.shape.len();
    match &card.schema {
        None => format!("{width} numbers"),
        Some(schema) if schema.is_images() => format!("images of {width} numbers"),
        Some(schema) => format!(
            "{} columns as {width} numbers{}",
            schema.columns().len(),
            encoded(schema)
        ),
    }
}

fn encoded(schema: &FeatureSchema) -> String {
    let categorical = schema.columns().iter();
    let n = categorical
        .filter(|column| matches!(column.kind, ColumnKind::Categorical { .. }))
        .count();
    match n {
        0 => String::new(),
        1 => ", 1 of them categorical".to_owned(),
        n => format!(", {n} of them categorical"),
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}
