//! Passes over rows of numbers with one coefficient per column.
//!
//! For a perceptron a row is a sample and a column a unit. For images a row is a line of pixels
//! with the channels innermost, and the coefficient of a channel is repeated for every pixel.

use super::isa::{Isa, Kind, per_isa};

/// Rows to read: row `i` begins at `i * pitch`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) pitch: usize,
}

/// Rows to write.
#[derive(Debug)]
pub(crate) struct ViewMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) pitch: usize,
}

impl<'a> View<'a> {
    pub(crate) fn new(data: &'a [f32], pitch: usize) -> Self {
        Self { data, pitch }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled once per instruction set")]
    fn row(&self, i: usize, width: usize) -> &[f32] {
        &self.data[i * self.pitch..][..width]
    }
}

impl<'a> ViewMut<'a> {
    pub(crate) fn new(data: &'a mut [f32], pitch: usize) -> Self {
        Self { data, pitch }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled once per instruction set")]
    fn row(&mut self, i: usize, width: usize) -> &mut [f32] {
        &mut self.data[i * self.pitch..][..width]
    }
}

/// The coefficients of the backward pass of a normalisation, one each per column:
/// `dz = a·dy + b·(z − mean) + c`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backward<'a> {
    pub(crate) mean: &'a [f32],
    pub(crate) a: &'a [f32],
    pub(crate) b: &'a [f32],
    pub(crate) c: &'a [f32],
}

/// What Adam multiplies by in one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdamStep {
    /// `1 − lr · decay`.
    pub(crate) keep: f32,
    /// `1 − β₁`.
    pub(crate) share1: f32,
    /// `β₂` and `1 − β₂`.
    pub(crate) beta2: f32,
    pub(crate) share2: f32,
    /// `lr / (1 − β₁ᵗ)`.
    pub(crate) step: f32,
    /// `√(1 − β₂ᵗ)`.
    pub(crate) root: f32,
    pub(crate) eps: f32,
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
fn relu(z: f32) -> f32 {
    // In this order NaN stays NaN.
    if z <= 0.0 { 0.0 } else { z }
}

per_isa! {
    /// `z ← relu(z + bias)` and `sum ← sum + z`, over `z.len() / bias.len()` rows.
    fn bias_relu_sum(z: &mut [f32], bias: &[f32], sum: &mut [f32]) {
        let width = bias.len();
        let sum = &mut sum[..width];
        for z in z.chunks_exact_mut(width) {
            for j in 0..width {
                let r = relu(z[j] + bias[j]);
                z[j] = r;
                sum[j] += r;
            }
        }
    }

    /// `out ← scale · relu(z + bias) + shift`: a hidden layer whose statistics are known.
    fn bias_relu_affine(z: &mut [f32], bias: &[f32], scale: &[f32], shift: &[f32]) {
        let width = bias.len();
        let (scale, shift) = (&scale[..width], &shift[..width]);
        for z in z.chunks_exact_mut(width) {
            for j in 0..width {
                z[j] = relu(z[j] + bias[j]) * scale[j] + shift[j];
            }
        }
    }

    /// `z ← z + bias`.
    fn bias_add(z: &mut [f32], bias: &[f32]) {
        let width = bias.len();
        for z in z.chunks_exact_mut(width) {
            for j in 0..width {
                z[j] += bias[j];
            }
        }
    }

    /// `sum ← sum + x`, over all rows of `x`.
    fn sum(x: &[f32], sum: &mut [f32]) {
        let width = sum.len();
        for x in x.chunks_exact(width) {
            for j in 0..width {
                sum[j] += x[j];
            }
        }
    }

    /// `sum ← sum + (x − mean)²`, over all rows of `x`.
    fn squared_deviation(x: &[f32], mean: &[f32], sum: &mut [f32]) {
        let width = sum.len();
        let mean = &mean[..width];
        for x in x.chunks_exact(width) {
            for j in 0..width {
                let d = x[j] - mean[j];
                sum[j] += d * d;
            }
        }
    }

    /// `out ← scale · x + shift`.
    fn affine(x: &[f32], scale: &[f32], shift: &[f32], out: &mut [f32]) {
        let width = scale.len();
        let shift = &shift[..width];
        for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for j in 0..width {
                out[j] = x[j] * scale[j] + shift[j];
            }
        }
    }

    /// `out ← relu(scale · x + shift)`.
    fn affine_relu(x: View<'_>, scale: &[f32], shift: &[f32], out: ViewMut<'_>, rows: usize) {
        let width = scale.len();
        let (shift, mut out) = (&shift[..width], out);
        for i in 0..rows {
            let (x, out) = (x.row(i, width), out.row(i, width));
            for j in 0..width {
                out[j] = relu(x[j] * scale[j] + shift[j]);
            }
        }
    }

    /// `out ← relu(scale · x + shift + skip)`.
    fn affine_add_relu(
        x: View<'_>, scale: &[f32], shift: &[f32], skip: View<'_>, out: ViewMut<'_>, rows: usize,
    ) {
        let width = scale.len();
        let (shift, mut out) = (&shift[..width], out);
        for i in 0..rows {
            let (x, skip, out) = (x.row(i, width), skip.row(i, width), out.row(i, width));
            for j in 0..width {
                out[j] = relu(x[j] * scale[j] + shift[j] + skip[j]);
            }
        }
    }

    /// `sum1 ← sum1 + dy` and `sum2 ← sum2 + dy · (z − mean)`, over all rows.
    fn norm_sums(dy: &[f32], z: &[f32], mean: &[f32], sum1: &mut [f32], sum2: &mut [f32]) {
        let width = mean.len();
        let (sum1, sum2) = (&mut sum1[..width], &mut sum2[..width]);
        for (dy, z) in dy.chunks_exact(width).zip(z.chunks_exact(width)) {
            for j in 0..width {
                sum1[j] += dy[j];
                sum2[j] += dy[j] * (z[j] - mean[j]);
            }
        }
    }

    /// As [`norm_sums`], but first `dy ← dy` where `out > 0` and `0` elsewhere.
    fn masked_norm_sums(
        dy: &mut [f32], out: View<'_>, z: &[f32], mean: &[f32], sum1: &mut [f32], sum2: &mut [f32],
    ) {
        let width = mean.len();
        let (sum1, sum2) = (&mut sum1[..width], &mut sum2[..width]);
        let rows = dy.chunks_exact_mut(width).zip(z.chunks_exact(width));
        for (i, (dy, z)) in rows.enumerate() {
            let out = out.row(i, width);
            for j in 0..width {
                let g = if out[j] > 0.0 { dy[j] } else { 0.0 };
                dy[j] = g;
                sum1[j] += g;
                sum2[j] += g * (z[j] - mean[j]);
            }
        }
    }

    /// `dy ← a·dy + b·(r − mean) + c` where `r > 0` and `0` elsewhere, and `sum ← sum + dy`:
    /// back through a normalisation and the ReLU before it.
    fn norm_relu_backward(dy: &mut [f32], r: &[f32], k: Backward<'_>, sum: &mut [f32]) {
        let width = sum.len();
        let (mean, a, b, c) = (&k.mean[..width], &k.a[..width], &k.b[..width], &k.c[..width]);
        for (dy, r) in dy.chunks_exact_mut(width).zip(r.chunks_exact(width)) {
            for j in 0..width {
                let d = a[j] * dy[j] + b[j] * (r[j] - mean[j]) + c[j];
                let d = if r[j] > 0.0 { d } else { 0.0 };
                dy[j] = d;
                sum[j] += d;
            }
        }
    }

    /// `out ← a·dy + b·(z − mean) + c`: back through a normalisation.
    fn norm_backward(dy: &[f32], z: &[f32], k: Backward<'_>, out: ViewMut<'_>) {
        let (width, mut out) = (k.mean.len(), out);
        let (mean, a, b, c) = (&k.mean[..width], &k.a[..width], &k.b[..width], &k.c[..width]);
        for (i, (dy, z)) in dy.chunks_exact(width).zip(z.chunks_exact(width)).enumerate() {
            let out = out.row(i, width);
            for j in 0..width {
                out[j] = a[j] * dy[j] + b[j] * (z[j] - mean[j]) + c[j];
            }
        }
    }

    /// One step of Adam in place: value `p`, gradient `g`, moments `m` and `v`.
    fn adam(p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], k: AdamStep) {
        let n = p.len();
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            let first = m[i] + (g[i] - m[i]) * k.share1;
            let second = v[i] * k.beta2 + g[i] * g[i] * k.share2;
            m[i] = first;
            v[i] = second;
            let root = second.sqrt() / k.root + k.eps;
            p[i] = p[i] * k.keep - k.step * first / root;
        }
    }

    /// One step of gradient descent with momentum: `m ← momentum·m + g`, `p ← p − lr·m`.
    fn sgd(p: &mut [f32], g: &[f32], m: &mut [f32], momentum: f32, lr: f32) {
        let n = p.len();
        let (g, m) = (&g[..n], &mut m[..n]);
        for i in 0..n {
            let moved = momentum * m[i] + g[i];
            m[i] = moved;
            p[i] -= lr * moved;
        }
    }
}
