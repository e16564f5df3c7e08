//! Open-set label shift as a user of the crate sees it.

use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::Priors;
use mpu_models::Threads;
use mpu_train::{Keep, Outcome, Problem, Run, Sample, State, Unobserved};

use crate::support::{self, Watch, accuracy, judged, refused, row, settings, shares};

/// Ten rows of each observed class to fifty of a pool with the shares 0.4, 0.1 and 0.5.
fn sample(times: usize, first: usize) -> Sample {
    let groups = [
        (0, 10 * times, Labeled(0)),
        (1, 10 * times, Labeled(1)),
        (0, 20 * times, Unlabeled),
        (1, 5 * times, Unlabeled),
        (2, 25 * times, Unlabeled),
    ];
    support::sample(first, 1, &groups)
}

fn problem() -> Problem {
    let problem = bare().with_validation(sample(6, 4000)).unwrap();
    problem.with_test(judged(150, 9000)).unwrap()
}

/// Without held-out rows.
fn bare() -> Problem {
    Problem::new(wrong_priors().classes(), sample(8, 0)).unwrap()
}

/// Far from the truth: they must not matter.
fn wrong_priors() -> Priors {
    shares([0.05, 0.7])
}

fn run(epochs: usize) -> Run {
    support::run("pulse", wrong_priors(), settings(epochs))
}

fn trained(run: &Run, resume: Option<State>) -> Outcome {
    run.train(&problem(), resume, &mut Unobserved).unwrap()
}

#[test]
fn it_learns_without_priors_and_goes_on_from_any_epoch_to_the_same_bits() {
    let run = run(14);
    let whole = trained(&run, None);
    assert!(whole.finished);
    assert!(accuracy(&whole) > 0.9, "{}", accuracy(&whole));
    let told = Run {
        priors: shares([0.4, 0.1]),
        ..run.clone()
    };
    assert_eq!(trained(&told, None).params(), whole.params());
    let mut killed = Watch {
        stop_at: Some((12, 3)),
        ..Watch::default()
    };
    let stopped = run.train(&problem(), None, &mut killed).unwrap();
    assert!(!stopped.finished && stopped.state.epochs_done() == 11);
    assert!(trained(&run, Some(stopped.state)) == whole);
    // In the warm-up, at its end, and where rows are set aside.
    for epoch in [3, 5, 9] {
        let state = State::from_bytes(&killed.states[epoch - 1]).unwrap();
        assert_eq!(state.epochs_done(), epoch);
        assert!(trained(&run, Some(state)) == whole, "from epoch {epoch}");
    }
    let two = Run {
        threads: Threads::new(2),
        ..run
    };
    assert!(trained(&two, None) == whole);
}

#[test]
fn setting_rows_aside_is_what_finds_the_observed_classes_in_the_pool() {
    let run = run(14);
    let mut watch = Watch::default();
    let whole = run.train(&problem(), None, &mut watch).unwrap();
    let warm_up = State::from_bytes(&watch.states[4]).unwrap();
    let negative = |params| {
        let rows: Vec<f32> = (0..300).flat_map(|i| row(0, 20_000 + i)).collect();
        let scores = run.predict(params, &rows).unwrap();
        let answers = scores.chunks(3).map(mpu_data::top_class);
        answers.filter(|answer| *answer == 2).count()
    };
    // With the whole pool taken as negative, most of a class that is common in it is called so.
    let (with, without) = (negative(whole.params()), negative(&warm_up.params));
    assert!(with < 30 && without > 150, "{with} {without} of 300");
}

#[test]
fn what_it_needs_is_named() {
    for told in ["held-out rows is 0 for class 0", "hint: hold out more"] {
        refused(&run(14), &bare(), None, told);
    }
    refused(&run(5), &problem(), None, "pulse.warm-up-epochs is 5");
    let mut best = run(14);
    best.settings.keep = Keep::BestRisk;
    refused(&best, &problem(), None, "and for csmpu-st and pulse");
}
