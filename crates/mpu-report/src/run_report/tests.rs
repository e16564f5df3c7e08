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
            "summary",
            "curves",
            "answers",
            "classes",
            "calibration",
            "thresholds",
            "priors",
            "sensitivity",
            "data",
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
    let accuracy = "| accuracy<br>by true labels | 80.00 % | **90.00 %** |";
    assert!(md.contains(accuracy), "{md}");
    // Risks depend on the loss: none of them is the best.
    let risk = md.lines().find(|l| l.starts_with("| validation risk"));
    assert!(!risk.unwrap().contains("**"));
    assert!(md.contains("Measured on 2 480 held-out rows"));
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
    assert!(md.contains("| accuracy<br>by true labels | 80.00 % | 90.00 % |"));
    assert!(md.contains("their scores cannot be compared"));
    assert!(md.contains("- first try: 3 rows occur twice."));
    assert!(md.contains("- first try (2): no data check: not run."));
}

#[test]
fn a_run_without_true_labels_says_so_and_why_parts_are_missing() {
    let run = unlabeled("blind", 4, 1);
    let md = to_md(std::slice::from_ref(&run));
    assert!(md.contains("This run was not measured on rows with true labels."));
    assert!(md.contains(
        "- no answers by class, scores by class, calibration or thresholds: \
         the data have no test rows with true labels.\n\
         - no sensitivity to priors: not asked for."
    ));
    for section in ["## Calibration", "## Answers", "by true labels |"] {
        assert!(!md.contains(section), "{section}");
    }
    let md = to_md(&[run, full("seeing", 4, 1)]);
    assert!(md.contains("Some of these runs were not measured"));
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
        md.contains("or data check: not measured.\n- no model facts or configuration: not kept.")
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
        "negative",
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
