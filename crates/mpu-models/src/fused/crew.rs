//! The work of a perceptron's step in pieces, and the threads that share them.

use std::ops::Range;

use crate::kernels::isa::Isa;
use crate::kernels::panels::{self, LeftOut, Unit, transpose};
use crate::kernels::tile::{Place, Product};
use crate::norm::EPS;
use crate::threads::Threads;

/// Products of fewer multiplications are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 20;

/// Copies some columns of a row of the batch.
pub(super) type CopyRow<'a> = &'a (dyn Fn(usize, Range<usize>, &mut [f32]) + Sync);

/// What there is to do between two meetings of the threads; the tasks do not need one another.
pub(super) enum Task<'a> {
    /// A block of a hidden layer in training.
    Train {
        product: Product<'a>,
        units: &'a mut [Unit],
        normal: Place<'a>,
        gammas: &'a [f32],
        betas: &'a [f32],
        left_out: Option<LeftOut>,
    },
    /// A block of a hidden layer whose statistics are known.
    Known {
        product: Product<'a>,
        units: &'a [Unit],
    },
    /// Only the product: scores, or some of the gradient of the weights.
    Product(Product<'a>),
    /// The gradient of the outcome of a block of a hidden layer.
    Back {
        product: Product<'a>,
        units: &'a mut [Unit],
        /// The values after the ReLU of the whole layer, and where the block begins in it.
        active: &'a [f32],
        first: usize,
        share: f64,
        left_out: Option<LeftOut>,
    },
    /// A panel of units, a line for each row.
    Turn {
        from: &'a [f32],
        n_units: usize,
        first: usize,
        out: &'a mut [f32],
    },
    /// A panel of rows of the input, from the rows.
    Pack { rows: &'a [f32], out: &'a mut [f32] },
    /// The same, number `panel`, from all panels of columns.
    PackLines {
        lines: &'a [f32],
        panel: usize,
        out: &'a mut [f32],
    },
    /// A panel of columns of the input.
    Gather {
        copy: CopyRow<'a>,
        columns: Range<usize>,
        out: &'a mut [f32],
    },
}

impl Unit {
    /// Takes mean and variance, and what the normalised values are multiplied by and moved to.
    pub(super) fn normalize(&mut self, mean: f32, var: f64, gamma: f32, beta: f32) {
        self.mean = mean;
        self.inverse = (1.0 / (var + EPS).sqrt()) as f32;
        self.scale = gamma * self.inverse;
        self.shift = beta - mean * self.scale;
    }

    /// From the sums `Σ dy` and `Σ dy (x − mean)`: the gradients of scale and shift, and what the pass back multiplies by. `share` is
    /// that of a row in the statistics.
    fn turn(&mut self, share: f64) {
        let ([sum, product], inverse) = (self.sums, f64::from(self.inverse));
        let scale = f64::from(self.scale);
        self.gradients = [(product * inverse) as f32, sum as f32, 0.0];
        self.a = scale as f32;
        self.b = (-scale * inverse * inverse * product * share) as f32;
        self.c = (-scale * sum * share) as f32;
    }
}

/// Who does the tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crew {
    isa: Isa,
    threads: Threads,
}

impl Crew {
    /// Small work is done by one.
    pub(super) fn new(isa: Isa, threads: Threads, products: usize) -> Self {
        let threads = if products < WORTH_A_THREAD {
            Threads::ONE
        } else {
            threads
        };
        Self { isa, threads }
    }

    /// Does all tasks on a batch of `n` rows with so many inputs.
    pub(super) fn work<'a>(self, inputs: usize, n: usize, tasks: impl Iterator<Item = Task<'a>>) {
        self.threads
            .for_each(tasks, |task| self.one(inputs, n, task));
    }

    fn one(self, inputs: usize, n: usize, task: Task<'_>) {
        let (isa, width) = (self.isa, self.isa.panel());
        match task {
            Task::Product(mut product) => product.compute(isa),
            Task::Known { mut product, units } => {
                product.compute(isa);
                panels::bias_relu_affine(isa, &mut product.out, units);
            }
            Task::Train {
                mut product,
                units,
                mut normal,
                gammas,
                betas,
                left_out,
            } => {
                product.compute(isa);
                let z = &mut product.out;
                panels::bias_relu_sum(isa, z, n, units);
                for unit in units.iter_mut() {
                    unit.mean = (unit.sums[0] / n as f64) as f32;
                }
                panels::squared_deviation(isa, z, n, units);
                for ((unit, &gamma), &beta) in units.iter_mut().zip(gammas).zip(betas) {
                    unit.normalize(unit.mean, unit.sums[1] / n as f64, gamma, beta);
                }
                panels::affine(isa, z, units, &mut normal);
                panels::leave_out(isa, &mut normal, left_out);
            }
            Task::Back {
                mut product,
                units,
                active,
                first,
                share,
                left_out,
            } => {
                product.compute(isa);
                let dy = &mut product.out;
                panels::leave_out(isa, dy, left_out);
                panels::norm_sums(isa, dy, dy.beside(active, first), units);
                for unit in units.iter_mut() {
                    unit.turn(share);
                }
                panels::norm_relu_backward(isa, dy, dy.beside(active, first), units);
                for unit in units.iter_mut() {
                    unit.gradients[2] = unit.sums[0] as f32;
                }
            }
            Task::Turn {
                from,
                n_units,
                first,
                out,
            } => {
                let count = width.min(n_units - first);
                let outs = out.chunks_exact_mut(width * width);
                for (from, out) in from.chunks_exact(n_units * width).zip(outs) {
                    transpose(isa, &from[first * width..], width, count, width, out, width);
                }
            }
            Task::Pack { rows, out } => {
                let count = rows.len() / inputs;
                if count < width {
                    out.fill(0.0);
                }
                transpose(isa, rows, inputs, count, inputs, out, width);
            }
            Task::PackLines { lines, panel, out } => {
                let pitch = n.next_multiple_of(width) * width;
                let blocks = lines.chunks(pitch).zip(out.chunks_mut(width * width));
                for (lines, out) in blocks {
                    let (lines, columns) = (&lines[panel * width * width..], out.len() / width);
                    transpose(isa, lines, width, width, columns, out, width);
                }
            }
            Task::Gather { copy, columns, out } => {
                let mut lines = out.chunks_exact_mut(width);
                for (row, line) in lines.by_ref().take(n).enumerate() {
                    copy(row, columns.clone(), &mut line[..columns.len()]);
                }
                lines.for_each(|line| line.fill(0.0));
            }
        }
    }
}
