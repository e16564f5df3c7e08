//! Bad input gets an error with the value and what is allowed, never a panic.

use candle_core::{Device, Tensor};
use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::{ClassCount, Priors};
use mpu_loss::{CostMatrix, Loss};
use mpu_risk::{Correction, Estimator, Groups, Objective, Result, unbiasedness_gap};

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

/// The message of what must be refused.
#[track_caller]
fn check<T>(result: Result<T>, told: &str) {
    let Err(error) = result else {
        panic!("it must be refused");
    };
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn scores_must_fit_the_sample() {
    let risk = |rows: usize, columns: usize| {
        let scores = Tensor::zeros((rows, columns), candle_core::DType::F32, &Device::Cpu).unwrap();
        estimator(OBJECTIVE).risk(&scores, &groups())
    };
    assert!(risk(2, 3).is_ok());
    let told = |found: &str| format!("scores are {found}, but the sample has 2 rows and 3 classes");
    check(risk(5, 3), &told("5 x 3"));
    check(risk(2, 4), &told("2 x 4"));
    let plain = |n: usize| estimator(OBJECTIVE).plain(&vec![0.0; n], &groups());
    assert!(plain(6).is_ok());
    check(plain(7), "the scores has 7 entries: 6 are needed");
    check(plain(9), &told("3 x 3"));
}

#[test]
fn scores_must_be_finite() {
    for bad in [f64::NAN, f64::INFINITY] {
        let scores = [0.0, 1.0, 2.0, 3.0, bad, 5.0];
        let told = format!("score {bad} in row 1, column 1: scores must be finite");
        check(estimator(OBJECTIVE).plain(&scores, &groups()), &told);
        let tensor = Tensor::from_slice(&scores, (2, 3), &Device::Cpu).unwrap();
        check(estimator(OBJECTIVE).risk(&tensor, &groups()), &told);
    }
}

#[test]
fn priors_must_fit_the_sample() {
    let told = "2 priors for 3 classes";
    let two = Priors::new(vec![0.5, 0.5]).unwrap();
    let of_two = estimator(OBJECTIVE).with_priors(two.clone());
    check(of_two.plain(&[0.0; 6], &groups()), told);
    let gap = |priors, n| unbiasedness_gap(&Loss::default(), priors, &vec![0.0; n], &groups());
    check(gap(&two, 6), told);
    let three = Priors::new(vec![0.3, 0.2, 0.5]).unwrap();
    check(gap(&three, 5), "the scores has 5 entries: 6 are needed");
}

#[test]
fn hidden_labels_are_kept_from_objectives_that_must_not_see_them() {
    let oracle = Groups::oracle(ClassCount::new(3).unwrap(), &[0, 2]).unwrap();
    let plain = |objective, groups| estimator(objective).plain(&[0.0; 6], groups);
    check(plain(OBJECTIVE, &oracle), "must not see true labels");
    check(plain(Objective::Supervised, &groups()), "Groups::oracle");
}

#[test]
fn self_training_needs_targets_that_fit() {
    let self_trained = || estimator(Objective::SoftTargets);
    check(self_trained().plain(&[0.0; 6], &groups()), "with_targets");
    for wrong in [vec![1.0], vec![0.5; 3], vec![2.0, -1.0, 0.0]] {
        assert!(groups().with_targets(wrong).is_err());
    }
    let targeted = groups().with_targets(vec![0.2, 0.3, 0.5]).unwrap();
    assert!(self_trained().plain(&[0.0; 6], &targeted).is_ok());
    for wrong in [-0.1, 1.1, f64::NAN] {
        let told = format!("labelled rows is {wrong}");
        check(self_trained().with_labeled_share(wrong), &told);
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
    let exact = estimator(Objective::CsmpuExact(Correction::Nn));
    check(exact.with_costs(wrong), "3 priors for 4 classes");
}
