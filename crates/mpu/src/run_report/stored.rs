//! From the record of a run to its report: all that can be said without the model and its rows.

use mpu_eval::Confusion;
use mpu_report::Record;
use mpu_report::figures::{Answers, CurveKind, PriorClass, PriorEstimates, RunCurve, RunCurves};
use mpu_report::run_report::{Basis, ClassScore, Fact, Part, RunReport, Score, ScoreKind};
use mpu_train::Method;
use serde_json::Value;

use super::{facts, fill, parts};
use crate::config::RunConfig;
use crate::costs::UNKNOWN;
use crate::prepared::NEGATIVE;

/// Why parts that need scores of rows are not there.
const NO_ROWS: &str =
    "a record does not keep the scores of rows; `mpu-cli train` makes a folder that does";

/// Why answers by class are not there.
const NO_HEAT: &str = "the record does not keep answers by class";

/// The report of a run of which only the record is there.
pub fn of_record(record: &Record) -> RunReport {
    let config = serde_json::from_value::<RunConfig>(record.config.clone()).ok();
    let k = record.key.classes;
    let mut names: Vec<String> = config.as_ref().map_or_else(
        || {
            let observed = (1..k).map(|class| format!("class {class}"));
            observed.chain([NEGATIVE.to_owned()]).collect()
        },
        RunConfig::class_names,
    );
    if let Some(last) = names.last_mut().filter(|name| *name == NEGATIVE) {
        UNKNOWN.clone_into(last);
    }
    let dataset = &record.key.dataset;
    let rows = match &record.heat {
        Some(heat) => {
            let n: u64 = heat.support.iter().flatten().sum();
            format!("{n} test rows of {dataset}")
        }
        None => format!("test rows of {dataset}"),
    };
    let data = match record.key.protocol.as_str() {
        Record::TABLE => dataset.clone(),
        protocol => format!("benchmark {dataset}, protocol {protocol}"),
    };
    let mut model = vec![
        Fact::new("classes", names.join(", ")),
        Fact::new("SHA-256 of the weights", &record.model_sha256),
    ];
    if let Some(spec) = config.as_ref().and_then(|config| config.model_spec().ok()) {
        model.insert(0, Fact::new("network", facts::network(&spec)));
    }
    RunReport {
        name: config.map_or_else(|| record.id.clone(), |config| config.name()),
        facts: facts::of_run(record, data, priors_from(record).to_owned()),
        model,
        warnings: warnings(record),
        measured_on: match &record.scores {
            Some(_) => fill::on_split(&rows, record),
            None => String::new(),
        },
        scores: scores(record),
        class_scores: Part::or_missing(class_scores(record, &names), NO_HEAT),
        class_estimates: Part::missing(NO_ROWS),
        expected: Part::missing(NO_ROWS),
        histograms: Part::missing(NO_ROWS),
        precision_recall: Part::missing(NO_ROWS),
        importances: Part::missing(NO_ROWS),
        curves: curves(record),
        answers: Part::or_missing(
            record.heat.as_ref().map(|heat| Answers {
                rows,
                classes: names.clone(),
                counts: heat.support.clone(),
                margins: heat.margin.clone(),
            }),
            NO_HEAT,
        ),
        reliability: Part::missing(NO_ROWS),
        thresholds: Part::missing(NO_ROWS),
        priors: priors(record, &names),
        sensitivity: Part::missing(NO_ROWS),
        data_check: Part::missing("a record does not keep it"),
        config_toml: toml::to_string(&record.config).unwrap_or_default(),
        ..RunReport::default()
    }
}

/// How the priors were got.
fn priors_from(record: &Record) -> &'static str {
    let data = &record.config["data"];
    if data["priors"] == "auto" {
        "estimated from the data"
    } else if data["prior-shift"] != Value::Null {
        "those of the pool, made wrong on purpose"
    } else if record.key.protocol == Record::TABLE {
        "given by the user"
    } else {
        "as the benchmark's protocol sets them"
    }
}

fn warnings(record: &Record) -> Vec<String> {
    let mark = record.data_mark.as_ref();
    let mark = mark.map(|mark| format!("The data are not as published: {mark}."));
    let method = record.key.method.parse::<Method>();
    let oracle = method.is_ok_and(Method::uses_hidden_labels);
    let oracle = oracle.then(|| "The method sees labels that a user does not have.".to_owned());
    mark.into_iter().chain(oracle).collect()
}

fn scores(record: &Record) -> Vec<Score> {
    let mut scores = parts::recorded(record);
    if let Some(found) = &record.scores {
        let optional = [
            (
                "accuracy, class proportions estimated anew",
                ScoreKind::Share,
                found.shifted_accuracy,
            ),
            (
                "F1, mean of the classes, class proportions estimated anew",
                ScoreKind::Share,
                found.shifted_f1,
            ),
            (
                "calibration error of the answer",
                ScoreKind::Number,
                found.calibration_error,
            ),
        ];
        for (name, kind, value) in optional {
            scores.extend(value.map(|value| Score::new(name, kind, Basis::TrueLabels, value)));
        }
    }
    let trained = record.curves.as_ref().and_then(|curves| {
        let all = &curves.oracle_train_accuracy;
        all.get(record.kept_epoch.unwrap_or(all.len()).checked_sub(1)?)
    });
    scores.extend(parts::on_training_rows(trained.copied()));
    scores
}

fn class_scores(record: &Record, names: &[String]) -> Option<Vec<ClassScore>> {
    let support = &record.heat.as_ref()?.support;
    let confusion = Confusion::of_counts(support).ok()?;
    let score = |(class, (name, row)): (usize, (&String, &Vec<u64>))| {
        parts::class_score(name, confusion.rates(class), row.iter().sum())
    };
    Some(names.iter().zip(support).enumerate().map(score).collect())
}

fn curves(record: &Record) -> Part<RunCurves> {
    let Some(curves) = &record.curves else {
        return Part::missing("the record does not keep every epoch");
    };
    let all = [
        (CurveKind::TrainLoss, &curves.train_loss),
        (CurveKind::TestLoss, &curves.test_loss),
        (
            CurveKind::OracleTrainAccuracy,
            &curves.oracle_train_accuracy,
        ),
        (CurveKind::TestAccuracy, &curves.test_accuracy),
    ];
    let curve = |(kind, values): (CurveKind, &Vec<f64>)| RunCurve {
        kind,
        values: values.iter().copied().map(Some).collect(),
    };
    let known = all.into_iter().filter(|(_, values)| !values.is_empty());
    Part::Given(RunCurves {
        kept_epoch: Some(record.kept_epoch.unwrap_or(curves.train_loss.len())),
        curves: known.map(curve).collect(),
    })
}

fn priors(record: &Record, names: &[String]) -> Part<PriorEstimates> {
    // A record of before does not say which priors were told if they were not the pool's.
    let data = &record.config["data"];
    let told = match (&data["priors"], &data["prior-shift"]) {
        (Value::Null, Value::Null) if record.told_priors.is_empty() => &record.priors,
        _ => &record.told_priors,
    };
    if told.is_empty() && record.priors.is_empty() {
        return Part::missing("the record does not keep them");
    }
    let class = |(class, name): (usize, &String)| PriorClass {
        class: name.clone(),
        used: told.get(class).copied(),
        truth: record.priors.get(class).copied(),
        ..PriorClass::default()
    };
    Part::Given(PriorEstimates {
        classes: names.iter().enumerate().map(class).collect(),
        ..PriorEstimates::default()
    })
}
