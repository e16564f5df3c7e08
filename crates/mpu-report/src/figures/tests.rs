use super::*;
use crate::fixture::drawable;
use crate::record::Record;

fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for seed in 0..3 {
        for dataset in ["mnist", "fashion-mnist", "kmnist"] {
            for classes in [4, 6, 8] {
                for prior in [0.2, 0.5, 0.8] {
                    all.push(drawable(dataset, classes, prior, seed));
                }
            }
        }
    }
    all
}

fn all_from(records: &[Record]) -> [Drawn; 3] {
    [
        TrainingCurves::default().draw(records),
        PriorSweep::default().draw(records),
        HeatMaps::default().draw(records),
    ]
}

fn texts(drawn: &Drawn) -> Vec<String> {
    let svg = drawn.svg();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    tree.descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(|node| node.text().unwrap_or("").to_owned())
        .collect()
}

fn has_text(drawn: &Drawn, fits: impl Fn(&str) -> bool) -> bool {
    texts(drawn).iter().any(|text| fits(text))
}

#[test]
fn the_order_of_records_does_not_matter() {
    let mut shuffled = records();
    let in_order = all_from(&shuffled);
    shuffled.reverse();
    shuffled.rotate_left(17);
    assert_eq!(all_from(&shuffled), in_order);
    for drawn in &in_order {
        assert_eq!(drawn.missing, []);
        assert!(!texts(drawn).is_empty());
    }
}

#[test]
fn panels_say_how_many_seeds_and_epochs_they_show() {
    let drawn = TrainingCurves::default().draw(&records());
    let titles = texts(&drawn);
    let n_of = |title: &str| titles.iter().filter(|t| *t == title).count();
    assert_eq!(n_of("csmpu-abs, 3 seeds, 60 epochs"), 6);
    assert!(n_of("kmnist, k = 4, πₖ = 0.2: accuracy") > 0);
    assert!(n_of("training, by hidden labels") > 0);
}

#[test]
fn what_is_missing_is_listed_and_said_in_the_drawing() {
    let mut some = records();
    some.retain(|r| r.key.dataset != "kmnist" && (r.key.classes != 8 || r.key.prior < 0.7));
    let drawn = TrainingCurves::default().draw(&some);
    let lacks = drawn.missing.iter().map(|m| (m.dataset.as_str(), m.lack));
    assert_eq!(lacks.collect::<Vec<_>>(), [("kmnist", Lack::Runs)]);
    assert!(has_text(&drawn, |t| t.starts_with("no runs: kmnist, k = 4")));

    let drawn = PriorSweep::default().draw(&some);
    assert_eq!(drawn.missing.len(), 1);
    assert_eq!(
        (drawn.missing[0].classes, drawn.missing[0].prior),
        (Some(8), 0.8)
    );
    assert!(has_text(&drawn, |t| t.ends_with("no runs at πₖ = 0.8")));

    let bare: Vec<Record> = some
        .iter()
        .cloned()
        .map(|r| Record {
            curves: None,
            heat: None,
            ..r
        })
        .collect();
    let heat = HeatMaps::default().draw(&bare);
    assert_eq!(heat.missing[0].lack, Lack::Heat);
    assert!(has_text(&heat, |t| t.starts_with("no counts by class kept")));
    let curves = TrainingCurves::default().draw(&bare);
    let lack = &curves.missing[0];
    let text = "no curves kept: mnist, k = 4, πₖ = 0.2, csmpu-abs";
    assert_eq!(
        (lack.lack, lack.to_string()),
        (Lack::Curves, text.to_owned())
    );
    assert!(has_text(&curves, |t| t.starts_with("no curves kept")));
}

#[test]
fn nothing_at_all_still_makes_figures() {
    for drawn in all_from(&[]) {
        texts(&drawn);
    }
    assert_eq!(PriorSweep::default().draw(&[]).missing.len(), 9);
    let drawn = Misspecification::default().draw();
    assert_eq!(drawn.missing.len(), 3);
    assert!(has_text(&drawn, |t| t
        .starts_with("no bounds: fashion-mnist, πₖ = 0.5")));
}

#[test]
fn records_with_ragged_parts_do_not_break_a_figure() {
    let mut odd = records();
    for (index, record) in odd.iter_mut().enumerate() {
        let (Some(curves), Some(heat)) = (&mut record.curves, &mut record.heat) else {
            continue;
        };
        match index % 4 {
            0 => curves.test_loss.clear(),
            1 => curves.oracle_train_accuracy.truncate(3),
            2 => curves.train_loss[5] = f64::NAN,
            _ => heat.support.truncate(1),
        }
    }
    for drawn in all_from(&odd) {
        assert!(!drawn.svg().contains("NaN"));
        texts(&drawn);
    }
}

#[test]
fn runs_that_no_table_would_take_are_not_drawn() {
    let mut runs = records();
    let plain = all_from(&runs);
    // More seeds than the others have, but of another protocol, of another loss, or of fewer epochs.
    for seed in 0..9 {
        let mut other = drawable("mnist", 4, 0.2, seed);
        for (protocol, surrogate, epochs) in [
            ("residual", "sigmoid_prob", 60),
            ("first-k", "hinge", 60),
            ("first-k", "sigmoid_prob", 30),
        ] {
            protocol.clone_into(&mut other.key.protocol);
            surrogate.clone_into(&mut other.key.surrogate);
            other.key.epochs = epochs;
            runs.push(other.clone());
        }
    }
    for (with, without) in all_from(&runs).iter().zip(&plain) {
        assert_eq!(with.figure.panels(), without.figure.panels());
        assert!(!without.svg().contains("Not drawn"));
        assert!(with.svg().contains("Not drawn: 9 further runs"));
    }
}

#[test]
fn figure_three_draws_its_values_in_any_order() {
    let score = |delta, f1| ShiftedScore {
        delta,
        f1,
        std: Some(0.01),
    };
    let scores = |classes, scheme| PerturbedScores {
        classes,
        scheme,
        points: vec![score(0.0, 0.9), score(0.2, 0.85)],
    };
    let width = |classes, scheme, drop| Bandwidth {
        classes,
        scheme,
        drop,
        delta: 0.1,
        std: None,
    };
    let mut figure = Misspecification {
        n_seeds: 3,
        epochs: 100,
        ..Misspecification::default()
    };
    for classes in [4, 6] {
        for scheme in Scheme::ALL {
            figure.scores.push(scores(classes, scheme));
            figure
                .bandwidths
                .extend([1.0, 2.0, 5.0].map(|drop| width(classes, scheme, drop)));
        }
        figure.bounds.push(BoundCurves {
            classes,
            empirical: vec![(0.0, 0.0), (0.2, 0.1)],
            theoretical: vec![(0.0, 0.0), (0.2, 0.4)],
        });
    }
    let drawn = figure.draw();
    assert_eq!(drawn.missing, []);
    let shown = texts(&drawn);
    for name in [
        "k = 6, adversarial",
        "k = 4, theory",
        "csmpu-abs, 3 seeds, 100 epochs",
    ] {
        assert!(shown.iter().any(|t| t == name), "{name}");
    }
    figure.scores.reverse();
    figure.scores[0].points.reverse();
    figure.bounds.reverse();
    figure.bounds[1].empirical.reverse();
    figure.bandwidths.reverse();
    assert_eq!(figure.draw(), drawn);
    // A bandwidth is a size: no error bar, and so no axis, goes below nothing.
    for width in &mut figure.bandwidths {
        width.std = Some(0.3);
    }
    let shown = texts(&figure.draw());
    assert!(!shown.iter().any(|text| text.starts_with('−')), "{shown:?}");
}
