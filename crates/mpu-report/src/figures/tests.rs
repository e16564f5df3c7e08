use super::made_up::record;
use super::*;
use crate::record::Record;

fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for seed in 0..3 {
        for dataset in ["mnist", "fashion-mnist", "kmnist"] {
            for classes in [4, 6, 8] {
                for prior in [0.2, 0.5, 0.8] {
                    all.push(record(dataset, classes, prior, seed));
                }
            }
        }
    }
    all
}

fn all_from(records: &[Record]) -> [Drawn; 4] {
    [
        TrainingCurves::default().draw(records),
        PriorSweep::default().draw(records),
        HeatMaps::default().draw(records),
        learning_curves(records, "All runs", 2),
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
    assert_eq!(
        titles
            .iter()
            .filter(|t| *t == "csmpu-abs, 3 seeds, 60 epochs")
            .count(),
        6
    );
    assert!(
        titles
            .iter()
            .any(|t| t == "kmnist, k = 4, πₖ = 0.2: accuracy")
    );
    assert!(titles.iter().any(|t| t == "training, by hidden labels"));
}

#[test]
fn what_is_missing_is_listed_and_said_in_the_drawing() {
    let mut some = records();
    some.retain(|r| r.key.dataset != "kmnist" && (r.key.classes != 8 || r.key.prior < 0.7));
    let curves = TrainingCurves {
        seeds: vec![0, 1, 2, 9],
        ..TrainingCurves::default()
    };
    let drawn = curves.draw(&some);
    let lacks: Vec<_> = drawn
        .missing
        .iter()
        .map(|m| (m.dataset.as_str(), m.lack, m.seeds.clone()))
        .collect();
    assert_eq!(
        lacks,
        [
            ("mnist", Lack::Seeds, vec![9]),
            ("fashion-mnist", Lack::Seeds, vec![9]),
            ("kmnist", Lack::Runs, vec![0, 1, 2, 9]),
        ]
    );
    assert!(
        texts(&drawn)
            .iter()
            .any(|t| t.starts_with("no runs: kmnist, k = 4"))
    );

    let drawn = PriorSweep::default().draw(&some);
    assert_eq!(drawn.missing.len(), 1);
    assert_eq!(
        (drawn.missing[0].classes, drawn.missing[0].prior),
        (Some(8), 0.8)
    );
    assert!(
        texts(&drawn)
            .iter()
            .any(|t| t.ends_with("no runs at πₖ = 0.8"))
    );

    let bare: Vec<Record> = some
        .iter()
        .cloned()
        .map(|r| Record {
            priors: Vec::new(),
            prior_gaps: Vec::new(),
            curves: None,
            heat: None,
            ..r
        })
        .collect();
    let heat = HeatMaps::default().draw(&bare);
    assert_eq!(heat.missing[0].lack, Lack::Heat);
    assert!(
        texts(&heat)
            .iter()
            .any(|t| t.starts_with("no counts by class kept"))
    );
    let curves = learning_curves(&bare, "None", 2);
    assert!(
        curves
            .missing
            .iter()
            .all(|m| m.lack == Lack::Curves && m.seeds == [0, 1, 2])
    );
    assert!(
        texts(&curves)
            .iter()
            .any(|t| t.starts_with("no curves kept"))
    );
}

#[test]
fn nothing_at_all_still_makes_figures() {
    for drawn in all_from(&[]) {
        texts(&drawn);
    }
    assert_eq!(PriorSweep::default().draw(&[]).missing.len(), 9);
    let drawn = Misspecification::default().draw();
    assert_eq!(drawn.missing.len(), 3);
    assert!(
        texts(&drawn)
            .iter()
            .any(|t| t.starts_with("no bounds: fashion-mnist, πₖ = 0.5"))
    );
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
fn several_methods_are_compared_under_their_names() {
    let mut runs: Vec<Record> = (0..2).map(|seed| record("mine", 5, 0.5, seed)).collect();
    let mut other = record("mine", 5, 0.5, 0);
    other.key.method = "area".to_owned();
    runs.push(other);
    let drawn = learning_curves(&runs, "Mine", 3);
    assert_eq!(drawn.figure.panels().len(), 3);
    let shown = texts(&drawn);
    for name in ["area (1 seed)", "csmpu-abs (2 seeds)"] {
        assert_eq!(shown.iter().filter(|t| *t == name).count(), 3, "{shown:?}");
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
}
