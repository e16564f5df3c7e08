//! Thresholds, precision, costs, queues and class shares, checked on the tables they make.

use super::*;

#[test]
fn thresholds_decide_and_precision_finds_them() {
    let work = Work::new(600);
    let check = |rows: &[Row], thresholds: [Option<f64>; 2]| {
        let mut refused = 0;
        for row in rows {
            let p = probabilities(row);
            let top = best(&p[..2]);
            let accepted = thresholds[top].is_some_and(|t| p[top] >= t);
            let answer = CLASSES[if accepted { top } else { 2 }];
            assert_eq!(row["answer"], answer, "{row:?}");
            refused += usize::from(!accepted && p[top] > p[2]);
        }
        refused
    };
    let one = work.scored("one.csv", "--threshold 0.9");
    assert!(check(&one, [Some(0.9), Some(0.9)]) > 0, "some are refused");
    let each = work.scored("each.csv", "--threshold scratch=0.2,dent=0.95");
    check(&each, [Some(0.95), Some(0.2)]);

    let more = "--precision-target dent=0.8,scratch=1";
    let (summary, message) = work.summary("new.csv", "precise.csv", more);
    contains_all(&message, &["class dent", "class scratch"]);
    let found = [0, 1].map(|class| summary["thresholds"][class].as_f64());
    assert!(found[0].is_some(), "{summary}");
    assert_eq!(summary["decision"], "guarded");
    // Answers stay or become unknown: no class is answered more than without it.
    let plain = work.scored("plain.csv", "");
    let stricter = |rows: &[Row], thresholds: [Option<f64>; 2]| {
        for (row, plain) in rows.iter().zip(&plain) {
            let p = probabilities(row);
            let class = CLASSES.iter().position(|class| *class == plain["answer"]);
            let class = class.unwrap();
            let kept = class < 2 && thresholds[class].is_some_and(|t| p[class] >= t);
            assert_eq!(
                row["answer"],
                CLASSES[if kept { class } else { 2 }],
                "{row:?}"
            );
        }
    };
    stricter(&work.rows("precise.csv"), found);
    let precision = &summary["precision"][0];
    assert!(number_of(&precision["lower"]) >= 0.8, "{precision}");
    assert!(number_of(&precision["precision"]) < 1.0, "{precision}");

    // A prior so small that no precision can be reached.
    let poor = work.folder.path("poor");
    copy_model(&poor, |card| {
        card["priors"] = serde_json::json!([1e-6, 1e-6, 0.999_998]);
        card["population"] = serde_json::Value::Null;
        card["calibration"]["b"] = serde_json::json!([-30.0, -30.0, 0.0]);
    });
    let mut predict = work.command(&poor, "new.csv", "none.csv", "--precision-target 0.9");
    let output = predict.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    contains_all(&stderr(&output), &["precision 0.9 is out of reach"]);
    check(&work.rows("none.csv"), [None, None]);
}

fn number_of(value: &serde_json::Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn costs_decide_by_what_is_cheapest() {
    let work = Work::new(500);
    let costs = [[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]];
    let csv = "truth,dent,scratch,unknown\ndent,0,1,9\nscratch,2,0,1\nunknown,1,3,0\n";
    work.folder.write("costs.csv", csv);
    let toml = "[dent]\nscratch = 1\nunknown = 9\n[scratch]\ndent = 2\nunknown = 1\n[unknown]\ndent = 1\nscratch = 3\n";
    work.folder.write("costs.toml", toml);
    let rows = work.scored("by-csv.csv", "--cost-matrix costs.csv");
    assert_eq!(rows, work.scored("by-toml.csv", "--cost-matrix costs.toml"));
    let mut moved = 0;
    for row in &rows {
        let p = probabilities(row);
        let expected = |answer: usize| -> f64 { (0..3).map(|y| p[y] * costs[y][answer]).sum() };
        let spent = [0, 1, 2].map(expected);
        let answer = CLASSES
            .iter()
            .position(|class| *class == row["answer"])
            .unwrap();
        assert!(
            spent.iter().all(|cost| spent[answer] <= cost + 1e-9),
            "{row:?}"
        );
        moved += usize::from(answer != best(&p));
    }
    assert!(moved > 0, "costs change some answers");
    work.folder
        .write("costs.csv", csv.replace("2,0,1", "2,0,-1"));
    let output = work.predict("new.csv", "bad.csv", "--cost-matrix costs.csv");
    contains_all(
        &complaint(&output, "a cost below zero"),
        &["costs.csv", "line 3", "`unknown`", "`-1`"],
    );
    assert!(!work.folder.path("bad.csv").exists());
}

#[test]
fn a_queue_holds_the_most_probable_rows_of_each_class() {
    let work = Work::new(700);
    let all = work.scored("all.csv", "");
    let queue = work.scored("queue.csv", "--top 25");
    assert_eq!(queue.len(), 50);
    for (class, name) in CLASSES[..2].iter().enumerate() {
        let column = format!("probability:{name}");
        let mut best: Vec<&Row> = all.iter().collect();
        best.sort_by(|a, b| number(b, &column).total_cmp(&number(a, &column)));
        for (rank, (row, wanted)) in queue[25 * class..].iter().zip(&best[..25]).enumerate() {
            assert_eq!(
                (row["queue"].as_str(), number(row, "rank")),
                (*name, rank as f64 + 1.0)
            );
            assert_eq!(row["id"], wanted["id"]);
            assert_eq!(row[&column], wanted[&column]);
        }
    }
    work.summary("new.csv", "queue.jsonl", "--top 25");
    assert_eq!(jsonl_rows(&work.folder.read("queue.jsonl")), queue);
    #[cfg(feature = "parquet")]
    {
        work.summary("new.csv", "queue.parquet", "--top 25");
        let path = work.folder.path("queue.parquet");
        assert_eq!(parquet_rows(&path), queue);
    }
}

#[test]
fn probabilities_follow_the_shares_of_the_rows_to_score() {
    let work = Work::new(800);
    let pool = [0.27, 0.16, 0.57];
    let plain = work.scored("pool.csv", "--target-priors pool");
    let check = |rows: &[Row], target: [f64; 3]| {
        for (row, plain) in rows.iter().zip(&plain) {
            let p = probabilities(plain);
            let weights = [0, 1, 2].map(|y| p[y] * target[y] / pool[y]);
            let sum: f64 = weights.iter().sum();
            for (found, weight) in probabilities(row).iter().zip(weights) {
                assert!((found - weight / sum).abs() < 1e-5, "{row:?} {plain:?}");
            }
        }
    };
    check(
        &work.scored("flat.csv", "--target-priors uniform"),
        [1.0 / 3.0; 3],
    );
    let given = work.scored("given.csv", "--target-priors scratch=0.1,dent=0.6");
    check(&given, [0.6, 0.1, 0.3]);
    // By default the population is meant: labelled rows and pool together.
    let card = std::fs::read_to_string(model().join("model.json")).unwrap();
    let card: serde_json::Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card["scenario"], "single-sample");
    let classes = card["check"]["classes"].as_array().unwrap();
    let labeled: Vec<f64> = classes.iter().map(|c| number_of(&c["labeled"])).collect();
    let (n_pool, n) = (
        number_of(&card["check"]["unlabeled"]),
        number_of(&card["check"]["rows"]),
    );
    let share =
        |class: usize| (labeled.get(class).copied().unwrap_or(0.0) + n_pool * pool[class]) / n;
    check(&work.scored("population.csv", ""), [0, 1, 2].map(share));
    let (summary, _) = work.summary("new.csv", "population.csv", "--force");
    assert_eq!(summary["target"], "population");

    // A model of before knows no population: the pool is meant.
    let old = work.folder.path("old");
    copy_model(&old, |card| {
        let card = card.as_object_mut().unwrap();
        card.remove("population").unwrap();
        card.remove("scenario").unwrap();
    });
    let output = work
        .command(&old, "new.csv", "old.csv", "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(work.rows("old.csv"), plain);

    // Only heavy rows: their share is found to be large.
    let text = work.folder.read("new.csv");
    let heavy = |line: &&str| {
        let weight = line.split(',').nth(1).unwrap();
        weight == "weight" || weight.parse::<f64>().is_ok_and(|weight| weight > 2.5)
    };
    let heavy = text.lines().filter(heavy).collect::<Vec<_>>().join("\n");
    work.folder.write("heavy.csv", heavy);
    let (summary, message) = work.summary("heavy.csv", "estimate.csv", "--target-priors estimate");
    contains_all(&message, &["estimated class shares"]);
    assert!(summary["priors"][0].as_f64().unwrap() > 0.9, "{summary}");
    assert_eq!(summary["estimate"]["sampled_rows"], summary["rows"]);
    assert_eq!(summary["estimate"]["moved"], true);
    let rows = work.rows("estimate.csv");
    let mean = rows.iter().map(|row| probabilities(row)[0]).sum::<f64>() / rows.len() as f64;
    assert!(
        (mean - summary["priors"][0].as_f64().unwrap()).abs() < 1e-3,
        "a fixed point"
    );
    // Rows of the population itself: what is found is chance, and nothing is moved.
    let (summary, message) = work.summary("new.csv", "same.csv", "--target-priors estimate");
    contains_all(&message, &["no more than chance"]);
    assert_eq!(summary["estimate"]["moved"], false, "{summary}");
    assert_eq!(work.rows("same.csv"), work.rows("population.csv"));
}

/// What moved each answer is the same in every format, whatever the threads, and costs only the rows that are written.
#[test]
fn answers_are_explained_by_columns() {
    let work = Work::new(40);
    let plain = work.scored("plain.csv", "");
    let rows = work.scored("because.csv", "--explain --threads 1");
    assert_eq!(rows.len(), plain.len());
    for (row, plain) in rows.iter().zip(&plain) {
        let because = &row["because"];
        assert_eq!(because.matches(" = ").count(), 3, "{because}");
        let mut without = row.clone();
        without.remove("because");
        assert_eq!(&without, plain);
        if because.contains("missing") {
            continue;
        }
        // Dents are heavy and scratches are long.
        let first = match row["answer"].as_str() {
            "dent" => "weight = ",
            "scratch" => "length = ",
            _ => continue,
        };
        assert!(because.starts_with(first), "{because}");
    }
    work.scored("two.csv", "--explain 3 --threads 2");
    assert_eq!(work.folder.read("two.csv"), work.folder.read("because.csv"));
    work.summary("new.csv", "because.jsonl", "--explain 1");
    let lines = work.folder.read("because.jsonl");
    for (line, row) in lines.lines().zip(&rows) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let because = line["because"].as_array().unwrap();
        assert_eq!(because.len(), 1);
        let column = because[0]["column"].as_str().unwrap();
        assert!(row["because"].starts_with(column), "{row:?}");
        assert!(because[0]["effect"].is_number());
    }
    #[cfg(feature = "parquet")]
    {
        work.summary("new.csv", "because.parquet", "--explain");
        let path = work.folder.path("because.parquet");
        assert_eq!(parquet_rows(&path), rows);
    }
    let queued = work.scored("queue.csv", "--explain --top 2");
    assert_eq!(queued.len(), 4);
    for row in &queued {
        let same = rows.iter().find(|other| other["id"] == row["id"]).unwrap();
        assert_eq!(row["because"], same["because"]);
    }
}
