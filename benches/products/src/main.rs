//! The matrix products of a training step of MLP-5 in other crates, for `cargo xtask bench train`.
//!
//! ```text
//! products THREADS
//! ```
//!
//! Reads lines `VARIANT STEPS` and answers each with the seconds these steps took and `NaN` for a loss. Sizes and
//! layouts are those of `mpu_models::fused::Products`; the variants are the names of the crates.

use std::io::Write as _;
use std::time::Instant;

use gemmkit::{MatMut, MatRef, Parallelism};

const BATCH: usize = 512;
const WIDTHS: [usize; 6] = [784, 300, 300, 300, 300, 4];

/// A matrix: rows, columns, and how far apart neighbours in a column and in a row are.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    columns: usize,
    row: isize,
    column: isize,
}

impl Shape {
    fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            row: columns as isize,
            column: 1,
        }
    }

    fn turned(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row: self.column,
            column: self.row,
        }
    }
}

type Multiply = fn(&mut [f32], (&[f32], Shape), (&[f32], Shape), usize);

fn by_gemmkit(out: &mut [f32], (a, at): (&[f32], Shape), (b, bt): (&[f32], Shape), threads: usize) {
    let threads = if threads == 1 {
        Parallelism::Serial
    } else {
        Parallelism::Rayon(threads)
    };
    let view =
        |data, shape: Shape| MatRef::new(data, shape.rows, shape.columns, shape.row, shape.column);
    let out = MatMut::from_row_major(out, at.rows, bt.columns);
    gemmkit::gemm(1.0, view(a, at), view(b, bt), 0.0, out, threads);
}

#[cfg(target_arch = "x86_64")]
fn by_private(out: &mut [f32], (a, at): (&[f32], Shape), (b, bt): (&[f32], Shape), threads: usize) {
    use private_gemm_x86::{Accum, DType, DstKind, IType, InstrSet, gemm};
    let instructions = if is_x86_feature_detected!("avx512f") {
        InstrSet::Avx512
    } else {
        InstrSet::Avx256
    };
    let (none, one) = (std::ptr::null(), 1.0_f32);
    assert!(out.len() >= at.rows * bt.columns && at.columns == bt.rows);
    // SAFETY: all three matrices lie in their slices, and the processor has the instructions.
    unsafe {
        gemm(
            DType::F32,
            IType::U64,
            instructions,
            at.rows,
            bt.columns,
            at.columns,
            out.as_mut_ptr().cast(),
            bt.columns as isize,
            1,
            none,
            none,
            DstKind::Full,
            Accum::Replace,
            a.as_ptr().cast(),
            at.row,
            at.column,
            false,
            none,
            0,
            b.as_ptr().cast(),
            bt.row,
            bt.column,
            false,
            (&raw const one).cast(),
            threads,
        );
    }
}

/// All products of a step: scores, gradients of the weights, and of the inputs but the first.
fn step(multiply: Multiply, [x, w, d, out]: &mut [Vec<f32>; 4], threads: usize) {
    for (layer, widths) in WIDTHS.windows(2).enumerate() {
        let (rows, weights, slopes) = (
            Shape::new(BATCH, widths[0]),
            Shape::new(widths[1], widths[0]),
            Shape::new(BATCH, widths[1]),
        );
        multiply(out, (x, rows), (w, weights.turned()), threads);
        multiply(out, (d, slopes.turned()), (x, rows), threads);
        if layer > 0 {
            multiply(out, (d, slopes), (w, weights), threads);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads: usize = std::env::args()
        .nth(1)
        .ok_or("usage: products THREADS")?
        .parse()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let ramp = |n: usize| {
        (0..n)
            .map(|i| (i % 13) as f32 / 13.0 - 0.5)
            .collect::<Vec<f32>>()
    };
    let mut buffers = [BATCH * 784, 784 * 300, BATCH * 300, BATCH * 784].map(ramp);
    for line in std::io::stdin().lines() {
        let line = line?;
        let (name, steps) = line.split_once(' ').ok_or("expected `VARIANT STEPS`")?;
        let multiply: Multiply = match name {
            "gemmkit" => by_gemmkit,
            #[cfg(target_arch = "x86_64")]
            "private-gemm-x86" => by_private,
            _ => {
                println!("unavailable on this processor");
                continue;
            }
        };
        let start = Instant::now();
        (0..steps.parse::<usize>()?).for_each(|_| step(multiply, &mut buffers, threads));
        println!("{} NaN", start.elapsed().as_secs_f64());
        std::io::stdout().flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_multiply() {
        let (a, b): (Vec<f32>, Vec<f32>) = (
            (0..15).map(|i| i as f32).collect(),
            (0..20).map(|i| i as f32 - 7.0).collect(),
        );
        for (at, bt) in [
            (Shape::new(3, 5), Shape::new(5, 4)),
            (Shape::new(5, 3).turned(), Shape::new(4, 5).turned()),
        ] {
            let place = |shape: Shape, i: usize, j: usize| {
                (i as isize * shape.row + j as isize * shape.column) as usize
            };
            let multiplied: &[Multiply] = &[by_gemmkit, by_private];
            for multiply in multiplied {
                let mut out = vec![0.0; 12];
                multiply(&mut out, (&a, at), (&b, bt), 1);
                for i in 0..3 {
                    for j in 0..4 {
                        let sum: f32 = (0..5)
                            .map(|k| a[place(at, i, k)] * b[place(bt, k, j)])
                            .sum();
                        assert_eq!(out[i * 4 + j], sum);
                    }
                }
            }
        }
    }
}
