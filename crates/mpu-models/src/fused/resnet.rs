//! A whole training step of a residual network in reused buffers.
//!
//! Images have the channels innermost; those that a convolution reads have a border of zeros. The
//! step goes layer by layer, and within a layer image by image, so that what one image needs stays
//! in the second cache: the normalisation of the layer before, the convolution, and the sums of
//! the normalisation after it. Kept for the pass back are the outcomes of the convolutions and the
//! inputs of the blocks; what lies between is computed again.

mod backward;
mod layer;

use self::layer::{Join, Layer, LayerList, interleave, summarize};
use super::filter::ImageSize;
use super::moments::{Statistics, fold};
use crate::kernels::isa::Isa;
use crate::kernels::matmul::{Mat, matmul};
use crate::kernels::rows;
use crate::spec::{BlockShape, PLANES, ResNetSpec};
use crate::threads::Threads;

/// Images that [`super::Workspace::predict`] takes at a time.
pub(super) const PREDICT_IMAGES: usize = 16;

/// Parts a batch is cut into for threads. Fixed, because it decides the order of sums.
const PARTS: usize = 8;

/// What one part of the batch works in.
#[derive(Debug)]
struct Scratch {
    /// Images with border, one for each stage: an activation, and the gradient of an outcome.
    active: Vec<Vec<f32>>,
    slope: Vec<Vec<f32>>,
    /// An image without border.
    image: Vec<f32>,
    /// Two sums for every column of a row.
    sums: Vec<f32>,
    /// The gradient of one layer's filters, packed.
    filter: Vec<f32>,
}

/// The buffers of a residual network.
#[derive(Debug)]
pub(super) struct ResNetWorkspace {
    blocks: Vec<BlockShape>,
    /// The first convolution, then two for every block.
    layers: Vec<Layer>,
    /// The batch with border; the inputs of the blocks with border, and behind them the outcome.
    input: Vec<f32>,
    images: Vec<Vec<f32>>,
    /// Mean activation of every plane of the outcome, and its gradient.
    pooled: Vec<f32>,
    pooled_slope: Vec<f32>,
    /// Gradients of a block's outcome and of what is inside it; `pitch` numbers for every image.
    outer: Vec<f32>,
    inner: Vec<f32>,
    pitch: usize,
    /// Two sums per channel for every image.
    sums: Vec<f32>,
    scratch: Vec<Scratch>,
    head: usize,
    outputs: usize,
    isa: Isa,
    threads: Threads,
}

impl ResNetWorkspace {
    pub(super) fn new(spec: &ResNetSpec, max_rows: usize, isa: Isa, threads: Threads) -> Self {
        let blocks = spec.blocks();
        let mut list = LayerList {
            layers: Vec::new(),
            trainable: 0,
            buffers: 0,
            max_rows,
            isa,
        };
        let first = ImageSize {
            height: spec.height,
            width: spec.width,
            channels: spec.channels,
        };
        let mut size = list.push(first, PLANES[0], 1);
        let mut images = vec![vec![0.0; max_rows * size.padded_len()]];
        let pitch = size.len();
        for block in &blocks {
            let inner = list.push(size, block.planes, block.stride);
            size = list.push(inner, block.planes, 1);
            images.push(vec![0.0; max_rows * size.padded_len()]);
        }
        // Every stage has a block, whose second convolution has the stage's size.
        let stages: Vec<ImageSize> = (0..PLANES.len())
            .filter_map(|stage| blocks.iter().position(|block| block.stage == stage))
            .map(|block| list.layers[2 + 2 * block].filter.output)
            .collect();
        let padded = || {
            stages
                .iter()
                .map(|size| vec![0.0; size.padded_len()])
                .collect()
        };
        let widest = stages.iter().map(|size| size.row()).max().unwrap_or(0);
        let scratch = || Scratch {
            active: padded(),
            slope: padded(),
            image: vec![0.0; pitch.max(stages.iter().map(|size| size.len()).max().unwrap_or(0))],
            sums: vec![0.0; 3 * widest],
            filter: vec![0.0; 9 * PLANES[2] * PLANES[2].max(spec.channels)],
        };
        let pitch = list
            .layers
            .iter()
            .map(|layer| layer.filter.output.len())
            .max()
            .unwrap_or(0);
        Self {
            blocks,
            input: vec![0.0; max_rows * first.padded_len()],
            images,
            pooled: vec![0.0; max_rows * PLANES[2]],
            pooled_slope: vec![0.0; max_rows * PLANES[2]],
            outer: vec![0.0; max_rows * pitch],
            inner: vec![0.0; max_rows * pitch],
            pitch,
            sums: vec![0.0; max_rows * 2 * PLANES[2]],
            scratch: (0..PARTS).map(|_| scratch()).collect(),
            head: list.trainable,
            layers: list.layers,
            outputs: spec.outputs,
            isa,
            threads,
        }
    }

    /// Scores of the images `x` (channel, row, column), remembering what the pass back needs.
    pub(super) fn forward(
        &mut self,
        trainable: &[f32],
        mut statistics: Statistics<'_>,
        x: &[f32],
        logits: &mut [f32],
    ) {
        let n = logits.len() / self.outputs;
        for layer in &mut self.layers {
            let n_weights = layer.filter.n_weights();
            layer.filter.pack(&trainable[layer.weight..][..n_weights]);
        }
        let sums = matches!(statistics, Statistics::Batch(_));
        self.first_layer(n, x, sums);
        self.layers[0].settle(trainable, &mut statistics, &self.sums, n);
        for block in 0..self.blocks.len() {
            self.inner_layer(n, block, sums);
            self.layers[1 + 2 * block].settle(trainable, &mut statistics, &self.sums, n);
            self.outer_layer(n, block, sums);
            self.layers[2 + 2 * block].settle(trainable, &mut statistics, &self.sums, n);
        }
        self.pool(n);
        let (inputs, outputs) = (PLANES[2], self.outputs);
        let (weight, bias) = trainable[self.head..].split_at(inputs * outputs);
        let pooled = Mat::new(&self.pooled, n, inputs);
        let weight = Mat::new(weight, outputs, inputs).t();
        matmul(pooled, weight, logits);
        rows::bias_add(self.isa, logits, &bias[..outputs]);
    }

    /// The first convolution. Sums for the normalisation after it are taken only if asked for,
    /// here and below.
    fn first_layer(&mut self, n: usize, x: &[f32], with_sums: bool) {
        let (isa, per_part) = (self.isa, n.div_ceil(PARTS));
        let layer = &mut self.layers[0];
        let (size, out) = (layer.filter.input, layer.filter.output);
        let parts = x
            .chunks(per_part * size.len())
            .zip(self.input.chunks_mut(per_part * size.padded_len()))
            .zip(layer.z.chunks_mut(per_part * out.len()))
            .zip(self.sums.chunks_mut(per_part * 2 * out.channels))
            .zip(&mut self.scratch);
        let filter = &layer.filter;
        self.threads
            .for_each(parts, |((((x, input), z), sums), scratch)| {
                let images = x
                    .chunks_exact(size.len())
                    .zip(input.chunks_exact_mut(size.padded_len()))
                    .zip(z.chunks_exact_mut(out.len()))
                    .zip(sums.chunks_exact_mut(2 * out.channels));
                for (((x, input), z), sums) in images {
                    interleave(x, size, input);
                    filter.forward(input, z);
                    if with_sums {
                        summarize(isa, z, out, &mut scratch.sums, sums);
                    }
                }
            });
    }

    /// The input of a block, from the layer before it, and its first convolution.
    fn inner_layer(&mut self, n: usize, block: usize, with_sums: bool) {
        let (isa, per_part) = (self.isa, n.div_ceil(PARTS));
        let (before, after) = self.layers.split_at_mut(1 + 2 * block);
        let (last, layer) = (&before[2 * block], &mut after[0]);
        let (size, out) = (last.filter.output, layer.filter.output);
        let (images_before, images) = self.images.split_at_mut(block);
        let join = Join::of(block, &self.blocks, images_before, last);
        let parts = images[0]
            .chunks_mut(per_part * size.padded_len())
            .zip(layer.z.chunks_mut(per_part * out.len()))
            .zip(self.sums.chunks_mut(per_part * 2 * out.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        let filter = &layer.filter;
        self.threads
            .for_each(parts, |((((images, z), sums), scratch), part)| {
                let images = part
                    .zip(images.chunks_exact_mut(size.padded_len()))
                    .zip(z.chunks_exact_mut(out.len()))
                    .zip(sums.chunks_exact_mut(2 * out.channels));
                for (((index, image), z), sums) in images {
                    join.apply(isa, index, &mut scratch.image, image);
                    filter.forward(image, z);
                    if with_sums {
                        summarize(isa, z, out, &mut scratch.sums, sums);
                    }
                }
            });
    }

    /// The second convolution of a block.
    fn outer_layer(&mut self, n: usize, block: usize, with_sums: bool) {
        let (isa, per_part, stage) = (self.isa, n.div_ceil(PARTS), self.blocks[block].stage);
        let (before, after) = self.layers.split_at_mut(2 + 2 * block);
        let (last, layer) = (&before[1 + 2 * block], &mut after[0]);
        let size = layer.filter.output;
        let parts = layer
            .z
            .chunks_mut(per_part * size.len())
            .zip(self.sums.chunks_mut(per_part * 2 * size.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        let filter = &layer.filter;
        self.threads
            .for_each(parts, |(((z, sums), scratch), part)| {
                let images = part
                    .zip(z.chunks_exact_mut(size.len()))
                    .zip(sums.chunks_exact_mut(2 * size.channels));
                for ((index, z), sums) in images {
                    let active = &mut scratch.active[stage];
                    last.activate(isa, index, active);
                    filter.forward(active, z);
                    if with_sums {
                        summarize(isa, z, size, &mut scratch.sums, sums);
                    }
                }
            });
    }

    /// The outcome of the last block, and the mean of each of its planes.
    fn pool(&mut self, n: usize) {
        let (isa, per_part, n_blocks) = (self.isa, n.div_ceil(PARTS), self.blocks.len());
        let last = &self.layers[2 * n_blocks];
        let size = last.filter.output;
        let (images_before, images) = self.images.split_at_mut(n_blocks);
        let join = Join::of(n_blocks, &self.blocks, images_before, last);
        let share = 1.0 / (size.height * size.width) as f32;
        let parts = images[0]
            .chunks_mut(per_part * size.padded_len())
            .zip(self.pooled.chunks_mut(per_part * size.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        self.threads
            .for_each(parts, |(((images, pooled), scratch), part)| {
                let images = part
                    .zip(images.chunks_exact_mut(size.padded_len()))
                    .zip(pooled.chunks_exact_mut(size.channels));
                for ((index, image), pooled) in images {
                    join.apply(isa, index, &mut scratch.image, image);
                    // The border is zero: it may be summed as well.
                    fold(image, pooled);
                    for mean in pooled.iter_mut() {
                        *mean *= share;
                    }
                }
            });
    }
}

/// The numbers of the images in each part.
fn images_of_parts(n: usize, per_part: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..n)
        .step_by(per_part)
        .map(move |first| first..n.min(first + per_part))
}
