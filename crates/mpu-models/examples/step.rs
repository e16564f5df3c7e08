//! Training steps on request, for `cargo xtask bench train`, which has them take turns with PyTorch.
//!
//! ```text
//! cargo run --release -p mpu-models --example step -- mlp5|resnet20 THREADS
//! ```
//!
//! Reads lines `VARIANT STEPS` and answers each with the seconds these steps took and the loss of the last
//! one. The variants: `ours` (the fused path, the risk in `f64`, fused Adam), `candle` (plain candle operations
//! and gradients), `products` (the matrix products of a step and nothing else). Network, weights, batch and
//! loss are those of `step_torch.py`.

#![allow(clippy::print_stdout, reason = "an example that reports to the reader")]

use std::io::Write as _;
use std::time::Instant;

use candle_core::{Device, Tensor};
use mpu_data::{MpuLabel, Priors};
use mpu_loss::Loss;
use mpu_models::fused::{Products, Workspace};
use mpu_models::{Mode, ModelSpec, Network, OptimSpec, Optimizer, Params, Role, Threads};
use mpu_risk::{Correction, Estimator, Groups, Objective};

type Error = Box<dyn std::error::Error + Send + Sync>;

const LEARNING_RATE: f64 = 1e-3;

/// A network, a batch, and the paper's method on it.
struct Task {
    spec: ModelSpec,
    rows: Vec<f32>,
    n: usize,
    estimator: Estimator,
    groups: Groups,
}

/// The fractional parts of multiples of `step`, from -1 to 1: what `step_torch.py` has as well.
fn weyl(n: usize, step: f64) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| (i as f64 * step).fract() * 2.0 - 1.0)
}

impl Task {
    /// Row `r` is labelled with class `r mod 2k` if that is observed, and else in the pool; observed
    /// classes share half of it.
    fn new(spec: ModelSpec, n: usize) -> Result<Self, Error> {
        let k = spec.outputs();
        let rows = weyl(n * spec.inputs(), 0.618_033_988_749_894_9)
            .map(|x| x as f32)
            .collect();
        let priors = Priors::from_observed(&vec![0.5 / (k - 1) as f64; k - 1])?;
        let label = |row: usize| match row % (2 * k) {
            class if class < k - 1 => MpuLabel::Labeled(class),
            _ => MpuLabel::Unlabeled,
        };
        let groups = Groups::new(priors.classes(), &(0..n).map(label).collect::<Vec<_>>())?;
        let estimator = Estimator::new(Objective::Csmpu(Correction::Abs), Loss::default(), priors);
        Ok(Self {
            spec,
            rows,
            n,
            estimator,
            groups,
        })
    }

    fn params(&self) -> Result<Params, Error> {
        let mut params = Params::zeros(&self.spec)?;
        for entry in params.entries().to_vec() {
            if let Role::Weight { fan_in } = entry.role {
                let scale = (6.0 / fan_in as f64).sqrt();
                let draws = weyl(entry.n_values(), 0.754_877_666_246_692_7);
                let values = &mut params.trainable_mut()[entry.range()];
                values
                    .iter_mut()
                    .zip(draws)
                    .for_each(|(value, draw)| *value = (draw * scale) as f32);
            }
        }
        Ok(params)
    }
}

/// Something to be timed; a step gives its loss.
type Step<'a> = Box<dyn FnMut() -> Result<f64, Error> + 'a>;

fn ours(task: &Task, threads: Threads) -> Result<Step<'_>, Error> {
    let mut params = task.params()?;
    let mut workspace = Workspace::new(&task.spec, task.n, threads)?;
    let optimizer = Optimizer::new(OptimSpec::ADAM, params.trainable().len())?;
    let mut optimizer = optimizer.on(threads);
    Ok(Box::new(move || {
        workspace.batch_mut(task.n)?.copy_from_slice(&task.rows);
        let logits = workspace.forward(&mut params, Mode::Train)?;
        let scores: Vec<f64> = logits.iter().map(|&score| f64::from(score)).collect();
        let risk = task.estimator.plain(&scores, &task.groups)?;
        let dlogits: Vec<f32> = risk.gradient.iter().map(|&slope| slope as f32).collect();
        let gradient = workspace.backward(&params, &dlogits)?;
        optimizer.step(params.trainable_mut(), gradient, LEARNING_RATE)?;
        Ok(risk.terms.corrected)
    }))
}

fn candle(task: &Task) -> Result<Step<'_>, Error> {
    let mut params = task.params()?;
    let mut network = Network::new(&params, &Device::Cpu)?;
    let mut optimizer = Optimizer::new(OptimSpec::ADAM, params.trainable().len())?;
    Ok(Box::new(move || {
        let batch = Tensor::from_slice(&task.rows, (task.n, task.spec.inputs()), &Device::Cpu)?;
        let logits = network.forward(&batch, Mode::Train)?;
        let risk = task.estimator.risk(&logits, &task.groups)?;
        let gradient = network.gradient(&risk.objective.backward()?)?;
        optimizer.step(params.trainable_mut(), &gradient, LEARNING_RATE)?;
        network.set_params(&params)?;
        Ok(risk.terms.corrected)
    }))
}

fn products(task: &Task, threads: Threads) -> Result<Step<'_>, Error> {
    let mut products = Products::new(&task.spec, task.n, threads)?;
    Ok(Box::new(move || {
        products.run();
        Ok(f64::NAN)
    }))
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [network, threads] = arguments.as_slice() else {
        return Err("usage: step mlp5|resnet20 THREADS".into());
    };
    let threads: usize = threads.parse()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build()?
        .install(|| serve(network, Threads::new(threads)))
}

/// Answers requests on a thread of the pool, as a training does.
fn serve(network: &str, threads: Threads) -> Result<(), Error> {
    let task = match network {
        "mlp5" => Task::new(ModelSpec::mlp5(784, 4), 512)?,
        "resnet20" => Task::new(ModelSpec::resnet20(3, 32, 32, 10), 128)?,
        _ => return Err(format!("no network `{network}`: mlp5 or resnet20").into()),
    };
    let mut variants = [
        ("ours", ours(&task, threads)?),
        ("candle", candle(&task)?),
        ("products", products(&task, threads)?),
    ];
    for line in std::io::stdin().lines() {
        let line = line?;
        let (name, steps) = line.split_once(' ').ok_or("expected `VARIANT STEPS`")?;
        let found = variants.iter_mut().find(|(variant, _)| *variant == name);
        let (_, step) = found.ok_or_else(|| format!("no variant `{name}`"))?;
        let (start, mut loss) = (Instant::now(), f64::NAN);
        for _ in 0..steps.parse::<usize>()? {
            loss = step()?;
        }
        println!("{} {loss}", start.elapsed().as_secs_f64());
        std::io::stdout().flush()?;
    }
    Ok(())
}
