//! `mpu-cli prior`, `mpu-cli sensitivity` and `train --prior auto`.

use serde_json::Value;

use crate::support::{Folder, contains_all};

const PRODUCTS: &str = "--data examples/products/products.csv --label-column defect --id-column id";

#[test]
fn estimates_of_own_data_are_near_the_truth_and_margins_can_be_used_again() {
    let folder = Folder::new();
    let text = folder.told(&format!(
        "prior {PRODUCTS} --replicates 100 --write-scores margins.csv --plot priors.svg"
    ));
    contains_all(
        &text,
        &[
            "dent",
            "scratch",
            "loose",
            "detectable",
            "left for the negative class",
        ],
    );
    assert!(folder.read("priors.svg").starts_with("<svg"));

    let found = folder.json("prior --scores margins.csv --replicates 100");
    assert_eq!(
        found["classes"],
        serde_json::json!(["dent", "loose", "scratch"])
    );
    // 180, 120 and 150 of the 1300 rows of the pool.
    for (class, truth) in [(0, 0.138), (1, 0.092), (2, 0.115)] {
        let class = &found["estimates"][0]["classes"][class];
        let estimate = class["estimate"].as_f64().unwrap();
        assert!((estimate - truth).abs() < 0.06, "{estimate} {truth}");
        assert!(class["upper"].as_f64().unwrap() > truth);
    }
}

#[test]
fn prior_gives_what_training_uses() {
    let items = crate::evaluate::items::items();
    let data = "--data items.csv --label-column kind --id-column item --seed 7";
    items.told(&format!(
        "train {data} --set model={{kind=\"forest\"}} --out of-priors"
    ));
    let used = items.read_json("of-priors/model.json")["estimated_priors"].clone();
    let found = items.json(&format!("prior {data}"));
    assert_eq!(used["classes"].as_array().unwrap().len(), 3);
    assert_eq!(found["estimates"], serde_json::json!([used]));
}

#[test]
fn estimates_by_clusters_say_how_labelled_rows_were_chosen() {
    let folder = Folder::new();
    let text = folder.told(&format!("prior {PRODUCTS} --replicates 50 --by clusters"));
    contains_all(
        &text,
        &[
            "class `dent`",
            "class `loose`",
            "class `scratch`",
            "interval",
        ],
    );
    assert!(!text.contains("do not look like a random draw"), "{text}");
    let found = folder.json(&format!(
        "prior {PRODUCTS} --replicates 50 --by clusters --estimator dedpul"
    ));
    assert_eq!(found["selection"].as_array().unwrap().len(), 3);
    let sum: f64 = (0..3)
        .map(|class| {
            found["estimates"][0]["classes"][class]["estimate"]
                .as_f64()
                .unwrap()
        })
        .sum();
    assert!((0.1..0.9).contains(&sum), "{sum}");
    let checked = folder.told(&format!("check {PRODUCTS} --scar"));
    contains_all(&checked, &["labelled rows", "class `dent`"]);
    folder.refuses("prior --scores a.csv --by clusters", &["--by"]);
}

#[test]
fn a_benchmark_shows_the_true_priors_and_disagreement_is_told() {
    let found = Folder::new().json(
        "prior --dataset waveform1 --classes 3 --prior 0.5 --offline --estimator bbe --replicates 20",
    );
    let truth = found["truth"].as_array().unwrap();
    assert_eq!(truth.len(), 2);
    assert!((truth[0].as_f64().unwrap() - 0.25).abs() < 0.01);
}

#[test]
fn bad_scores_are_told_with_line_and_column() {
    let folder = Folder::new();
    for (text, told) in [
        ("a,b\n1,2\n", "no column `label`"),
        ("label\n\n", "no column of margins"),
        ("label,a\nc,1\n,0\n", "line 2: the label `c`"),
        (
            "label,a\na,1\n,x\n",
            "line 3, column a: `x` is not a finite number",
        ),
        ("label,fold,a\na,one,1\n,0,0\n", "the fold `one`"),
        ("label,a\na,1\n", "pool"),
    ] {
        folder.write("scores.csv", text);
        folder.refuses("prior --scores scores.csv", &[told]);
    }
    folder.refuses("prior --estimator kmm", &["moments"]);
}

#[test]
fn training_with_estimated_priors_records_them() {
    let folder = Folder::new();
    folder.told("train --offline --prior auto --epochs 2 --set data.generated-rows=600 --out run");
    let card = folder.read_json("run/model.json");
    let estimated = &card["estimated_priors"]["classes"];
    assert_eq!(estimated.as_array().unwrap().len(), 2);
    assert_eq!(card["priors"][0], estimated[0]["estimate"]);
    assert!(folder.read("run/config.toml").contains("priors = \"auto\""));
}

#[test]
fn wrong_priors_are_studied_on_any_data() {
    let folder = Folder::new();
    let found = folder.json(
        "sensitivity --offline --method csmpu-exact-nn --epochs 5 --seeds 2 --sizes 0.1,0.3 \
         --set data.generated-rows=900 --plot wrong.svg",
    );
    assert_eq!(found["measured_on"], "test rows with true labels");
    let scores = found["study"]["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 2, "both schemes");
    for scheme in scores {
        assert_eq!(
            scheme["points"].as_array().unwrap().len(),
            3,
            "none, 0.1 and 0.3"
        );
    }
    let bound = &found["study"]["bounds"][0];
    for (empirical, theoretical) in bound["empirical"]
        .as_array()
        .unwrap()
        .iter()
        .zip(bound["theoretical"].as_array().unwrap())
    {
        assert!(empirical[1].as_f64().unwrap() <= theoretical[1].as_f64().unwrap() + 1e-12);
    }
    assert!(folder.read("wrong.svg").contains("<svg"));

    let own = format!("sensitivity {PRODUCTS} --epochs 10 --seeds 1 --sizes 0.1");
    contains_all(&folder.told(&own), &["held-out labelled rows and pool"]);
}

#[test]
fn scaled_and_sampled_priors_are_propagated() {
    let folder = Folder::new();
    let wrong = |how: &str| {
        folder.json(&format!(
            "sensitivity --offline --epochs 3 --seeds 2 --set data.generated-rows=600 --wrong {how}"
        ))
    };
    let scaled = wrong("scaled --sizes 0.2");
    let scaled = scaled.as_array().unwrap();
    let names: Vec<&str> = scaled
        .iter()
        .map(|row| row["priors"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["as they are", "-20 %", "+20 %"]);
    let first = |row: &Value| row["values"][0].as_f64().unwrap();
    assert!((first(&scaled[2]) / first(&scaled[0]) - 1.2).abs() < 1e-9);
    assert!(scaled.iter().all(|row| row["deviation"].is_number()));

    let sampled = wrong("sampled --draws 3");
    assert_eq!(sampled.as_array().unwrap().len(), 4);
}
