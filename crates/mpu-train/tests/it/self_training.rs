//! Self-training and early stopping as a user of the crate sees them.

use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::Priors;
use mpu_loss::CostMatrix;
use mpu_models::Threads;
use mpu_train::{
    EpochMetrics, Keep, Outcome, Problem, Run, SelfTraining, State, TrainSettings, Unobserved,
};

use crate::support::{Watch, accuracy, judged, mlp, refused, run, sample, settings, shares};

/// Two observed classes and negatives; pool priors 0.3, 0.2, 0.5.
fn problem(pool: usize) -> Problem {
    let groups = [
        (0, 60, Labeled(0)),
        (1, 60, Labeled(1)),
        (0, 3 * pool / 10, Unlabeled),
        (1, 2 * pool / 10, Unlabeled),
        (2, 5 * pool / 10, Unlabeled),
    ];
    let sample = || sample(0, 2, &groups);
    Problem::new(priors().classes(), sample())
        .and_then(|problem| problem.with_validation(sample()))
        .and_then(|problem| problem.with_test(judged(90, 1000)))
        .unwrap()
}

fn priors() -> Priors {
    shares([0.3, 0.2])
}

/// So many epochs of self-training with other constants.
fn with(epochs: usize, constants: SelfTraining) -> TrainSettings {
    TrainSettings {
        self_training: Some(constants),
        ..settings(epochs)
    }
}

/// What a run does and says.
fn watched(run: &Run, problem: &Problem) -> (Outcome, Watch) {
    let mut watch = Watch::default();
    let outcome = run.train(problem, None, &mut watch).unwrap();
    (outcome, watch)
}

/// What it does from one of the states that it left.
fn resumed(run: &Run, problem: &Problem, state: &[u8]) -> Outcome {
    let state = State::from_bytes(state).unwrap();
    run.train(problem, Some(state), &mut Unobserved).unwrap()
}

#[test]
fn it_learns_and_goes_on_from_any_epoch_to_the_same_bits() {
    let problem = problem(400);
    for dropout in [0.0, 0.2] {
        let settings = TrainSettings {
            dropout,
            ..settings(12)
        };
        let run = run("csmpu-st", priors(), settings);
        let (whole, watch) = watched(&run, &problem);
        assert!(whole.finished && watch.fell_back.is_none());
        assert!(accuracy(&whole) > 0.9, "{}", accuracy(&whole));
        // After epoch 3 of the warm-up, at its end, and in the midst of self-training.
        for epoch in [3, 5, 9] {
            let state = State::from_bytes(&watch.states[epoch - 1]).unwrap();
            assert_eq!(state.epochs_done(), epoch);
            assert_eq!(state.targets.is_empty(), epoch < 5);
            let resumed = run.train(&problem, Some(state), &mut Unobserved);
            assert!(resumed.unwrap() == whole, "from epoch {epoch}");
        }
    }
}

/// Self-training with a teacher of four folds.
fn taught(epochs: usize) -> TrainSettings {
    let constants = SelfTraining {
        folds: Some(4),
        ..SelfTraining::default()
    };
    with(epochs, constants)
}

#[test]
fn a_teacher_goes_on_after_any_fold_or_epoch_to_the_same_bits() {
    let (problem, run) = (problem(400), run("csmpu-st", priors(), taught(12)));
    let (whole, watch) = watched(&run, &problem);
    assert!(whole.finished && watch.fell_back.is_none());
    assert!(accuracy(&whole) > 0.9, "{}", accuracy(&whole));
    // After the second fold, in the second round of folds, after the last, and after the fifth epoch of the student.
    for (place, answers) in [(1, 0..=1), (6, 1..=2), (11, 3..=3), (16, 3..=3)] {
        let state = State::from_bytes(&watch.states[place]).unwrap();
        assert_eq!(state.targets.len(), 1200);
        let sums = state.targets.chunks(3).map(|row| row.iter().sum::<f32>());
        let found: Vec<f32> = sums.collect();
        assert!(found.iter().all(|sum| (sum - sum.round()).abs() < 1e-5));
        let found: std::collections::BTreeSet<i32> =
            found.iter().map(|sum| sum.round() as i32).collect();
        assert!(found.into_iter().eq(answers), "state {place}");
        assert_eq!(state.epochs_done(), (place + 1).saturating_sub(12));
        let resumed = run.train(&problem, Some(state), &mut Unobserved);
        assert!(resumed.unwrap() == whole, "from state {place}");
    }
    let two = Run {
        threads: Threads::new(2),
        ..run.clone()
    };
    assert!(two.train(&problem, None, &mut Unobserved).unwrap() == whole);
    // Targets of a teacher are not taken for a network's own.
    let own = Run {
        settings: settings(12),
        ..run
    };
    let state = State::from_bytes(&watch.states[11]).unwrap();
    refused(&own, &problem, Some(state), "those of a teacher");
}

#[test]
fn a_teacher_can_be_stopped_within_a_fold() {
    let (problem, run) = (problem(200), run("csmpu-st", priors(), taught(8)));
    let whole = run.train(&problem, None, &mut Unobserved).unwrap();
    // Twelve batches to an epoch, eight epochs to a fold at the most.
    let mut watch = Watch {
        stop_teacher_at: Some(100),
        ..Watch::default()
    };
    let stopped = run.train(&problem, None, &mut watch).unwrap();
    assert!(!stopped.finished && stopped.state.epochs_done() == 0);
    let answered = stopped
        .state
        .targets
        .chunks(3)
        .filter(|row| row.iter().sum::<f32>() > 0.5);
    assert!((1..200).contains(&answered.count()));
    let bytes = stopped.state.to_bytes().unwrap();
    assert!(resumed(&run, &problem, &bytes) == whole);
}

#[test]
fn no_row_has_a_say_in_the_targets_of_its_own_fold() {
    let run = run("csmpu-st", priors(), taught(6));
    let before = problem(400);
    let first_round = |problem: &Problem| {
        let states = watched(&run, problem).1.states;
        State::from_bytes(&states[3]).unwrap().targets
    };
    let mut rows = before.train().clone();
    // The first row of the pool, by so little that no other epoch becomes the best one.
    rows.features.values_mut()[2 * 120] += 1e-3;
    let moved = Problem::new(before.classes(), rows).unwrap();
    let (before, after) = (first_round(&before), first_round(&moved));
    let same = before.chunks(3).zip(after.chunks(3)).skip(1);
    let same = same.filter(|(before, after)| before == after).count();
    // The hundred rows of its fold without itself. Targets of others may be the same because they are certain.
    assert!((99..105).contains(&same), "{same}");
}

#[test]
fn the_share_of_labelled_rows_counts_from_self_training_on() {
    let problem = problem(400);
    let states = [0.5, 0.9].map(|labeled_share| {
        let constants = SelfTraining {
            labeled_share,
            ..SelfTraining::default()
        };
        let run = run("csmpu-st", priors(), with(8, constants));
        let (outcome, watch) = watched(&run, &problem);
        assert!(accuracy(&outcome) > 0.9, "{labeled_share}");
        watch.states
    });
    assert!(states[0][4] == states[1][4], "the warm-up does not know it");
    assert!(states[0][5] != states[1][5]);
}

#[test]
fn priors_that_are_too_low_are_raised_to_what_the_warm_up_model_finds() {
    let problem = problem(400);
    let low = || shares([0.3 * 0.7, 0.2 * 0.7]);
    let trained = |sure: f64| {
        let constants = SelfTraining {
            sure,
            warm_up_epochs: 8,
            ..SelfTraining::default()
        };
        let run = run("csmpu-st", low(), with(16, constants));
        let (outcome, watch) = watched(&run, &problem);
        assert!(outcome.finished && watch.fell_back.is_none());
        (run, watch, outcome)
    };
    let (_, as_given, lowered) = trained(1.0);
    assert_eq!(as_given.raised, None);
    let (run, watch, raised) = trained(0.8);
    let (given, found) = watch.raised.unwrap();
    assert!((given - 0.35).abs() < 1e-12);
    assert!((0.4..0.55).contains(&found), "half of the pool: {found}");
    let (better, worse) = (accuracy(&raised), accuracy(&lowered));
    assert!(better > 0.95 && better > worse + 0.05, "{better} {worse}");
    // Going on in the midst of it finds the same priors again.
    assert!(resumed(&run, &problem, &watch.states[11]) == raised);
}

#[test]
fn priors_without_negatives_leave_the_warm_up_model() {
    let none = shares([0.6, 0.4]);
    let (problem, run) = (problem(400), run("csmpu-st", none, settings(12)));
    let (outcome, watch) = watched(&run, &problem);
    assert_eq!(watch.fell_back, Some(5), "at the end of the warm-up");
    assert_eq!(outcome.reported().unwrap().epoch, 5);
    // It still finds the negatives that the priors deny.
    assert!(accuracy(&outcome) > 0.6, "{}", accuracy(&outcome));
}

#[test]
fn a_failure_falls_back_to_the_warm_up_model_and_says_so() {
    let constants = SelfTraining {
        // No model comes this close to its priors.
        collapse_distance: 1e-9,
        ..SelfTraining::default()
    };
    let run = run("csmpu-st", priors(), with(12, constants));
    let problem = problem(400);
    let (outcome, watch) = watched(&run, &problem);
    assert_eq!(
        watch.fell_back,
        Some(6),
        "after the first epoch of self-training"
    );
    assert!(outcome.finished && outcome.state.fell_back());
    assert_eq!(outcome.reported().unwrap().epoch, 5);
    let warm = State::from_bytes(&watch.states[4]).unwrap();
    assert!(outcome.params() == &warm.params);
    // A run that is over stays so.
    assert!(resumed(&run, &problem, watch.states.last().unwrap()) == outcome);
}

#[test]
fn the_best_epoch_by_its_own_risk_is_kept_and_survives_a_stop() {
    let settings = TrainSettings {
        keep: Keep::BestRisk,
        lr: 0.2,
        ..settings(10)
    };
    let (problem, run) = (problem(200), run("mpu-ml", priors(), settings));
    let (outcome, watch) = watched(&run, &problem);
    let risk = |metrics: &EpochMetrics| metrics.validation_risk.unwrap();
    let risks: Vec<f64> = outcome.state.history.iter().map(risk).collect();
    let best = outcome.reported().unwrap();
    assert!(risks.iter().all(|of_epoch| risk(best) <= *of_epoch));
    assert!(
        best.epoch < 10,
        "the last epoch is not the best here: {risks:?}"
    );
    assert!(resumed(&run, &problem, &watch.states[7]) == outcome);
}

#[test]
fn early_stopping_needs_held_out_rows() {
    let settings = TrainSettings {
        keep: Keep::BestRisk,
        ..settings(5)
    };
    let all = problem(100);
    let bare = Problem::new(all.classes(), all.train().clone()).unwrap();
    let run = run("mpu-ml", priors(), settings);
    refused(&run, &bare, None, "train.keep is best-risk");
}

#[test]
fn wrong_priors_cost_little_where_classes_are_apart() {
    let problem = problem(400);
    let wrong = run("csmpu-st", shares([0.3 * 1.3, 0.2 * 0.7]), settings(12));
    let outcome = watched(&wrong, &problem).0;
    assert!(!outcome.state.fell_back());
    assert!(accuracy(&outcome) > 0.85, "{}", accuracy(&outcome));
}

/// Two checkpoints of one run, made by version 0.1.0 as it was when a kept model was called a spare one.
fn resumes_as_before(run: &Run, early: &[u8], last: &[u8]) -> Outcome {
    let [state, wanted] = [early, last].map(|bytes| {
        let state = State::from_bytes(bytes).unwrap();
        assert!(state.to_bytes().unwrap() == bytes, "the layout is the same");
        state
    });
    let outcome = run.train(&problem(100), Some(state), &mut Unobserved);
    let outcome = outcome.unwrap();
    assert!(outcome.finished);
    // The same bits on the processor that made them; others round otherwise.
    let near = |found: &[f32], wanted: &[f32]| {
        assert_eq!(found.len(), wanted.len());
        let far = found
            .iter()
            .zip(wanted)
            .find(|(a, b)| (*a - *b).abs() > 1e-4);
        assert_eq!(far, None);
    };
    let found = &outcome.state;
    near(found.params.trainable(), wanted.params.trainable());
    near(&found.targets, &wanted.targets);
    let (kept, wanted) = (found.kept.clone().unwrap(), wanted.kept.unwrap());
    assert!(kept == wanted, "it was kept before");
    outcome
}

#[test]
fn old_checkpoints_go_on_to_where_they_went() {
    let small = |method: &str, settings| Run {
        model: mlp(8),
        ..run(method, priors(), settings)
    };
    let outcome = resumes_as_before(
        &small("csmpu-st", settings(9)),
        include_bytes!("checkpoints/self-training-7.safetensors"),
        include_bytes!("checkpoints/self-training-9.safetensors"),
    );
    assert_eq!(outcome.reported().unwrap().epoch, 9);
    let best = TrainSettings {
        keep: Keep::BestRisk,
        lr: 0.2,
        ..settings(6)
    };
    let outcome = resumes_as_before(
        &small("mpu-ml", best),
        include_bytes!("checkpoints/best-risk-4.safetensors"),
        include_bytes!("checkpoints/best-risk-6.safetensors"),
    );
    assert_eq!(outcome.reported().unwrap().epoch, 3);
}

#[test]
fn a_checkpoint_of_other_rows_is_refused() {
    let bytes = include_bytes!("checkpoints/self-training-7.safetensors");
    let run = Run {
        model: State::from_bytes(bytes).unwrap().params.spec().clone(),
        ..run("csmpu-st", priors(), settings(9))
    };
    let state = State::from_bytes(bytes).unwrap();
    let told = "300 targets where the pool needs 600";
    refused(&run, &problem(200), Some(state), told);
}

#[test]
fn costs_enter_the_risk_or_the_decision_or_are_refused() {
    let problem = problem(100);
    // To take a negative for class 1 costs ten times as much as any other mistake.
    let costs = CostMatrix::new(&[
        vec![0.0, 1.0, 1.0],
        vec![1.0, 0.0, 1.0],
        vec![1.0, 10.0, 0.0],
    ]);
    let costs = costs.unwrap();
    let trained = |method: &str, costs: Option<&CostMatrix>| {
        let run = Run {
            costs: costs.cloned(),
            ..run(method, priors(), settings(8))
        };
        let outcome = run.train(&problem, None, &mut Unobserved);
        outcome.map(|outcome| (answered(&run, &outcome, &problem), outcome))
    };
    let (plain, _) = trained("csmpu-exact-nn", None).unwrap();
    let (careful, _) = trained("csmpu-exact-nn", Some(&costs)).unwrap();
    assert!(careful[1] < plain[1], "{careful:?} {plain:?}");
    for method in ["mpu-ml", "csmpu-st"] {
        let [with, without] = [Some(&costs), None].map(|costs| trained(method, costs).unwrap().1);
        assert!(with == without, "{method}");
    }
    let error = trained("csmpu-abs", Some(&costs)).unwrap_err().to_string();
    assert!(
        error.contains("csmpu-abs has costs of its own") && error.contains("csmpu-exact-nn"),
        "{error}"
    );
}

/// How many test rows are answered by each class.
fn answered(run: &Run, outcome: &Outcome, problem: &Problem) -> [usize; 3] {
    let rows = problem.test().unwrap().features.values();
    let scores = run.predict(outcome.params(), rows).unwrap();
    let mut counts = [0; 3];
    for answer in mpu_eval::top_classes(&scores, 3) {
        counts[answer] += 1;
    }
    counts
}
