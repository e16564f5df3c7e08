//! The gradient of a convolution's filters, from an image and the gradient of the outcome.
//!
//! For one row of the filters it is a sum of outer products: `3 · inputs` numbers of the image,
//! which lie in one run, by the planes of the gradient.

use super::conv::panel_width;
use super::isa::{Isa, Kind};
use super::lanes::{Lanes, Plain};

/// Where the gradient of a filter bank comes from: an image with its border and the gradient of
/// the convolution's outcome, which has a row pitch of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradShape {
    /// Channels of the image, and planes of the gradient.
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Rows and columns of the gradient.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// From one row of the image to the next; from one pixel's row and column to the next one's
    /// (twice as far with stride 2).
    pub(crate) x_line: usize,
    pub(crate) x_row: usize,
    pub(crate) x_col: usize,
    /// From one row of the gradient to the next.
    pub(crate) d_row: usize,
}

/// Adds the gradient of the filters to `dw`: for every panel of outputs, for every filter row,
/// `3 · inputs` rows of the panel's width.
pub(crate) fn filter_gradient(isa: Isa, shape: &GradShape, x: &[f32], d: &[f32], dw: &mut [f32]) {
    let GradShape {
        inputs,
        outputs,
        rows,
        cols,
        ..
    } = *shape;
    if rows == 0 || cols == 0 {
        return;
    }
    let x_end = (rows - 1) * shape.x_row + (cols - 1) * shape.x_col + 2 * shape.x_line + 3 * inputs;
    let d_end = (rows - 1) * shape.d_row + cols * outputs;
    assert!(
        outputs.is_multiple_of(panel_width(isa, outputs)),
        "{outputs} outputs"
    );
    assert!(x_end <= x.len() && d_end <= d.len(), "out of the image");
    assert!(9 * inputs * outputs <= dw.len(), "no room for the filters");
    // SAFETY: the last pixel stays inside the slices, and an `Isa` is proof of its instructions.
    unsafe {
        let (x, d, dw) = (x.as_ptr(), d.as_ptr(), dw.as_mut_ptr());
        match isa.kind() {
            Kind::Plain => filters::<Plain, 3, 4>(shape, x, d, dw),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => x86::filters_avx2(shape, x, d, dw),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => x86::filters_avx512(shape, x, d, dw),
        }
    }
}

/// Pixels gone over before the next tile of filters: what is read stays in the first cache.
const BLOCK_PIXELS: usize = 128;

/// All panels of the filters' gradient, `MR` rows of it at a time.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn filters<V: Lanes, const MR: usize, const NV: usize>(
    shape: &GradShape,
    x: *const f32,
    d: *const f32,
    dw: *mut f32,
) {
    let width = NV * V::N;
    let depth = 3 * shape.inputs;
    let block = (BLOCK_PIXELS / shape.cols).max(1);
    let mut first = 0;
    while first < shape.rows {
        let rows = block.min(shape.rows - first);
        // SAFETY (here and below): `filter_gradient` has checked the reach of the whole image.
        let (x, d) = unsafe { (x.add(first * shape.x_row), d.add(first * shape.d_row)) };
        for panel in 0..shape.outputs / width {
            let d = unsafe { d.add(panel * width) };
            for line in 0..3 {
                let x = unsafe { x.add(line * shape.x_line) };
                let dw = unsafe { dw.add((panel * 3 + line) * depth * width) };
                let mut k = 0;
                while k + MR <= depth {
                    unsafe { tile::<V, MR, NV>(shape, rows, x.add(k), d, dw.add(k * width)) };
                    k += MR;
                }
                // The depth is a multiple of three.
                while k < depth {
                    unsafe { tile::<V, 3, NV>(shape, rows, x.add(k), d, dw.add(k * width)) };
                    k += 3;
                }
            }
        }
        first += rows;
    }
}

/// `MR` rows of one panel of the filters' gradient, over `rows` rows of pixels.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn tile<V: Lanes, const MR: usize, const NV: usize>(
    shape: &GradShape,
    rows: usize,
    x: *const f32,
    d: *const f32,
    dw: *mut f32,
) {
    // SAFETY: `filter_gradient` has checked every address.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; MR];
        for i in 0..MR {
            for v in 0..NV {
                sums[i][v] = V::load(dw.add((i * NV + v) * V::N));
            }
        }
        for row in 0..rows {
            let (mut x, mut d) = (x.add(row * shape.x_row), d.add(row * shape.d_row));
            for _ in 0..shape.cols {
                let mut slope = [V::splat(0.0); NV];
                for v in 0..NV {
                    slope[v] = V::load(d.add(v * V::N));
                }
                for i in 0..MR {
                    let value = V::splat(*x.add(i));
                    for v in 0..NV {
                        sums[i][v] = sums[i][v].add_product(value, slope[v]);
                    }
                }
                (x, d) = (x.add(shape.x_col), d.add(shape.outputs));
            }
        }
        for i in 0..MR {
            for v in 0..NV {
                sums[i][v].store(dw.add((i * NV + v) * V::N));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::lanes::{Avx2, Avx512};
    use super::{GradShape, filters};

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn filters_avx2(
        shape: &GradShape,
        x: *const f32,
        d: *const f32,
        dw: *mut f32,
    ) {
        // SAFETY: the caller has checked every address.
        unsafe { filters::<Avx2, 6, 2>(shape, x, d, dw) }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) unsafe fn filters_avx512(
        shape: &GradShape,
        x: *const f32,
        d: *const f32,
        dw: *mut f32,
    ) {
        // SAFETY: the caller has checked every address.
        unsafe {
            if shape.outputs.is_multiple_of(32) {
                filters::<Avx512, 12, 2>(shape, x, d, dw);
            } else {
                filters::<Avx512, 12, 1>(shape, x, d, dw);
            }
        }
    }
}
