//! Direct convolution on images with the channels innermost and a border of zeros.
//!
//! In such an image the inputs of the three filter columns of one pixel are one run of
//! `3 · channels` numbers: a 3×3 convolution is three runs per pixel, one per filter row, and the
//! kernel is that of a matrix product that reads its left operand in place.

use super::isa::{Isa, Kind};
use super::lanes::{Lanes, Plain};

/// Numbers read in one run for an output pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Where it begins, from the pixel's own place.
    pub(crate) offset: usize,
    /// How many.
    pub(crate) len: usize,
}

/// A grid of output pixels that all read the same runs with the same weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pass {
    /// What each pixel reads.
    pub(crate) runs: Vec<Run>,
    /// Where its weights begin.
    pub(crate) weights: usize,
    /// Rows and columns of the grid.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// From one row of the grid to the next, and one column to the next, in the image read.
    pub(crate) x_row: usize,
    pub(crate) x_col: usize,
    /// Where the grid begins in the image written, and its steps there.
    pub(crate) y_base: usize,
    pub(crate) y_row: usize,
    pub(crate) y_col: usize,
}

impl Pass {
    /// Numbers each pixel reads.
    pub(crate) fn depth(&self) -> usize {
        self.runs.iter().map(|run| run.len).sum()
    }

    /// One past the last number read of the image, written to the image, and read of the weights.
    fn reach(&self, outputs: usize) -> (usize, usize, usize) {
        let (last_row, last_col) = (self.rows - 1, self.cols - 1);
        let run = self
            .runs
            .iter()
            .map(|run| run.offset + run.len)
            .max()
            .unwrap_or(0);
        (
            last_row * self.x_row + last_col * self.x_col + run,
            self.y_base + last_row * self.y_row + last_col * self.y_col + outputs,
            self.weights + self.depth() * outputs,
        )
    }
}

/// Whether a result replaces what is there or is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Replace,
    Add,
}

/// How many outputs are worked on together where there are `outputs` (a multiple of 16): the
/// width of a panel of packed weights.
pub(crate) fn panel_width(isa: Isa, outputs: usize) -> usize {
    match isa.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 if outputs.is_multiple_of(32) => 32,
        _ => 16,
    }
}

/// Convolves `x` into the pixels of `pass` in `y`.
///
/// `weights` holds, for every panel of outputs, one row of the panel's width per number read, in
/// the order of the runs.
pub(crate) fn convolve(
    isa: Isa,
    pass: &Pass,
    x: &[f32],
    weights: &[f32],
    y: &mut [f32],
    outputs: usize,
    write: Write,
) {
    if pass.rows == 0 || pass.cols == 0 {
        return;
    }
    let (x_end, y_end, w_end) = pass.reach(outputs);
    assert!(
        outputs.is_multiple_of(panel_width(isa, outputs)),
        "{outputs} outputs"
    );
    assert!(
        x_end <= x.len() && y_end <= y.len() && w_end <= weights.len(),
        "out of the image"
    );
    // SAFETY: the grid's last pixel stays inside the three slices, and an `Isa` is proof of its
    // instructions.
    unsafe {
        let weights = weights.as_ptr().add(pass.weights);
        let (x, y) = (x.as_ptr(), y.as_mut_ptr());
        match isa.kind() {
            Kind::Plain => panels::<Plain, 2, 4>(pass, x, weights, y, outputs, write),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => x86::convolve_avx2(pass, x, weights, y, outputs, write),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => x86::convolve_avx512(pass, x, weights, y, outputs, write),
        }
    }
}

/// All panels of `V::N * NV` outputs, `MR` pixels at a time.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn panels<V: Lanes, const MR: usize, const NV: usize>(
    pass: &Pass,
    x: *const f32,
    weights: *const f32,
    y: *mut f32,
    outputs: usize,
    write: Write,
) {
    let width = NV * V::N;
    let n_pixels = pass.rows * pass.cols;
    for panel in 0..outputs / width {
        // SAFETY (here and below): `convolve` has checked the reach of the whole pass.
        let weights = unsafe { weights.add(panel * width * pass.depth()) };
        let y = unsafe { y.add(pass.y_base + panel * width) };
        let (mut row, mut col, mut done) = (0, 0, 0);
        while done < n_pixels {
            let mut xs = [x; MR];
            let mut ys = [y; MR];
            for i in 0..MR {
                xs[i] = unsafe { x.add(row * pass.x_row + col * pass.x_col) };
                ys[i] = unsafe { y.add(row * pass.y_row + col * pass.y_col) };
                // Past the end the last pixel is worked on again, with the same outcome.
                if done + 1 < n_pixels || i + 1 == MR {
                    done += 1;
                    col += 1;
                    if col == pass.cols {
                        (row, col) = (row + 1, 0);
                    }
                }
            }
            unsafe { pixels::<V, MR, NV>(&pass.runs, xs, weights, ys, write) };
        }
    }
}

/// `MR` pixels of one panel.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn pixels<V: Lanes, const MR: usize, const NV: usize>(
    runs: &[Run],
    xs: [*const f32; MR],
    mut weights: *const f32,
    ys: [*mut f32; MR],
    write: Write,
) {
    // SAFETY: `convolve` has checked every address.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; MR];
        for run in runs {
            let mut from = xs;
            for from in &mut from {
                *from = from.add(run.offset);
            }
            for k in 0..run.len {
                let mut row = [V::splat(0.0); NV];
                for v in 0..NV {
                    row[v] = V::load(weights.add(v * V::N));
                }
                weights = weights.add(NV * V::N);
                for i in 0..MR {
                    let value = V::splat(*from[i].add(k));
                    for v in 0..NV {
                        sums[i][v] = sums[i][v].add_product(value, row[v]);
                    }
                }
            }
        }
        if write == Write::Add {
            // All are read before any is written: a pixel may be here twice.
            let one = V::splat(1.0);
            for i in 0..MR {
                for v in 0..NV {
                    sums[i][v] = sums[i][v].add_product(V::load(ys[i].add(v * V::N)), one);
                }
            }
        }
        for i in 0..MR {
            for v in 0..NV {
                sums[i][v].store(ys[i].add(v * V::N));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::lanes::{Avx2, Avx512};
    use super::{Pass, Write, panels};

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn convolve_avx2(
        pass: &Pass,
        x: *const f32,
        weights: *const f32,
        y: *mut f32,
        outputs: usize,
        write: Write,
    ) {
        // SAFETY: the caller has checked every address.
        unsafe { panels::<Avx2, 6, 2>(pass, x, weights, y, outputs, write) }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) unsafe fn convolve_avx512(
        pass: &Pass,
        x: *const f32,
        weights: *const f32,
        y: *mut f32,
        outputs: usize,
        write: Write,
    ) {
        // SAFETY: the caller has checked every address.
        unsafe {
            if outputs.is_multiple_of(32) {
                panels::<Avx512, 8, 2>(pass, x, weights, y, outputs, write);
            } else {
                panels::<Avx512, 8, 1>(pass, x, weights, y, outputs, write);
            }
        }
    }
}
