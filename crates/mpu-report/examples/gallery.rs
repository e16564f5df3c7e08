//! Draws every figure from made-up records into a folder: `cargo run --example gallery -- FOLDER`.
//!
//! With the feature `png`, each also as pixels: as wide as drawn, and one column wide as on a phone.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use mpu_report::figures::{
    Bandwidth, BoundCurves, Drawn, HeatMaps, Misspecification, PerturbedScores, PriorSweep, Scheme,
    ShiftedScore, TrainingCurves, learning_curves,
};
use mpu_report::{Curves, Heat, Record, RunKey, Scores, figures, run_report};
use std::path::Path;

#[path = "../src/figures/made_up.rs"]
mod made_up;

#[path = "../src/run_report/made_up.rs"]
mod made_up_reports;

use made_up::record;
use made_up_reports::{full, priors, unlabeled};

fn main() {
    let folder = std::env::args().nth(1).expect("a folder to draw into");
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).unwrap();
    reports(folder);
    let mut records = Vec::new();
    for seed in 0..5 {
        for (dataset, classes) in [
            ("mnist", 4),
            ("mnist", 6),
            ("fashion-mnist", 4),
            ("mnist", 10),
        ] {
            for prior in [0.2, 0.5, 0.8] {
                records.push(record(dataset, classes, prior, seed));
            }
        }
    }
    records.retain(|r| r.key.classes != 6 || r.key.prior < 0.7);
    let mut others = Vec::new();
    for method in [
        "csmpu-abs",
        "csmpu-nn",
        "ure-ovr",
        "biased-super",
        "area",
        "csmpu-ure",
    ] {
        for seed in 0..3 {
            let mut other = record(
                "my <own> data & more",
                5,
                0.5,
                seed + method.len() as u64 * 9,
            );
            method.clone_into(&mut other.key.method);
            others.push(other);
        }
    }
    for (width, columns) in [("wide", 3), ("narrow", 1)] {
        let name = |figure: &str| format!("{figure}-{width}");
        let seeds = vec![0, 1, 2, 3, 4, 5];
        let curves = TrainingCurves {
            columns,
            seeds,
            ..TrainingCurves::default()
        };
        write(folder, &name("figure1"), &curves.draw(&records));
        let sweep = PriorSweep {
            columns,
            ..PriorSweep::default()
        };
        write(folder, &name("figure2"), &sweep.draw(&records));
        write(
            folder,
            &name("figure3"),
            &Misspecification {
                columns,
                ..shifted()
            }
            .draw(),
        );
        for classes in [4, 10, 7] {
            let names = if classes == 4 {
                vec!["zero".into(), "one".into()]
            } else {
                Vec::new()
            };
            let columns = columns.min(2);
            let maps = HeatMaps {
                columns,
                classes,
                names,
                ..HeatMaps::default()
            };
            write(
                folder,
                &name(&format!("figure4-k{classes}")),
                &maps.draw(&records),
            );
        }
        write(
            folder,
            &name("compared"),
            &learning_curves(&others, "Your runs", columns),
        );
    }
}

/// Reports of runs, and what several estimators say of priors.
fn reports(folder: &Path) {
    let page = |name: &str, runs: &[run_report::RunReport]| {
        let file = |ending: &str| folder.join(format!("report-{name}.{ending}"));
        std::fs::write(file("html"), run_report::to_html(runs)).unwrap();
        std::fs::write(file("md"), run_report::to_md(runs)).unwrap();
        std::fs::write(file("json"), run_report::to_json(runs).unwrap()).unwrap();
    };
    page("one", &[full("products", 4, 1)]);
    page("many-classes", &[full("twenty classes", 20, 1)]);
    page("no-labels", &[unlabeled("no test labels", 6, 1)]);
    page(
        "two",
        &[full("first <try>", 6, 1), full("second try", 6, 2)],
    );
    let estimators = ["kernel mean matching", "alpha-max", "class-wise ROC"];
    for k in [4, 20] {
        let figure = priors(k, 3, &estimators).figure("Estimates of class priors");
        std::fs::write(folder.join(format!("priors-k{k}.svg")), figure.to_svg()).unwrap();
    }
}

fn shifted() -> Misspecification {
    let mut figure = Misspecification {
        n_seeds: 3,
        epochs: 100,
        ..Misspecification::default()
    };
    for classes in [4, 6, 8] {
        let k = f64::from(classes);
        let deltas: Vec<f64> = (0..=8).map(|i| f64::from(i) * 0.05).collect();
        for (scheme, slope) in Scheme::ALL.into_iter().zip([0.1, 0.35]) {
            let point = |&delta: &f64| ShiftedScore {
                delta,
                f1: 0.97 - 0.015 * k - slope * delta * delta * k / 2.0,
                std: Some(0.004 + 0.02 * delta),
            };
            let points = deltas.iter().map(point).collect();
            figure.scores.push(PerturbedScores {
                classes: classes as usize,
                scheme,
                points,
            });
            for drop in [1.0, 2.0, 5.0_f64] {
                let delta = (drop / (60.0 * slope * k)).sqrt();
                let (classes, std) = (classes as usize, Some(0.02));
                figure.bandwidths.push(Bandwidth {
                    classes,
                    scheme,
                    drop,
                    delta,
                    std,
                });
            }
        }
        figure.bounds.push(BoundCurves {
            classes: classes as usize,
            empirical: deltas.iter().map(|d| (*d, 0.8 * d / k)).collect(),
            theoretical: deltas.iter().map(|d| (*d, 2.0 * d / k)).collect(),
        });
    }
    figure
}

fn write(folder: &Path, name: &str, drawn: &Drawn) {
    let svg = drawn.svg();
    std::fs::write(folder.join(format!("{name}.svg")), &svg).unwrap();
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">{}",
        drawn.figure.to_html()
    );
    std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    #[cfg(feature = "png")]
    std::fs::write(
        folder.join(format!("{name}.png")),
        mpu_report::chart::png(&svg, 1.0).unwrap(),
    )
    .unwrap();
}
