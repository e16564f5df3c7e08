//! The fused path against the reference path: scores, every gradient, running statistics.

use candle_core::{Device, Tensor};
use mpu_models::fused::Workspace;
use mpu_models::{Dropout, Init, Mode, ModelSpec, Network, Params, Result, Threads};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::networks::{draws, mlp, resnet};

fn dropping(share: f64, seed: u64) -> Mode {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    Mode::Drop(Dropout::draw(share, rng).unwrap())
}

/// Parameters with nothing at its default: scales, shifts and running statistics moved as well.
fn params_of(spec: &ModelSpec, rng: &mut ChaCha8Rng) -> Params {
    let mut params = Params::init(spec, Init::Torch, rng).unwrap();
    let mut shift = |values: &mut [f32], size: f32| {
        let moves = draws(rng, values.len());
        values
            .iter_mut()
            .zip(moves)
            .for_each(|(p, u)| *p += size * u);
    };
    shift(params.trainable_mut(), 0.05);
    shift(params.buffers_mut(), 0.3);
    params
}

fn close(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().map(|w| w.abs()).fold(0.0, f32::max).max(1e-3);
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let gap = (got - want).abs();
        assert!(
            gap <= tolerance * scale,
            "{what}[{i}]: {got}, not {want} (scale {scale})"
        );
    }
}

fn check(spec: &ModelSpec, n: usize, seed: u64, mode: Mode) {
    let case = format!("{spec:?}, {n} rows, {mode:?}");
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut params = params_of(spec, rng);
    let batch = draws(rng, n * spec.inputs());
    let dlogits = draws(rng, n * spec.outputs());

    let network = Network::new(&params, &Device::Cpu).unwrap();
    let tensor = Tensor::from_slice(&batch, (n, spec.inputs()), &Device::Cpu).unwrap();
    let scores = network.forward(&tensor, mode).unwrap();
    let slopes = Tensor::from_slice(&dlogits, (n, spec.outputs()), &Device::Cpu).unwrap();
    let product = (&scores * slopes).unwrap().sum_all().unwrap();
    let want = network.gradient(&product.backward().unwrap()).unwrap();
    let want_scores = scores.flatten_all().unwrap().to_vec1::<f32>().unwrap();

    // Larger than the batch: what lies behind it must not matter.
    let mut workspace = Workspace::new(spec, n + 3, Threads::ONE).unwrap();
    workspace.batch_mut(n + 3).unwrap().fill(7.0);
    workspace.forward(&mut params.clone(), Mode::Train).unwrap();
    workspace.batch_mut(n).unwrap().copy_from_slice(&batch);
    let scores = workspace.forward(&mut params, mode).unwrap();
    // Two values are normalised to ±1 however near they are to each other, which makes much of
    // little: both paths are that far from the truth.
    let (score_gap, gradient_gap, statistics_gap) = match n {
        2 => (5e-3, 5e-2, 1e-4),
        _ => (1e-4, 2e-3, 1e-5),
    };
    close(&format!("{case}: scores"), scores, &want_scores, score_gap);
    let gradient = workspace.backward(&params, &dlogits).unwrap();
    for entry in params
        .entries()
        .iter()
        .filter(|entry| entry.role.is_trainable())
    {
        let what = format!("{case}: gradient of {}", entry.name);
        close(
            &what,
            &gradient[entry.range()],
            &want[entry.range()],
            gradient_gap,
        );
    }
    close(
        &format!("{case}: statistics"),
        params.buffers(),
        network.to_params().unwrap().buffers(),
        statistics_gap,
    );

    let want = network.forward(&tensor, Mode::Eval).unwrap();
    let want = want.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let scores = workspace.forward(&mut params, Mode::Eval).unwrap();
    close(
        &format!("{case}: scores in evaluation"),
        scores,
        &want,
        1e-4,
    );
    let mut scores = vec![f32::NAN; want.len()];
    workspace.predict(&params, &batch, &mut scores).unwrap();
    close(&format!("{case}: predicted scores"), &scores, &want, 1e-4);
}

#[test]
fn perceptrons_agree() {
    let specs = [
        mlp(5, &[], 2),
        mlp(1, &[1], 1),
        mlp(7, &[9], 3),
        mlp(12, &[16, 5, 33], 4),
        mlp(40, &[64, 48], 10),
        ModelSpec::mlp5(21, 3),
    ];
    for (seed, spec) in specs.iter().enumerate() {
        for n in [1, 2, 3, 64, 65, 150] {
            check(spec, n, seed as u64, Mode::Train);
            check(spec, n, seed as u64, dropping(0.3, 5 + seed as u64));
        }
    }
}

#[test]
fn residual_networks_agree() {
    for (seed, (channels, height, width)) in [
        (3, 8, 8),
        (1, 5, 7),
        (2, 6, 9),
        (1, 1, 1),
        (4, 3, 2),
        (1, 2, 12),
    ]
    .into_iter()
    .enumerate()
    {
        for n in [1, 2, 9, 17] {
            check(
                &resnet(channels, height, width, 8, 2 + seed),
                n,
                seed as u64,
                Mode::Train,
            );
        }
    }
}

#[test]
fn resnet20_agrees() {
    check(&ModelSpec::resnet20(3, 10, 10, 4), 5, 1, Mode::Train);
}

/// Scores, gradient and statistics of one step.
fn step(spec: &ModelSpec, n: usize, threads: usize, mode: Mode) -> (Vec<f32>, Vec<f32>, Params) {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let mut params = params_of(spec, rng);
    let mut workspace = Workspace::new(spec, n, Threads::new(threads)).unwrap();
    let batch = draws(rng, n * spec.inputs());
    workspace.batch_mut(n).unwrap().copy_from_slice(&batch);
    let scores = workspace.forward(&mut params, mode).unwrap().to_vec();
    let gradient = workspace
        .backward(&params, &draws(rng, scores.len()))
        .unwrap()
        .to_vec();
    (scores, gradient, params)
}

#[test]
fn threads_do_not_change_a_bit() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let images = [3, 8, 13].map(|n| (resnet(3, 16, 16, 8, 3), n, Mode::Train));
    let rows = [
        (ModelSpec::mlp5(784, 4), 512, Mode::Train),
        (ModelSpec::mlp5(784, 4), 512, dropping(0.25, 1)),
        (mlp(100, &[300], 3), 333, Mode::Train),
    ];
    for (spec, n, mode) in rows.into_iter().chain(images) {
        let one = step(&spec, n, 1, mode);
        for threads in [2, 3] {
            let several = pool.install(|| step(&spec, n, threads, mode));
            assert!(one == several, "{spec:?} {n} {threads}");
        }
    }
}

#[test]
fn a_used_workspace_is_as_good_as_a_new_one() {
    for spec in [mlp(6, &[20, 20], 3), resnet(1, 6, 6, 8, 2)] {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        let params = params_of(&spec, rng);
        let batch = draws(rng, 4 * spec.inputs());
        let dlogits = draws(rng, 4 * spec.outputs());
        let mut workspace = Workspace::new(&spec, 9, Threads::ONE).unwrap();
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            workspace.batch_mut(4).unwrap().copy_from_slice(&batch);
            let scores = workspace
                .forward(&mut params.clone(), Mode::Train)
                .unwrap()
                .to_vec();
            let gradient = workspace.backward(&params, &dlogits).unwrap().to_vec();
            outcomes.push((scores, gradient));
            // Something else in between.
            workspace.batch_mut(9).unwrap().fill(3.0);
            workspace.forward(&mut params.clone(), Mode::Train).unwrap();
            workspace
                .backward(&params, &vec![1.0; 9 * spec.outputs()])
                .unwrap();
        }
        assert_eq!(outcomes[0], outcomes[1]);
    }
}

#[test]
fn gathered_rows_are_as_good_as_copied_ones() {
    for (spec, n) in [
        (mlp(70, &[20], 3), 37),
        (mlp(6, &[], 2), 5),
        (resnet(1, 6, 6, 8, 2), 4),
    ] {
        let rng = &mut ChaCha8Rng::seed_from_u64(8);
        let params = params_of(&spec, rng);
        let (inputs, dlogits) = (spec.inputs(), draws(rng, n * spec.outputs()));
        let rows = draws(rng, n * inputs);
        // The last row first.
        let row = |index: usize| &rows[(n - 1 - index) * inputs..][..inputs];
        for (mode, threads) in [(Mode::Train, 1), (Mode::Train, 2), (Mode::Eval, 1)] {
            let mut workspace = Workspace::new(&spec, n + 40, Threads::new(threads)).unwrap();
            let mut outcome = |gathered: bool| {
                if gathered {
                    workspace.gather(n, row).unwrap();
                } else {
                    let batch = (0..n).flat_map(row).copied().collect::<Vec<_>>();
                    workspace.batch_mut(n).unwrap().copy_from_slice(&batch);
                }
                let scores = workspace
                    .forward(&mut params.clone(), mode)
                    .unwrap()
                    .to_vec();
                let gradient = workspace.backward(&params, &dlogits).map(<[f32]>::to_vec);
                (scores, gradient.ok())
            };
            let copied = outcome(false);
            assert_eq!(outcome(true), copied, "{mode:?}");
            assert_eq!(outcome(false), copied, "{mode:?}");
        }
    }
}

#[test]
fn gradients_are_slopes() {
    for (spec, n, mode) in [
        (mlp(6, &[20, 20], 3), 32, Mode::Train),
        (mlp(6, &[20, 20], 3), 32, dropping(0.25, 4)),
        (resnet(2, 6, 6, 8, 3), 12, Mode::Train),
    ] {
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        let params = params_of(&spec, rng);
        let batch = draws(rng, n * spec.inputs());
        let weights = draws(rng, n * spec.outputs());
        let mut workspace = Workspace::new(&spec, n, Threads::ONE).unwrap();
        let mut value = |params: &Params| -> f64 {
            workspace.batch_mut(n).unwrap().copy_from_slice(&batch);
            let scores = workspace.forward(&mut params.clone(), mode).unwrap();
            scores
                .iter()
                .zip(&weights)
                .map(|(f, w)| (f * w) as f64)
                .sum()
        };
        let mut slopes = Vec::new();
        for entry in params
            .entries()
            .iter()
            .filter(|entry| entry.role.is_trainable())
        {
            // Along a random direction of this parameter alone.
            let direction = draws(rng, entry.n_values());
            let length = 2e-4;
            let moved = |sign: f32| {
                let mut moved = params.clone();
                let values = &mut moved.trainable_mut()[entry.range()];
                values
                    .iter_mut()
                    .zip(&direction)
                    .for_each(|(p, d)| *p += sign * length * d);
                moved
            };
            let (after, before) = (value(&moved(1.0)), value(&moved(-1.0)));
            slopes.push((entry, direction, (after - before) / (2.0 * length as f64)));
        }
        value(&params);
        let gradient = workspace.backward(&params, &weights).unwrap();
        for (entry, direction, slope) in slopes {
            let grad = &gradient[entry.range()];
            let got: f64 = grad
                .iter()
                .zip(&direction)
                .map(|(g, d)| (g * d) as f64)
                .sum();
            let size = grad.iter().map(|g| (g * g) as f64).sum::<f64>().sqrt();
            let gap = (got - slope).abs();
            assert!(
                gap <= 0.03 * slope.abs().max(size),
                "{}: {got}, not {slope}",
                entry.name
            );
        }
    }
}

#[track_caller]
fn refused<T>(result: Result<T>, told: &str) {
    let Err(error) = result else {
        panic!("it must be refused");
    };
    assert!(error.to_string().contains(told), "{error}");
}

#[test]
fn misuse_is_refused() {
    let spec = mlp(3, &[4], 2);
    let mut params = Params::zeros(&spec).unwrap();
    let mut other = Params::zeros(&mlp(3, &[5], 2)).unwrap();
    let mut workspace = Workspace::new(&spec, 4, Threads::ONE).unwrap();
    let size = "rows: this workspace takes 1 to 4";
    refused(workspace.forward(&mut params, Mode::Train), size);
    refused(workspace.batch_mut(5), "a batch of 5 rows");
    refused(workspace.batch_mut(0), size);
    assert_eq!(workspace.batch_mut(2).unwrap().len(), 6);
    assert!(workspace.gather(2, |_| &[0.0; 4]).is_err());
    assert!(workspace.gather(5, |_| &[0.0; 3]).is_err());
    let other = workspace.forward(&mut other, Mode::Train);
    refused(other, "another architecture");
    let no_forward = "no training-mode forward pass";
    refused(workspace.backward(&params, &[0.0; 4]), no_forward);
    workspace.forward(&mut params, Mode::Eval).unwrap();
    refused(workspace.backward(&params, &[0.0; 4]), no_forward);
    workspace.forward(&mut params, Mode::Train).unwrap();
    refused(workspace.backward(&params, &[0.0; 3]), "3 values: 4 are");
    workspace.backward(&params, &[0.0; 4]).unwrap();
    let mut predict = |inputs, outputs| {
        let (rows, mut scores) = (vec![0.0; inputs], vec![0.0; outputs]);
        workspace.predict(&params, &rows, &mut scores)
    };
    assert!(predict(4, 2).is_err() && predict(6, 3).is_err());
    predict(18, 12).unwrap();
    assert!(Workspace::new(&spec, 0, Threads::ONE).is_err());
}

#[test]
fn nan_is_not_hidden() {
    for spec in [mlp(3, &[4, 4], 2), resnet(1, 4, 4, 8, 2)] {
        let mut params = params_of(&spec, &mut ChaCha8Rng::seed_from_u64(1));
        let mut workspace = Workspace::new(&spec, 4, Threads::ONE).unwrap();
        workspace.batch_mut(4).unwrap()[0] = f32::NAN;
        let scores = workspace.forward(&mut params, Mode::Train).unwrap();
        assert!(scores.iter().any(|f| f.is_nan()));
    }
}
