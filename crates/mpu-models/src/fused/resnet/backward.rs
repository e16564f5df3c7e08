//! The pass back through a residual network.

use super::super::filter::ImageSize;
use super::super::moments::fold;
use super::layer::{Layer, inside, inside_mut, shortcut_backward};
use super::{PARTS, ResNetWorkspace, images_of_parts};
use crate::kernels::conv::Write;
use crate::kernels::isa::Isa;
use crate::kernels::matmul::{Mat, matmul};
use crate::kernels::rows::{self, View};
use crate::spec::PLANES;

impl ResNetWorkspace {
    /// The gradient of every parameter, from that of the scores of the last forward pass.
    pub(in super::super) fn backward(
        &mut self,
        trainable: &[f32],
        dlogits: &[f32],
        gradient: &mut [f32],
    ) {
        let n = dlogits.len() / self.outputs;
        let n_blocks = self.blocks.len();
        self.head_backward(n, trainable, dlogits, gradient);
        self.turn(n, 2 * n_blocks, trainable, gradient);
        for block in (0..n_blocks).rev() {
            self.outer_backward(n, block);
            self.unpack(n, 2 + 2 * block, gradient);
            self.turn(n, 1 + 2 * block, trainable, gradient);
            self.inner_backward(n, block);
            self.unpack(n, 1 + 2 * block, gradient);
            self.turn(n, 2 * block, trainable, gradient);
        }
        self.first_backward(n);
        self.unpack(n, 0, gradient);
    }

    /// Through the linear layer and the pooling, to the gradient before the last ReLU.
    fn head_backward(
        &mut self,
        n: usize,
        trainable: &[f32],
        dlogits: &[f32],
        gradient: &mut [f32],
    ) {
        let (isa, threads, per_part) = (self.isa, self.threads, n.div_ceil(PARTS));
        let (inputs, outputs) = (PLANES[2], self.outputs);
        let d = Mat::new(dlogits, n, outputs);
        let (weight, bias) = gradient[self.head..].split_at_mut(inputs * outputs);
        matmul(d.t(), Mat::new(&self.pooled, n, inputs), weight);
        let bias = &mut bias[..outputs];
        bias.fill(0.0);
        rows::sum(isa, dlogits, bias);
        let weight = Mat::new(&trainable[self.head..], outputs, inputs);
        matmul(d, weight, &mut self.pooled_slope);

        let last = &self.layers[2 * self.blocks.len()];
        let images = &self.images[self.blocks.len()];
        let size = last.filter.output;
        let share = 1.0 / (size.height * size.width) as f32;
        let pooled_slope = &self.pooled_slope;
        let parts = self
            .outer
            .chunks_mut(per_part * self.pitch)
            .zip(self.sums.chunks_mut(per_part * 2 * size.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        let pitch = self.pitch;
        threads.for_each(parts, |(((outer, sums), scratch), part)| {
            let each = part
                .zip(outer.chunks_exact_mut(pitch))
                .zip(sums.chunks_exact_mut(2 * size.channels));
            for ((index, outer), sums) in each {
                let pooled = &pooled_slope[index * size.channels..][..size.channels];
                let outer = &mut outer[..size.len()];
                for pixel in outer.chunks_exact_mut(size.channels) {
                    for (slope, pooled) in pixel.iter_mut().zip(pooled) {
                        *slope = pooled * share;
                    }
                }
                let image = image_of(images, index, size);
                reduce(isa, outer, image, last, index, &mut scratch.sums, sums);
            }
        });
    }

    /// Through the second convolution of a block, to the gradient before the ReLU inside it.
    fn outer_backward(&mut self, n: usize, block: usize) {
        let (isa, per_part, pitch) = (self.isa, n.div_ceil(PARTS), self.pitch);
        let stage = self.blocks[block].stage;
        let (layer, last) = (&self.layers[2 + 2 * block], &self.layers[1 + 2 * block]);
        let size = layer.filter.output;
        let parts = self
            .outer
            .chunks(per_part * pitch)
            .zip(self.inner.chunks_mut(per_part * pitch))
            .zip(self.sums.chunks_mut(per_part * 2 * size.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        self.threads
            .for_each(parts, |((((outer, inner), sums), scratch), part)| {
                let filter = &mut scratch.filter[..layer.filter.n_weights()];
                filter.fill(0.0);
                let each = part
                    .zip(outer.chunks_exact(pitch))
                    .zip(inner.chunks_exact_mut(pitch))
                    .zip(sums.chunks_exact_mut(2 * size.channels));
                for (((index, outer), inner), sums) in each {
                    let (slope, active) = (&mut scratch.slope[stage], &mut scratch.active[stage]);
                    let (k, z) = (layer.moments.backward(), layer.z(index));
                    rows::norm_backward(isa, &outer[..size.len()], z, k, inside_mut(slope, size));
                    last.activate(isa, index, active);
                    layer.filter.gradient(active, slope, filter);
                    let inner = &mut inner[..size.len()];
                    layer.filter.backward(slope, inner, Write::Replace);
                    let active = inside(active, size);
                    reduce(isa, inner, active, last, index, &mut scratch.sums, sums);
                }
            });
    }

    /// Through the first convolution of a block and past its shortcut, to the gradient before the
    /// ReLU that made the block's input.
    fn inner_backward(&mut self, n: usize, block: usize) {
        let (isa, per_part, pitch) = (self.isa, n.div_ceil(PARTS), self.pitch);
        let shape = self.blocks[block];
        let (layer, last) = (&self.layers[1 + 2 * block], &self.layers[2 * block]);
        let (size, out) = (layer.filter.input, layer.filter.output);
        let images = &self.images[block];
        let parts = self
            .outer
            .chunks_mut(per_part * pitch)
            .zip(self.inner.chunks(per_part * pitch))
            .zip(self.sums.chunks_mut(per_part * 2 * size.channels))
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        self.threads
            .for_each(parts, |((((outer, inner), sums), scratch), part)| {
                let filter = &mut scratch.filter[..layer.filter.n_weights()];
                filter.fill(0.0);
                let each = part
                    .zip(outer.chunks_exact_mut(pitch))
                    .zip(inner.chunks_exact(pitch))
                    .zip(sums.chunks_exact_mut(2 * size.channels));
                for (((index, outer), inner), sums) in each {
                    let slope = &mut scratch.slope[shape.stage];
                    let (k, z) = (layer.moments.backward(), layer.z(index));
                    rows::norm_backward(isa, &inner[..out.len()], z, k, inside_mut(slope, out));
                    let image = &images[index * size.padded_len()..][..size.padded_len()];
                    layer.filter.gradient(image, slope, filter);
                    if shape.stride != 1 {
                        shortcut_backward(shape, out, outer, &mut scratch.image);
                    }
                    let outer = &mut outer[..size.len()];
                    layer.filter.backward(slope, outer, Write::Add);
                    let image = inside(image, size);
                    reduce(isa, outer, image, last, index, &mut scratch.sums, sums);
                }
            });
    }

    /// To the filters of the first convolution; nobody asks for the gradient of the images.
    fn first_backward(&mut self, n: usize) {
        let (isa, per_part, pitch) = (self.isa, n.div_ceil(PARTS), self.pitch);
        let layer = &self.layers[0];
        let (size, out) = (layer.filter.input, layer.filter.output);
        let input = &self.input;
        let parts = self
            .outer
            .chunks(per_part * pitch)
            .zip(&mut self.scratch)
            .zip(images_of_parts(n, per_part));
        self.threads.for_each(parts, |((outer, scratch), part)| {
            let filter = &mut scratch.filter[..layer.filter.n_weights()];
            filter.fill(0.0);
            for (index, outer) in part.zip(outer.chunks_exact(pitch)) {
                let slope = &mut scratch.slope[0];
                let (k, z) = (layer.moments.backward(), layer.z(index));
                rows::norm_backward(isa, &outer[..out.len()], z, k, inside_mut(slope, out));
                let image = &input[index * size.padded_len()..][..size.padded_len()];
                layer.filter.gradient(image, slope, filter);
            }
        });
    }

    /// The gradient of a layer's scale and shift, from the sums over the images.
    fn turn(&mut self, n: usize, index: usize, trainable: &[f32], gradient: &mut [f32]) {
        let layer = &mut self.layers[index];
        let size = layer.filter.output;
        let count = n * size.height * size.width;
        let parts = self.sums.chunks_exact(2 * size.channels).take(n);
        layer
            .moments
            .turn(layer.norm, trainable, gradient, count, &parts);
    }

    /// The gradient of a layer's filters, from the sums of the parts.
    fn unpack(&self, n: usize, index: usize, gradient: &mut [f32]) {
        let layer = &self.layers[index];
        let n_weights = layer.filter.n_weights();
        let n_parts = n.div_ceil(n.div_ceil(PARTS));
        let parts = self.scratch[..n_parts]
            .iter()
            .map(|scratch| &scratch.filter[..n_weights]);
        layer
            .filter
            .unpack(parts, &mut gradient[layer.weight..][..n_weights]);
    }
}

/// The inside of one of many images with border.
fn image_of(images: &[f32], index: usize, size: ImageSize) -> View<'_> {
    inside(
        &images[index * size.padded_len()..][..size.padded_len()],
        size,
    )
}

/// Through a ReLU whose outcome is `out`, in place, and the two sums over the image that the
/// normalisation of `layer` before it needs.
fn reduce(
    isa: Isa,
    slope: &mut [f32],
    out: View<'_>,
    layer: &Layer,
    index: usize,
    wide: &mut [f32],
    sums: &mut [f32],
) {
    let size = layer.filter.output;
    let (sum, product) = wide[..2 * size.row()].split_at_mut(size.row());
    sum.fill(0.0);
    product.fill(0.0);
    let mean = &layer.moments.wide_mean;
    rows::masked_norm_sums(isa, slope, out, layer.z(index), mean, sum, product);
    let (sums, products) = sums.split_at_mut(size.channels);
    fold(sum, sums);
    fold(product, products);
}
