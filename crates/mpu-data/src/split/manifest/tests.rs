use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::class::ClassCount;
use crate::features::{Features, Shape};
use crate::prep::Scaling;
use crate::seed::Seed;

fn labels(counts: &[usize]) -> Vec<usize> {
    let mut labels: Vec<usize> = counts
        .iter()
        .enumerate()
        .flat_map(|(class, &n)| std::iter::repeat_n(class, n))
        .collect();
    // Any fixed order that is not by class.
    labels.sort_by_key(|class| class % 2);
    labels
}

fn spec(protocol: Protocol, k: usize, prior: f64) -> SplitSpec {
    SplitSpec::new(protocol, ClassCount::new(k).unwrap(), prior, Seed(42))
}

#[test]
fn the_digest_is_the_same_on_every_machine() {
    let mut spec = spec(Protocol::FirstK, 3, 0.5);
    spec.validation_share = 0.1;
    let split = Split::draw(&labels(&[30, 30, 20, 5]), &labels(&[3, 3, 3, 3]), 4, &spec).unwrap();
    // The same from an independent ChaCha8, SHA-256 and draw in Python.
    let expected = "f2daa3e65ff4e2291572fa24479c594271345aeda67cbd483e936e56ed357560";
    assert_eq!(split.digest(), expected);
    assert_eq!(split.summary().digest, split.digest());
}

#[test]
fn the_seed_moves_the_draw_and_nothing_else() {
    let train = labels(&[300, 300, 200, 50]);
    let first = Split::draw(&train, &[], 4, &spec(Protocol::FirstK, 3, 0.5)).unwrap();
    let mut other_spec = spec(Protocol::FirstK, 3, 0.5);
    other_spec.seed = Seed(43);
    let other = Split::draw(&train, &[], 4, &other_spec).unwrap();
    assert_ne!(first.digest(), other.digest());
    assert_eq!(first.priors, other.priors);

    // Holding rows out does not move the groups they are held out of.
    let mut held_spec = spec(Protocol::FirstK, 3, 0.5);
    held_spec.validation_share = 0.2;
    let held = Split::draw(&train, &[], 4, &held_spec).unwrap();
    let mut pool = [held.pool, held.validation.pool].concat();
    pool.sort_unstable();
    assert_eq!(pool, first.pool);
    assert_eq!(held.priors, first.priors);
}

#[test]
fn a_split_survives_storage() {
    let spec = spec(Protocol::Residual, 3, 0.4);
    let split = Split::draw(&labels(&[30, 30, 20, 5]), &labels(&[3, 3, 3, 3]), 4, &spec).unwrap();
    let stored = serde_json::to_string(&split).unwrap();
    let back: Split = serde_json::from_str(&stored).unwrap();
    assert_eq!(back, split);
    assert_eq!(back.digest(), split.digest());
    assert!(stored.contains("\"oracle\":{\"pool\":["));
}

fn any_spec() -> impl Strategy<Value = (SplitSpec, Vec<usize>)> {
    let counts = prop::collection::vec(10_usize..80, 3..7);
    let scenario = prop::sample::select(Scenario::ALL.to_vec());
    let protocol = prop::sample::select(Protocol::ALL.to_vec());
    let numbers = (
        0.15_f64..0.85,
        0.0_f64..0.4,
        0.2_f64..0.8,
        any::<u64>(),
        2_usize..7,
    );
    (counts, scenario, protocol, numbers).prop_map(
        |(counts, scenario, protocol, (prior, validation_share, fraction, seed, k))| {
            let free = (protocol, scenario) != (Protocol::FirstK, Scenario::CaseControl);
            let spec = SplitSpec {
                protocol,
                scenario,
                classes: ClassCount::new(k.min(counts.len())).unwrap(),
                prior,
                unlabeled_fraction: free.then_some(fraction),
                validation_share,
                seed: Seed(seed),
            };
            (spec, counts)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_row_is_in_one_group_or_dropped((spec, counts) in any_spec()) {
        let (train, test) = (labels(&counts), labels(&[4; 7][..counts.len()]));
        let Ok(split) = Split::draw(&train, &test, counts.len(), &spec) else {
            return Ok(()); // some priors cannot be reached with so few rows
        };
        let dropped = |part: Part| split.dropped.iter().filter(move |d| d.part == part).flat_map(|d| &d.rows);
        let mut seen: Vec<usize> = split.labeled.iter().flatten().collect::<Vec<_>>().into_iter()
            .chain(&split.pool)
            .chain(split.validation.labeled.iter().flatten())
            .chain(&split.validation.pool)
            .chain(dropped(Part::Train))
            .copied()
            .collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..train.len()).collect::<Vec<_>>());
        let mut seen: Vec<usize> = split.test.rows.iter().chain(dropped(Part::Test)).copied().collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..test.len()).collect::<Vec<_>>());
        // Nothing is dropped for a reason that the protocol does not have.
        let reasons: BTreeSet<DropReason> = split.dropped.iter().map(|d| d.reason).collect();
        if spec.protocol == Protocol::Residual {
            prop_assert!(!reasons.contains(&DropReason::ClassNotKept));
            prop_assert!(!reasons.contains(&DropReason::NegativesReduced));
        } else {
            let reduced = reasons.contains(&DropReason::NegativesReduced);
            prop_assert_eq!(reduced, !split.notes.is_empty());
            if spec.scenario == Scenario::CaseControl {
                prop_assert!(!reasons.contains(&DropReason::ForPrior));
            }
        }
    }

    #[test]
    fn negatives_are_never_labeled_and_classes_are_true((spec, counts) in any_spec()) {
        let train = labels(&counts);
        let Ok(split) = Split::draw(&train, &train, counts.len(), &spec) else {
            return Ok(());
        };
        let negative = spec.classes.negative();
        prop_assert_eq!(split.labeled.len(), negative);
        let known = split.train_labels();
        prop_assert_eq!(known.iter().map(|&(row, _)| row).collect::<Vec<_>>(), split.train_rows());
        for (row, label) in known {
            let is_true = |class| class == train[row] && class < negative;
            prop_assert!(matches!(label, MpuLabel::Labeled(class) if is_true(class)) || label == MpuLabel::Unlabeled);
        }
        for groups in [&split.labeled, &split.validation.labeled] {
            for (class, rows) in groups.iter().enumerate() {
                prop_assert!(rows.iter().all(|&row| train[row] == class));
            }
        }
        let hidden = [
            (&split.pool, &split.oracle.pool),
            (&split.validation.pool, &split.oracle.validation_pool),
            (&split.test.rows, &split.test.classes),
        ];
        for (rows, classes) in hidden {
            prop_assert_eq!(rows.len(), classes.len());
            for (&row, &class) in rows.iter().zip(classes) {
                prop_assert_eq!(class, train[row].min(negative));
            }
        }
        // Without held-out rows the sample meets the prior to within the rounding of its classes.
        if spec.validation_share == 0.0 || spec.scenario == Scenario::CaseControl {
            let mut spec = spec.clone();
            spec.validation_share = 0.0;
            let split = Split::draw(&train, &[], counts.len(), &spec).unwrap();
            let (n, realised) = match spec.scenario {
                Scenario::CaseControl => (split.pool.len(), split.priors.negative()),
                Scenario::SingleSample => (split.train_rows().len(), split.sample_priors.negative()),
            };
            let miss = (realised - spec.prior).abs() * n as f64;
            prop_assert!(miss <= negative as f64, "missed by {miss} rows");
        }
    }

    #[test]
    fn scaling_never_sees_a_test_or_validation_row((spec, counts) in any_spec(), noise in -1e6_f32..1e6) {
        let train = labels(&counts);
        let Ok(split) = Split::draw(&train, &[], counts.len(), &spec) else {
            return Ok(());
        };
        let values = (0..2 * train.len()).map(|i| (i * 7919 % 1009) as f32).collect();
        let features = Features::new(values, Shape::Vector(2)).unwrap();
        let rows = split.train_rows();
        let mut disturbed = features.clone();
        for row in 0..train.len() {
            if rows.binary_search(&row).is_err() {
                disturbed.values_mut()[2 * row..2 * row + 2].fill(noise);
            }
        }
        for scaling in Scaling::ALL {
            prop_assert_eq!(
                scaling.fit(&features, &rows).unwrap(),
                scaling.fit(&disturbed, &rows).unwrap()
            );
        }
    }
}
