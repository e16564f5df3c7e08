//! A whole training step of a perceptron in reused buffers.

use super::moments::{Moments, NormPlace, Statistics};
use crate::kernels::isa::Isa;
use crate::kernels::matmul::{Mat, Multiplier};
use crate::kernels::rows;
use crate::spec::MlpSpec;
use crate::threads::Threads;

/// Rows whose statistics are taken together: a block of 300 columns stays in the second cache.
/// Fixed, because it decides the order of sums.
const BLOCK_ROWS: usize = 64;

/// One linear layer and where its parameters lie.
#[derive(Debug, Clone, Copy)]
struct LinearPlace {
    inputs: usize,
    outputs: usize,
    /// Weights, and behind them biases.
    weight: usize,
}

impl LinearPlace {
    fn weight(self, block: &[f32]) -> Mat<'_> {
        Mat::new(&block[self.weight..], self.outputs, self.inputs)
    }

    fn bias(self, block: &[f32]) -> &[f32] {
        &block[self.bias_range()]
    }

    fn weight_range(self) -> std::ops::Range<usize> {
        self.weight..self.weight + self.inputs * self.outputs
    }

    fn bias_range(self) -> std::ops::Range<usize> {
        let first = self.weight_range().end;
        first..first + self.outputs
    }
}

#[derive(Debug)]
struct Hidden {
    linear: LinearPlace,
    norm: NormPlace,
    moments: Moments,
    /// After ReLU, and after normalisation: `n × outputs`.
    active: Vec<f32>,
    normal: Vec<f32>,
}

/// The buffers of a perceptron.
#[derive(Debug)]
pub(super) struct MlpWorkspace {
    hidden: Vec<Hidden>,
    head: LinearPlace,
    isa: Isa,
    threads: Threads,
    multiplier: Multiplier,
    /// Gradients of two neighbouring layers: `n × the widest`.
    slope: Vec<f32>,
    next_slope: Vec<f32>,
    /// Two sums per column for every block of rows.
    sums: Vec<f32>,
}

/// A block of `width` columns and two sums for each.
fn sums_of(sums: &mut [f32], width: usize) -> std::slice::ChunksExactMut<'_, f32> {
    sums.chunks_exact_mut(2 * width)
}

impl MlpWorkspace {
    pub(super) fn new(spec: &MlpSpec, max_rows: usize, isa: Isa, threads: Threads) -> Self {
        let (mut inputs, mut trainable, mut buffer) = (spec.inputs, 0, 0);
        let mut hidden = Vec::new();
        for &outputs in &spec.hidden {
            let linear = LinearPlace {
                inputs,
                outputs,
                weight: trainable,
            };
            let scale = linear.bias_range().end;
            hidden.push(Hidden {
                linear,
                norm: NormPlace {
                    channels: outputs,
                    scale,
                    running: buffer,
                },
                moments: Moments::new(outputs, 1),
                active: vec![0.0; max_rows * outputs],
                normal: vec![0.0; max_rows * outputs],
            });
            (trainable, buffer, inputs) = (scale + 2 * outputs, buffer + 2 * outputs, outputs);
        }
        let head = LinearPlace {
            inputs,
            outputs: spec.outputs,
            weight: trainable,
        };
        let widest = spec.hidden.iter().copied().max().unwrap_or(0);
        Self {
            hidden,
            head,
            isa,
            threads,
            multiplier: Multiplier::new(isa, threads),
            slope: vec![0.0; max_rows * widest],
            next_slope: vec![0.0; max_rows * widest],
            sums: vec![0.0; max_rows.div_ceil(BLOCK_ROWS) * 2 * widest.max(spec.outputs)],
        }
    }

    /// Scores of `n` rows `x`, remembering what [`MlpWorkspace::backward`] needs in training.
    pub(super) fn forward(
        &mut self,
        trainable: &[f32],
        mut statistics: Statistics<'_>,
        x: &[f32],
        logits: &mut [f32],
    ) {
        let n = logits.len() / self.head.outputs;
        let (isa, threads) = (self.isa, self.threads);
        let mut input = x;
        for layer in &mut self.hidden {
            let (width, linear) = (layer.linear.outputs, layer.linear);
            let active = &mut layer.active[..n * width];
            let normal = &mut layer.normal[..n * width];
            let bias = linear.bias(trainable);
            let weight = linear.weight(trainable).t();
            let input_mat = Mat::new(input, n, linear.inputs);
            match &mut statistics {
                Statistics::Running(buffers) => {
                    self.multiplier.multiply(input_mat, weight, normal);
                    layer.moments.recall(layer.norm, trainable, buffers);
                    let Moments { scale, shift, .. } = &layer.moments;
                    let blocks = normal.chunks_mut(BLOCK_ROWS * width);
                    threads.for_each(blocks, |z| {
                        rows::bias_relu_affine(isa, z, bias, scale, shift)
                    });
                }
                Statistics::Batch(buffers) => {
                    self.multiplier.multiply(input_mat, weight, active);
                    let blocks = active.chunks_mut(BLOCK_ROWS * width);
                    threads.for_each(blocks.zip(sums_of(&mut self.sums, width)), |(z, sums)| {
                        let (mean, deviation) = sums.split_at_mut(width);
                        let share = (width as f32) / (z.len() as f32);
                        mean.fill(0.0);
                        deviation.fill(0.0);
                        rows::bias_relu_sum(isa, z, bias, mean);
                        mean.iter_mut().for_each(|mean| *mean *= share);
                        rows::squared_deviation(isa, z, mean, deviation);
                    });
                    let counts = (0..n)
                        .step_by(BLOCK_ROWS)
                        .map(|first| BLOCK_ROWS.min(n - first));
                    let parts = counts.zip(self.sums.chunks_exact(2 * width));
                    layer.moments.settle(layer.norm, trainable, buffers, parts);
                    let Moments { scale, shift, .. } = &layer.moments;
                    let blocks = active.chunks(BLOCK_ROWS * width);
                    let outs = normal.chunks_mut(BLOCK_ROWS * width);
                    threads.for_each(blocks.zip(outs), |(x, out)| {
                        rows::affine(isa, x, scale, shift, out);
                    });
                }
            }
            input = normal;
        }
        let weight = self.head.weight(trainable).t();
        self.multiplier
            .multiply(Mat::new(input, n, self.head.inputs), weight, logits);
        rows::bias_add(isa, logits, self.head.bias(trainable));
    }

    /// The gradient of every parameter, from that of the scores of the last forward pass.
    pub(super) fn backward(
        &mut self,
        trainable: &[f32],
        x: &[f32],
        dlogits: &[f32],
        gradient: &mut [f32],
    ) {
        let (isa, threads, head) = (self.isa, self.threads, self.head);
        let n = dlogits.len() / head.outputs;

        // The head.
        let input = self
            .hidden
            .last()
            .map_or(x, |layer| &layer.normal[..n * head.inputs]);
        let d = Mat::new(dlogits, n, head.outputs);
        let input = Mat::new(input, n, head.inputs);
        self.multiplier
            .multiply(d.t(), input, &mut gradient[head.weight_range()]);
        let bias = &mut gradient[head.bias_range()];
        bias.fill(0.0);
        rows::sum(isa, dlogits, bias);
        if !self.hidden.is_empty() {
            self.multiplier
                .multiply(d, head.weight(trainable), &mut self.slope);
        }

        for index in (0..self.hidden.len()).rev() {
            let (before, from) = self.hidden.split_at_mut(index);
            let layer = &mut from[0];
            let (width, linear) = (layer.linear.outputs, layer.linear);
            let slope = &mut self.slope[..n * width];
            let active = &layer.active[..n * width];

            // Back through the normalisation: two sums over the batch, then one pass.
            let mean = &layer.moments.wide_mean;
            let blocks = slope
                .chunks(BLOCK_ROWS * width)
                .zip(active.chunks(BLOCK_ROWS * width));
            threads.for_each(
                blocks.zip(sums_of(&mut self.sums, width)),
                |((dy, r), sums)| {
                    sums.fill(0.0);
                    let (sum, product) = sums.split_at_mut(width);
                    rows::norm_sums(isa, dy, r, mean, sum, product);
                },
            );
            let n_blocks = n.div_ceil(BLOCK_ROWS);
            let parts = self.sums.chunks_exact(2 * width).take(n_blocks);
            layer
                .moments
                .turn(layer.norm, trainable, gradient, n, parts);
            let k = layer.moments.backward();
            let blocks = slope
                .chunks_mut(BLOCK_ROWS * width)
                .zip(active.chunks(BLOCK_ROWS * width));
            threads.for_each(
                blocks.zip(sums_of(&mut self.sums, width)),
                |((dy, r), sums)| {
                    let sum = &mut sums[..width];
                    sum.fill(0.0);
                    rows::norm_relu_backward(isa, dy, r, k, sum);
                },
            );
            let bias = &mut gradient[linear.bias_range()];
            bias.fill(0.0);
            for sums in self.sums.chunks_exact(2 * width).take(n_blocks) {
                rows::sum(isa, &sums[..width], bias);
            }

            // Back through the linear layer; nobody asks for the gradient of the input itself.
            let input = before
                .last()
                .map_or(x, |layer| &layer.normal[..n * linear.inputs]);
            let d = Mat::new(slope, n, width);
            let input = Mat::new(input, n, linear.inputs);
            self.multiplier
                .multiply(d.t(), input, &mut gradient[linear.weight_range()]);
            if index > 0 {
                self.multiplier
                    .multiply(d, linear.weight(trainable), &mut self.next_slope);
                std::mem::swap(&mut self.slope, &mut self.next_slope);
            }
        }
    }
}
