//! Matrix products, by the `gemm` crate.
//!
//! A kernel of our own on packed operands (AVX2, 6×16 tiles) was tried and came out within 1 % of
//! it: both reach nearly 90 % of the processor's peak at the shapes of a training step.

use std::ops::Range;

use gemm::Parallelism;

use crate::threads::Threads;

/// A matrix to read: element `(i, j)` lies at `i * row + j * col`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row: usize,
    col: usize,
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

    /// Some of the rows.
    pub(crate) fn rows(self, range: Range<usize>) -> Self {
        assert!(range.end <= self.rows, "{range:?} of {} rows", self.rows);
        Self {
            data: &self.data[range.start * self.row..],
            rows: range.len(),
            ..self
        }
    }
}

/// How many rows of a `rows × cols` outcome one thread computes, a multiple of `unit` or all of them.
///
/// Parts have the bits of the whole: `gemm` cuts the inner sums by their length alone, except in outcomes of at
/// most 64 × 64 or 256 numbers and in single rows and columns. Narrow outcomes are therefore not cut, nor
/// are those that would leave a few rows over.
pub(crate) fn part_rows(rows: usize, cols: usize, unit: usize, threads: Threads) -> usize {
    let part = threads.share(rows, unit);
    if cols <= 64 || (1..4).contains(&(rows % part)) {
        rows
    } else {
        part
    }
}

/// A product to compute, whole or a part of one: `out ← a b`.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    a: Mat<'a>,
    b: Mat<'a>,
    out: &'a mut [f32],
}

impl<'a> Product<'a> {
    /// The product `out ← a b` in parts for so many threads.
    pub(crate) fn parts(
        a: Mat<'a>,
        b: Mat<'a>,
        out: &'a mut [f32],
        threads: Threads,
    ) -> impl Iterator<Item = Self> {
        let part = part_rows(a.rows, b.cols, 8, threads);
        let outs = out[..a.rows * b.cols].chunks_mut(part * b.cols);
        outs.enumerate().map(move |(i, out)| {
            let rows = i * part..a.rows.min((i + 1) * part);
            let a = a.rows(rows);
            Self { a, b, out }
        })
    }

    pub(crate) fn compute(self) {
        matmul(self.a, self.b, self.out);
    }
}

/// `out ← a b`, row by row, on the caller's thread.
pub(crate) fn matmul(a: Mat<'_>, b: Mat<'_>, out: &mut [f32]) {
    assert_eq!(a.cols, b.rows, "inner sizes differ");
    let out = &mut out[..a.rows * b.cols];
    // SAFETY: `Mat` and the slice above keep every address inside, and `out` is borrowed alone.
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
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::ramp;
    use super::*;

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
                    let mut out = vec![f32::NAN; m * n];
                    matmul(a, b, &mut out);
                    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                        let gap = (out[i * n + j] as f64 - exact(i, j)).abs();
                        assert!(gap < 1e-5 * (k as f64).sqrt(), "{m} {k} {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_have_the_bits_of_the_whole() {
        let shapes = [
            (512, 784, 300),
            (512, 300, 300),
            (300, 512, 784),
            (300, 500, 300),
            (512, 2, 300),
            (129, 1100, 65),
            (77, 64, 4),
            (4, 900, 300),
        ];
        for (m, k, n) in shapes {
            let (a, b) = (ramp(m * k, 0.618), ramp(k * n, 0.7548));
            for (a, b) in [
                (Mat::new(&a, m, k), Mat::new(&b, k, n)),
                (Mat::new(&a, m, k), Mat::new(&b, n, k).t()),
                (Mat::new(&a, k, m).t(), Mat::new(&b, k, n)),
            ] {
                let mut whole = vec![0.0; m * n];
                matmul(a, b, &mut whole);
                for threads in [1, 2, 3, 8, 64] {
                    let mut out = vec![f32::NAN; m * n];
                    let threads = Threads::new(threads);
                    threads.for_each(Product::parts(a, b, &mut out, threads), Product::compute);
                    assert!(out == whole, "{m} {k} {n}, {threads:?}");
                }
            }
        }
    }

    #[test]
    fn a_part_has_no_fewer_than_four_rows() {
        for (rows, threads, expected) in [
            (512, 1, 512),
            (512, 2, 256),
            (512, 3, 192),
            (129, 2, 129),
            (132, 2, 128),
            (2, 2, 2),
        ] {
            let part = part_rows(rows, 300, 64, Threads::new(threads));
            assert_eq!(part.min(rows), expected, "{rows} rows, {threads} threads");
        }
        assert_eq!(part_rows(512, 64, 64, Threads::new(2)), 512);
    }
}
