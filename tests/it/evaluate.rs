//! `mpu-cli evaluate`: judged by true labels, without them, and what goes wrong.

pub(crate) mod items;

use std::fmt::Write as _;

use serde_json::Value;

use self::items::{KINDS, items, with_benchmark};
use crate::support::contains_all;

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// A table of whole numbers.
fn counts(value: &Value) -> Vec<Vec<u64>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn true_labels_give_the_rates_of_the_confusion() {
    let items = items();
    let evaluate = "evaluate --model run --data checked.csv";
    let found = items.json(evaluate);
    assert_eq!(found["basis"], "true-labels");
    assert_eq!(found["classes"][3], "unknown");
    let judged = &found["true-labels"];
    let confusion = counts(&judged["confusion"]);
    // Six rows of a pool: one of each observed kind, three of none.
    let present: Vec<u64> = confusion.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(present, [40, 40, 40, 120]);

    let all: u64 = present.iter().sum();
    let right: u64 = (0..4).map(|class| confusion[class][class]).sum();
    let accuracy = right as f64 / all as f64;
    assert!((number(&judged["accuracy"]) - accuracy).abs() < 1e-12);
    assert!(accuracy > 0.6, "{accuracy}");
    let mut mean_f1 = 0.0;
    for class in 0..4 {
        let answered: u64 = confusion.iter().map(|row| row[class]).sum();
        let hits = confusion[class][class] as f64;
        let precision = hits / (answered as f64).max(1.0);
        let recall = hits / present[class] as f64;
        let f1 = 2.0 * precision * recall / (precision + recall).max(1e-300);
        mean_f1 += f1 / 4.0;
        let given = &judged["classes"][class];
        assert!((number(&given["precision"]) - precision).abs() < 1e-12);
        assert!((number(&given["recall"]) - recall).abs() < 1e-12);
        assert!((number(&given["f1"]) - f1).abs() < 1e-12);
        assert!((0.5..=1.0).contains(&number(&given["auc"])), "{given}");
        // Where the true class was answered its margin cannot be below zero, elsewhere not above.
        for answer in 0..4 {
            if let Some(margin) = judged["true-margins"][class][answer].as_f64() {
                assert_eq!(margin >= 0.0, class == answer, "{margin}");
                assert!(confusion[class][answer] > 0);
            }
        }
    }
    assert!((number(&judged["macro-f1"]) - mean_f1).abs() < 1e-12);
    // The calibration error is that of its own bins, and every row is in one.
    let bins = judged["reliability"]["top"].as_array().unwrap();
    let rows: f64 = bins.iter().map(|bin| number(&bin["count"])).sum();
    assert_eq!(rows as u64, all);
    let error = |bin: &Value| {
        let off = (number(&bin["observed"]) - number(&bin["predicted"])).abs();
        number(&bin["count"]) * off / rows
    };
    let error: f64 = bins.iter().map(error).sum();
    assert!((number(&judged["reliability"]["top_error"]) - error).abs() < 1e-12);

    let parts = [
        "judged by true labels",
        "macro F1",
        "AUC",
        "calibration error",
        "mean margin",
        "true class",
        "taken as unknown: fine (60 rows), new kind (60 rows)",
        "missing values:",
    ];
    contains_all(&items.told(evaluate), &parts);
}

/// The answers that are judged are those that `predict` gives, whatever the rule.
#[test]
fn evaluate_and_predict_give_the_same_answers() {
    let items = items();
    let costs = "truth,dent,scratch,stain|odd,unknown\ndent,0,2,2,9\nscratch,2,0,2,9\nstain|odd,2,2,0,9\nunknown,1,1,1,0\n";
    items.write("costs.csv", costs);
    let mut reader = csv::Reader::from_path(items.path("checked.csv")).unwrap();
    let truths: Vec<usize> = reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            KINDS.iter().position(|kind| *kind == &row[4]).unwrap_or(3)
        })
        .collect();
    let mut seen = Vec::new();
    for flags in [
        "",
        "--target-priors pool",
        "--target-priors uniform",
        "--target-priors estimate",
        "--target-priors dent=0.5,scratch=0.1,stain|odd=0.1",
        "--cost-matrix costs.csv",
        "--cost-matrix costs.csv --target-priors uniform",
        "--threshold 0.7",
        "--precision-target 0.8",
        "--precision-target 0.8 --target-priors pool",
    ] {
        items.told(&format!(
            "predict --model run --data checked.csv --out same.csv --force {flags}"
        ));
        let mut reader = csv::Reader::from_path(items.path("same.csv")).unwrap();
        let names = ["dent", "scratch", "stain|odd", "unknown"];
        let mut confusion = vec![vec![0u64; 4]; 4];
        for (row, &truth) in reader.records().zip(&truths) {
            let row = row.unwrap();
            let answer = names.iter().position(|name| *name == &row[1]).unwrap();
            confusion[truth][answer] += 1;
        }
        let found = items.json(&format!("evaluate --model run --data checked.csv {flags}"));
        assert_eq!(
            counts(&found["true-labels"]["confusion"]),
            confusion,
            "{flags}"
        );
        seen.push(confusion);
    }
    seen.dedup();
    assert!(seen.len() > 4, "the flags matter");
}

#[test]
fn without_labels_the_runs_held_out_rows_are_judged() {
    let items = items();
    let found = items.json("evaluate --model run");
    assert_eq!(found["basis"], "pu-rows");
    let judged = &found["pu-rows"];

    // An independent count from held-out.csv: the class of the highest a f + b + log(τ/π), where τ are the shares of
    // 50 labelled rows of each kind and a pool of 360 together.
    let card = items.read_json("run/model.json");
    let calibration = &card["calibration"];
    let pi = [0.1667, 0.1667, 0.1667, 0.4999];
    let tau = [0, 1, 2, 3].map(|y| (if y < 3 { 50.0 } else { 0.0 } + 360.0 * pi[y]) / 510.0);
    let mut reader = csv::Reader::from_path(items.path("run/held-out.csv")).unwrap();
    let mut groups = vec![vec![0u32; 4]; 4];
    for row in reader.records() {
        let row = row.unwrap();
        let group = KINDS.iter().position(|kind| *kind == &row[0]).unwrap_or(3);
        let calibrated = |(class, cell): (usize, &str)| {
            let score: f64 = cell.parse().unwrap();
            let moved: f64 = tau[class] / pi[class];
            number(&calibration["a"]) * score + number(&calibration["b"][class]) + moved.ln()
        };
        let scores: Vec<f64> = row.iter().skip(1).enumerate().map(calibrated).collect();
        let answer = (0..4)
            .rev()
            .max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        groups[group][answer.unwrap()] += 1;
    }
    let share = |group: usize, answer: usize| {
        let all: u32 = groups[group].iter().sum();
        f64::from(groups[group][answer]) / f64::from(all)
    };
    // Of all rows given a class, 50/510 of each kind and 360/510 of the pool, those that are of it.
    let precision = |class: usize, prior: f64| {
        let labeled: f64 = (0..3).map(|y| 50.0 * share(y, class)).sum();
        let given = labeled + 360.0 * share(3, class);
        (50.0 + 360.0 * prior) * share(class, class) / given
    };
    for class in 0..3 {
        let rates = &judged["judgement"]["classes"][class];
        let recall = share(class, class);
        assert!((number(&rates["recall"]["value"]) - recall).abs() < 1e-9);
        let raw = number(&rates["precision"]["raw"]);
        assert!((raw - precision(class, pi[class])).abs() < 1e-9);
        let value = number(&rates["precision"]["value"]);
        assert!(value < 1.0 && number(&rates["precision"]["high"]) <= 1.0);
        let state = if raw > 1.0 {
            "by-probabilities"
        } else {
            "identified"
        };
        assert_eq!(rates["precision"]["state"], state);
        assert!(number(&rates["recall"]["low"]) <= recall);
        assert!(number(&judged["auc"][class]["value"]) > 0.5);
    }
    // Priors other by 10, 20 and 30 %: all at once, and each alone.
    let varied = judged["sensitivity"].as_array().unwrap();
    assert_eq!(varied.len(), 6 * 4);
    let shrunk = &varied[0];
    assert_eq!(shrunk["factor"], 0.7);
    let first = &shrunk["judgement"]["classes"][0]["precision"]["raw"];
    assert!((number(first) - precision(0, 0.7 * pi[0])).abs() < 1e-9);
    for (found, share) in judged["shares"].as_array().unwrap().iter().zip(tau) {
        assert!((number(found) - share).abs() < 1e-9);
    }
    // The risk and its bound.
    let risk = &judged["risk"];
    assert!(number(&risk["upper"]) > number(&risk["value"]));
    assert!(number(&risk["value"]) >= number(&risk["raw"]));
    assert!(risk["bound"].as_str().unwrap().contains("Theorem 4"));

    let parts = [
        "judged without true labels",
        "held out of training",
        "assumed: labelled rows of a class look like",
        "risk, upper bound",
        "every observed class",
        "+30 %",
        "about rows of the population",
    ];
    contains_all(&items.told("evaluate --model run"), &parts);
}

#[test]
fn files_with_some_labels_or_none_are_judged_without_true_labels() {
    let items = items();
    let judged = |rest: &str| items.json(&format!("evaluate --model run --data {rest}"));
    let some = judged("marked.csv");
    assert_eq!(some["basis"], "pu-rows");
    assert_eq!(
        some["pu-rows"]["judgement"]["n_labeled"],
        serde_json::json!([20, 20, 20])
    );
    assert_eq!(some["pu-rows"]["judgement"]["n_pool"], 120);

    let none = judged("new.csv");
    assert_eq!(none["pu-rows"]["judgement"]["n_pool"], 120);
    let notes = none["warnings"].to_string();
    assert!(notes.contains("has no labels"), "{notes}");
    // Recall comes from the run's own held-out rows.
    let own = items.json("evaluate --model run");
    let recall = |found: &Value| found["pu-rows"]["judgement"]["classes"][0]["recall"].clone();
    assert_eq!(recall(&none), recall(&own));

    // A word that marks the pool is no negative class.
    let text = items.read("marked.csv");
    let worded: String = text
        .lines()
        .map(|line| match line.strip_suffix(',') {
            Some(rest) => format!("{rest},open\n"),
            None => format!("{line}\n"),
        })
        .collect();
    items.write("worded.csv", worded);
    assert_eq!(judged("worded.csv")["basis"], "true-labels");
    let marked = judged("worded.csv --unlabeled-marker open");
    assert_eq!(marked["pu-rows"]["judgement"], some["pu-rows"]["judgement"]);
}

#[test]
fn columns_that_the_model_does_not_know_are_passed_over() {
    let items = items();
    let text = items.read("checked.csv");
    let mut lines = text.lines();
    let mut moved = format!("{},truth\n", lines.next().unwrap());
    for line in lines {
        let (cells, label) = line.rsplit_once(',').unwrap();
        let _ = writeln!(moved, "{cells},,{label}");
    }
    items.write("moved.csv", moved);
    let judged = |rest: &str| items.json(&format!("evaluate --model run --data {rest}"));
    let found = judged("moved.csv --label-column truth");
    assert_eq!(found["true-labels"], judged("checked.csv")["true-labels"]);
    assert!(
        found["notes"].to_string().contains("passed over: kind"),
        "{}",
        found["notes"]
    );
    // The column of the training data is blank: all rows are of the pool.
    let found = judged("moved.csv");
    assert_eq!(found["pu-rows"]["judgement"]["n_pool"], 240);
}

#[test]
fn a_benchmark_run_is_judged_by_its_test_rows() {
    let items = with_benchmark();
    let found = items.json("evaluate --model benchmark");
    assert_eq!(found["basis"], "true-labels");
    let record = items.read_json("benchmark/record.json");
    let (ours, scores) = (&found["true-labels"], &record["scores"]);
    assert!((number(&ours["accuracy"]) - number(&scores["accuracy"])).abs() < 1e-12);
    assert!((number(&ours["macro-f1"]) - number(&scores["f1"])).abs() < 1e-12);
    // It has no columns to read a table by.
    let table = "evaluate --model benchmark --data checked.csv";
    items.refuses(table, &["benchmark", "hint:"]);
}

#[test]
fn faults_name_the_file_and_the_remedy() {
    let items = items();
    items.refuses("evaluate --model nowhere", &["nowhere"]);
    items.refuses("evaluate --model run --data nowhere", &["nowhere"]);
    let other = "evaluate --model run --data checked.csv --label-column kinds";
    items.refuses(other, &["kinds", "kind"]);
    items.write(
        "odd.csv",
        items.read("marked.csv").replacen(",dent\n", ",bump\n", 2),
    );
    items.refuses("evaluate --model run --data odd.csv", &["bump", "hint:"]);
}
