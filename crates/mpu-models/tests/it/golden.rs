//! Three training steps against PyTorch, on both paths.
//!
//! `golden/make_golden.py` made the files and says what is in them.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};
use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_loss::Loss;
use mpu_models::fused::Workspace;
use mpu_models::{Mode, ModelSpec, Network, OptimSpec, Optimizer, Params, Role, Threads};
use mpu_risk::{Estimator, Groups, Objective};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    spec: ModelSpec,
    n_rows: usize,
    eps: f64,
    loss: String,
    steps: Vec<Step>,
    eval_logits: Vec<Vec<f64>>,
    params: BTreeMap<String, Digest>,
}

#[derive(Deserialize)]
struct Step {
    loss: f64,
    logits: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Digest {
    Full {
        values: Vec<f64>,
    },
    Part {
        sum: f64,
        sum_abs: f64,
        samples: Vec<(usize, f64)>,
    },
}

/// Numbers in `[-1, 1)` that depend on `stream` alone: SplitMix64, as in the script.
fn uniform(stream: u64, n: usize) -> Vec<f64> {
    let mut state = stream.wrapping_mul(0x632B_E59B_D9B4_E019);
    let draw = |_| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    (0..n).map(draw).collect()
}

fn params_of(spec: &ModelSpec) -> Params {
    let mut params = Params::zeros(spec).unwrap();
    for (index, entry) in params.entries().to_vec().into_iter().enumerate() {
        let draws = uniform(index as u64 + 1, entry.n_values());
        let scaled = draws.into_iter().map(|u| match entry.role {
            Role::Weight { fan_in } => u * (6.0 / fan_in as f64).sqrt(),
            Role::Scale | Role::RunningVar => 1.0 + 0.25 * u,
            _ => 0.25 * u,
        });
        let values = params.get_mut(&entry.name).unwrap();
        values
            .iter_mut()
            .zip(scaled)
            .for_each(|(value, u)| *value = u as f32);
    }
    params
}

/// Row `r` is labelled with class `r mod (k + 1)` if that is observed, and else in the pool.
fn groups_of(n: usize, classes: ClassCount, objective: Objective) -> Groups {
    let k = classes.get();
    if objective == Objective::Supervised {
        let truths: Vec<usize> = (0..n).map(|row| row % k).collect();
        return Groups::oracle(classes, &truths).unwrap();
    }
    let label = |row: usize| match row % (k + 1) {
        class if class < k - 1 => MpuLabel::Labeled(class),
        _ => MpuLabel::Unlabeled,
    };
    let groups = Groups::new(classes, &(0..n).map(label).collect::<Vec<_>>()).unwrap();
    let mut targets = Vec::new();
    for place in 0..groups.n_unlabeled() {
        let weights: Vec<f64> = (0..k).map(|j| 1.0 + ((place + j) % 5) as f64).collect();
        let total: f64 = weights.iter().sum();
        targets.extend(weights.iter().map(|weight| weight / total));
    }
    groups.with_targets(targets).unwrap()
}

/// The loss of the script and its gradient.
fn loss(name: &str, logits: &[f32], k: usize) -> (f64, Vec<f32>) {
    if name == "sigmoid" {
        return sigmoid_loss(logits, k);
    }
    let total = (k * (k - 1) / 2) as f64;
    let observed: Vec<f64> = (1..k).map(|i| 0.9 * i as f64 / total).collect();
    let objective: Objective = name.parse().unwrap();
    let priors = Priors::from_observed(&observed).unwrap();
    let groups = groups_of(logits.len() / k, priors.classes(), objective);
    let scores: Vec<f64> = logits.iter().map(|&score| f64::from(score)).collect();
    // Half of an observed class from its labelled rows, as the golden values have it.
    let estimator = Estimator::new(objective, Loss::default(), priors);
    let estimator = estimator.with_labeled_share(0.5).unwrap();
    let risk = estimator.plain(&scores, &groups).unwrap();
    let slopes = risk.gradient.iter().map(|&slope| slope as f32).collect();
    (risk.terms.corrected, slopes)
}

fn sigmoid_loss(logits: &[f32], k: usize) -> (f64, Vec<f32>) {
    let n = logits.len() / k;
    let mut loss = 0.0;
    let slope = |(i, &f): (usize, &f32)| {
        let sign = if i % k == (i / k) % k { 1.0 } else { -1.0 };
        let p = 1.0 / (1.0 + (sign * f as f64).exp());
        loss += p / n as f64;
        (-sign * p * (1.0 - p) / n as f64) as f32
    };
    let slopes = logits.iter().enumerate().map(slope).collect();
    (loss, slopes)
}

/// Both paths, seen from outside.
trait Path {
    fn forward(&mut self, batch: &[f32], mode: Mode) -> Vec<f32>;
    fn backward(&mut self, dlogits: &[f32]) -> Vec<f32>;
    fn params(&mut self) -> Params;
    fn set(&mut self, params: Params);
}

struct Fused(Params, Workspace);

impl Path for Fused {
    fn forward(&mut self, batch: &[f32], mode: Mode) -> Vec<f32> {
        let n = batch.len() / self.0.spec().inputs();
        self.1.batch_mut(n).unwrap().copy_from_slice(batch);
        self.1.forward(&mut self.0, mode).unwrap().to_vec()
    }

    fn backward(&mut self, dlogits: &[f32]) -> Vec<f32> {
        self.1.backward(&self.0, dlogits).unwrap().to_vec()
    }

    fn params(&mut self) -> Params {
        self.0.clone()
    }

    fn set(&mut self, params: Params) {
        self.0 = params;
    }
}

struct Reference(Network, usize, Option<Tensor>);

impl Path for Reference {
    fn forward(&mut self, batch: &[f32], mode: Mode) -> Vec<f32> {
        let shape = (batch.len() / self.1, self.1);
        let batch = Tensor::from_slice(batch, shape, &Device::Cpu).unwrap();
        let logits = self.0.forward(&batch, mode).unwrap();
        let values = logits.flatten_all().unwrap().to_vec1().unwrap();
        self.2 = Some(logits);
        values
    }

    fn backward(&mut self, dlogits: &[f32]) -> Vec<f32> {
        let logits = self.2.take().unwrap();
        let slopes = Tensor::from_slice(dlogits, logits.shape(), &Device::Cpu).unwrap();
        let product = (logits * slopes).unwrap().sum_all().unwrap();
        self.0.gradient(&product.backward().unwrap()).unwrap()
    }

    fn params(&mut self) -> Params {
        self.0.to_params().unwrap()
    }

    fn set(&mut self, params: Params) {
        self.0.set_params(&params).unwrap();
    }
}

fn close(what: &str, got: f64, want: f64, scale: f64) {
    assert!(
        (got - want).abs() <= 1e-4 * want.abs().max(scale),
        "{what}: {got}, not {want}"
    );
}

fn all_close(what: &str, got: &[f32], want: &[Vec<f64>]) {
    let want: Vec<f64> = want.concat();
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().map(|w| w.abs()).sum::<f64>() / want.len() as f64;
    got.iter()
        .zip(want)
        .for_each(|(&got, want)| close(what, got as f64, want, scale));
}

/// Checks every case of a file and gives the names of their losses.
fn check(text: &str) -> Vec<String> {
    let cases: Vec<Golden> = serde_json::from_str(text).unwrap();
    cases.iter().for_each(check_case);
    cases.into_iter().map(|case| case.loss).collect()
}

fn check_case(golden: &Golden) {
    let Golden { spec, n_rows, .. } = golden;
    let batch: Vec<f32> = uniform(0, n_rows * spec.inputs())
        .into_iter()
        .map(|u| u as f32)
        .collect();
    let params = params_of(spec);
    let workspace = Workspace::new(spec, *n_rows, Threads::ONE).unwrap();
    let network = Network::new(&params, &Device::Cpu).unwrap();
    let paths: [(&str, Box<dyn Path>); 2] = [
        ("fused", Box::new(Fused(params.clone(), workspace))),
        (
            "reference",
            Box::new(Reference(network, spec.inputs(), None)),
        ),
    ];
    for (path_name, mut path) in paths {
        let name = format!("{} {path_name}", golden.loss);
        let adam = OptimSpec::Adam {
            beta1: 0.9,
            beta2: 0.999,
            eps: golden.eps,
            weight_decay: 0.0,
        };
        let mut optimizer = Optimizer::new(adam, params.trainable().len()).unwrap();
        for (index, step) in golden.steps.iter().enumerate() {
            let logits = path.forward(&batch, Mode::Train);
            let (value, slopes) = loss(&golden.loss, &logits, spec.outputs());
            all_close(
                &format!("{name}: scores of step {index}"),
                &logits,
                &step.logits,
            );
            // A risk is a difference of means of order one, and may come out near zero.
            let what = format!("{name}: loss of step {index}");
            close(&what, value, step.loss, 1.0);
            let gradient = path.backward(&slopes);
            let mut params = path.params();
            optimizer
                .step(params.trainable_mut(), &gradient, 1e-3)
                .unwrap();
            path.set(params);
        }
        let scores = path.forward(&batch, Mode::Eval);
        all_close(
            &format!("{name}: scores in evaluation"),
            &scores,
            &golden.eval_logits,
        );
        let params = path.params();
        assert_eq!(params.entries().len(), golden.params.len());
        for (entry, values) in params.iter() {
            let what = format!("{name}: {}", entry.name);
            let mean_abs = values.iter().map(|v| v.abs() as f64).sum::<f64>() / values.len() as f64;
            match &golden.params[&entry.name] {
                Digest::Full { values: want } => {
                    all_close(&what, values, std::slice::from_ref(want));
                }
                Digest::Part {
                    sum,
                    sum_abs,
                    samples,
                } => {
                    let got: f64 = values.iter().map(|&v| v as f64).sum();
                    close(&what, got, *sum, *sum_abs);
                    close(&what, mean_abs * values.len() as f64, *sum_abs, 0.0);
                    for &(place, want) in samples {
                        close(&what, values[place] as f64, want, mean_abs);
                    }
                }
            }
        }
    }
}

#[test]
fn mlp5_small() {
    check(include_str!("golden/mlp5_small.json"));
}

#[test]
fn mlp5_full() {
    check(include_str!("golden/mlp5_full.json"));
}

#[test]
fn resnet20_small() {
    check(include_str!("golden/resnet20_small.json"));
}

#[test]
fn resnet8_odd() {
    check(include_str!("golden/resnet8_odd.json"));
}

#[test]
fn mlp5_with_every_estimator() {
    let objectives = check(include_str!("golden/mlp5_methods.json"));
    assert_eq!(objectives, Objective::ALL.map(Objective::slug));
}

#[test]
fn resnet20_with_every_estimator() {
    let objectives = check(include_str!("golden/resnet20_methods.json"));
    assert_eq!(objectives, Objective::ALL.map(Objective::slug));
}
