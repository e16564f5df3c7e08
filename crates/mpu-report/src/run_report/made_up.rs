//! Made-up reports of runs, for tests.

use crate::chart::Estimate;
use crate::figures::{
    Answers, ClassHistogram, ClassPrecisionRecall, ClassReliability, ColumnWeight, ColumnWeights,
    CurveKind, EstimatorPriors, ExpectedCount, ExpectedCounts, PrecisionRecall,
    PrecisionRecallPoint, PriorClass, PriorEstimates, PriorSensitivity, Reliability, RunCurve,
    RunCurves, ScoreHistograms, SensitivityCurve, Thresholds,
};
use crate::run_report::{
    Basis, CheckedColumn, ClassScore, DataCheck, Fact, Part, RunReport, Score, ScoreKind, Verdict,
};
use mpu_eval::abstain::ThresholdPoint;
use mpu_eval::reliability::Bin;

/// Names that are long or hold what HTML and Markdown read as their own.
const NAMES: [&str; 5] = [
    "cat",
    "R&D <b>bold</b>",
    "a class with a name that is rather long, as names of real data are",
    "pipe|line",
    "\"quoted\" 'name'",
];

/// A number between -1 and 1 that looks random and is not.
fn noise(seed: u64, index: usize) -> f64 {
    let mut z = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add((index as u64 + 1) << 9);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z >> 11) as f64 / (1_u64 << 53) as f64) * 2.0 - 1.0
}

fn names(k: usize) -> Vec<String> {
    let name = |class: usize| match class {
        class if class + 1 == k => "unknown".to_owned(),
        class => NAMES
            .get(class)
            .map_or_else(|| format!("class {class}"), |name| (*name).to_owned()),
    };
    (0..k).map(name).collect()
}

/// A run of `k` classes with everything that a report can show.
pub(crate) fn full(name: &str, k: usize, seed: u64) -> RunReport {
    let share = |name: &str, value: f64| {
        let value = value + 0.01 * noise(seed, name.len());
        Score::new(name, ScoreKind::Share, Basis::TrueLabels, value)
    };
    let risk = 0.1432 + 0.01 * noise(seed, 77);
    RunReport {
        name: name.to_owned(),
        facts: vec![
            Fact::new("data", "products.csv, 12 400 rows, 24 columns"),
            Fact::new(
                "method",
                if seed.is_multiple_of(2) {
                    "csmpu-abs"
                } else {
                    "csmpu-nn"
                },
            ),
            Fact::new("loss", "sigmoid-prob, γ = 1, symmetrised"),
            Fact::new("priors", "estimated, then held"),
            Fact::new("epochs", "60"),
            Fact::new("seed", seed.to_string()),
            Fact::new("time", "2 min 14 s on 2 threads"),
        ],
        model: vec![
            Fact::new("network", "mlp-5, 300 wide"),
            Fact::new("inputs", "24 numbers, scaled to 0 … 1 on training rows"),
            Fact::new("classes", k.to_string()),
            Fact::new("parameters", "279 004"),
        ],
        warnings: vec!["class `pipe|line` has 12 labelled rows only".to_owned()],
        doubts: vec!["the lower bound of `pipe|line` does not hold".to_owned()],
        verdict: Some(Verdict {
            found: vec!["About 300 of the 9 920 unlabelled rows are `cat`.".to_owned()],
            sure: vec!["About 90 of 100 answers are right.".to_owned()],
            next: vec!["Label more rows of `pipe|line`.".to_owned()],
        }),
        measured_on: "2 480 held-out rows with labels".to_owned(),
        estimated_on: "620 held-out labelled and unlabelled rows".to_owned(),
        expected: Part::Given(expected(k)),
        histograms: Part::Given(histograms(k, seed)),
        precision_recall: Part::Given(precision_recall(k)),
        importances: Part::Given(importances(seed)),
        scores: vec![
            Score {
                interval: Some((0.893, 0.917)),
                ..share("accuracy", 0.905)
            },
            share("macro F1", 0.891),
            Score::new(
                "accuracy",
                ScoreKind::Share,
                Basis::PuRows,
                0.897 + 0.01 * noise(seed, 3),
            ),
            Score::new("validation risk", ScoreKind::Number, Basis::PuRows, risk),
        ],
        class_scores: Part::Given(class_scores(k, seed)),
        class_estimates: Part::Given(class_scores(k, seed + 1)),
        curves: Part::Given(curves(&CurveKind::ALL, seed)),
        answers: Part::Given(answers(k, seed)),
        reliability: Part::Given(reliability(k, seed)),
        thresholds: Part::Given(thresholds()),
        priors: Part::Given(priors(k, seed, &["kernel mean matching"])),
        sensitivity: Part::Given(sensitivity(seed)),
        data_check: Part::Given(DataCheck {
            findings: vec![
                "3 rows occur twice.".to_owned(),
                "Column `weight` has one value only.".to_owned(),
            ],
            facts: vec![Fact::new("rows", "12 400")],
            columns: vec![
                CheckedColumn {
                    column: "price".to_owned(),
                    kind: "number".to_owned(),
                    missing: 0,
                },
                CheckedColumn {
                    column: "category".to_owned(),
                    kind: "31 categories".to_owned(),
                    missing: 12,
                },
            ],
        }),
        config_toml: format!(
            "[data]\npath = \"products.csv\"\nlabel = \"category <main>\"\n\n[training]\nepochs = 60\nseed = {seed}\n\
             note = \"a line that is much too long for a phone and has to be scrolled inside of its own box, not with the page\"\n"
        ),
    }
}

/// A run on data without any true labels.
pub(crate) fn unlabeled(name: &str, k: usize, seed: u64) -> RunReport {
    let why = "the data have no test rows with true labels";
    let mut run = full(name, k, seed);
    run.scores.retain(|score| score.basis == Basis::PuRows);
    run.measured_on = String::new();
    run.class_scores = Part::missing(why);
    run.answers = Part::missing(why);
    run.reliability = Part::missing(why);
    run.thresholds = Part::missing(why);
    run.sensitivity = Part::missing("not asked for");
    run.curves = Part::Given(curves(
        &[
            CurveKind::TrainRisk,
            CurveKind::TrainRiskCorrected,
            CurveKind::ValidationRisk,
            CurveKind::PuAccuracy,
        ],
        seed,
    ));
    if let Part::Given(priors) = &mut run.priors {
        for class in &mut priors.classes {
            class.truth = None;
        }
    }
    run
}

fn curves(kinds: &[CurveKind], seed: u64) -> RunCurves {
    let value = |kind: CurveKind, epoch: usize| {
        let fade = (-(epoch as f64) / 12.0).exp();
        let noise = 0.006 * noise(seed + kind as u64, epoch);
        let (start, end) = match kind {
            CurveKind::TrainRisk => (0.5, -0.01),
            CurveKind::TrainRiskCorrected => (0.5, 0.02),
            CurveKind::ValidationRisk => (0.52, 0.14),
            CurveKind::TestLoss => (0.53, 0.16),
            CurveKind::PuAccuracy => (0.4, 0.89),
            CurveKind::OracleTrainAccuracy => (0.4, 0.97),
            CurveKind::TestAccuracy => (0.4, 0.905),
            CurveKind::TrainLoss => (0.9, 0.2),
        };
        end + (start - end) * fade + noise
    };
    let measured = |kind: CurveKind, epoch: usize| kind != CurveKind::TestLoss || epoch % 5 == 4;
    let curve = |&kind: &CurveKind| RunCurve {
        kind,
        values: (0..60)
            .map(|epoch| measured(kind, epoch).then(|| value(kind, epoch)))
            .collect(),
    };
    RunCurves {
        kept_epoch: Some(41 + seed as usize % 7),
        curves: kinds.iter().map(curve).collect(),
    }
}

fn answers(k: usize, seed: u64) -> Answers {
    let count = |row: usize, column: usize| {
        let size = 1.0 + noise(seed + 5, row * k + column);
        if row == column {
            (600.0 + 500.0 * size) as u64
        } else {
            (size * size * 18.0) as u64 / (1 + row.abs_diff(column) as u64 / 3)
        }
    };
    let counts: Vec<Vec<u64>> = (0..k)
        .map(|row| (0..k).map(|column| count(row, column)).collect())
        .collect();
    let margin = |row: usize, column: usize| {
        let size = 1.5 + noise(seed + 6, row * k + column);
        let margin = if row == column { 3.0 * size } else { -size };
        (counts[row][column] > 0).then_some(margin)
    };
    let margins = (0..k)
        .map(|row| (0..k).map(|column| margin(row, column)).collect())
        .collect();
    Answers {
        rows: "2 480 test rows".to_owned(),
        classes: names(k),
        counts,
        margins,
    }
}

fn class_scores(k: usize, seed: u64) -> Vec<ClassScore> {
    let score = |(class, name): (usize, String)| ClassScore {
        class: name,
        precision: Some(0.9 + 0.05 * noise(seed + 1, class)),
        precision_interval: (class == 2).then_some((0.85, 0.95)),
        recall: Some(0.88 + 0.05 * noise(seed + 2, class)),
        recall_interval: None,
        f1: (class != 1).then(|| 0.89 + 0.05 * noise(seed + 3, class)),
        rows: Some(620),
    };
    names(k).into_iter().enumerate().map(score).collect()
}

fn expected(k: usize) -> ExpectedCounts {
    let count = |(class, name): (usize, String)| ExpectedCount {
        class: name,
        labeled: (class + 1 < k).then_some(40),
        rows: 300.0 + 10.0 * class as f64,
        interval: Some((250.0, 400.0 + 10.0 * class as f64)),
    };
    ExpectedCounts {
        unlabeled: 9920,
        classes: names(k).into_iter().enumerate().map(count).collect(),
    }
}

fn histograms(k: usize, seed: u64) -> ScoreHistograms {
    let counts = |seed: u64| {
        let count = |bin: usize| (40.0 * (1.0 + noise(seed, bin))) as u64;
        (0..5).map(count).collect()
    };
    let class = |name: &String| ClassHistogram {
        class: name.clone(),
        labeled: counts(seed),
        unlabeled: counts(seed + 9),
    };
    ScoreHistograms {
        classes: names(k)[..k - 1].iter().map(class).collect(),
    }
}

fn precision_recall(k: usize) -> PrecisionRecall {
    let point = |step: usize| PrecisionRecallPoint {
        threshold: step as f64 / 10.0,
        precision: 0.5 + 0.05 * step as f64,
        recall: 1.0 - 0.07 * step as f64,
    };
    let class = |name: &String| ClassPrecisionRecall {
        class: name.clone(),
        points: (0..10).map(point).collect(),
    };
    PrecisionRecall {
        classes: names(k)[..k - 1].iter().map(class).collect(),
    }
}

fn importances(seed: u64) -> ColumnWeights {
    let column = |index: usize| ColumnWeight {
        column: format!("a column with a long name, number {index}"),
        rise: 0.3 / (1.0 + index as f64) + 0.01 * noise(seed, index),
        error: 0.02,
    };
    ColumnWeights {
        rows: 500,
        not_tried: 3,
        columns: (0..20).map(column).collect(),
    }
}

fn reliability(k: usize, seed: u64) -> Reliability {
    let bin = |class: usize, index: usize| {
        let predicted = 0.05 + 0.1 * index as f64;
        let off = 0.25 * (predicted - 0.5) * (0.5 + 0.5 * noise(seed, class));
        let edge = (index as f64 - 4.5).abs();
        Bin {
            low: 0.1 * index as f64,
            high: 0.1 * (index + 1) as f64,
            predicted,
            observed: (predicted - off + 0.04 * noise(seed, 40 * class + index)).clamp(0.0, 1.0),
            count: (edge * edge * edge * 12.0) as u64,
        }
    };
    let class = |(class, name): (usize, String)| ClassReliability {
        class: name,
        ece: Some(0.03 + 0.02 * noise(seed + 4, class)),
        bins: (0..10).map(|index| bin(class, index)).collect(),
    };
    Reliability {
        rows: "2 480 test rows".to_owned(),
        ece: Some(0.031),
        classes: names(k).into_iter().enumerate().map(class).collect(),
    }
}

fn thresholds() -> Thresholds {
    let point = |index: usize| {
        let t = index as f64 / 20.0;
        ThresholdPoint {
            threshold: t,
            precision: Some(0.9 + 0.09 * t * t),
            recall: Some(0.89 - 0.5 * t.powi(6)),
            answered: Some(1.0 - 0.55 * t.powi(5)),
        }
    };
    Thresholds {
        rows: "2 480 test rows".to_owned(),
        points: (5..20).map(point).collect(),
    }
}

/// What several estimators say of `k` classes.
pub(crate) fn priors(k: usize, seed: u64, estimators: &[&str]) -> PriorEstimates {
    let truth = |class: usize| {
        if class + 1 == k {
            0.5
        } else {
            0.5 / (k as f64 - 1.0) * (1.0 + 0.3 * noise(7, class))
        }
    };
    let estimate = |estimator: u64, class: usize| {
        let value = truth(class) * (1.0 + 0.15 * noise(seed + 9 * estimator, class));
        let half = 0.12 * value + 0.01;
        // One estimator says nothing of the second class.
        (estimator != 2 || class != 1).then_some(Estimate {
            value,
            interval: Some((value - half, value + half)),
        })
    };
    let classes = names(k)
        .into_iter()
        .enumerate()
        .map(|(class, name)| PriorClass {
            class: name,
            lower: Some(0.4 * truth(class)),
            upper: (class != 0).then(|| 1.5 * truth(class)),
            used: Some(estimate(0, class).map_or(0.1, |e| e.value)),
            truth: Some(truth(class)),
        });
    PriorEstimates {
        classes: classes.collect(),
        estimators: estimators
            .iter()
            .zip(0..)
            .map(|(name, index)| EstimatorPriors {
                estimator: (*name).to_owned(),
                estimates: (0..k).map(|class| estimate(index, class)).collect(),
            })
            .collect(),
        confidence: Some(0.95),
    }
}

fn sensitivity(seed: u64) -> PriorSensitivity {
    let changes = [-0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4];
    let curve = |metric: &str, level: f64, slope: f64| SensitivityCurve {
        metric: metric.to_owned(),
        points: changes
            .iter()
            .enumerate()
            .map(|(i, &d)| (d, Some(level - slope * d * d + 0.3 * noise(seed, i))))
            .collect(),
    };
    PriorSensitivity {
        changed: "prior of the negative class".to_owned(),
        curves: vec![
            curve("macro F1 (%)", 89.0, 60.0),
            curve("estimated accuracy (%)", 89.5, 90.0),
        ],
    }
}
