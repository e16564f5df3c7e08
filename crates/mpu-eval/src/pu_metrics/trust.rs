//! Simulations: what is estimated without labels, beside the truth of a large sample.

use mpu_data::{MpuLabel, Priors};

use super::{Estimate, Evidence, PuJudgement, Target, UncertainPriors};
use crate::Decision;
use crate::calibrate::{Anchor, Calibration};
use crate::metrics::Confusion;
use crate::shift::reweighted;
use crate::testing::{Draws, Plane};

/// A calibrated model of the plane whose scores are a bent form of the true ones, told priors that are off.
pub(crate) struct Told {
    pub(crate) plane: Plane,
    pub(crate) labels: Vec<MpuLabel>,
    pub(crate) scores: Vec<f32>,
    pub(crate) priors: UncertainPriors,
    pub(crate) population: Priors,
    target: Target,
    pub(crate) calibration: Calibration,
    bend: f64,
}

impl Told {
    pub(crate) fn new(
        plane: Plane,
        (n_labeled, n_pool): (usize, usize),
        off: f64,
        bend: f64,
        draws: &mut Draws,
    ) -> Self {
        let (labels, points, _) = plane.sample(n_labeled, n_pool, draws);
        let scores: Vec<f32> = points.iter().flat_map(|&x| bent(&plane, x, bend)).collect();
        let observed: Vec<f64> = plane.priors.observed().iter().map(|pi| pi + off).collect();
        let told = Priors::from_observed(&observed).unwrap();
        let half = off.abs();
        let intervals: Vec<(f64, f64)> = observed.iter().map(|p| (p - half, p + half)).collect();
        let calibration = Calibration::fit(&told, &labels, &scores, Anchor::default()).unwrap();
        let labeled = vec![n_labeled as u64; observed.len()];
        let population = told.of_population(&labeled, n_pool as u64).unwrap();
        Self {
            target: Target::Population(population.clone()),
            population,
            priors: UncertainPriors::with_intervals(told, &intervals).unwrap(),
            plane,
            labels,
            scores,
            calibration,
            bend,
        }
    }

    /// The likeliest classes and their probabilities under the pool's priors and the population's.
    pub(crate) fn answers(&self, scores: &[f32]) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
        let p = self.calibration.probabilities(scores).unwrap();
        let moved = reweighted(self.priors.priors(), &self.population, &p).unwrap();
        let answers = Decision::Argmax.answers(self.plane.priors.classes(), &moved);
        (p, moved, answers.unwrap())
    }

    pub(crate) fn judgement(&self) -> PuJudgement {
        let (p, _, answers) = self.answers(&self.scores);
        PuJudgement::of(&self.evidence(&p), &answers).unwrap()
    }

    /// What is known of answers to its rows, with these probabilities.
    pub(crate) fn evidence<'a>(&'a self, p: &'a [f64]) -> Evidence<'a> {
        Evidence {
            priors: &self.priors,
            target: &self.target,
            labels: &self.labels,
            probabilities: Some(p),
        }
    }

    /// Many rows of the true population: their classes and scores.
    pub(crate) fn truth(&self, n: usize, draws: &mut Draws) -> (Vec<usize>, Vec<f32>) {
        let n_pool = self.labels.iter().filter(|l| **l == MpuLabel::Unlabeled);
        let n_pool = n_pool.count() as u64;
        let n_labeled = self.labels.len() as u64 - n_pool;
        let n_observed = self.plane.priors.observed().len();
        let labeled = vec![n_labeled / n_observed as u64; n_observed];
        let shares = self.plane.priors.of_population(&labeled, n_pool).unwrap();
        let classes: Vec<usize> = (0..n).map(|_| draws.class(&shares)).collect();
        let scores = self.scores_of(&classes, draws);
        (classes, scores)
    }

    /// Scores of rows of a population with other class shares.
    pub(crate) fn rows(&self, shares: &Priors, n: usize, draws: &mut Draws) -> Vec<f32> {
        let classes: Vec<usize> = (0..n).map(|_| draws.class(shares)).collect();
        self.scores_of(&classes, draws)
    }

    fn scores_of(&self, classes: &[usize], draws: &mut Draws) -> Vec<f32> {
        let scores = classes.iter().flat_map(|&class| {
            let x = self.plane.point(class, draws);
            bent(&self.plane, x, self.bend)
        });
        scores.collect()
    }
}

/// Scores of a network that is too sure (above 1) or not sure enough, more so for rows of the second kind.
fn bent(plane: &Plane, x: [f64; 2], bend: f64) -> Vec<f32> {
    let z = plane.log_joint(x);
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bent = z.iter().enumerate().map(|(class, z)| {
        let tilt = 0.3 * (bend - 1.0) * x[0] * class as f64;
        (bend * (z - top) + tilt) as f32
    });
    bent.collect()
}

/// Samples of each setting.
const RUNS: i32 = 3;

#[test]
fn accuracy_without_labels_is_near_the_truth_and_its_interval_holds_it() {
    let mut draws = Draws(77);
    let (mut errors, mut held, mut runs) = (0.0, 0, 0);
    for radius in [1.2, 2.0, 3.5] {
        for rows in [(15, 150), (60, 600)] {
            for off in [0.0, 0.1, -0.1] {
                for bend in [0.5, 1.0, 2.0] {
                    let (mut error, mut inside, mut bias) = (0.0, 0, 0.0);
                    for _ in 0..RUNS {
                        let plane = Plane::new(&[0.2, 0.15, 0.65], radius);
                        let told = Told::new(plane, rows, off, bend, &mut draws);
                        let (classes, scores) = told.truth(4000, &mut draws);
                        let (_, _, given) = told.answers(&scores);
                        let three = told.plane.priors.classes();
                        let truth = Confusion::new(three, &classes, &given).unwrap();
                        let found: Estimate = told.judgement().accuracy.unwrap();
                        assert!(found.value < 1.0 && found.high <= 1.0, "{found:?}");
                        error += (found.value - truth.accuracy()).abs() / f64::from(RUNS);
                        bias += (found.value - truth.accuracy()) / f64::from(RUNS);
                        let holds = found.low..=found.high;
                        inside += i32::from(holds.contains(&truth.accuracy()));
                    }
                    println!(
                        "radius {radius} rows {rows:?} off {off} bend {bend}: error {error:.3} bias {bias:.3} held {inside} of {RUNS}"
                    );
                    errors += error;
                    held += inside;
                    runs += RUNS;
                }
            }
        }
    }
    let mean = errors * f64::from(RUNS) / f64::from(runs);
    println!("mean error {mean:.4}, held {held} of {runs}");
    assert!(mean < 0.03, "{mean}");
    assert!(held * 10 >= runs * 9, "{held} of {runs}");
}
