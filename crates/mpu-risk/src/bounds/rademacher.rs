//! Rademacher complexities of norm-bounded networks, from the weights of a trained one.

use super::check_non_negative;
use crate::error::{Error, Result, check_not_empty};
use mpu_data::bad_setting;

/// The norms of one layer's weight matrix that capacity bounds are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// The spectral norm `‖W‖₂`.
    pub spectral: f64,
    /// The sum of the Euclidean norms of the rows of `W` (one row an output), `‖Wᵀ‖_{2,1}`.
    pub row_sum: f64,
    /// The larger of the numbers of inputs and outputs.
    pub width: usize,
}

impl Layer {
    /// The norms of a row-major `n_outputs × n_inputs` matrix.
    ///
    /// Fold a batch normalisation into the matrix first: at evaluation it is a scale per output.
    pub fn new(weights: &[f64], n_outputs: usize, n_inputs: usize) -> Result<Self> {
        let needed = n_outputs * n_inputs;
        if needed == 0 || weights.len() != needed {
            let what = "the weight matrix";
            return Err(Error::Length {
                what,
                found: weights.len(),
                needed,
            });
        }
        if let Some(&value) = weights.iter().find(|w| !w.is_finite()) {
            return Err(bad_setting("a weight", value, "finite"));
        }
        let row_sum = weights.chunks(n_inputs).map(norm).sum();
        let spectral = spectral_norm(weights, n_inputs);
        Ok(Self {
            spectral,
            row_sum,
            width: n_outputs.max(n_inputs),
        })
    }
}

/// A network as capacity bounds see it: norms of its layers and of its inputs.
///
/// Activations must be 1-Lipschitz and map 0 to 0 (ReLU); biases count as weights of an input that
/// is always one.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    input_norm: f64,
}

impl Network {
    /// Takes the layers from first to last and `B`, the largest Euclidean norm of an input.
    pub fn new(layers: Vec<Layer>, input_norm: f64) -> Result<Self> {
        check_not_empty("the layers", &layers)?;
        check_non_negative("the input norm", &[input_norm])?;
        Ok(Self { layers, input_norm })
    }

    /// The spectral-norm product bound.
    ///
    /// ```text
    /// ℜ_n(G_j) ≤ (B / √n) · Π_l ‖W_l‖₂
    /// ```
    ///
    /// It is the complexity of the linear functions with norm at most `‖W_L‖₂` on the features of
    /// the trained hidden layers, whose norm is at most `B · Π_{l<L} ‖W_l‖₂`. That class holds the
    /// hidden layers fixed: for the class of all networks with these norms use
    /// [`complexity`](Self::complexity), which is larger.
    #[doc(alias = "eq:spectral-product")]
    pub fn spectral_product(&self, n: usize) -> f64 {
        self.reach() / (n as f64).sqrt()
    }

    /// A bound for the class of all networks whose layers have at most these norms, hidden layers
    /// included.
    ///
    /// ```text
    /// ℜ_n(G_j) ≤ min( M, 12 R/√n · (1 + log(M√n / (3R))) )
    /// M = B Π_l s_l,   R = M √log(2W²) ( Σ_l (b_l/s_l)^{2/3} )^{3/2}
    /// ```
    ///
    /// with `s_l` the spectral norm, `b_l` the sum of row norms and `W` the largest width: the
    /// covering numbers of Bartlett, Foster and Telgarsky (2017, Theorem 3.3, reference matrices 0)
    /// in Dudley's integral, its lower limit chosen to be `3R`. Like all such bounds it is vacuous
    /// (equal to `M`) for networks and samples of ordinary size.
    #[doc(alias = "eq:spectrally-normalized")]
    pub fn complexity(&self, n: usize) -> f64 {
        let reach = self.reach();
        if reach == 0.0 {
            return 0.0;
        }
        let width = self
            .layers
            .iter()
            .map(|layer| layer.width)
            .max()
            .unwrap_or(1) as f64;
        let ratios: f64 = self
            .layers
            .iter()
            .map(|l| (l.row_sum / l.spectral).powf(2.0 / 3.0))
            .sum();
        let r = reach * (2.0 * width * width).ln().sqrt() * ratios.powf(1.5);
        let root = (n as f64).sqrt();
        let logarithm = (reach * root / (3.0 * r)).ln();
        if logarithm <= 0.0 {
            return reach;
        }
        reach.min(12.0 * r / root * (1.0 + logarithm))
    }

    /// `B Π_l ‖W_l‖₂`: the largest score there can be.
    fn reach(&self) -> f64 {
        self.input_norm
            * self
                .layers
                .iter()
                .map(|layer| layer.spectral)
                .product::<f64>()
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The largest singular value, by power iteration on `WᵀW` from a fixed start.
fn spectral_norm(weights: &[f64], n_inputs: usize) -> f64 {
    // A start with unequal entries, so that no symmetric matrix is orthogonal to it.
    let mut v: Vec<f64> = (0..n_inputs)
        .map(|i| 1.0 + (i as f64 * 0.618_033_988_75).fract())
        .collect();
    let mut value = 0.0;
    for _ in 0..10_000 {
        let length = norm(&v);
        for x in &mut v {
            *x /= length;
        }
        let image: Vec<f64> = weights
            .chunks(n_inputs)
            .map(|row| row.iter().zip(&v).map(|(w, x)| w * x).sum())
            .collect();
        let next = norm(&image);
        if next == 0.0 {
            return 0.0;
        }
        let mut back = vec![0.0; n_inputs];
        for (row, y) in weights.chunks(n_inputs).zip(&image) {
            back.iter_mut().zip(row).for_each(|(b, w)| *b += w * y);
        }
        v = back;
        if (next - value).abs() <= 1e-13 * next {
            return next;
        }
        value = next;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_by_hand() {
        // Rows (3, 0) and (0, -4): spectral 4, row sum 7.
        let layer = Layer::new(&[3.0, 0.0, 0.0, -4.0], 2, 2).unwrap();
        assert!((layer.spectral - 4.0).abs() < 1e-9);
        assert_eq!((layer.row_sum, layer.width), (7.0, 2));
        // Rank one, 3 x 2: u vᵀ has the norm |u||v|.
        let (u, v) = ([1.0, 2.0, 2.0], [3.0, 4.0]);
        let outer: Vec<f64> = u.iter().flat_map(|u| v.map(|v| u * v)).collect();
        assert!((Layer::new(&outer, 3, 2).unwrap().spectral - 15.0).abs() < 1e-9);
        // [[1, 1], [0, 1]]: the golden ratio.
        let shear = Layer::new(&[1.0, 1.0, 0.0, 1.0], 2, 2).unwrap();
        assert!((shear.spectral - 0.5 * (1.0 + 5f64.sqrt())).abs() < 1e-9);
        assert_eq!(Layer::new(&[0.0; 4], 2, 2).unwrap().spectral, 0.0);
    }

    fn network() -> Network {
        let layers = vec![
            Layer {
                spectral: 2.0,
                row_sum: 2.0,
                width: 4,
            },
            Layer {
                spectral: 0.5,
                row_sum: 4.0,
                width: 4,
            },
        ];
        Network::new(layers, 3.0).unwrap()
    }

    #[test]
    fn bounds_by_hand_and_falling() {
        let network = network();
        assert!((network.spectral_product(9) - 1.0).abs() < 1e-12);
        // M = 3, Σ (b/s)^{2/3} = 1 + 4 = 5, R = 3 √log 32 · 5^{1.5}.
        let r = 3.0 * 32f64.ln().sqrt() * 5f64.powf(1.5);
        let n = 1usize << 50;
        let root = (n as f64).sqrt();
        let want = 12.0 * r / root * (1.0 + (3.0 * root / (3.0 * r)).ln());
        assert!((network.complexity(n) - want).abs() < 1e-12);
        assert_eq!(
            network.complexity(100),
            3.0,
            "vacuous for small samples, and no worse"
        );
        let mut last = f64::INFINITY;
        for n in [1, 100, 10_000, 1 << 24, 1 << 30, 1 << 40] {
            assert!(network.complexity(n) <= last);
            assert!(network.spectral_product(n) <= network.complexity(n));
            last = network.complexity(n);
        }
    }

    /// The product bound dominates the exact complexity of a linear class, computed by enumerating
    /// all signs: sup over ‖w‖ ≤ s of ⟨w, Σ σ x⟩/n is s ‖Σ σ x‖/n.
    #[test]
    fn the_product_bound_covers_an_enumerated_linear_class() {
        let points: [[f64; 2]; 6] = [
            [1.0, 0.0],
            [0.6, 0.8],
            [-0.5, 0.5],
            [0.0, -1.0],
            [0.3, 0.1],
            [0.8, -0.6],
        ];
        let n = points.len();
        let total: f64 = (0..1u32 << n)
            .map(|signs| {
                let sum = points.iter().enumerate().fold([0.0, 0.0], |acc, (i, x)| {
                    let sign = if signs >> i & 1 == 1 { 1.0 } else { -1.0 };
                    [acc[0] + sign * x[0], acc[1] + sign * x[1]]
                });
                2.0 * norm(&sum) / n as f64
            })
            .sum();
        let exact = total / f64::from(1u32 << n);
        let layer = Layer {
            spectral: 2.0,
            row_sum: 2.0,
            width: 2,
        };
        let bound = Network::new(vec![layer], 1.0).unwrap().spectral_product(n);
        assert!(exact <= bound && exact > bound / 3.0, "{exact} {bound}");
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(Layer::new(&[1.0; 3], 2, 2).is_err() && Layer::new(&[], 0, 2).is_err());
        assert!(Layer::new(&[f64::NAN], 1, 1).is_err());
        assert!(Network::new(vec![], 1.0).is_err());
        assert!(Network::new(network().layers, f64::INFINITY).is_err());
    }
}
