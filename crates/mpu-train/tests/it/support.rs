//! What tests share: rows around three corners, a small run, and an observer that keeps what it is told.

use mpu_data::{Features, MpuLabel, Priors, Seed, Shape};
use mpu_models::{MlpSpec, ModelSpec};
use mpu_train::{
    Control, Event, Judged, Observer, Outcome, Problem, Run, Sample, State, TrainSettings,
    Unobserved,
};

/// A spread in [-1, 1] that looks random and is not.
fn spread(i: usize) -> f32 {
    ((i as f64 * 0.754_877_666).fract() * 2.0 - 1.0) as f32
}

/// Two observed classes and negatives around three corners.
pub(crate) fn row(class: usize, i: usize) -> [f32; 2] {
    let (x, y) = [(-1.0, 1.0), (1.0, 1.0), (0.0, -1.0)][class];
    [x + 0.9 * spread(3 * i + class), y + 0.9 * spread(7 * i + 5)]
}

/// Groups of rows: their class, how many, and what is known of them. Rows of a group are `stride` apart.
pub(crate) fn sample(first: usize, stride: usize, groups: &[(usize, usize, MpuLabel)]) -> Sample {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for &(class, n, label) in groups {
        let first = first + labels.len();
        values.extend((0..n).flat_map(|i| row(class, first + stride * i)));
        labels.extend(vec![label; n]);
    }
    let features = Features::new(values, Shape::Vector(2)).unwrap();
    Sample { features, labels }
}

/// As many rows of every class, with their true classes.
pub(crate) fn judged(n: usize, first: usize) -> Judged {
    let values = (0..n).flat_map(|i| row(i % 3, first + i)).collect();
    Judged {
        features: Features::new(values, Shape::Vector(2)).unwrap(),
        classes: (0..n).map(|i| i % 3).collect(),
    }
}

pub(crate) fn shares(observed: [f64; 2]) -> Priors {
    Priors::from_observed(&observed).unwrap()
}

/// A perceptron with one hidden layer.
pub(crate) fn mlp(hidden: usize) -> ModelSpec {
    ModelSpec::Mlp(MlpSpec {
        inputs: 2,
        hidden: vec![hidden],
        outputs: 3,
    })
}

pub(crate) fn run(method: &str, priors: Priors, settings: TrainSettings) -> Run {
    Run {
        settings,
        seed: Seed(5),
        ..Run::new(mlp(16), method.parse().unwrap(), priors)
    }
}

pub(crate) fn settings(epochs: usize) -> TrainSettings {
    TrainSettings {
        epochs,
        batch_size: 32,
        lr: 1e-2,
        checkpoint_every: 1,
        ..TrainSettings::default()
    }
}

/// A run that must be refused, and say so.
#[track_caller]
pub(crate) fn refused(run: &Run, problem: &Problem, resume: Option<State>, told: &str) {
    let error = run.train(problem, resume, &mut Unobserved).unwrap_err();
    assert!(error.to_string().contains(told), "{error}");
}

pub(crate) fn accuracy(outcome: &Outcome) -> f64 {
    outcome.reported().unwrap().test_accuracy.unwrap()
}

/// Keeps every state as bytes and what was said of a failure; stops at a step of an epoch or of the teacher.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) stop_at: Option<(usize, usize)>,
    pub(crate) stop_teacher_at: Option<usize>,
    pub(crate) states: Vec<Vec<u8>>,
    pub(crate) fell_back: Option<usize>,
    pub(crate) raised: Option<(f64, f64)>,
}

impl Observer for Watch {
    type Error = mpu_train::Error;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Self::Error> {
        let stop = match event {
            Event::Step { epoch, batch, .. } => self.stop_at == Some((*epoch, *batch)),
            Event::Detector { step, .. } => self.stop_teacher_at.is_some_and(|at| *step >= at),
            _ => false,
        };
        match event {
            Event::Checkpoint(state) => self.states.push(state.to_bytes()?),
            Event::FellBack { epoch, .. } => self.fell_back = Some(*epoch),
            Event::PriorsRaised { given, found } => self.raised = Some((*given, *found)),
            _ => {}
        }
        Ok(if stop {
            Control::Stop
        } else {
            Control::Continue
        })
    }
}
