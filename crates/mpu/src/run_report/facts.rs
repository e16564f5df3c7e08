//! What was done, and with what: the facts of a run.

use mpu_data::Priors;
use mpu_data::table::{ColumnKind, FeatureSchema};
use mpu_models::ModelSpec;
use mpu_report::Record;
use mpu_report::run_report::Fact;

use crate::classifier::Classifier;
use crate::ensemble::{Choice, Leaves};
use crate::folder::ModelCard;

/// Data, method, priors, epochs, seed, time.
pub(crate) fn of_run(record: &Record, data: String, priors_from: String) -> Vec<Fact> {
    let key = &record.key;
    let loss = format!("{}, γ = {}, {}", key.surrogate, key.gamma, key.form);
    let mut facts = vec![
        Fact::new("data", data),
        Fact::new("method", &key.method),
        Fact::new("loss", loss),
        Fact::new("class priors", priors_from),
        Fact::new("epochs", epochs(record)),
        Fact::new("learning rate", learning_rate(record)),
        Fact::new("seed", key.seed.to_string()),
        Fact::new("time", time(record)),
        Fact::new("program", format!("mpu {}", record.program)),
        Fact::new("id", &record.id),
    ];
    if let Some(mark) = &record.data_mark {
        facts.insert(1, Fact::new("data differ", mark.clone()));
    }
    facts
}

/// Network, inputs, classes, weights.
pub(crate) fn of_model(model: &Classifier, record: &Record) -> Vec<Fact> {
    let card = model.card();
    let calibration = match &card.calibration {
        Some(c) => format!(
            "softmax(a f + b) with a = {:.3}, fitted to held-out rows",
            c.a()
        ),
        None => "none: no rows were held out to fit them to".to_owned(),
    };
    let mut facts = vec![
        Fact::new("model", self::model(card)),
        Fact::new("inputs", inputs(card)),
        Fact::new("scaling", card.scaler.scaling().slug()),
        Fact::new("classes", model.names().join(", ")),
        Fact::new("new rows", new_rows(model)),
        Fact::new("probabilities", calibration),
        Fact::new("SHA-256 of the model", &record.model_sha256),
    ];
    if let Some(params) = model.weights() {
        let trainable = grouped(params.trainable().len());
        facts.insert(4, Fact::new("trainable parameters", trainable));
    }
    if let Some(choice) = &card.choice {
        facts.insert(1, Fact::new("chosen by", chosen_by(choice)));
    }
    if let Some(chosen) = &card.leaves {
        facts.insert(1, Fact::new("leaves of the forest", leaves(chosen)));
    }
    facts
}

/// The population that probabilities, answers and estimates refer to.
fn new_rows(model: &Classifier) -> String {
    let card = model.card();
    let shares = shares(model.population(), model.names());
    let from = match &card.population {
        Some(_) => "of the population, which is labelled rows and pool together",
        None => "like those of the pool",
    };
    format!("taken to be {from} ({}): {shares}", card.scenario)
}

/// The share of each class, in words.
pub(crate) fn shares(priors: &Priors, names: &[String]) -> String {
    let shares = priors.as_slice().iter().zip(names);
    let shares = shares.map(|(share, name)| format!("{name} {:.1} %", 100.0 * share));
    shares.collect::<Vec<_>>().join(", ")
}

pub(crate) fn data(card: &ModelCard) -> String {
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

fn epochs(record: &Record) -> String {
    let epochs = record.key.epochs;
    match record.kept_epoch {
        None => epochs.to_string(),
        Some(kept) => format!("{epochs}, of which epoch {kept} was kept"),
    }
}

fn learning_rate(record: &Record) -> String {
    let lr = record.key.lr;
    match record.rates.len() {
        0 if record.key.swept => format!("{lr}, the best of several"),
        0 => lr.to_string(),
        n => format!("{lr}, the best of {n} by estimates from PU rows"),
    }
}

fn time(record: &Record) -> String {
    let seconds = record.seconds;
    let time = if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    };
    let threads = record.threads;
    let plural = if threads == 1 { "" } else { "s" };
    format!("{time} on {threads} thread{plural}")
}

/// A network, a forest, or both.
pub(crate) fn model(card: &ModelCard) -> String {
    let network = card.model.as_ref().map(network);
    let forest = card.forest.as_ref();
    let forest = forest.map(|spec| format!("forest of {} trees", spec.trees));
    let parts: Vec<String> = forest.into_iter().chain(network).collect();
    match parts.as_slice() {
        [one] => one.clone(),
        both => format!("the mean of a {}", both.join(" and a ")),
    }
}

/// How it was chosen between forest and network.
pub(crate) fn chosen_by(choice: &Choice) -> String {
    let losses = choice.candidates.iter();
    let losses = losses.map(|c| format!("{} {:.4}", c.kind, c.loss));
    let (rows, losses) = (grouped(choice.rows), losses.collect::<Vec<_>>().join(", "));
    format!("loss on {rows} held-out rows, lower is better: {losses}")
}

/// How small leaves are, and what they were chosen by.
pub(crate) fn leaves(leaves: &Leaves) -> String {
    let (size, rows) = (leaf_size(leaves), grouped(leaves.rows));
    let (gain, error) = (leaves.gain.abs(), leaves.error);
    let side = if leaves.gain < 0.0 { "higher" } else { "lower" };
    format!(
        "{size}; the loss on {rows} held-out rows is {gain:.4} ± {error:.4} {side} with one row than with three"
    )
}

/// How many rows the smallest leaves have, in words.
pub(crate) fn leaf_size(leaves: &Leaves) -> &'static str {
    if leaves.fine {
        "one row or more"
    } else {
        "three rows or more"
    }
}

pub(crate) fn network(spec: &ModelSpec) -> String {
    match spec {
        ModelSpec::Mlp(mlp) => {
            let widths: Vec<String> = mlp.hidden.iter().map(ToString::to_string).collect();
            let widths = widths.join(", ");
            format!("multi-layer perceptron, hidden layers of {widths}")
        }
        ModelSpec::ResNet(resnet) => format!("ResNet-{}", resnet.depth),
        ModelSpec::Module(module) => format!(
            "a network of the user's own, {} variables",
            module.variables.len()
        ),
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
