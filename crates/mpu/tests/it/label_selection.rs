//! Labelled rows that are not a random draw of their class, from features to priors.

use mpu::data::{ClassCount, Features, MpuLabel, Seed, Shape, Stream};
use mpu::prior::{BootstrapOptions, EstimateOptions, EstimatorKind, Selection};
use mpu::train::{Sample, Unobserved};
use mpu::{Subgrouped, TableRows};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (a, b) = (uniform(rng), uniform(rng));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// Where the three kinds of rows of class 0, those of class 1 and three kinds of negatives lie, in four dimensions.
const KINDS: [[f64; 4]; 9] = [
    [4.0, 0.0, 0.0, 0.0],
    [0.0, 4.0, 0.0, 0.0],
    [0.0, 0.0, 4.0, 0.0],
    [-4.0, 0.0, 0.0, 3.0],
    [0.0, -4.0, 0.0, 3.0],
    [0.0, 0.0, -4.0, 3.0],
    [-2.0, -2.0, -2.0, -4.0],
    [3.0, 3.0, 3.0, -4.0],
    [0.0, 0.0, 0.0, 0.5],
];
/// Rows of the pool of each kind: the prior of each observed class is 0.24.
const POOL: [usize; 9] = [80, 80, 80, 80, 80, 80, 200, 160, 160];

/// A sample with so many labelled rows of the kinds of each observed class.
fn sample(labeled: [usize; 3], seed: u64) -> Sample {
    let mut rng = Seed(seed).stream(Stream::Generate);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    let mut push = |kind: usize, label: MpuLabel, n: usize| {
        for _ in 0..n {
            values.extend(KINDS[kind].map(|at| (at + normal(&mut rng)) as f32));
            labels.push(label);
        }
    };
    for class in 0..2 {
        for (kind, &n) in labeled.iter().enumerate() {
            push(3 * class + kind, MpuLabel::Labeled(class), n);
        }
    }
    for (kind, &n) in POOL.iter().enumerate() {
        push(kind, MpuLabel::Unlabeled, n);
    }
    let features = Features::new(values, Shape::Vector(4)).unwrap();
    Sample { features, labels }
}

/// Draws with and without a bias.
const BIASED: u64 = 2;
const RANDOM: u64 = 3;

struct Run {
    /// Mean absolute error of the priors: as usual, and by sub-groups.
    plain: f64,
    grouped: f64,
    selection: Vec<Selection>,
    told: Vec<String>,
}

fn run(labeled: [usize; 3], seed: u64) -> Run {
    let (sample, classes, seed) = (
        sample(labeled, seed),
        ClassCount::new(3).unwrap(),
        Seed(seed),
    );
    let options = EstimateOptions {
        bootstrap: BootstrapOptions {
            replicates: 200,
            ..BootstrapOptions::default()
        },
        ..EstimateOptions::default()
    };
    let error = |priors: Vec<f64>| priors.iter().map(|p| (p - 0.24).abs()).sum::<f64>() / 2.0;
    let margins = mpu::detector_margins(&sample, classes, seed, &mut Unobserved).unwrap();
    let plain = EstimatorKind::default().build().estimate(&margins).unwrap();
    let split = Subgrouped::of(&sample, classes, seed, &mut Unobserved).unwrap();
    let report = split
        .estimate(EstimatorKind::default(), &options, seed)
        .unwrap();
    let names = |what: &str, n: usize| (0..n).map(|i| format!("{what}{i}")).collect::<Vec<_>>();
    Run {
        plain: error(plain),
        grouped: error(report.priors.observed()),
        told: split.sentences(&report, &names("class", 2), &names("x", 4)),
        selection: report.selection.iter().map(|of| of.selection).collect(),
    }
}

#[test]
fn estimates_by_clusters_withstand_a_biased_choice_of_labelled_rows() {
    let (mut plain, mut grouped, mut noticed) = (0.0, 0.0, 0);
    for seed in 0..BIASED {
        let run = run([110, 20, 20], seed);
        plain += run.plain / BIASED as f64;
        grouped += run.grouped / BIASED as f64;
        noticed += run
            .selection
            .iter()
            .filter(|of| **of == Selection::Uneven)
            .count();
        if run.selection[0] == Selection::Uneven {
            let rare = ["high `x1`", "high `x2`"];
            assert!(
                rare.iter().any(|rare| run.told[0].contains(rare)),
                "{}",
                run.told[0]
            );
        }
        println!(
            "{:.3} {:.3} {:?} {}",
            run.plain, run.grouped, run.selection, run.told[0]
        );
    }
    assert!(grouped <= plain / 3.0, "{grouped} {plain}");
    assert!(noticed >= 2 * BIASED as usize - 1, "{noticed}");
}

/// The same sample as a table, for which a forest tells sub-groups apart.
fn table(sample: &Sample, folder: &std::path::Path) -> TableRows<'static> {
    let mut text = "x0,x1,x2,x3,label\n".to_owned();
    for (row, label) in sample.labels.iter().enumerate() {
        for value in sample.features.row(row) {
            text += &value.to_string();
            text.push(',');
        }
        if let MpuLabel::Labeled(class) = label {
            text += ["a", "b"][*class];
        }
        text.push('\n');
    }
    let file = folder.join("rows.csv");
    std::fs::write(&file, text).unwrap();
    TableRows::read(None, &[format!("data.file={:?}", file.to_str().unwrap())]).unwrap()
}

#[test]
fn forests_tell_sub_groups_of_tables_apart() {
    let folder = tempfile::tempdir().unwrap();
    let options = EstimateOptions {
        bootstrap: BootstrapOptions {
            replicates: 100,
            ..BootstrapOptions::default()
        },
        ..EstimateOptions::default()
    };
    let rows = table(&sample([110, 20, 20], 0), folder.path());
    let (margins, kind) = rows.margins(&mut Unobserved).unwrap();
    let plain = kind.build().estimate(&margins).unwrap();
    let split = rows.subgrouped(&mut Unobserved).unwrap();
    let report = split.estimate(EstimatorKind::default(), &options, Seed(1));
    let report = report.unwrap();
    let error = |priors: &[f64]| priors.iter().map(|p| (p - 0.24).abs()).sum::<f64>() / 2.0;
    let (plain, grouped) = (error(&plain), error(&report.priors.observed()));
    assert!(grouped <= plain / 3.0, "{grouped} {plain}");
    let found = report.selection.iter().map(|of| of.selection);
    assert!(found.eq([Selection::Uneven; 2]), "{:?}", report.selection);
}

#[test]
fn without_a_bias_estimates_stay_good_and_nothing_is_said() {
    let (mut plain, mut grouped, mut alarms) = (0.0, 0.0, 0);
    for seed in 0..RANDOM {
        let run = run([50, 50, 50], seed);
        plain += run.plain / RANDOM as f64;
        grouped += run.grouped / RANDOM as f64;
        alarms += usize::from(run.selection.contains(&Selection::Uneven));
    }
    assert!(grouped <= 1.5 * plain, "{grouped} {plain}");
    assert!(alarms == 0, "{alarms} of {RANDOM}");
}
