//! Per-sample losses on tensors, forward and backward. Ids carry n and k.

#![allow(missing_docs, reason = "criterion generates public items")]
#![allow(clippy::expect_used, reason = "a bench may stop at a fault of its own")]

use std::hint::black_box;

use candle_core::{Device, Var};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mpu_loss::{Form, Logits, Loss, SampleLoss, Surrogate};

const N_ROWS: usize = 512;

fn scores(k: usize) -> Var {
    let values: Vec<f32> = (0..N_ROWS * k)
        .map(|i| (i * 37 % 101) as f32 / 25.0 - 2.0)
        .collect();
    Var::from_vec(values, (N_ROWS, k), &Device::Cpu).expect("a matrix")
}

fn losses(c: &mut Criterion) {
    for surrogate in [Surrogate::SigmoidProb, Surrogate::Logistic] {
        let loss = Loss::new(surrogate, 1.0, Form::Raw).expect("a loss");
        for (name, kind) in [
            ("csmpu", SampleLoss::Csmpu),
            ("ovr", SampleLoss::OneVersusRest),
        ] {
            let mut group = c.benchmark_group(format!("loss/{surrogate}/{name}"));
            for k in [4, 64, 1000] {
                let scores = scores(k);
                let classes: Vec<usize> = (0..N_ROWS).map(|i| i % k).collect();
                let id = BenchmarkId::from_parameter(format!("n={N_ROWS},k={k}"));
                group.bench_function(id, |b| {
                    b.iter(|| {
                        let logits = Logits::new(&scores).expect("scores");
                        let losses = kind.tensor(&loss, &logits, &classes).expect("losses");
                        black_box(
                            losses
                                .sum_all()
                                .and_then(|s| s.backward())
                                .expect("gradient"),
                        )
                    });
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, losses);
criterion_main!(benches);
