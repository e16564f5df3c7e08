//! Matrix products: by the `gemm` crate, and where that is slower than it need be (AVX2, measured)
//! by a kernel of our own on packed operands.

use gemm::Parallelism;

use super::isa::Isa;
use super::panels::Packed;
use crate::threads::Threads;

/// Rows of an outcome that are worked on together. Fixed, because sums over rows are taken block
/// by block.
pub(crate) const BLOCK_ROWS: usize = 96;

/// A matrix to read: element `(i, j)` lies at `i * row + j * col`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mat<'a> {
    pub(super) data: &'a [f32],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row: usize,
    pub(super) col: usize,
}

impl<'a> Mat<'a> {
    /// `rows × cols` numbers, row by row.
    pub(crate) fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        assert!(
            data.len() >= rows * cols,
            "{} numbers for {rows} x {cols}",
            data.len()
        );
        Self {
            data,
            rows,
            cols,
            row: cols,
            col: 1,
        }
    }

    /// Rows and columns exchanged.
    pub(crate) fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row: self.col,
            col: self.row,
            ..self
        }
    }
}

/// Multiplies matrices, keeping the room it packs them in.
#[derive(Debug)]
pub(crate) struct Multiplier {
    isa: Isa,
    threads: Threads,
    packed_a: Vec<f32>,
    packed_b: Vec<f32>,
}

impl Multiplier {
    pub(crate) fn new(isa: Isa, threads: Threads) -> Self {
        Self {
            isa,
            threads,
            packed_a: Vec::new(),
            packed_b: Vec::new(),
        }
    }

    /// One that leaves all to the `gemm` crate.
    pub(crate) fn by_crate(threads: Threads) -> Self {
        Self::new(Isa::PLAIN, threads)
    }

    /// `out ← a b`, row by row.
    ///
    /// The order of every sum depends on the shapes alone, not on the number of threads.
    pub(crate) fn multiply(&mut self, a: Mat<'_>, b: Mat<'_>, out: &mut [f32]) {
        self.multiply_then(a, b, out, std::iter::repeat(()), |_, ()| {});
    }

    /// `out ← a b`, and then `then` on every block of [`BLOCK_ROWS`] rows of it with one of
    /// `parts`: at once where the product is our own, while the block is in the cache.
    pub(crate) fn multiply_then<T: Send>(
        &mut self,
        a: Mat<'_>,
        b: Mat<'_>,
        out: &mut [f32],
        parts: impl Iterator<Item = T>,
        then: impl Fn(&mut [f32], T) + Sync,
    ) {
        assert_eq!(a.cols, b.rows, "inner sizes differ");
        let out = &mut out[..a.rows * b.cols];
        let blocks = |out| <[f32]>::chunks_mut(out, BLOCK_ROWS * b.cols);
        if self.isa.prefers_panels() {
            let room = (&mut self.packed_a, &mut self.packed_b);
            let product = Packed::new(self.isa, a, b, room, self.threads);
            self.threads.for_each(
                blocks(out).zip(parts).enumerate(),
                |(block, (out, part))| {
                    product.multiply(block * BLOCK_ROWS, out);
                    then(out, part);
                },
            );
        } else {
            by_crate(a, b, out, self.threads);
            self.threads
                .for_each(blocks(out).zip(parts), |(out, part)| then(out, part));
        }
    }
}

/// `out ← a b` by the `gemm` crate.
fn by_crate(a: Mat<'_>, b: Mat<'_>, out: &mut [f32], threads: Threads) {
    assert_eq!(out.len(), a.rows * b.cols);
    let parallelism = match threads.get() {
        1 => Parallelism::None,
        n => Parallelism::Rayon(n),
    };
    // SAFETY: `Mat` and the assertion above keep every address inside its slice, and `out` is
    // borrowed alone.
    unsafe {
        gemm::gemm(
            a.rows,
            b.cols,
            a.cols,
            out.as_mut_ptr(),
            1,
            b.cols.cast_signed(),
            false,
            a.data.as_ptr(),
            a.col.cast_signed(),
            a.row.cast_signed(),
            b.data.as_ptr(),
            b.col.cast_signed(),
            b.row.cast_signed(),
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize, step: f64) -> Vec<f32> {
        (0..n)
            .map(|i| ((i as f64 * step).fract() - 0.5) as f32)
            .collect()
    }

    /// By the crate, and by our own kernel in every compilation.
    fn every_way(a: Mat<'_>, b: Mat<'_>, threads: Threads) -> Vec<Vec<f32>> {
        let mut outs = vec![vec![f32::NAN; a.rows * b.cols]];
        by_crate(a, b, &mut outs[0], threads);
        for isa in Isa::available() {
            let mut out = vec![f32::NAN; a.rows * b.cols];
            let room = (&mut Vec::new(), &mut Vec::new());
            let product = Packed::new(isa, a, b, room, threads);
            let blocks = out.chunks_mut(BLOCK_ROWS * b.cols).enumerate();
            threads.for_each(blocks, |(block, out)| {
                product.multiply(block * BLOCK_ROWS, out);
            });
            outs.push(out);
        }
        outs
    }

    #[test]
    fn products_are_those_of_the_plain_loops() {
        let shapes = [
            (1, 1, 1),
            (1, 7, 5),
            (9, 1, 4),
            (6, 12, 16),
            (5, 300, 17),
            (64, 33, 300),
            (70, 80, 2),
            (101, 641, 33),
            (13, 321, 47),
        ];
        for (m, k, n) in shapes {
            let (a, b) = (ramp(m * k, 0.618), ramp(k * n, 0.7548));
            let exact = |i: usize, j: usize| -> f64 {
                (0..k)
                    .map(|l| a[i * k + l] as f64 * b[l * n + j] as f64)
                    .sum()
            };
            // All four ways to store the two operands.
            let (mut at, mut bt) = (vec![0.0; m * k], vec![0.0; k * n]);
            for i in 0..m {
                (0..k).for_each(|l| at[l * m + i] = a[i * k + l]);
            }
            for l in 0..k {
                (0..n).for_each(|j| bt[j * k + l] = b[l * n + j]);
            }
            for a in [Mat::new(&a, m, k), Mat::new(&at, k, m).t()] {
                for b in [Mat::new(&b, k, n), Mat::new(&bt, n, k).t()] {
                    for out in every_way(a, b, Threads::ONE) {
                        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                            let gap = (out[i * n + j] as f64 - exact(i, j)).abs();
                            assert!(gap < 1e-5 * (k as f64).sqrt(), "{m} {k} {n}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn two_threads_give_the_bits_of_one() {
        let shapes = [
            (512, 784, 300),
            (512, 300, 300),
            (300, 512, 784),
            (300, 500, 300),
            (77, 64, 4),
        ];
        for (m, k, n) in shapes {
            let (a, b) = (ramp(m * k, 0.618), ramp(k * n, 0.7548));
            for (a, b) in [
                (Mat::new(&a, m, k), Mat::new(&b, k, n)),
                (Mat::new(&a, m, k), Mat::new(&b, n, k).t()),
                (Mat::new(&a, k, m).t(), Mat::new(&b, k, n)),
            ] {
                let (one, two) = (
                    every_way(a, b, Threads::ONE),
                    every_way(a, b, Threads::new(2)),
                );
                assert!(one == two, "{m} {k} {n}");
            }
        }
    }
}
