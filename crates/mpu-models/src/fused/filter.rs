//! One 3×3 convolution: its sizes, its packed weights and the passes that compute it.

use crate::kernels::conv::{Pass, Run, Write, convolve, panel_width};
use crate::kernels::filters::{GradShape, filter_gradient};
use crate::kernels::isa::Isa;

/// The size of an image with the channels innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageSize {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

impl ImageSize {
    /// Numbers in the image.
    pub(crate) fn len(self) -> usize {
        self.height * self.width * self.channels
    }

    /// Numbers in a row of pixels.
    pub(crate) fn row(self) -> usize {
        self.width * self.channels
    }

    /// Numbers in a row of pixels with the border of one pixel on either side.
    pub(crate) fn padded_row(self) -> usize {
        (self.width + 2) * self.channels
    }

    /// Numbers in the image with its border.
    pub(crate) fn padded_len(self) -> usize {
        (self.height + 2) * self.padded_row()
    }

    /// Where the first pixel lies in the image with its border.
    pub(crate) fn origin(self) -> usize {
        self.padded_row() + self.channels
    }
}

/// Weights in the order the kernels read them, and the passes that read them.
#[derive(Debug, Clone)]
struct Plan {
    passes: Vec<Pass>,
    /// For every pass, the filter row and column behind each pixel it reads, in order.
    taps: Vec<Vec<(usize, usize)>>,
}

/// A 3×3 convolution with padding 1 and no bias.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) input: ImageSize,
    pub(crate) output: ImageSize,
    stride: usize,
    isa: Isa,
    forward: Plan,
    backward: Plan,
    /// Packed for the forward pass, and for the gradient of the input.
    packed: Vec<f32>,
    packed_back: Vec<f32>,
}

impl Filter {
    pub(crate) fn new(input: ImageSize, planes: usize, stride: usize, isa: Isa) -> Self {
        let output = ImageSize {
            height: input.height.div_ceil(stride),
            width: input.width.div_ceil(stride),
            channels: planes,
        };
        let n_weights = 9 * input.channels * planes;
        Self {
            input,
            output,
            stride,
            isa,
            forward: forward_plan(input, output, stride),
            backward: if stride == 1 {
                same_plan(output, input)
            } else {
                halved_plan(output, input)
            },
            packed: vec![0.0; n_weights],
            packed_back: vec![0.0; n_weights],
        }
    }

    /// Takes weights as PyTorch keeps them: `[outputs, inputs, 3, 3]`.
    pub(crate) fn pack(&mut self, weights: &[f32]) {
        let (inputs, outputs) = (self.input.channels, self.output.channels);
        let at = |o: usize, i: usize, (y, x): (usize, usize)| {
            weights[((o * inputs + i) * 3 + y) * 3 + x]
        };
        let panel = panel_width(self.isa, outputs);
        let mut packed = self.packed.iter_mut();
        for_panels(&self.forward, outputs, panel, inputs, |o, i, tap| {
            if let Some(value) = packed.next() {
                *value = at(o, i, tap);
            }
        });
        if inputs.is_multiple_of(16) {
            let panel = panel_width(self.isa, inputs);
            let mut packed = self.packed_back.iter_mut();
            for_panels(&self.backward, inputs, panel, outputs, |i, o, tap| {
                if let Some(value) = packed.next() {
                    *value = at(o, i, tap);
                }
            });
        }
    }

    /// Convolves an image with its border into one without.
    pub(crate) fn forward(&self, x: &[f32], y: &mut [f32]) {
        for pass in &self.forward.passes {
            let planes = self.output.channels;
            convolve(self.isa, pass, x, &self.packed, y, planes, Write::Replace);
        }
    }

    /// The gradient of the input, without border, from that of the output, with border. The
    /// number of input channels must be a multiple of 16.
    pub(crate) fn backward(&self, d: &[f32], dx: &mut [f32], write: Write) {
        for pass in &self.backward.passes {
            convolve(
                self.isa,
                pass,
                d,
                &self.packed_back,
                dx,
                self.input.channels,
                write,
            );
        }
    }

    /// Adds the gradient of the weights to `dw`, in the packed order, from an image and the
    /// gradient of the output, both with border.
    pub(crate) fn gradient(&self, x: &[f32], d: &[f32], dw: &mut [f32]) {
        let line = self.input.padded_row();
        let shape = GradShape {
            inputs: self.input.channels,
            outputs: self.output.channels,
            rows: self.output.height,
            cols: self.output.width,
            x_line: line,
            x_row: self.stride * line,
            x_col: self.stride * self.input.channels,
            d_row: self.output.padded_row(),
        };
        filter_gradient(self.isa, &shape, x, &d[self.output.origin()..], dw);
    }

    /// Weights, or packed gradients of them.
    pub(crate) fn n_weights(&self) -> usize {
        self.packed.len()
    }

    /// The sum of packed gradients in PyTorch's order.
    pub(crate) fn unpack<'a>(&self, parts: impl Iterator<Item = &'a [f32]>, gradient: &mut [f32]) {
        let (inputs, outputs) = (self.input.channels, self.output.channels);
        gradient.fill(0.0);
        for part in parts {
            let panel = panel_width(self.isa, outputs);
            let mut part = part.iter();
            for_panels(&self.forward, outputs, panel, inputs, |o, i, (y, x)| {
                if let Some(value) = part.next() {
                    gradient[((o * inputs + i) * 3 + y) * 3 + x] += value;
                }
            });
        }
    }
}

/// Goes over packed weights in their order: for every pass and panel of outputs, for every number
/// read, for every output of the panel.
fn for_panels(
    plan: &Plan,
    outputs: usize,
    panel: usize,
    inputs: usize,
    mut visit: impl FnMut(usize, usize, (usize, usize)),
) {
    for taps in &plan.taps {
        for first in (0..outputs).step_by(panel) {
            for &tap in taps {
                for input in 0..inputs {
                    (first..first + panel).for_each(|output| visit(output, input, tap));
                }
            }
        }
    }
}

/// Every output pixel reads three runs of three pixels.
fn forward_plan(input: ImageSize, output: ImageSize, stride: usize) -> Plan {
    let line = input.padded_row();
    let pass = Pass {
        runs: (0..3)
            .map(|y| Run {
                offset: y * line,
                len: 3 * input.channels,
            })
            .collect(),
        weights: 0,
        rows: output.height,
        cols: output.width,
        x_row: stride * line,
        x_col: stride * input.channels,
        y_base: 0,
        y_row: output.row(),
        y_col: output.channels,
    };
    let taps = (0..9).map(|i| (i / 3, i % 3)).collect();
    Plan {
        passes: vec![pass],
        taps: vec![taps],
    }
}

/// Back through stride 1: a convolution of the gradient with the filters turned by 180°.
fn same_plan(gradient: ImageSize, image: ImageSize) -> Plan {
    let mut plan = forward_plan(gradient, image, 1);
    plan.taps = vec![(0..9).map(|i| (2 - i / 3, 2 - i % 3)).collect()];
    plan
}

/// Back through stride 2. With padding 1, row `i` of the image was read for row `o` of the outcome
/// by filter row `i − 2o + 1`: an even row only by filter row 1 for `o = i/2`; an odd one by filter
/// row 2 for `o = (i − 1)/2` and by filter row 0 for the row after it. Columns likewise, which
/// makes four grids of pixels.
fn halved_plan(gradient: ImageSize, image: ImageSize) -> Plan {
    // The first line of the gradient's border-included image that is read, and the filter lines.
    const EVEN: &[usize] = &[1];
    const ODD: &[usize] = &[2, 0];
    let line = gradient.padded_row();
    let mut plan = Plan {
        passes: Vec::new(),
        taps: Vec::new(),
    };
    let mut weights = 0;
    for (y, filter_rows) in [EVEN, ODD].into_iter().enumerate() {
        for (x, filter_cols) in [EVEN, ODD].into_iter().enumerate() {
            let runs = (0..filter_rows.len()).map(|row| Run {
                offset: (1 + row) * line + gradient.channels,
                len: filter_cols.len() * gradient.channels,
            });
            let pass = Pass {
                runs: runs.collect(),
                weights,
                rows: (image.height + 1 - y) / 2,
                cols: (image.width + 1 - x) / 2,
                x_row: line,
                x_col: gradient.channels,
                y_base: y * image.row() + x * image.channels,
                y_row: 2 * image.row(),
                y_col: 2 * image.channels,
            };
            weights += pass.depth() * image.channels;
            let taps = filter_rows
                .iter()
                .flat_map(|&r| filter_cols.iter().map(move |&c| (r, c)));
            plan.passes.push(pass);
            plan.taps.push(taps.collect());
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rows::tests::ramp;

    fn pad(size: ImageSize, image: &[f32]) -> Vec<f32> {
        let mut padded = vec![0.0; size.padded_len()];
        for (y, row) in image.chunks_exact(size.row()).enumerate() {
            padded[size.origin() + y * size.padded_row()..][..size.row()].copy_from_slice(row);
        }
        padded
    }

    /// What the kernels are held to: every product of the convolution `y = Σ w x`, visited as
    /// (place in `x`, place in `y`, place in PyTorch's weights).
    fn visit(filter: &Filter, mut each: impl FnMut(usize, usize, usize)) {
        let (input, output) = (filter.input, filter.output);
        for (oy, ox) in (0..output.height).flat_map(|y| (0..output.width).map(move |x| (y, x))) {
            for (ky, kx) in (0..9).map(|i| (i / 3, i % 3)) {
                let (y, x) = (oy * filter.stride + ky, ox * filter.stride + kx);
                if y == 0 || x == 0 || y > input.height || x > input.width {
                    continue;
                }
                for i in 0..input.channels {
                    for o in 0..output.channels {
                        each(
                            ((y - 1) * input.width + x - 1) * input.channels + i,
                            (oy * output.width + ox) * output.channels + o,
                            ((o * input.channels + i) * 3 + ky) * 3 + kx,
                        );
                    }
                }
            }
        }
    }

    fn close(got: &[f32], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((*got as f64 - want).abs() < 1e-4, "{got} {want}");
        }
    }

    #[test]
    fn kernels_agree_with_the_plain_loops() {
        let sizes = [(1, 1), (2, 2), (3, 5), (8, 8), (7, 4), (5, 9)];
        let planes = [(1, 16), (3, 16), (16, 16), (16, 32), (32, 32), (32, 64)];
        for isa in Isa::available() {
            for ((height, width), (channels, outputs)) in sizes
                .into_iter()
                .flat_map(|s| planes.into_iter().map(move |p| (s, p)))
            {
                for stride in [1, 2] {
                    let input = ImageSize {
                        height,
                        width,
                        channels,
                    };
                    let mut filter = Filter::new(input, outputs, stride, isa);
                    let (x, w) = (ramp(input.len(), 0.618), ramp(filter.n_weights(), 0.7548));
                    let d = ramp(filter.output.len(), 0.5698);
                    filter.pack(&w);

                    let mut y = vec![f32::NAN; filter.output.len()];
                    filter.forward(&pad(input, &x), &mut y);
                    let mut want = vec![0.0; y.len()];
                    visit(&filter, |xi, yi, wi| {
                        want[yi] += w[wi] as f64 * x[xi] as f64;
                    });
                    close(&y, &want);

                    let mut parts = vec![vec![0.0; filter.n_weights()]; 2];
                    for part in &mut parts {
                        filter.gradient(&pad(input, &x), &pad(filter.output, &d), part);
                    }
                    let mut dw = vec![0.0; w.len()];
                    filter.unpack(parts.iter().map(Vec::as_slice), &mut dw);
                    let mut want = vec![0.0; dw.len()];
                    visit(&filter, |xi, yi, wi| {
                        want[wi] += 2.0 * d[yi] as f64 * x[xi] as f64;
                    });
                    close(&dw, &want);

                    if channels % 16 == 0 {
                        for write in [Write::Replace, Write::Add] {
                            let mut dx = vec![0.25; input.len()];
                            filter.backward(&pad(filter.output, &d), &mut dx, write);
                            let start = if write == Write::Add { 0.25 } else { 0.0 };
                            let mut want = vec![start; dx.len()];
                            visit(&filter, |xi, yi, wi| {
                                want[xi] += w[wi] as f64 * d[yi] as f64;
                            });
                            close(&dx, &want);
                        }
                    }
                }
            }
        }
    }
}
