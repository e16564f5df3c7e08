//! Per-sample losses on tensors, forward and backward. Ids carry n and k.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::expect_used, reason = "a bench may stop at a fault of its own")]

mod timer;

use candle_core::{Device, Var};
use mpu_loss::{Form, Logits, Loss, SampleLoss, Surrogate};

const N_ROWS: usize = 512;

fn scores(k: usize) -> Var {
    let values: Vec<f32> = (0..N_ROWS * k)
        .map(|i| (i * 37 % 101) as f32 / 25.0 - 2.0)
        .collect();
    Var::from_vec(values, (N_ROWS, k), &Device::Cpu).expect("a matrix")
}

fn main() {
    for surrogate in [Surrogate::SigmoidProb, Surrogate::Logistic] {
        let loss = Loss::new(surrogate, 1.0, Form::Raw).expect("a loss");
        for (name, kind) in [
            ("csmpu", SampleLoss::Csmpu),
            ("ovr", SampleLoss::OneVersusRest),
        ] {
            for k in [4, 64, 1000] {
                let scores = scores(k);
                let classes: Vec<usize> = (0..N_ROWS).map(|i| i % k).collect();
                timer::time(&format!("loss/{surrogate}/{name}/n={N_ROWS},k={k}"), || {
                    let logits = Logits::new(&scores).expect("scores");
                    let losses = kind.tensor(&loss, &logits, &classes).expect("losses");
                    losses
                        .sum_all()
                        .and_then(|s| s.backward())
                        .expect("gradient")
                });
            }
        }
    }
}
