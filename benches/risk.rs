//! Loss and risk together, forward and backward, on tensors and in plain f64. Ids carry n and k.
//!
//! Each round computes the same risk both ways; the setup checks that they agree.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::expect_used, reason = "a bench may stop at a fault of its own")]

mod timer;

use candle_core::{Device, Var};
use mpu_data::{ClassCount, MpuLabel, Priors};
use mpu_loss::Loss;
use mpu_risk::{Correction, Estimator, Groups, Objective};

const N_ROWS: usize = 512;

fn main() {
    for objective in [
        Objective::Csmpu(Correction::Abs),
        Objective::CsmpuExact(Correction::Nn),
        Objective::UreOvr,
        Objective::Area,
    ] {
        for k in [4usize, 8, 64, 1000] {
            let classes = ClassCount::new(k).expect("k >= 2");
            // Half of the batch is the pool, the rest goes round the observed classes.
            let label = |i: usize| match i % 2 {
                0 => MpuLabel::Unlabeled,
                _ => MpuLabel::Labeled((i / 2) % (k - 1)),
            };
            let labels: Vec<MpuLabel> = (0..N_ROWS).map(label).collect();
            let groups = Groups::new(classes, &labels).expect("a sample");
            let estimator = Estimator::new(objective, Loss::default(), Priors::uniform(classes));
            let values: Vec<f32> = (0..N_ROWS * k)
                .map(|i| (i * 37 % 101) as f32 / 25.0 - 2.0)
                .collect();
            let plain: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            let scores = Var::from_vec(values, (N_ROWS, k), &Device::Cpu).expect("a matrix");

            let on_tensors = estimator
                .risk(&scores, &groups)
                .expect("a risk")
                .terms
                .corrected;
            let in_f64 = estimator
                .plain(&plain, &groups)
                .expect("a risk")
                .terms
                .corrected;
            assert!(
                (on_tensors - in_f64).abs() < 1e-5,
                "{objective}: {on_tensors} {in_f64}"
            );

            let id = |form: &str| format!("risk/{objective}/{form}/n={N_ROWS},k={k}");
            timer::time(&id("tensor"), || {
                let risk = estimator.risk(&scores, &groups).expect("a risk");
                risk.objective.backward().expect("gradient")
            });
            timer::time(&id("plain"), || {
                estimator.plain(&plain, &groups).expect("a risk")
            });
        }
    }
}
