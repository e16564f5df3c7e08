use super::*;
use crate::error::tests::check_message;

const MNIST: [usize; 10] = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];

fn plan(
    protocol: Protocol,
    scenario: Scenario,
    k: usize,
    prior: f64,
    counts: &[usize],
) -> Result<Plan> {
    let mut spec = SplitSpec::new(protocol, ClassCount::new(k).unwrap(), prior, Seed(0));
    spec.scenario = scenario;
    Plan::new(&spec, counts)
}

/// ⌊6131 · 1 / 3⌋ = 2043 rows of each observed class.
#[test]
fn first_k_follows_the_formula() {
    let plan = plan(Protocol::FirstK, Scenario::CaseControl, 4, 0.5, &MNIST).unwrap();
    assert_eq!(plan.negatives, 6131);
    assert_eq!(plan.pool, [2043; 3]);
    assert_eq!(plan.labeled, [5923 - 2043, 6742 - 2043, 5958 - 2043]);
    assert_eq!(
        plan.mpu_class[..5],
        [Some(0), Some(1), Some(2), Some(3), None]
    );
    assert_eq!(plan.notes, []);
}

/// With all negatives ⌊6131 · 4 / 3⌋ = 8174 rows would be taken, more than there are: 1226 negatives
/// and ⌊1226 · 4 / 3⌋ = 1634 rows of each class instead.
#[test]
fn first_k_keeps_a_fifth_of_the_negatives_where_it_must() {
    let reduced = plan(Protocol::FirstK, Scenario::CaseControl, 4, 0.2, &MNIST).unwrap();
    assert_eq!(
        (reduced.negatives, &reduced.pool[..]),
        (1226, &[1634; 3][..])
    );
    assert_eq!(
        reduced.notes,
        [Note::NegativesReduced {
            kept: 1226,
            of: 6131
        }]
    );
    // Waveform at 0.2, as the notes say; k = 6 and 8 do not need it.
    let waveform = plan(
        Protocol::FirstK,
        Scenario::CaseControl,
        3,
        0.2,
        &[1325, 1317, 1358],
    )
    .unwrap();
    assert_eq!(waveform.negatives, 271);
    for k in [6, 8] {
        let plan = plan(Protocol::FirstK, Scenario::CaseControl, k, 0.2, &MNIST).unwrap();
        assert_eq!(plan.notes, [], "k = {k}");
    }
    // Exactly a tenth left is enough; one row less is not.
    let at = |n| plan(Protocol::FirstK, Scenario::CaseControl, 2, 0.5, &[100, n]).unwrap();
    assert_eq!((at(90).labeled[0], at(90).notes.len()), (10, 0));
    assert_eq!((at(91).labeled[0], at(91).notes.len()), (82, 1));
}

#[test]
fn residual_merges_the_rest_and_meets_the_prior() {
    let plan_at =
        |prior| plan(Protocol::Residual, Scenario::CaseControl, 4, prior, &MNIST).unwrap();
    let half = plan_at(0.5);
    assert_eq!(half.pool, [2961, 3371, 2979]);
    assert_eq!(half.labeled, [2962, 3371, 2979]);
    assert_eq!(half.negatives, 2961 + 3371 + 2979);
    assert_eq!(half.mpu_class[3..], [Some(3); 7]);
    // At 0.9 all 41 377 negatives are taken and the observed rows are thinned to 4597.
    let high = plan_at(0.9);
    assert_eq!(high.negatives, MNIST[3..].iter().sum::<usize>());
    assert_eq!(high.pool.iter().sum::<usize>(), 4597);
    assert_eq!(high.labeled, half.labeled);
}

#[test]
fn a_single_sample_has_the_prior_as_a_whole() {
    for protocol in Protocol::ALL {
        let plan = plan(protocol, Scenario::SingleSample, 4, 0.5, &MNIST).unwrap();
        let labeled: usize = plan.labeled.iter().sum();
        let pooled: usize = plan.pool.iter().sum();
        assert!(labeled.abs_diff(pooled) <= 3);
        assert!((labeled + pooled).abs_diff(plan.negatives) <= 3, "{plan:?}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let check = |protocol, k, prior, counts: &[usize], expected: &str| {
        check_message(
            plan(protocol, Scenario::CaseControl, k, prior, counts),
            expected,
        );
    };
    check(
        Protocol::FirstK,
        11,
        0.5,
        &MNIST,
        "classes is 11: it must be from 2 to 10",
    );
    for prior in [0.0, 1.0, -1.0, f64::NAN] {
        check(
            Protocol::FirstK,
            4,
            prior,
            &MNIST,
            "more than 0 and less than 1",
        );
    }
    check(
        Protocol::FirstK,
        2,
        0.01,
        &[10, 100],
        "no row of class 0 is left to be labelled",
    );
    check(
        Protocol::FirstK,
        2,
        0.5,
        &[10, 0],
        "there is no negative training row",
    );
    check(
        Protocol::FirstK,
        3,
        0.99,
        &[50, 50, 50],
        "no row of class 0 is left for the pool",
    );
    check(
        Protocol::Residual,
        2,
        0.5,
        &[1, 5],
        "no row of class 0 is left for the pool",
    );
    check(
        Protocol::Residual,
        3,
        0.5,
        &[0, 5, 5],
        "class 0 has no training row",
    );

    let mut spec = SplitSpec::new(Protocol::FirstK, ClassCount::new(4).unwrap(), 0.5, Seed(0));
    spec.unlabeled_fraction = Some(0.3);
    check_message(Plan::new(&spec, &MNIST), "where the prior decides it");
    spec.scenario = Scenario::SingleSample;
    assert!(Plan::new(&spec, &MNIST).is_ok());
    spec.validation_share = 1.0;
    assert!(Plan::new(&spec, &MNIST).is_err());
}

#[test]
fn shares_add_up() {
    assert_eq!(proportionally(&[1, 1, 1], 10), [4, 3, 3]);
    assert_eq!(proportionally(&[5, 0, 5], 3), [2, 0, 1]);
    assert_eq!(proportionally(&[3, 2], 5), [3, 2]);
}
