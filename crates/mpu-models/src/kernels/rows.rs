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
    /// `lr √(1 − β₂ᵗ) / (1 − β₁ᵗ)`.
    pub(crate) step: f32,
    /// `ε √(1 − β₂ᵗ)`.
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
            p[i] = p[i] * k.keep - k.step * first / (second.sqrt() + k.eps);
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers that look random and are not.
    pub(crate) fn ramp(n: usize, step: f64) -> Vec<f32> {
        (0..n)
            .map(|i| ((i as f64 * step).fract() - 0.5) as f32)
            .collect()
    }

    /// Bits, so that NaN is equal to itself.
    fn bits(blocks: &[&[f32]]) -> Vec<u32> {
        blocks
            .concat()
            .iter()
            .map(|value| value.to_bits())
            .collect()
    }

    /// Every pass over the same numbers, one after the other.
    fn all(isa: Isa, rows: usize, width: usize) -> Vec<Vec<u32>> {
        let n = rows * width;
        let mut x = ramp(n, 0.618);
        x[n / 2] = f32::NAN;
        x[n / 3] = 0.0;
        let (y, pitch) = (ramp(n, 0.7548), width + 3);
        let wide = ramp(rows * pitch, 0.5698);
        let column = |step| ramp(width, step);
        let (a, b, c, mean) = (column(0.41), column(0.73), column(0.32), column(0.55));
        let k = Backward {
            mean: &mean,
            a: &a,
            b: &b,
            c: &c,
        };
        let zeros = || (vec![0.0; width], vec![0.0; width]);
        let mut list = Vec::new();

        let (mut z, (mut s, mut t)) = (x.clone(), zeros());
        bias_relu_sum(isa, &mut z, &a, &mut s);
        squared_deviation(isa, &z, &mean, &mut t);
        sum(isa, &y, &mut t);
        list.push(bits(&[&z, &s, &t]));

        let (mut z, mut out) = (x.clone(), vec![0.0; n]);
        bias_relu_affine(isa, &mut z, &a, &b, &c);
        bias_add(isa, &mut z, &mean);
        affine(isa, &z, &a, &b, &mut out);
        list.push(bits(&[&z, &out]));

        let mut padded = wide.clone();
        let view = View::new(&x, width);
        affine_relu(isa, view, &a, &b, ViewMut::new(&mut padded, pitch), rows);
        list.push(bits(&[&padded]));
        let skip = View::new(&wide, pitch);
        affine_add_relu(
            isa,
            view,
            &a,
            &b,
            skip,
            ViewMut::new(&mut padded, pitch),
            rows,
        );
        list.push(bits(&[&padded]));

        let (mut dy, (mut s, mut t)) = (y.clone(), zeros());
        norm_sums(isa, &dy, &x, &mean, &mut s, &mut t);
        masked_norm_sums(isa, &mut dy, skip, &x, &mean, &mut s, &mut t);
        list.push(bits(&[&dy, &s, &t]));
        norm_relu_backward(isa, &mut dy, &x, k, &mut s);
        norm_backward(isa, &dy, &y, k, ViewMut::new(&mut padded, pitch));
        list.push(bits(&[&dy, &s, &padded]));

        let (mut p, mut m, mut v) = (x.clone(), y.clone(), vec![0.25; n]);
        let share = AdamStep {
            keep: 0.99,
            share1: 0.1,
            beta2: 0.999,
            share2: 0.001,
            step: 0.01,
            eps: 1e-8,
        };
        adam(isa, &mut p, &y, &mut m, &mut v, share);
        sgd(isa, &mut p, &y, &mut m, 0.9, 0.1);
        list.push(bits(&[&p, &m, &v]));
        list
    }

    #[test]
    fn every_compilation_gives_the_bits_of_the_plain_one() {
        let kinds = Isa::available();
        for (rows, width) in [(1, 1), (3, 7), (2, 16), (5, 300), (4, 512), (9, 33)] {
            let plain = all(kinds[0], rows, width);
            for &isa in &kinds[1..] {
                for (index, (got, want)) in all(isa, rows, width).iter().zip(&plain).enumerate() {
                    assert!(got == want, "{isa:?}, {rows} x {width}, pass {index}");
                }
            }
        }
    }

    #[test]
    fn passes_compute_what_they_say() {
        let isa = Isa::detect();
        let (mut z, mut total) = (vec![1.0, -2.0, 3.0, 0.5], vec![0.0; 2]);
        bias_relu_sum(isa, &mut z, &[0.5, 1.0], &mut total);
        assert_eq!((z, total), (vec![1.5, 0.0, 3.5, 1.5], vec![5.0, 1.5]));

        let k = Backward {
            mean: &[1.0],
            a: &[2.0],
            b: &[3.0],
            c: &[0.5],
        };
        let (mut dy, mut total) = (vec![1.0, 1.0], vec![0.0]);
        norm_relu_backward(isa, &mut dy, &[4.0, 0.0], k, &mut total);
        assert_eq!(
            (dy, total),
            (vec![11.5, 0.0], vec![11.5]),
            "nothing flows where r is 0"
        );

        let (mut dy, mut s, mut t) = (vec![2.0, 5.0], vec![0.0], vec![0.0]);
        let out = View::new(&[0.1, 0.0], 1);
        masked_norm_sums(isa, &mut dy, out, &[3.0, 9.0], &[1.0], &mut s, &mut t);
        assert_eq!((dy, s, t), (vec![2.0, 0.0], vec![2.0], vec![4.0]));
    }
}
