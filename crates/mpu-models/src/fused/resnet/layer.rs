//! One convolution with its normalisation, and how a block's two paths join.

use super::super::filter::{Filter, ImageSize};
use super::super::moments::{Moments, NormPlace, Statistics, fold};
use crate::kernels::isa::Isa;
use crate::kernels::rows::{self, View, ViewMut};
use crate::spec::BlockShape;

/// One convolution and the normalisation after it.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) filter: Filter,
    pub(super) weight: usize,
    pub(super) norm: NormPlace,
    pub(super) moments: Moments,
    /// Outcomes of the convolution, one image after the other.
    pub(super) z: Vec<f32>,
}

impl Layer {
    /// The outcome of the convolution for one image.
    pub(super) fn z(&self, index: usize) -> &[f32] {
        let len = self.filter.output.len();
        &self.z[index * len..][..len]
    }

    /// Settles what the `n` images are normalised with.
    pub(super) fn settle(
        &mut self,
        trainable: &[f32],
        statistics: &mut Statistics<'_>,
        sums: &[f32],
        n: usize,
    ) {
        let size = self.filter.output;
        match statistics {
            Statistics::Batch(buffers) => {
                let parts = sums.chunks_exact(2 * size.channels).take(n);
                let parts = parts.map(|sums| (size.height * size.width, sums));
                self.moments.settle(self.norm, trainable, buffers, &parts);
            }
            Statistics::Running(buffers) => self.moments.recall(self.norm, trainable, buffers),
        }
    }

    /// `relu(norm(z))` of one image, into one with border.
    pub(super) fn activate(&self, isa: Isa, index: usize, out: &mut [f32]) {
        let size = self.filter.output;
        let Moments { scale, shift, .. } = &self.moments;
        let z = View::new(self.z(index), size.row());
        rows::affine_relu(isa, z, scale, shift, inside_mut(out, size), size.height);
    }
}

/// The layers in the order of the parameters.
#[derive(Debug)]
pub(super) struct LayerList {
    pub(super) layers: Vec<Layer>,
    pub(super) trainable: usize,
    pub(super) buffers: usize,
    pub(super) max_rows: usize,
    pub(super) isa: Isa,
}

impl LayerList {
    /// Adds a layer and gives the size of its outcome.
    pub(super) fn push(&mut self, input: ImageSize, planes: usize, stride: usize) -> ImageSize {
        let filter = Filter::new(input, planes, stride, self.isa);
        let (weight, output) = (self.trainable, filter.output);
        let scale = weight + filter.n_weights();
        self.layers.push(Layer {
            filter,
            weight,
            norm: NormPlace {
                channels: planes,
                scale,
                running: self.buffers,
            },
            moments: Moments::new(planes, output.width),
            z: vec![0.0; self.max_rows * output.len()],
        });
        self.trainable = scale + 2 * planes;
        self.buffers += 2 * planes;
        output
    }
}

/// How the input of a block comes about: `relu(norm(z) + shortcut)`, where the first has no
/// shortcut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Join<'a> {
    last: &'a Layer,
    shortcut: Option<Shortcut<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Shortcut<'a> {
    block: BlockShape,
    /// Inputs of the block before, with border.
    images: &'a [f32],
}

impl<'a> Join<'a> {
    /// For the input of block number `index`; `before` are the inputs of the blocks before it.
    pub(super) fn of(
        index: usize,
        blocks: &[BlockShape],
        before: &'a [Vec<f32>],
        last: &'a Layer,
    ) -> Self {
        let shortcut = index.checked_sub(1).map(|index| Shortcut {
            block: blocks[index],
            images: &before[index],
        });
        Self { last, shortcut }
    }

    /// One image, into one with border; `temporary` holds one image without.
    pub(super) fn apply(self, isa: Isa, index: usize, temporary: &mut [f32], out: &mut [f32]) {
        let Some(Shortcut { block, images }) = self.shortcut else {
            return self.last.activate(isa, index, out);
        };
        let size = self.last.filter.output;
        let input = input_size(block);
        let image = &images[index * input.padded_len()..][..input.padded_len()];
        let skip = if block.stride == 1 {
            inside(image, size)
        } else {
            let temporary = &mut temporary[..size.len()];
            temporary.fill(0.0);
            for_shortcut(block, size, |from, to| {
                let from = &image[input.origin() + from.0 * input.padded_row() + from.1..];
                temporary[to..to + input.channels].copy_from_slice(&from[..input.channels]);
            });
            View::new(temporary, size.row())
        };
        let Moments { scale, shift, .. } = &self.last.moments;
        let z = View::new(self.last.z(index), size.row());
        rows::affine_add_relu(
            isa,
            z,
            scale,
            shift,
            skip,
            inside_mut(out, size),
            size.height,
        );
    }
}

/// The size of a block's input.
fn input_size(block: BlockShape) -> ImageSize {
    ImageSize {
        height: block.height,
        width: block.width,
        channels: block.inputs,
    }
}

/// Goes over the pixels of a halving shortcut: the row and the place in it of a pixel's first
/// channel in the block's input, and its place in the block's outcome.
fn for_shortcut(
    block: BlockShape,
    output: ImageSize,
    mut visit: impl FnMut((usize, usize), usize),
) {
    let before = (block.planes - block.inputs) / 2;
    for y in 0..output.height {
        for x in 0..output.width {
            let to = y * output.row() + x * output.channels + before;
            visit((block.stride * y, block.stride * x * block.inputs), to);
        }
    }
}

/// Back through a halving shortcut: the gradient of the outcome, first in `slope`, becomes what
/// flows along the shortcut to the input. `temporary` holds one image.
pub(super) fn shortcut_backward(
    block: BlockShape,
    output: ImageSize,
    slope: &mut [f32],
    temporary: &mut [f32],
) {
    let input = input_size(block);
    temporary[..output.len()].copy_from_slice(&slope[..output.len()]);
    slope[..input.len()].fill(0.0);
    for_shortcut(block, output, |to, from| {
        let to = to.0 * input.row() + to.1;
        let from = &temporary[from..from + input.channels];
        slope[to..to + input.channels].copy_from_slice(from);
    });
}

/// The inside of an image with border.
pub(super) fn inside(image: &[f32], size: ImageSize) -> View<'_> {
    View::new(&image[size.origin()..], size.padded_row())
}

/// The inside of an image with border, to write to.
pub(super) fn inside_mut(image: &mut [f32], size: ImageSize) -> ViewMut<'_> {
    ViewMut::new(&mut image[size.origin()..], size.padded_row())
}

/// An image in the order channel, row, column, into one with the channels innermost and a border.
pub(super) fn interleave(planar: &[f32], size: ImageSize, out: &mut [f32]) {
    for (channel, plane) in planar.chunks_exact(size.height * size.width).enumerate() {
        for (y, row) in plane.chunks_exact(size.width).enumerate() {
            let out = &mut out[size.origin() + y * size.padded_row() + channel..];
            for (value, out) in row.iter().zip(out.iter_mut().step_by(size.channels)) {
                *out = *value;
            }
        }
    }
}

/// The means of an image's channels followed by their summed squared deviations; `wide` has room
/// for two rows.
pub(super) fn summarize(isa: Isa, z: &[f32], size: ImageSize, wide: &mut [f32], sums: &mut [f32]) {
    let (means, deviations) = sums.split_at_mut(size.channels);
    let (row, spread) = wide[..2 * size.row()].split_at_mut(size.row());
    row.fill(0.0);
    rows::sum(isa, z, row);
    fold(row, means);
    let share = 1.0 / (size.height * size.width) as f32;
    for mean in means.iter_mut() {
        *mean *= share;
    }
    for pixel in spread.chunks_exact_mut(size.channels) {
        pixel.copy_from_slice(means);
    }
    row.fill(0.0);
    rows::squared_deviation(isa, z, spread, row);
    fold(row, deviations);
}
