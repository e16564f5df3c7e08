//! The candle engine on the CPU, held to the fused one: the same losses, and the same way of stopping and going on.

use candle_core::{Module as _, ModuleT, Tensor};
use candle_nn::{BatchNorm, BatchNormConfig, Linear, VarBuilder, batch_norm, linear};
use mpu_data::MpuLabel::{Labeled, Unlabeled};
use mpu_data::{Features, Priors, Seed, Shape};
use mpu_loss::Loss;
use mpu_models::{MlpSpec, ModelSpec, Module, ResNetSpec};
use mpu_train::{
    Control, EngineChoice, Error, Event, Judged, Keep, Method, Observer, Outcome, Precision,
    Problem, Pulse, Run, RunError, Sample, SelfTraining, State, TrainSettings, Unobserved,
};

use crate::support::refused;

const ROWS: usize = 120;
const SHAPE: Shape = Shape::image(1, 6, 6);

/// Images with a bright part that depends on the class; a third of each class, two of them observed.
fn rows(n: usize, shift: usize) -> (Features, Vec<usize>) {
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    for i in 0..n {
        let class = i % 3;
        for pixel in 0..SHAPE.len() {
            let noise = ((i * 31 + shift + pixel * 17) % 23) as f32 / 23.0;
            let bright = f32::from(u8::from(pixel / 12 == class));
            values.push(noise + bright - 0.7);
        }
        classes.push(class);
    }
    (Features::new(values, SHAPE).unwrap(), classes)
}

fn problem() -> Problem {
    problem_of(ROWS)
}

fn problem_of(n_rows: usize) -> Problem {
    let sample = |n, shift| {
        let (features, classes) = rows(n, shift);
        let known = |(i, &class): (usize, &usize)| match class {
            2 => Unlabeled,
            _ if i % 2 == 0 => Labeled(class),
            _ => Unlabeled,
        };
        let labels = classes.iter().enumerate().map(known).collect();
        (Sample { features, labels }, classes)
    };
    let (train, oracle) = sample(n_rows, 0);
    let (features, classes) = rows(30, 5);
    let priors = priors();
    Problem::new(priors.classes(), train)
        .and_then(|problem| problem.with_oracle(oracle))
        .and_then(|problem| problem.with_validation(sample(30, 3).0))
        .and_then(|problem| problem.with_test(Judged { features, classes }))
        .unwrap()
}

fn priors() -> Priors {
    Priors::from_observed(&[0.25, 0.25]).unwrap()
}

fn run(model: ModelSpec, method: Method, engine: EngineChoice) -> Run {
    let mut settings = TrainSettings {
        epochs: 10,
        batch_size: 24,
        checkpoint_every: 3,
        ..TrainSettings::default()
    };
    if method == Method::CsmpuSt {
        // It goes on to the last epoch, whatever it has learned.
        settings.self_training = Some(SelfTraining {
            warm_up_epochs: 3,
            collapse_distance: 1.0,
            least_kept: 0.0,
            ..SelfTraining::default()
        });
    }
    if method.to_string() == "pulse" {
        settings.pulse = Some(Pulse { warm_up_epochs: 3 });
    }
    Run {
        settings,
        seed: Seed(5),
        engine: Some(engine),
        ..Run::new(model, method, priors())
    }
}

fn mlp() -> ModelSpec {
    ModelSpec::Mlp(MlpSpec {
        inputs: SHAPE.len(),
        hidden: vec![20, 12],
        outputs: 3,
    })
}

fn resnet() -> ModelSpec {
    ModelSpec::ResNet(ResNetSpec {
        channels: 1,
        height: 6,
        width: 6,
        depth: 8,
        outputs: 3,
    })
}

/// So many epochs of every method, of five steps each: the same losses, risks and gaps to 1e-4.
fn agrees(model: &ModelSpec, n_rows: usize, epochs: usize, lr: f64, dropout: f64) {
    let problem = problem_of(n_rows);
    for method in Method::ALL {
        let [fused, candle] = [EngineChoice::Fused, EngineChoice::Candle].map(|engine| {
            let mut run = run(model.clone(), method, engine);
            run.settings.lr = lr;
            run.settings.dropout = dropout;
            run.settings.epochs = epochs;
            run.settings.batch_size = n_rows / 5;
            let outcome = run.train(&problem, None, &mut Unobserved).unwrap();
            assert_eq!(outcome.state.optimizer.step, 5 * epochs as u64, "{method}");
            outcome.state.history
        });
        assert_eq!(fused.len(), candle.len());
        for (fused, candle) in fused.iter().zip(&candle) {
            for (what, wanted, found, tolerance) in [
                ("loss", fused.loss, candle.loss, 1e-4),
                ("raw risk", fused.raw_risk, candle.raw_risk, 1e-4),
                ("gap", fused.unbiasedness_gap, candle.unbiasedness_gap, 1e-4),
                // Running statistics make more of the last bits.
                (
                    "test loss",
                    fused.test_loss.unwrap(),
                    candle.test_loss.unwrap(),
                    1e-2,
                ),
            ] {
                assert!(
                    (found - wanted).abs() <= tolerance * wanted.abs().max(0.1),
                    "{method}, epoch {}: {what} {found}, not {wanted}",
                    fused.epoch
                );
            }
        }
    }
}

#[test]
fn every_method_has_the_fused_losses_with_a_perceptron() {
    agrees(&mlp(), ROWS, 10, 1e-3, 0.0);
    agrees(&mlp(), ROWS, 5, 1e-3, 0.2);
}

#[test]
fn every_method_has_the_fused_losses_with_a_residual_network() {
    // Normalised over few pixels, the last bits grow fast: smaller steps keep them small. Two epochs follow a warm-up.
    agrees(&resnet(), 60, 5, 1e-4, 0.0);
}

/// Stops at a step, and keeps the last checkpoint as bytes.
struct Killed {
    at: (usize, usize),
    kept: Option<Vec<u8>>,
}

impl Observer for Killed {
    type Error = Error;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Error> {
        match event {
            Event::Checkpoint(state) => self.kept = Some(state.to_bytes()?),
            Event::Step {
                epoch,
                batch,
                terms,
                ..
            } => {
                assert!(terms.is_none(), "figures stay on the device");
                if (*epoch, *batch) == self.at {
                    return Ok(Control::Stop);
                }
            }
            _ => {}
        }
        Ok(Control::Continue)
    }
}

fn trained(run: &Run, resume: Option<State>) -> Outcome {
    run.train(&problem(), resume, &mut Unobserved).unwrap()
}

/// Stopped in the middle of an epoch, or killed after its last checkpoint: it goes on to the bits of an undisturbed run.
fn resumes(run: &Run) {
    let whole = trained(run, None);
    assert!(whole.finished);
    let mut killed = Killed {
        at: (8, 3),
        kept: None,
    };
    let stopped = run.train(&problem(), None, &mut killed).unwrap();
    assert!(!stopped.finished && stopped.state.epochs_done() == 7);
    assert_eq!(stopped.state.history, whole.state.history[..7]);
    assert_eq!(trained(run, Some(stopped.state)), whole);
    let kept = State::from_bytes(&killed.kept.unwrap()).unwrap();
    assert_eq!(kept.epochs_done(), 6);
    assert_eq!(trained(run, Some(kept)), whole);
}

#[test]
fn a_stopped_or_killed_run_goes_on_to_the_same_bits() {
    for method in ["csmpu-abs", "csmpu-st", "eulac-nn", "mpu-ml", "pulse"] {
        resumes(&run(mlp(), method.parse().unwrap(), EngineChoice::Candle));
    }
    let mut dropping = run(mlp(), Method::CsmpuSt, EngineChoice::Candle);
    dropping.settings.dropout = 0.2;
    resumes(&dropping);
    let without = trained(&run(mlp(), Method::CsmpuSt, EngineChoice::Candle), None);
    assert_ne!(trained(&dropping, None).state.params, without.state.params);
    let exact = "csmpu-exact-nn".parse().unwrap();
    let mut best = run(mlp(), exact, EngineChoice::Candle);
    best.settings.keep = Keep::BestRisk;
    best.settings.lr = 0.02;
    resumes(&best);
    let whole = trained(&best, None);
    let kept = whole.state.kept.as_ref().unwrap();
    let risk = |epoch: usize| whole.state.history[epoch - 1].validation_risk.unwrap();
    assert!((1..=10).all(|epoch| risk(kept.epoch) <= risk(epoch)));
}

#[test]
fn only_perceptrons_leave_values_out() {
    let mut run = run(resnet(), Method::CsmpuSt, EngineChoice::Fused);
    run.settings.dropout = 0.1;
    refused(&run, &problem(), None, "train.dropout is 0.1");
}

#[test]
fn a_run_that_leaves_the_finite_numbers_ends_with_the_epoch() {
    let mut run = run(mlp(), "csmpu-ure".parse().unwrap(), EngineChoice::Candle);
    run.loss = "logistic"
        .parse()
        .map(|surrogate| Loss::new(surrogate, 1.0, mpu_loss::Form::Raw).unwrap())
        .unwrap();
    run.settings.lr = 1e30;
    let error = run.train(&problem(), None, &mut Unobserved).unwrap_err();
    let RunError::Run(Error::Diverged { epoch, .. }) = error else {
        panic!("{error}");
    };
    assert!(epoch <= 2);
}

/// A network of somebody else's, with candle-nn's own batch normalisation.
struct Own(Linear, BatchNorm, Linear);

impl Own {
    #[allow(
        clippy::needless_pass_by_value,
        reason = "as candle-nn's layers take it"
    )]
    fn new(vb: VarBuilder<'_>) -> candle_core::Result<Self> {
        Ok(Self(
            linear(36, 24, vb.pp("first"))?,
            batch_norm(24, BatchNormConfig::default(), vb.pp("norm"))?,
            linear(24, 3, vb.pp("last"))?,
        ))
    }
}

impl ModuleT for Own {
    fn forward_t(&self, x: &Tensor, train: bool) -> candle_core::Result<Tensor> {
        let x = self.0.forward(&x.flatten_from(1)?)?.relu()?;
        self.2.forward(&self.1.forward_t(&x, train)?)
    }
}

fn own(method: &str) -> Run {
    let module = Module::new(Own::new);
    let spec = module.spec(SHAPE, 3).unwrap();
    Run {
        module: Some(module),
        engine: None,
        ..run(spec, method.parse().unwrap(), EngineChoice::Candle)
    }
}

#[test]
fn a_network_of_the_users_own_learns_and_goes_on() {
    for method in ["csmpu-st", "csmpu-exact-nn"] {
        resumes(&own(method));
    }
    let mut run = own("csmpu-st");
    run.settings.lr = 0.01;
    run.settings.epochs = 20;
    let outcome = trained(&run, None);
    let accuracy = outcome.reported().unwrap().test_accuracy.unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
    let (features, classes) = rows(30, 5);
    let scores = run.predict(outcome.params(), features.values()).unwrap();
    let right = scores
        .chunks(3)
        .zip(&classes)
        .filter(|(scores, class)| mpu_data::top_class(scores) == **class);
    assert_eq!(right.count() as f64 / 30.0, accuracy);
    run.engine = Some(EngineChoice::Fused);
    refused(&run, &problem(), None, "not a network of your own");
}

/// Sixteen bits have three digits: the losses of an epoch agree to a few hundredths, and parameters keep all theirs.
#[test]
fn sixteen_bits_learn_what_thirty_two_do() {
    let in_precision = |model: ModelSpec, precision: Precision| {
        let method = "csmpu-abs".parse().unwrap();
        let mut run = run(model, method, EngineChoice::Candle);
        run.precision = precision;
        run.train(&problem(), None, &mut Unobserved)
    };
    let [full, half] =
        [Precision::F32, Precision::Bf16].map(|precision| in_precision(mlp(), precision).unwrap());
    let epochs = full.state.history.iter().zip(&half.state.history);
    let losses: Vec<(f64, f64)> = epochs.map(|(full, half)| (full.loss, half.loss)).collect();
    assert!(losses.iter().any(|(full, half)| full != half));
    for (full, half) in losses {
        assert!((full - half).abs() < 0.05 * full.abs(), "{full} {half}");
    }
    let values = half.params().trainable();
    let is_rounded = |value: &&f32| value.to_bits().trailing_zeros() >= 16;
    let rounded = values.iter().filter(is_rounded).count();
    assert!(rounded < values.len() / 10, "{rounded} of {}", values.len());
    // candle's CPU multiplies such numbers, but does not convolve them: said before the first step.
    let error = in_precision(resnet(), Precision::Bf16).unwrap_err();
    let error = error.to_string();
    for said in ["no convolutions of such numbers", "`--device cuda`"] {
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_fused_engine_refuses_sixteen_bits() {
    let mut run = run(mlp(), "csmpu-abs".parse().unwrap(), EngineChoice::Fused);
    run.precision = Precision::Bf16;
    for told in ["precision bf16: ", "hint: use `--precision f32`"] {
        refused(&run, &problem(), None, told);
    }
}
