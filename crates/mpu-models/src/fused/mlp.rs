//! A whole training step of a perceptron in reused buffers.

use super::moments::{Moments, NormPlace, Statistics};
use crate::kernels::isa::Isa;
use crate::kernels::matmul::{Mat, Product, matmul, part_rows};
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
    /// Gradients of two neighbouring layers: `n × the widest`.
    slope: Vec<f32>,
    next_slope: Vec<f32>,
    /// Two sums per column for every block of rows.
    sums: Vec<f32>,
}

/// What the pass back through a linear layer is made of; the tasks do not need one another.
enum Task<'a> {
    /// Some of the gradient of the weights.
    Weights(Product<'a>),
    /// The gradient of the input of some rows, from that of their outcome `d`, and its sums.
    Slope {
        d: Mat<'a>,
        slope: &'a mut [f32],
        active: &'a [f32],
        sums: &'a mut [f32],
    },
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
        let mut input = x;
        for layer in &mut self.hidden {
            let (isa, width) = (self.isa, layer.linear.outputs);
            let (weight, bias) = (layer.linear.weight(trainable), layer.linear.bias(trainable));
            let input_rows = Mat::new(input, n, layer.linear.inputs);
            let part = part_rows(n, width, BLOCK_ROWS, self.threads);
            let product = |index: usize, out: &mut [f32]| {
                let rows = index * part..n.min((index + 1) * part);
                matmul(input_rows.rows(rows), weight.t(), out);
            };
            match &mut statistics {
                Statistics::Running(buffers) => {
                    layer.moments.recall(layer.norm, trainable, buffers);
                    let Moments { scale, shift, .. } = &layer.moments;
                    let parts = layer.normal[..n * width].chunks_mut(part * width);
                    self.threads.for_each(parts.enumerate(), |(index, z)| {
                        product(index, z);
                        rows::bias_relu_affine(isa, z, bias, scale, shift);
                    });
                }
                Statistics::Batch(buffers) => {
                    let parts = layer.active[..n * width].chunks_mut(part * width);
                    let part_sums = part.div_ceil(BLOCK_ROWS) * 2 * width;
                    let parts = parts.zip(self.sums.chunks_mut(part_sums)).enumerate();
                    self.threads.for_each(parts, |(index, (z, sums))| {
                        product(index, z);
                        let blocks = z.chunks_mut(BLOCK_ROWS * width);
                        for (z, sums) in blocks.zip(sums.chunks_exact_mut(2 * width)) {
                            activate(isa, z, bias, sums);
                        }
                    });
                    let starts = (0..n).step_by(BLOCK_ROWS);
                    let counts = starts.map(|first| BLOCK_ROWS.min(n - first));
                    let parts = counts.zip(self.sums.chunks_exact(2 * width));
                    layer.moments.settle(layer.norm, trainable, buffers, &parts);
                    layer.normalize(isa, self.threads, n);
                }
            }
            input = &layer.normal;
        }
        let weight = self.head.weight(trainable).t();
        let input = Mat::new(input, n, self.head.inputs);
        matmul(input, weight, logits);
        rows::bias_add(self.isa, logits, self.head.bias(trainable));
    }

    /// The gradient of every parameter, from that of the scores of the last forward pass.
    pub(super) fn backward(
        &mut self,
        trainable: &[f32],
        x: &[f32],
        dlogits: &[f32],
        gradient: &mut [f32],
    ) {
        let n = dlogits.len() / self.head.outputs;
        let bias = &mut gradient[self.head.bias_range()];
        bias.fill(0.0);
        rows::sum(self.isa, dlogits, bias);
        self.linear_backward(self.hidden.len(), trainable, x, Some(dlogits), gradient);
        for index in (0..self.hidden.len()).rev() {
            self.hidden_backward(index, n, trainable, gradient);
            self.linear_backward(index, trainable, x, None, gradient);
        }
    }

    /// Back through linear layer number `index`, from the gradient of its outcome (`dlogits` for
    /// the last one, else `slope`): its weights; and unless it is the first, whose input nobody
    /// asks the gradient of, the gradient of its input into `slope`, with the two sums that the
    /// normalisation before it needs.
    fn linear_backward(
        &mut self,
        index: usize,
        trainable: &[f32],
        x: &[f32],
        dlogits: Option<&[f32]>,
        gradient: &mut [f32],
    ) {
        let linear = self
            .hidden
            .get(index)
            .map_or(self.head, |layer| layer.linear);
        let before = index.checked_sub(1).map(|before| &self.hidden[before]);
        let input = before.map_or(x, |layer| &layer.normal);
        let n = x.len()
            / self
                .hidden
                .first()
                .map_or(self.head, |layer| layer.linear)
                .inputs;
        let d = Mat::new(dlogits.unwrap_or(&self.slope), n, linear.outputs);
        let weight = &mut gradient[linear.weight_range()];
        let input = Mat::new(input, n, linear.inputs);
        let weights = Product::parts(d.t(), input, weight, self.threads);
        let Some(before) = before else {
            return self.threads.for_each(weights, Product::compute);
        };
        let (isa, width, mean) = (self.isa, linear.inputs, &before.moments.wide_mean);
        let part = part_rows(n, width, BLOCK_ROWS, self.threads);
        let weight = linear.weight(trainable);
        let slopes = self.next_slope[..n * width].chunks_mut(part * width);
        let active = before.active[..n * width].chunks(part * width);
        let sums = self.sums.chunks_mut(part.div_ceil(BLOCK_ROWS) * 2 * width);
        let slopes = slopes.zip(active.zip(sums)).enumerate();
        let slopes = slopes.map(|(index, (slope, (active, sums)))| Task::Slope {
            d: d.rows(index * part..n.min((index + 1) * part)),
            slope,
            active,
            sums,
        });
        let tasks = slopes.chain(weights.map(Task::Weights));
        self.threads.for_each(tasks, |task| match task {
            Task::Weights(product) => product.compute(),
            Task::Slope {
                d,
                slope,
                active,
                sums,
            } => {
                matmul(d, weight, slope);
                let blocks = slope.chunks(BLOCK_ROWS * width);
                let blocks = blocks.zip(active.chunks(BLOCK_ROWS * width));
                for ((dy, r), sums) in blocks.zip(sums.chunks_exact_mut(2 * width)) {
                    sums.fill(0.0);
                    let (sum, product) = sums.split_at_mut(width);
                    rows::norm_sums(isa, dy, r, mean, sum, product);
                }
            }
        });
        std::mem::swap(&mut self.slope, &mut self.next_slope);
    }

    /// Back through the normalisation and the ReLU of a hidden layer, in place in `slope`.
    fn hidden_backward(&mut self, index: usize, n: usize, trainable: &[f32], gradient: &mut [f32]) {
        let layer = &mut self.hidden[index];
        let (isa, width, norm) = (self.isa, layer.linear.outputs, layer.norm);
        let n_blocks = n.div_ceil(BLOCK_ROWS);
        let parts = self.sums.chunks_exact(2 * width).take(n_blocks);
        layer.moments.turn(norm, trainable, gradient, n, &parts);
        let k = layer.moments.backward();
        let slope = self.slope[..n * width].chunks_mut(BLOCK_ROWS * width);
        let active = layer.active[..n * width].chunks(BLOCK_ROWS * width);
        let sums = self.sums.chunks_exact_mut(2 * width);
        self.threads
            .for_each(slope.zip(active).zip(sums), |((dy, r), sums)| {
                let sum = &mut sums[..width];
                sum.fill(0.0);
                rows::norm_relu_backward(isa, dy, r, k, sum);
            });
        let bias = &mut gradient[layer.linear.bias_range()];
        bias.fill(0.0);
        for sums in self.sums.chunks_exact(2 * width).take(n_blocks) {
            rows::sum(isa, &sums[..width], bias);
        }
    }
}

impl Hidden {
    /// The normalised activations of `n` rows.
    fn normalize(&mut self, isa: Isa, threads: Threads, n: usize) {
        let width = self.linear.outputs;
        let Moments { scale, shift, .. } = &self.moments;
        let active = self.active[..n * width].chunks(BLOCK_ROWS * width);
        let normal = self.normal[..n * width].chunks_mut(BLOCK_ROWS * width);
        threads.for_each(active.zip(normal), |(x, out)| {
            rows::affine(isa, x, scale, shift, out);
        });
    }
}

/// Adds the bias to a block of rows and cuts at zero; `sums` becomes the means of the columns and
/// their summed squared deviations.
fn activate(isa: Isa, z: &mut [f32], bias: &[f32], sums: &mut [f32]) {
    let width = bias.len();
    let (mean, deviation) = sums.split_at_mut(width);
    let share = width as f32 / z.len() as f32;
    mean.fill(0.0);
    deviation.fill(0.0);
    rows::bias_relu_sum(isa, z, bias, mean);
    for mean in mean.iter_mut() {
        *mean *= share;
    }
    rows::squared_deviation(isa, z, mean, deviation);
}
