//! Bad input gets a typed error with the value and what is allowed, never a panic.

use candle_core::{Device, Tensor};
use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::{ClassCount, Priors};
use mpu_loss::{CostMatrix, Loss};
use mpu_risk::{Correction, Error, Estimator, Groups, Objective, unbiasedness_gap};

fn groups() -> Groups {
    Groups::new(ClassCount::new(3).unwrap(), &[Labeled(0), Unlabeled]).unwrap()
}

fn estimator(objective: Objective) -> Estimator {
    Estimator::new(
        objective,
        Loss::default(),
        Priors::new(vec![0.3, 0.2, 0.5]).unwrap(),
    )
}

const OBJECTIVE: Objective = Objective::Csmpu(Correction::Abs);

#[test]
fn scores_must_fit_the_sample() {
    let risk = |rows: usize, columns: usize| {
        let scores = Tensor::zeros((rows, columns), candle_core::DType::F32, &Device::Cpu).unwrap();
        estimator(OBJECTIVE).risk(&scores, &groups())
    };
    assert!(risk(2, 3).is_ok());
    let error = risk(5, 3).unwrap_err();
    assert!(
        matches!(
            error,
            Error::ScoresMismatch {
                n_rows: 5,
                rows: 2,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        risk(2, 4),
        Err(Error::ScoresMismatch {
            n_columns: 4,
            classes: 3,
            ..
        })
    ));
    let plain = |n: usize| estimator(OBJECTIVE).plain(&vec![0.0; n], &groups());
    assert!(plain(6).is_ok());
    assert!(matches!(
        plain(7),
        Err(Error::Length {
            found: 7,
            needed: 6,
            ..
        })
    ));
    assert!(matches!(
        plain(9),
        Err(Error::ScoresMismatch { n_rows: 3, .. })
    ));
}

#[test]
fn scores_must_be_finite() {
    for bad in [f64::NAN, f64::INFINITY] {
        let scores = [0.0, 1.0, 2.0, 3.0, bad, 5.0];
        let error = estimator(OBJECTIVE).plain(&scores, &groups()).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Loss(mpu_loss::Error::NonFiniteScore {
                    row: 1,
                    column: 1,
                    ..
                })
            ),
            "{error}"
        );
        let tensor = Tensor::from_slice(&scores, (2, 3), &Device::Cpu).unwrap();
        let error = estimator(OBJECTIVE).risk(&tensor, &groups()).unwrap_err();
        assert!(error.to_string().contains("row 1, column 1"), "{error}");
    }
}

#[test]
fn priors_must_fit_the_sample() {
    let two = Estimator::new(
        OBJECTIVE,
        Loss::default(),
        Priors::new(vec![0.5, 0.5]).unwrap(),
    );
    let error = two.plain(&[0.0; 6], &groups()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::PriorsMismatch {
                priors: 2,
                classes: 3
            }
        ),
        "{error}"
    );
    let priors = Priors::new(vec![0.5, 0.5]).unwrap();
    assert!(unbiasedness_gap(&Loss::default(), &priors, &[0.0; 6], &groups()).is_err());
    let priors = Priors::new(vec![0.3, 0.2, 0.5]).unwrap();
    assert!(unbiasedness_gap(&Loss::default(), &priors, &[0.0; 5], &groups()).is_err());
}

#[test]
fn hidden_labels_are_kept_from_objectives_that_must_not_see_them() {
    let oracle = Groups::oracle(ClassCount::new(3).unwrap(), &[0, 2]).unwrap();
    let error = estimator(OBJECTIVE).plain(&[0.0; 6], &oracle).unwrap_err();
    assert!(
        error.to_string().contains("must not see true labels"),
        "{error}"
    );
    let error = estimator(Objective::Supervised)
        .plain(&[0.0; 6], &groups())
        .unwrap_err();
    assert!(error.to_string().contains("Groups::oracle"), "{error}");
}

#[test]
fn self_training_needs_targets_that_fit() {
    let error = estimator(Objective::SoftTargets)
        .plain(&[0.0; 6], &groups())
        .unwrap_err();
    assert!(error.to_string().contains("with_targets"), "{error}");
    for wrong in [vec![1.0], vec![0.5; 3], vec![2.0, -1.0, 0.0]] {
        assert!(groups().with_targets(wrong).is_err());
    }
    let targeted = groups().with_targets(vec![0.2, 0.3, 0.5]).unwrap();
    assert!(
        estimator(Objective::SoftTargets)
            .plain(&[0.0; 6], &targeted)
            .is_ok()
    );
    for wrong in [-0.1, 1.1, f64::NAN] {
        let error = estimator(Objective::SoftTargets).with_labeled_share(wrong);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(&format!("labelled rows is {wrong}")),
            "{error}"
        );
    }
}

#[test]
fn costs_go_with_the_exact_risk_only() {
    let costs = CostMatrix::uniform(3).unwrap();
    for objective in Objective::ALL {
        let allowed = matches!(objective, Objective::CsmpuExact(_));
        assert_eq!(
            estimator(objective).with_costs(costs.clone()).is_ok(),
            allowed,
            "{objective}"
        );
    }
    let wrong = CostMatrix::uniform(4).unwrap();
    let error = estimator(Objective::CsmpuExact(Correction::Nn))
        .with_costs(wrong)
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::PriorsMismatch {
                priors: 3,
                classes: 4
            }
        ),
        "{error}"
    );
}
