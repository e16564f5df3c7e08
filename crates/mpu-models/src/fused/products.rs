//! The matrix products of a training step and nothing else: what the step is measured against.

use crate::error::{Error, Result, own_network};
use crate::kernels::isa::Isa;
use crate::kernels::matmul::{self, Mat};
use crate::kernels::tile;
use crate::spec::{BlockShape, ModelSpec, PLANES};
use crate::threads::Threads;

/// Runs the matrix products of one training step, on numbers of no meaning.
///
/// They are computed by the `gemm` crate, one after the other. For a perceptron they have the sizes of those in
/// [`Workspace`](super::Workspace), which has kernels of its own. For a residual
/// network, which convolves directly, they are those of the same arithmetic written as products
/// with the patches of one image, already gathered. The gradient of the input is left out, as in
/// the step.
#[derive(Debug)]
pub struct Products {
    list: Vec<Product>,
    a: Vec<f32>,
    b: Vec<f32>,
    out: Vec<f32>,
    threads: Threads,
}

/// `repeat` times `rows × depth` by `depth × cols`.
#[derive(Debug, Clone, Copy)]
struct Product {
    rows: usize,
    depth: usize,
    cols: usize,
    order: Order,
    repeat: usize,
}

/// Which operand is stored with rows and columns exchanged.
#[derive(Debug, Clone, Copy)]
enum Order {
    First,
    Second,
    Neither,
}

/// Multiplies and adds in registers, in `12 · n` steps of twelve chains that do not wait for one another: what one core can do at
/// most. The answer is how many additions and multiplications that was.
pub fn fma_chains(n: usize) -> f64 {
    tile::fma_chains(Isa::detect(), n)
}

impl Products {
    /// The products of a step on a batch of `n_rows` rows.
    pub fn new(spec: &ModelSpec, n_rows: usize, threads: Threads) -> Result<Self> {
        spec.check()?;
        if n_rows == 0 {
            return Err(Error::BatchSize {
                found: 0,
                max: usize::MAX,
            });
        }
        let mut list = Vec::new();
        match spec {
            ModelSpec::Mlp(mlp) => {
                let mut inputs = mlp.inputs;
                for (index, &outputs) in mlp.hidden.iter().chain([&mlp.outputs]).enumerate() {
                    push_layer(&mut list, n_rows, inputs, outputs, index > 0, 1);
                    inputs = outputs;
                }
            }
            ModelSpec::Module(_) => return Err(own_network("the list of matrix products")),
            ModelSpec::ResNet(net) => {
                let pixels = net.height * net.width;
                push_layer(
                    &mut list,
                    pixels,
                    9 * net.channels,
                    PLANES[0],
                    false,
                    n_rows,
                );
                for BlockShape {
                    inputs,
                    planes,
                    stride,
                    height,
                    width,
                    ..
                } in net.blocks()
                {
                    let pixels = height.div_ceil(stride) * width.div_ceil(stride);
                    push_layer(&mut list, pixels, 9 * inputs, planes, true, n_rows);
                    push_layer(&mut list, pixels, 9 * planes, planes, true, n_rows);
                }
                push_layer(&mut list, n_rows, PLANES[2], net.outputs, true, 1);
            }
        }
        let longest = |size: fn(&Product) -> usize| list.iter().map(size).max().unwrap_or(0);
        let ramp = |n: usize| (0..n).map(|i| (i % 13) as f32 / 13.0 - 0.5).collect();
        Ok(Self {
            a: ramp(longest(|p| p.rows * p.depth)),
            b: ramp(longest(|p| p.depth * p.cols)),
            out: vec![0.0; longest(|p| p.rows * p.cols)],
            list,
            threads,
        })
    }

    /// Computes them all once.
    pub fn run(&mut self) {
        for &Product {
            rows,
            depth,
            cols,
            order,
            repeat,
        } in &self.list
        {
            let (a, b) = match order {
                Order::First => (
                    Mat::new(&self.a, depth, rows).t(),
                    Mat::new(&self.b, depth, cols),
                ),
                Order::Second => (
                    Mat::new(&self.a, rows, depth),
                    Mat::new(&self.b, cols, depth).t(),
                ),
                Order::Neither => (
                    Mat::new(&self.a, rows, depth),
                    Mat::new(&self.b, depth, cols),
                ),
            };
            for _ in 0..repeat {
                let parts = matmul::Product::parts(a, b, &mut self.out, self.threads);
                self.threads.for_each(parts, matmul::Product::compute);
            }
        }
    }

    /// Additions and multiplications in one run.
    pub fn flops(&self) -> f64 {
        let one = |p: &Product| 2.0 * (p.rows * p.depth * p.cols * p.repeat) as f64;
        self.list.iter().map(one).sum()
    }
}

/// Scores, the gradient of the weights, and that of the input unless it is the first layer.
fn push_layer(
    list: &mut Vec<Product>,
    n: usize,
    inputs: usize,
    outputs: usize,
    back: bool,
    repeat: usize,
) {
    let mut push = |rows, depth, cols, order| {
        list.push(Product {
            rows,
            depth,
            cols,
            order,
            repeat,
        });
    };
    push(n, inputs, outputs, Order::Second);
    push(outputs, n, inputs, Order::First);
    if back {
        push(n, outputs, inputs, Order::Neither);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_are_those_of_the_step() {
        let mut mlp = Products::new(&ModelSpec::mlp5(784, 4), 512, Threads::ONE).unwrap();
        let forward = 784 * 300 + 3 * 300 * 300 + 300 * 4;
        assert_eq!(mlp.flops(), 2.0 * 512.0 * (3 * forward - 784 * 300) as f64);
        mlp.run();
        // 40.6 million products forward in ResNet-20; the first layer's 0.44 million once less.
        let net = Products::new(&ModelSpec::resnet20(3, 32, 32, 10), 1, Threads::ONE).unwrap();
        assert_eq!(net.flops(), 2.0 * (3.0 * 40_551_040.0 - 442_368.0));
    }
}
