use super::made_up::{full, priors, unlabeled};
use super::*;
use crate::table::escape_html;

fn two() -> Vec<RunReport> {
    vec![full("first try", 4, 1), full("second try", 4, 2)]
}

/// The attribute `id` of every element.
fn ids(html: &str) -> Vec<&str> {
    let parts = html.split(" id=\"").skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn reports_are_read_back_from_json() {
    let mut runs = two();
    runs.push(unlabeled("blind", 20, 3));
    let json = to_json(&runs).unwrap();
    let back: Vec<RunReport> = serde_json::from_str(&json).unwrap();
    // Text of numbers is compared: the last bit may move on the way.
    assert_eq!(to_md(&back), to_md(&runs));
    for part in [
        "\"missing\": \"the data have no test rows with true labels\"",
        "\"kind\": \"validation-risk\"",
        "\"basis\": \"pu-rows\"",
    ] {
        assert!(json.contains(part), "{part}");
    }
    let empty: RunReport = serde_json::from_str("{}").unwrap();
    assert_eq!(empty, RunReport::default());
}

#[test]
fn one_run_has_every_section_and_nothing_else_is_loaded() {
    let html = to_html(&[full("only", 4, 1)]);
    assert_eq!(
        ids(&html),
        [
            "verdict",
            "expected",
            "measured",
            "estimated",
            "histograms",
            "precision-recall",
            "importances",
            "answers",
            "calibration",
            "thresholds",
            "data",
            "details",
            "priors",
            "sensitivity",
            "curves",
            "model",
            "config",
            "cite"
        ]
    );
    for other in ["<script", "<link", "src=", "url(", "@import", "<?xml"] {
        assert!(!html.contains(other), "{other}");
    }
    let addresses = html.matches("http").count();
    assert_eq!(
        addresses,
        html.matches("http://www.w3.org/2000/svg").count()
    );
    assert_eq!(html, to_html(&[full("only", 4, 1)]));
}

#[test]
fn names_are_shown_and_not_obeyed() {
    let evil = "</pre><script>alert(1)</script>`";
    let mut run = full(evil, 6, 1);
    run.warnings.push(evil.to_owned());
    run.config_toml = format!("a = 1\n# ```\n{evil}");
    for runs in [vec![run.clone()], vec![run.clone(), run]] {
        let html = to_html(&runs);
        assert!(!html.contains("<script") && !html.contains("<b>bold"));
        assert!(html.contains(&escape_html("R&D <b>bold</b>")));
        let md = to_md(&runs);
        assert!(md.contains("R&D \\<b>bold\\</b>"), "{md}");
        assert!(md.contains("\n````toml\n"), "{md}");
        assert!(md.contains("pipe\\|line"));
    }
}

#[test]
fn several_runs_are_compared_in_columns_and_the_best_stands_out() {
    let mut runs = two();
    runs[1].name = runs[0].name.clone();
    let (low, high) = (0.8, 0.9);
    for (run, value) in runs.iter_mut().zip([low, high]) {
        run.scores[0].value = value;
        run.scores[0].interval = None;
    }
    let md = to_md(&runs);
    assert!(md.starts_with("# Report of 2 runs\n"));
    assert!(md.contains("|  | first try | first try (2) |"), "{md}");
    let accuracy = "| accuracy | 80.0 % | **90.0 %** |";
    assert!(md.contains(accuracy), "{md}");
    // Risks depend on the loss: none of them is the best.
    let risk = md.lines().find(|l| l.starts_with("| validation risk"));
    assert!(!risk.unwrap().contains("**"));
    assert!(md.contains("measured on the same rows, so they can be compared: 2 480 held-out rows"));
    // Their class shares differ, and estimates rest on these.
    assert!(
        md.contains("The runs assume different class shares"),
        "{md}"
    );
    assert!(md.contains("The same for all runs."));
    let html = to_html(&runs);
    let mut seen = ids(&html);
    seen.sort_unstable();
    let n_all = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), n_all);

    runs[1].measured_on = "other rows".to_owned();
    runs[1].data_check = Part::missing("not run");
    let md = to_md(&runs);
    assert!(md.contains("| accuracy | 80.0 % | 90.0 % |"));
    assert!(md.contains("their figures cannot be compared. `--data FILE`"));
    // Estimates were made on the same rows all the same.
    assert!(md.contains("estimated on the same rows"));
    assert!(md.contains("- first try: 3 rows occur twice."));
    assert!(md.contains("- first try (2): no data check: not run."));
}

#[test]
fn a_run_without_true_labels_says_so_and_why_parts_are_missing() {
    let run = unlabeled("blind", 4, 1);
    let md = to_md(std::slice::from_ref(&run));
    assert!(md.contains("No true label was used for these figures."));
    assert!(
        md.contains(
            "- no scores by class, table of true classes and answers, calibration or thresholds: \
             the data have no test rows with true labels.\n\
             - no other class shares: not asked for."
        ),
        "{md}"
    );
    for section in [
        "measured with true labels",
        "## True classes",
        "## Are the probabilities",
    ] {
        assert!(!md.contains(section), "{section}");
    }
    // One run has true labels, the other has not: nothing is compared.
    let md = to_md(&[run, full("seeing", 4, 1)]);
    assert!(md.contains("- On 2 480 held-out rows with labels."), "{md}");
}

#[test]
fn nothing_at_all_is_still_a_report() {
    for runs in [
        vec![],
        vec![RunReport::default()],
        vec![RunReport::default(), RunReport::default()],
    ] {
        let (html, md) = (to_html(&runs), to_md(&runs));
        assert!(html.contains("<h1>") && md.contains("## How to cite"));
        assert_eq!(md.contains("## Not in this report"), !runs.is_empty());
    }
    let md = to_md(&[RunReport::default()]);
    assert!(
        md.contains("or data check: not measured.\n- no model facts or configuration: not kept."),
        "{md}"
    );
}

#[test]
fn odd_numbers_are_dashes_and_gaps() {
    let mut run = full("odd", 4, 1);
    run.scores[0].value = f64::NAN;
    if let Part::Given(priors) = &mut run.priors {
        priors.classes[0].lower = Some(f64::INFINITY);
        priors.classes[1].truth = Some(f64::NAN);
        priors.estimators[0].estimates.truncate(1);
    }
    if let Part::Given(answers) = &mut run.answers {
        answers.counts[1].truncate(2);
        answers.counts[2] = Vec::new();
        answers.margins.truncate(1);
    }
    if let Part::Given(reliability) = &mut run.reliability {
        reliability.classes[0].bins[0].predicted = f64::NAN;
        reliability.classes[1].bins.clear();
    }
    let html = to_html(&[run]);
    assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
}

#[test]
fn priors_of_several_estimators_stand_side_by_side() {
    let estimates = priors(4, 1, &["one", "two", "three"]);
    let svg = estimates.figure("Priors").to_svg();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = tree
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| node.text())
        .collect();
    for name in [
        "one",
        "two",
        "three",
        "possible range",
        "true value",
        "used in training",
        "intervals of 95 % confidence",
        "cat",
        "unknown",
    ] {
        assert!(texts.contains(&name), "{name} in {texts:?}");
    }
    // Each estimator has a marker a class and one in the legend, but for the one that is not there.
    let n_of = |tag: &str, class: &str| {
        let marked = |n: &roxmltree::Node<'_, '_>| {
            n.has_tag_name(tag) && n.attribute("class").is_some_and(|c| c.contains(class))
        };
        tree.descendants().filter(marked).count()
    };
    assert_eq!(n_of("circle", "mpu-f0"), 5);
    assert_eq!(n_of("polygon", "mpu-f1"), 5);
    assert_eq!(n_of("polygon", "mpu-f2"), 4);
}

#[test]
fn twenty_classes_keep_their_numbers() {
    let run = full("many", 20, 1);
    let Part::Given(answers) = &run.answers else {
        panic!("there are answers")
    };
    let svg = answers.figure("Many").panels()[0].to_svg();
    let n_texts = svg.matches("class=\"mpu-cell\"").count();
    let n_filled = answers.counts.iter().flatten().filter(|n| **n > 0).count();
    assert_eq!(n_texts, 2 * n_filled);
    // The negative class would dwarf the other nineteen.
    assert_eq!(priors(20, 1, &["one"]).figure("Many").panels().len(), 2);
    assert_eq!(priors(4, 1, &["one"]).figure("Few").panels().len(), 1);
    let Part::Given(reliability) = &run.reliability else {
        panic!("there are bins")
    };
    assert_eq!(reliability.figure("Many").panels().len(), 5);
}

/// What a reader sees first is plain: words of the method come later, and estimates are kept from measurements.
#[test]
fn the_first_page_is_plain_and_tables_do_not_mix() {
    let mut run = full("only", 4, 1);
    run.scores[0].value = 0.9012;
    run.scores[2].value = 0.7034;
    let md = to_md(&[run]);
    let first = md.split("## Details").next().unwrap().to_lowercase();
    for jargon in [
        "prior",
        "pool",
        "surrogate",
        "unbiased",
        "lower bound",
        "scalar-last",
        "negative",
        "risk",
        "γ",
        "epoch",
    ] {
        assert!(!first.contains(jargon), "{jargon} in {first}");
    }
    let verdict = md.split("## How many").next().unwrap();
    for heading in ["### What was found", "### How sure", "### What to do next"] {
        assert!(verdict.contains(heading), "{heading} in {verdict}");
    }
    let measured = md
        .split("## How good the answers are: measured")
        .nth(1)
        .unwrap();
    let (measured, estimated) = measured
        .split_once("## How good the answers are: estimated")
        .unwrap();
    assert!(measured.contains("90.1 %") && !measured.contains("70.3 %"));
    assert!(estimated.contains("70.3 %") && !estimated.contains("90.1 %"));
    // Boxes of ASCII have no place on a page.
    assert!(!md.contains('│') && !md.contains('┆'));
}

/// Shares are drawn from 0 to 100 %, and no axis goes beyond.
#[test]
fn no_axis_of_shares_goes_beyond_all() {
    let run = full("only", 4, 1);
    let figures = [
        run.histograms.given().unwrap().figure("a"),
        run.precision_recall.given().unwrap().figure("b"),
        run.thresholds.given().unwrap().figure("c"),
    ];
    for figure in figures {
        let svg = figure.to_svg();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let texts = tree.descendants().filter(|node| node.has_tag_name("text"));
        let numbers: Vec<f64> = texts.filter_map(|node| node.text()?.parse().ok()).collect();
        let most = numbers.iter().copied().fold(0.0, f64::max);
        assert!(most <= 100.0, "{numbers:?}");
    }
}
