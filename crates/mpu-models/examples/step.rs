//! Training steps on request, for `cargo xtask bench train`, which has them take turns with PyTorch.
//!
//! ```text
//! cargo run --release -p mpu-models --example step -- mlp5|resnet20 THREADS
//! ```
//!
//! Reads lines `VARIANT STEPS` and answers each with the seconds these steps took and the loss of the last
//! one. The variants: `ours` (the fused path, the risk in `f64`, fused Adam), `candle` (what the candle engine does in
//! a step), `plain` (a loop as a user of candle-nn would write it, for mlp5), `products` (the matrix products of a step
//! and nothing else), `peak` (as many multiplications and additions in registers). Network, weights, batch and loss are those of `step_torch.py`.

#![allow(clippy::print_stdout, reason = "an example that reports to the reader")]

use std::io::Write as _;
use std::time::Instant;

use candle_core::{DType, Device, Module as _, Tensor};
use candle_nn::{
    AdamW, BatchNormConfig, ModuleT as _, Optimizer as _, ParamsAdamW, VarBuilder, VarMap,
    batch_norm, linear,
};
use mpu_data::{MpuLabel, Priors};
use mpu_loss::Loss;
use mpu_models::fused::{Products, Workspace, fma_chains};
use mpu_models::{
    DeviceOptimizer, MlpSpec, Mode, ModelSpec, Network, OptimSpec, Optimizer, Params, Role, Threads,
};
use mpu_risk::{Correction, Estimator, GroupTensors, Groups, Objective};

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

    /// Rows, the order in which they make the batch, and their groups, on a device.
    fn tensors(&self, device: &Device) -> Result<(Tensor, Tensor, GroupTensors), Error> {
        let rows = Tensor::from_slice(&self.rows, (self.n, self.spec.inputs()), device)?;
        let order = Tensor::arange(0, self.n as u32, device)?;
        let groups = GroupTensors::new(&self.groups, DType::F32, device)?;
        Ok((rows, order, groups))
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
        let inputs = task.spec.inputs();
        workspace.gather(task.n, |row| &task.rows[row * inputs..][..inputs])?;
        let logits = workspace.forward(&mut params, Mode::Train)?;
        let scores: Vec<f64> = logits.iter().map(|&score| f64::from(score)).collect();
        let risk = task.estimator.plain(&scores, &task.groups)?;
        let dlogits: Vec<f32> = risk.gradient.iter().map(|&slope| slope as f32).collect();
        let gradient = workspace.backward(&params, &dlogits)?;
        optimizer.step(params.trainable_mut(), gradient, LEARNING_RATE)?;
        Ok(risk.terms.corrected)
    }))
}

/// What the candle engine of mpu-train does in a step.
fn candle(task: &Task) -> Result<Step<'_>, Error> {
    let device = Device::Cpu;
    let params = task.params()?;
    let network = Network::new(&params, &device)?;
    let (spec, values) = (OptimSpec::ADAM, params.trainable());
    let memory = Optimizer::new(spec, values.len())?;
    let mut optimizer = DeviceOptimizer::new(spec, memory.state(), values, &device)?;
    let (rows, order, groups) = task.tensors(&device)?;
    Ok(Box::new(move || {
        let logits = network.forward(&rows.index_select(&order, 0)?, Mode::Train)?;
        let risk = task.estimator.device_risk(&logits, &groups)?;
        optimizer.step(&network, &risk.backward()?, LEARNING_RATE)?;
        Ok(f64::from(risk.to_scalar::<f32>()?))
    }))
}

/// The loop that a user of candle-nn would write: its layers, its variables, its optimiser.
fn plain<'a>(task: &'a Task, spec: &MlpSpec) -> Result<Step<'a>, Error> {
    let (device, mut vars) = (Device::Cpu, VarMap::new());
    let vb = VarBuilder::from_varmap(&vars, DType::F32, &device);
    let (mut layers, mut inputs) = (Vec::new(), spec.inputs);
    for (index, &width) in spec.hidden.iter().enumerate() {
        let linear = linear(inputs, width, vb.pp(format!("fc{}", index + 1)))?;
        let config = BatchNormConfig::default();
        let norm = batch_norm(width, config, vb.pp(format!("bn{}", index + 1)))?;
        layers.push((linear, norm));
        inputs = width;
    }
    let head = format!("fc{}", spec.hidden.len() + 1);
    let head = linear(inputs, spec.outputs, vb.pp(head))?;
    let params = task.params()?;
    let values = params.to_tensors(&device)?;
    vars.set(values.iter().map(|(entry, tensor)| (&entry.name, tensor)))?;
    let settings = ParamsAdamW {
        lr: LEARNING_RATE,
        weight_decay: 0.0,
        ..ParamsAdamW::default()
    };
    let mut optimizer = AdamW::new(vars.all_vars(), settings)?;
    let (rows, order, groups) = task.tensors(&device)?;
    Ok(Box::new(move || {
        let mut x = rows.index_select(&order, 0)?;
        for (linear, norm) in &layers {
            x = norm.forward_t(&linear.forward(&x)?.relu()?, true)?;
        }
        let logits = head.forward(&x)?;
        let risk = task.estimator.device_risk(&logits, &groups)?;
        optimizer.backward_step(&risk)?;
        Ok(f64::from(risk.to_scalar::<f32>()?))
    }))
}

fn products(task: &Task, threads: Threads) -> Result<Step<'_>, Error> {
    let mut products = Products::new(&task.spec, task.n, threads)?;
    Ok(Box::new(move || {
        products.run();
        Ok(f64::NAN)
    }))
}

/// The operations of the matrix products in registers, shared among the threads.
fn peak(task: &Task, threads: Threads) -> Result<Step<'_>, Error> {
    let operations = Products::new(&task.spec, task.n, threads)?.flops();
    let rounds = (operations / fma_chains(1) / threads.get() as f64).round() as usize;
    Ok(Box::new(move || {
        rayon::broadcast(|_| fma_chains(rounds));
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
    let mut variants = vec![
        ("ours", ours(&task, threads)?),
        ("candle", candle(&task)?),
        ("products", products(&task, threads)?),
        ("peak", peak(&task, threads)?),
    ];
    if let ModelSpec::Mlp(spec) = &task.spec {
        variants.push(("plain", plain(&task, spec)?));
    }
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
