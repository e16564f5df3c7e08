//! Times one training step: the fused path, the naive candle path, and its matrix products alone.
//!
//! ```text
//! cargo run --release -p mpu-models --example step -- [mlp|resnet|all] [rounds] [threads]
//! cargo run --release -p mpu-models --example step -- steps mlp|resnet [steps] [threads]
//! ```
//!
//! Rounds of the variants take turns, and medians over the rounds are printed: of the time on the
//! clock, and of the time on the processor, which other work on the machine disturbs less.
//! The second form prints the two times of every step of the fused path: `step_torch.py --ours`
//! calls it in turn with the same network, loss and batch in PyTorch.

#![allow(clippy::print_stdout, reason = "an example that reports to the reader")]

use std::time::Instant;

use candle_core::{Device, Tensor};
use mpu_models::fused::{Products, Workspace};
use mpu_models::{Mode, ModelSpec, Network, OptimSpec, Optimizer, Params, Role, Threads};

type Error = Box<dyn std::error::Error>;

const LEARNING_RATE: f64 = 1e-3;

/// A batch, the sign of every score in the loss, and the network.
struct Task {
    spec: ModelSpec,
    rows: Vec<f32>,
    signs: Vec<f32>,
    n: usize,
}

/// The fractional parts of multiples of `step`, from -1 to 1: what `step_torch.py` has as well.
fn weyl(n: usize, step: f64) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| (i as f64 * step).fract() * 2.0 - 1.0)
}

impl Task {
    fn new(spec: ModelSpec, n: usize) -> Self {
        let k = spec.outputs();
        let rows = weyl(n * spec.inputs(), 0.618_033_988_749_894_9)
            .map(|x| x as f32)
            .collect();
        let signs = (0..n * k)
            .map(|i| if i % k == (i / k) % k { 1.0 } else { -1.0 })
            .collect();
        Self {
            spec,
            rows,
            signs,
            n,
        }
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

    /// The mean over rows of `Σ_j sigmoid(−s_j f_j)`, and its gradient.
    fn loss(&self, logits: &[f32], dlogits: &mut [f32]) -> f32 {
        let share = 1.0 / self.n as f32;
        let mut loss = 0.0;
        for ((f, s), d) in logits.iter().zip(&self.signs).zip(dlogits) {
            let p = 1.0 / (1.0 + (s * f).exp());
            loss += p as f64;
            *d = -s * p * (1.0 - p) * share;
        }
        (loss / self.n as f64) as f32
    }
}

/// Something to be timed; a step gives its loss.
type Step<'a> = Box<dyn FnMut() -> Result<f32, Error> + 'a>;

fn fused(task: &Task, threads: Threads) -> Result<Step<'_>, Error> {
    let mut params = task.params()?;
    let mut workspace = Workspace::new(&task.spec, task.n, threads)?;
    let mut optimizer = Optimizer::new(OptimSpec::ADAM, params.trainable().len())?;
    let mut dlogits = vec![0.0; task.signs.len()];
    Ok(Box::new(move || {
        workspace.batch_mut(task.n)?.copy_from_slice(&task.rows);
        let loss = task.loss(workspace.forward(&mut params, Mode::Train)?, &mut dlogits);
        let gradient = workspace.backward(&params, &dlogits)?;
        optimizer.step(params.trainable_mut(), gradient, LEARNING_RATE)?;
        Ok(loss)
    }))
}

fn naive(task: &Task) -> Result<Step<'_>, Error> {
    let mut params = task.params()?;
    let mut network = Network::new(&params, &Device::Cpu)?;
    let mut optimizer = Optimizer::new(OptimSpec::ADAM, params.trainable().len())?;
    let batch = Tensor::from_slice(&task.rows, (task.n, task.spec.inputs()), &Device::Cpu)?;
    let signs = Tensor::from_slice(&task.signs, (task.n, task.spec.outputs()), &Device::Cpu)?;
    Ok(Box::new(move || {
        let margins = (network.forward(&batch, Mode::Train)? * &signs)?;
        let terms = (margins.exp()? + 1.0)?.recip()?;
        let loss = (terms.sum_all()? / task.n as f64)?;
        let gradient = network.gradient(&loss.backward()?)?;
        optimizer.step(params.trainable_mut(), &gradient, LEARNING_RATE)?;
        network.set_params(&params)?;
        Ok(loss.to_scalar::<f32>()?)
    }))
}

/// Seconds on the clock and on the processor, where the system tells.
fn now(start: Instant) -> (f64, f64) {
    let clock = start.elapsed().as_secs_f64();
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let busy: f64 = tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .sum();
    (clock, if busy > 0.0 { busy * 1e-9 } else { clock })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(
    name: &str,
    task: &Task,
    rounds: usize,
    repeats: usize,
    threads: Threads,
) -> Result<(), Error> {
    let mut products = Products::new(&task.spec, task.n, threads)?;
    let flops = products.flops();
    let products: Step<'_> = Box::new(move || {
        products.run();
        Ok(f32::NAN)
    });
    let mut variants: Vec<(&str, usize, Step<'_>)> = vec![
        ("fused", repeats, fused(task, threads)?),
        ("products alone", repeats, products),
        ("naive candle", 1, naive(task)?),
    ];
    for (label, _, step) in &mut variants {
        let losses = (0..3).map(|_| step()).collect::<Result<Vec<_>, _>>()?;
        println!("{name} {label}: losses of the first three steps {losses:?}");
    }
    let start = Instant::now();
    let mut times = vec![(Vec::new(), Vec::new()); variants.len()];
    for _ in 0..rounds {
        for ((_, repeats, step), (clock, busy)) in variants.iter_mut().zip(&mut times) {
            let before = now(start);
            for _ in 0..*repeats {
                step()?;
            }
            let after = now(start);
            clock.push((after.0 - before.0) / *repeats as f64);
            busy.push((after.1 - before.1) / *repeats as f64);
        }
    }
    let medians: Vec<_> = times
        .iter_mut()
        .map(|(c, b)| (median(c), median(b)))
        .collect();
    let limit = medians[1].1;
    for ((label, ..), (clock, busy)) in variants.iter().zip(&medians) {
        println!(
            "{name} {label:14} {:9.3} ms/step on the clock {:9.3} on the processor {:7.0} samples/s \
             {:6.1} GFLOP/s {:5.2} of the limit",
            clock * 1e3,
            busy * 1e3,
            task.n as f64 / busy,
            flops / busy * 1e-9,
            limit / busy,
        );
    }
    Ok(())
}

/// Prints the times of single steps of the fused path, after a few to warm up.
fn steps(task: &Task, n_steps: usize, threads: Threads) -> Result<(), Error> {
    let mut step = fused(task, threads)?;
    for _ in 0..3 {
        step()?;
    }
    let start = Instant::now();
    for _ in 0..n_steps {
        let before = now(start);
        step()?;
        let after = now(start);
        println!("{} {}", after.0 - before.0, after.1 - before.1);
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).peekable();
    let single = arguments.next_if(|word| word == "steps").is_some();
    let which = arguments.next().unwrap_or_else(|| "all".to_owned());
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, threads) = (number(7)?, Threads::new(number(1)?));
    let mlp = || Task::new(ModelSpec::mlp5(784, 4), 512);
    let resnet = || Task::new(ModelSpec::resnet20(3, 32, 32, 10), 128);
    if single {
        return steps(
            &if which == "resnet" { resnet() } else { mlp() },
            count,
            threads,
        );
    }
    if which != "resnet" {
        compare("mlp5", &mlp(), count, 20, threads)?;
    }
    if which != "mlp" {
        compare("resnet20", &resnet(), count, 2, threads)?;
    }
    Ok(())
}
