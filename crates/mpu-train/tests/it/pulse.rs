//! Open-set label shift as a user of the crate sees it.

use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::{Features, MpuLabel, Priors, Seed, Shape};
use mpu_loss::Loss;
use mpu_models::{MlpSpec, ModelSpec, Threads};
use mpu_train::{
    Control, DeviceChoice, Event, Judged, Keep, Method, Observer, Outcome, Precision, Problem, Run,
    Sample, State, TrainSettings, Unobserved,
};

/// A spread in [-1, 1] that looks random and is not.
fn spread(i: usize) -> f32 {
    ((i as f64 * 0.754_877_666).fract() * 2.0 - 1.0) as f32
}

/// Two observed classes and negatives around three corners.
fn row(class: usize, i: usize) -> [f32; 2] {
    let (x, y) = [(-1.0, 1.0), (1.0, 1.0), (0.0, -1.0)][class];
    [x + 0.9 * spread(3 * i + class), y + 0.9 * spread(7 * i + 5)]
}

/// Ten rows of each observed class to fifty of a pool with the shares 0.4, 0.1 and 0.5.
fn sample(times: usize, first: usize) -> Sample {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    let mut add = |class, n, label: MpuLabel| {
        for _ in 0..n * times {
            values.extend(row(class, first + labels.len()));
            labels.push(label);
        }
    };
    add(0, 10, Labeled(0));
    add(1, 10, Labeled(1));
    add(0, 20, Unlabeled);
    add(1, 5, Unlabeled);
    add(2, 25, Unlabeled);
    Sample {
        features: Features::new(values, Shape::Vector(2)).unwrap(),
        labels,
    }
}

fn problem() -> Problem {
    let test: Vec<f32> = (0..150).flat_map(|i| row(i % 3, 9000 + i)).collect();
    let test = Judged {
        features: Features::new(test, Shape::Vector(2)).unwrap(),
        classes: (0..150).map(|i| i % 3).collect(),
    };
    bare()
        .with_validation(sample(6, 4000))
        .unwrap()
        .with_test(test)
        .unwrap()
}

/// Without held-out rows.
fn bare() -> Problem {
    Problem::new(wrong_priors().classes(), sample(8, 0)).unwrap()
}

/// Far from the truth: they must not matter.
fn wrong_priors() -> Priors {
    Priors::from_observed(&[0.05, 0.7]).unwrap()
}

fn run(epochs: usize) -> Run {
    Run {
        model: ModelSpec::Mlp(MlpSpec {
            inputs: 2,
            hidden: vec![16],
            outputs: 3,
        }),
        method: Method::Pulse,
        loss: Loss::default(),
        placement: None,
        priors: wrong_priors(),
        costs: None,
        settings: TrainSettings {
            epochs,
            batch_size: 32,
            lr: 1e-2,
            checkpoint_every: 1,
            ..TrainSettings::default()
        },
        seed: Seed(5),
        device: DeviceChoice::Cpu,
        engine: None,
        precision: Precision::F32,
        module: None,
        threads: Threads::ONE,
    }
}

fn trained(run: &Run, resume: Option<State>) -> Outcome {
    run.train(&problem(), resume, &mut Unobserved).unwrap()
}

fn accuracy(outcome: &Outcome) -> f64 {
    outcome.reported().unwrap().test_accuracy.unwrap()
}

/// Keeps every state as bytes, and stops at a step.
struct Killed {
    at: (usize, usize),
    states: Vec<Vec<u8>>,
}

impl Observer for Killed {
    type Error = mpu_train::Error;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Self::Error> {
        match event {
            Event::Checkpoint(state) => self.states.push(state.to_bytes()?),
            Event::Step { epoch, batch, .. } if (*epoch, *batch) == self.at => {
                return Ok(Control::Stop);
            }
            _ => {}
        }
        Ok(Control::Continue)
    }
}

#[test]
fn it_learns_without_priors_and_goes_on_from_any_epoch_to_the_same_bits() {
    let run = run(14);
    let whole = trained(&run, None);
    assert!(whole.finished);
    assert!(accuracy(&whole) > 0.9, "{}", accuracy(&whole));
    let told = Run {
        priors: Priors::from_observed(&[0.4, 0.1]).unwrap(),
        ..run.clone()
    };
    assert_eq!(trained(&told, None).params(), whole.params());
    let mut killed = Killed {
        at: (12, 3),
        states: Vec::new(),
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
    let mut watch = Killed {
        at: (0, 0),
        states: Vec::new(),
    };
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
    let told = |run: &Run, problem: &Problem| {
        let error = run.train(problem, None, &mut Unobserved).unwrap_err();
        error.to_string()
    };
    let error = told(&run(14), &bare());
    assert!(error.contains("held-out rows is 0 for class 0"), "{error}");
    assert!(error.contains("hint: hold out more"), "{error}");
    let error = told(&run(5), &problem());
    assert!(error.contains("pulse.warm-up-epochs is 5"), "{error}");
    let mut best = run(14);
    best.settings.keep = Keep::BestRisk;
    assert!(told(&best, &problem()).contains("and for csmpu-st and pulse"));
}
