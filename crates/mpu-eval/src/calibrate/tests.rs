use mpu_data::MpuLabel::{Labeled, Unlabeled};
use proptest::prelude::*;

use super::*;
use crate::testing::{Draws, Plane};

/// How a model's scores distort the true log-probabilities.
#[derive(Debug, Clone, Copy)]
enum Distortion {
    /// `f = 3 log p + shift`: undone exactly by some `(a, b)`.
    Linear,
    /// Squashed by a hyperbolic tangent: no `(a, b)` undoes it.
    Squashed,
    /// With noise in every score.
    Noisy,
}

fn distorted(plane: &Plane, points: &[[f64; 2]], how: Distortion, draws: &mut Draws) -> Vec<f32> {
    let mut scores = Vec::new();
    for &x in points {
        for (j, z) in plane.log_joint(x).into_iter().enumerate() {
            scores.push(match how {
                Distortion::Linear => 3.0 * z + j as f64,
                Distortion::Squashed => ((z + 2.0) / 3.0).tanh(),
                Distortion::Noisy => z + 0.7 * draws.normal() - 0.5 * j as f64,
            } as f32);
        }
    }
    scores
}

/// Kullback and Leibler's divergence of `q` from the truth, mean over fresh pool rows.
fn divergence(plane: &Plane, points: &[[f64; 2]], q: &[f64]) -> f64 {
    let k = plane.priors.classes().get();
    let mut sum = 0.0;
    for (x, q) in points.iter().zip(q.chunks(k)) {
        for (p, q) in plane.posterior(*x).iter().zip(q) {
            sum += p * (p / q.max(1e-12)).ln();
        }
    }
    sum / points.len() as f64
}

/// The mean divergences of raw scores and of both anchors over draws of one setting.
fn measured(plane: &Plane, how: Distortion, sizes: (usize, usize), off: f64) -> [f64; 3] {
    let observed: Vec<f64> = plane.priors.observed().iter().map(|p| p * off).collect();
    let priors = Priors::from_observed(&observed).unwrap();
    let raw = Calibration::new(1.0, vec![Some(0.0); observed.len() + 1]).unwrap();
    let mut sums = [0.0; 3];
    for seed in 0..3 {
        let mut draws = Draws(1000 + seed);
        let (labels, points, _) = plane.sample(sizes.0, sizes.1, &mut draws);
        let scores = distorted(plane, &points, how, &mut draws);
        let (_, fresh, _) = plane.sample(0, 500, &mut draws);
        let fresh_scores = distorted(plane, &fresh, how, &mut draws);
        let fit = |anchor| Calibration::fit(&priors, &labels, &scores, anchor).unwrap();
        let all = [raw.clone(), fit(Anchor::Likelihood), fit(Anchor::Matched)];
        for (sum, calibration) in sums.iter_mut().zip(&all) {
            assert!(calibration.a() < 1e4, "{how:?} {}", calibration.a());
            let q = calibration.probabilities(&fresh_scores).unwrap();
            *sum += divergence(plane, &fresh, &q) / 3.0;
        }
    }
    sums
}

/// What the default rests on. Run with `--nocapture` to see every setting.
#[test]
fn the_likelihood_calibrates_better_than_a_matched_pool() {
    let planes = [
        Plane::new(&[0.3, 0.7], 1.0),
        Plane::new(&[0.2, 0.2, 0.6], 1.5),
        Plane::new(&[0.1, 0.1, 0.1, 0.1, 0.6], 3.0),
        Plane::new(&[0.1, 0.1, 0.1, 0.1, 0.6], 8.0),
    ];
    let mut totals = [0.0; 3];
    let mut exact = [0.0; 3];
    for plane in &planes {
        for how in [Distortion::Linear, Distortion::Squashed, Distortion::Noisy] {
            for sizes in [(20, 100), (40, 200)] {
                for off in [1.0, 1.2] {
                    let sums = measured(plane, how, sizes, off);
                    let (k, r) = (plane.priors.classes().get(), plane.radius);
                    println!(
                        "k {k} radius {r} {how:?} rows {sizes:?} priors x{off}: raw {:.4}, likelihood {:.4}, matched {:.4}",
                        sums[0], sums[1], sums[2]
                    );
                    for i in 0..3 {
                        totals[i] += sums[i];
                        exact[i] += if off == 1.0 { sums[i] } else { 0.0 };
                    }
                }
            }
        }
    }
    println!("sums {totals:?}, with exact priors {exact:?}");
    assert!(totals[1] < 0.5 * totals[0] && totals[1] < 0.8 * totals[2]);
    assert!(exact[1] < exact[2]);
}

#[test]
fn a_known_distortion_is_undone() {
    let plane = Plane::new(&[0.2, 0.2, 0.6], 1.5);
    let mut draws = Draws(7);
    let (labels, points, _) = plane.sample(2000, 6000, &mut draws);
    let scores = distorted(&plane, &points, Distortion::Linear, &mut draws);
    let fitted = Calibration::fit(&plane.priors, &labels, &scores, Anchor::Likelihood).unwrap();
    assert!((fitted.a() - 1.0 / 3.0).abs() < 0.02, "{fitted:?}");
    // Shifts of 0, 1, 2 at scale 1/3, seen from the last class.
    assert!((fitted.b()[0].unwrap() - 2.0 / 3.0).abs() < 0.1);
    assert!((fitted.b()[1].unwrap() - 1.0 / 3.0).abs() < 0.1);
    assert_eq!(fitted.b()[2], Some(0.0));
    let again = Calibration::fit(&plane.priors, &labels, &scores, Anchor::Likelihood).unwrap();
    assert_eq!(fitted, again);
}

#[test]
fn a_matched_pool_has_the_priors_as_its_mean() {
    let plane = Plane::new(&[0.2, 0.3, 0.5], 1.5);
    let mut draws = Draws(3);
    let (labels, points, _) = plane.sample(50, 300, &mut draws);
    let scores = distorted(&plane, &points, Distortion::Noisy, &mut draws);
    let fitted = Calibration::fit(&plane.priors, &labels, &scores, Anchor::Matched).unwrap();
    let q = fitted.probabilities(&scores[100 * 3..]).unwrap();
    for (class, pi) in plane.priors.as_slice().iter().enumerate() {
        let mean = q.chunks(3).map(|q| q[class]).sum::<f64>() / 300.0;
        assert!((mean - pi).abs() < 1e-8, "class {class}: {mean}");
    }
}

#[test]
fn absent_classes_are_handled() {
    let plane = Plane::new(&[0.2, 0.3, 0.5], 1.5);
    let mut draws = Draws(5);
    let (labels, points, _) = plane.sample(50, 300, &mut draws);
    let scores = distorted(&plane, &points, Distortion::Linear, &mut draws);
    for pi in [
        [0.0, 0.4, 0.6],
        [0.4, 0.6, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
    ] {
        let priors = Priors::new(pi.to_vec()).unwrap();
        for anchor in Anchor::ALL {
            let fitted = Calibration::fit(&priors, &labels, &scores, anchor).unwrap();
            for q in fitted.probabilities(&scores).unwrap().chunks(3) {
                assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!((0..3).all(|j| (pi[j] > 0.0) || q[j] == 0.0), "{q:?}");
            }
            let text = serde_json::to_string(&fitted).unwrap();
            let read: Calibration = serde_json::from_str(&text).unwrap();
            assert_eq!(read.b().len(), 3);
        }
    }
    // Class 1 without labelled rows: its prior places it.
    let (labels, scores) = (
        [&labels[..50], &labels[100..]].concat(),
        [&scores[..150], &scores[300..]].concat(),
    );
    for anchor in Anchor::ALL {
        let fitted = Calibration::fit(&plane.priors, &labels, &scores, anchor).unwrap();
        let q = fitted.probabilities(&scores[150..]).unwrap();
        let mean = q.chunks(3).map(|q| q[1]).sum::<f64>() / 300.0;
        assert!((mean - 0.3).abs() < 1e-8, "{mean}");
    }
    // No labelled row at all.
    let (pool, scores) = (&labels[50..], &scores[150..]);
    Calibration::fit(&plane.priors, pool, scores, Anchor::Matched).unwrap();
}

#[test]
fn separable_and_huge_scores_do_not_run_away() {
    let labels = [Labeled(0), Labeled(0), Unlabeled, Unlabeled];
    let priors = Priors::new(vec![0.5, 0.5]).unwrap();
    for scale in [1e-6_f32, 1.0, 1e6] {
        let scores = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0].map(|f: f32| f * scale);
        for anchor in Anchor::ALL {
            let fitted = Calibration::fit(&priors, &labels, &scores, anchor).unwrap();
            let q = fitted.probabilities(&scores).unwrap();
            assert!(q[4] > q[6] && fitted.a() > 0.0, "{scale} {fitted:?} {q:?}");
            assert!(q.iter().all(|q| (0.0..=1.0).contains(q)));
            assert!(fitted.a() < 1e8);
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let priors = Priors::new(vec![0.5, 0.5]).unwrap();
    let fit = |labels: &[MpuLabel], scores: &[f32]| {
        Calibration::fit(&priors, labels, scores, Anchor::default())
    };
    assert!(matches!(
        fit(&[Labeled(0)], &[0.0, 1.0]),
        Err(Error::NoRows { .. })
    ));
    for scores in [&[0.0][..], &[0.0; 4]] {
        assert!(matches!(
            fit(&[Unlabeled], scores),
            Err(Error::Data(mpu_data::Error::Mismatch { .. }))
        ));
    }
    assert!(matches!(
        fit(&[Unlabeled], &[0.0, f32::NAN]),
        Err(Error::Data(mpu_data::Error::Setting { name, .. })) if name == "score of row 0, column 1"
    ));
    assert!(matches!(
        fit(&[Labeled(1), Unlabeled], &[0.0; 4]),
        Err(Error::Data(_))
    ));
    for text in [
        r#"{"a":0.0,"b":[0.0,0.0]}"#,
        r#"{"a":-1.0,"b":[0.0,0.0]}"#,
        r#"{"a":1.0,"b":[0.0]}"#,
        r#"{"a":1.0,"b":[null,null]}"#,
        r#"{"a":1.0,"b":[1e999,0.0]}"#,
    ] {
        assert!(serde_json::from_str::<Calibration>(text).is_err(), "{text}");
    }
}

proptest! {
    /// Whatever the scores, the labels and the priors: probabilities come out.
    #[test]
    fn probabilities_are_probabilities(
        rows in prop::collection::vec((0usize..3, -3.0f32..3.0, -3.0f32..3.0, -3.0f32..3.0), 1..20),
        scale in prop::sample::select(vec![0.0f32, 1e-20, 1e-3, 1.0, 1e4, 1e30]),
        offset in prop::sample::select(vec![0.0f32, 50.0]),
        pi in prop::sample::select(vec![[0.2, 0.3, 0.5], [0.0, 0.999, 0.001], [0.5, 0.5, 0.0]]),
    ) {
        let priors = Priors::new(pi.to_vec()).unwrap();
        let mut labels = vec![Unlabeled];
        let mut scores = vec![0.5 * scale, 0.0, -0.5 * scale];
        for (class, a, b, c) in rows {
            labels.push(if class < 2 { Labeled(class) } else { Unlabeled });
            scores.extend([a * scale + offset, b * scale, c * scale]);
        }
        for anchor in Anchor::ALL {
            let fitted = Calibration::fit(&priors, &labels, &scores, anchor).unwrap();
            for q in fitted.probabilities(&scores).unwrap().chunks(3) {
                prop_assert!(q.iter().all(|q| (0.0..=1.0).contains(q)), "{fitted:?} {q:?}");
                prop_assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
    }
}
