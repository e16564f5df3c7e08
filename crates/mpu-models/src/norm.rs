//! Batch normalisation with PyTorch's semantics, in plain tensor operations.

use candle_core::{ModuleT, Result, Tensor, Var};
use candle_nn::VarBuilder;

/// Added to the variance before its root is taken.
pub(crate) const EPS: f64 = 1e-5;

/// Share of the new batch in the running statistics.
pub(crate) const MOMENTUM: f64 = 0.1;

/// One batch normalisation over dimension 1 of a tensor of two or four dimensions.
///
/// ```text
/// y = γ (x − mean) / √(var + ε) + β
/// ```
///
/// In training, `mean` and the biased `var` are those of the batch, and the running statistics
/// become `0.9 · running + 0.1 · batch` with the *unbiased* variance. In evaluation they are the
/// running ones.
///
/// **One value per channel.** A batch of one row (for images: of one pixel) has no variance, and
/// PyTorch refuses it. Here such a batch is normalised with the running statistics also in
/// training, and does not move them: an epoch whose last batch has one row goes through.
///
/// **Why not candle-nn's.** Its batch normalisation makes NaN of a batch of one row, and copies of transposed images.
#[derive(Debug, Clone)]
pub(crate) struct BatchNorm {
    scale: Tensor,
    shift: Tensor,
    running_mean: Var,
    running_var: Var,
}

impl ModuleT for BatchNorm {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        // Statistics of few digits would be no statistics: half precision is left for them.
        let dtype = x.dtype();
        let x = x.to_dtype(self.running_mean.dtype())?;
        let channels = Channels::of(&x)?;
        let (centred, var) = if train && channels.count > 1 {
            let mean = channels.mean(&x)?;
            let centred = (&x - channels.spread(&mean)?)?;
            let var = channels.mean(&centred.sqr()?)?;
            self.update(&mean, &var, channels.count)?;
            (centred, var)
        } else {
            let mean = self.running_mean.as_detached_tensor();
            let var = self.running_var.as_detached_tensor();
            ((&x - channels.spread(&mean)?)?, var)
        };
        let [scale, shift] = [&self.scale, &self.shift].map(|values| values.to_dtype(x.dtype()));
        let slope = (scale? / (var + EPS)?.sqrt()?)?;
        let normal = (centred * channels.spread(&slope)?)? + channels.spread(&shift?)?;
        normal?.to_dtype(dtype)
    }
}

impl BatchNorm {
    pub(crate) fn new(width: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        // Of a tensor that is a variable, this is that variable, not a copy.
        let variable = |name| Var::from_tensor(&vb.get(width, name)?);
        Ok(Self {
            scale: vb.get(width, "weight")?,
            shift: vb.get(width, "bias")?,
            running_mean: variable("running_mean")?,
            running_var: variable("running_var")?,
        })
    }

    fn update(&self, mean: &Tensor, var: &Tensor, count: usize) -> Result<()> {
        let unbiased = (var.detach() * (count as f64 / (count - 1) as f64))?;
        for (running, batch) in [
            (&self.running_mean, mean.detach()),
            (&self.running_var, unbiased),
        ] {
            let kept = (running.as_tensor() * (1.0 - MOMENTUM))?;
            let moved = (kept + (batch * MOMENTUM)?)?;
            running.set(&moved.detach())?;
        }
        Ok(())
    }
}

/// Sums over channels and back, as matrix products with ones: candle's own sums over any but the last dimensions, which
/// the gradient of a broadcast needs, divide twice for every number.
struct Channels {
    /// `[n, 1]`.
    ones: Tensor,
    dims: Vec<usize>,
    /// Values of a channel.
    count: usize,
}

impl Channels {
    fn of(x: &Tensor) -> Result<Self> {
        Ok(Self {
            ones: Tensor::ones((x.dim(0)?, 1), x.dtype(), x.device())?,
            dims: x.dims().to_vec(),
            count: x.elem_count() / x.dim(1)?,
        })
    }

    /// The mean of every channel: `[c]`.
    fn mean(&self, x: &Tensor) -> Result<Tensor> {
        let of_rows = match x.rank() {
            2 => x.clone(),
            _ => x.flatten_from(2)?.sum(2)?,
        };
        let sums = self.ones.t()?.matmul(&of_rows)?;
        sums.squeeze(0)? / self.count as f64
    }

    /// `[c]` in the shape of the batch.
    fn spread(&self, values: &Tensor) -> Result<Tensor> {
        let of_rows = self.ones.matmul(&values.unsqueeze(0)?)?;
        match self.dims[..] {
            [_, _] => Ok(of_rows),
            _ => of_rows
                .unsqueeze(2)?
                .unsqueeze(3)?
                .broadcast_as(self.dims.as_slice()),
        }
    }
}

/// `max(x, 0)` whose slope at zero is zero, as in PyTorch (candle's own has slope one there).
/// NaN stays NaN.
pub(crate) fn relu(x: &Tensor) -> Result<Tensor> {
    // A number in place of the zeros would be compared by strides, which is slow.
    let zeros = x.zeros_like()?;
    x.le(&zeros)?.where_cond(&zeros, x)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    fn norm(width: usize) -> BatchNorm {
        let var = |value: f32| {
            let tensor = Tensor::full(value, width, &Device::Cpu).unwrap();
            Var::from_tensor(&tensor).unwrap()
        };
        BatchNorm {
            scale: var(2.0).into_inner(),
            shift: var(1.0).into_inner(),
            running_mean: var(0.0),
            running_var: var(1.0),
        }
    }

    #[test]
    fn a_batch_is_normalised_and_remembered() {
        let norm = norm(1);
        let x = Tensor::new(&[[1f32], [2.0], [6.0]], &Device::Cpu).unwrap();
        let y = norm.forward_t(&x, true).unwrap();
        // Mean 3, biased variance 14/3, unbiased 7.
        let inverse = 1.0 / (14f64 / 3.0 + EPS).sqrt();
        let y = y.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (y, x) in y.into_iter().zip([1.0, 2.0, 6.0]) {
            assert!((y as f64 - (2.0 * (x - 3.0) * inverse + 1.0)).abs() < 1e-6);
        }
        let mean = norm.running_mean.to_vec1::<f32>().unwrap()[0];
        let var = norm.running_var.to_vec1::<f32>().unwrap()[0];
        assert!((mean - 0.3).abs() < 1e-6, "0.9 * 0 + 0.1 * 3, not {mean}");
        assert!((var - 1.6).abs() < 1e-6, "0.9 * 1 + 0.1 * 7, not {var}");
        // Evaluation uses what was remembered and leaves it.
        let y = norm.forward_t(&x, false).unwrap().flatten_all().unwrap();
        let first = y.to_vec1::<f32>().unwrap()[0];
        assert!((first - (2.0 * (1.0 - 0.3) / 1.6f32.sqrt() + 1.0)).abs() < 1e-4);
        assert_eq!(norm.running_mean.to_vec1::<f32>().unwrap()[0], mean);
    }

    #[test]
    fn one_row_takes_the_running_statistics_and_leaves_them() {
        let norm = norm(2);
        let x = Tensor::new(&[[1f32, -3.0]], &Device::Cpu).unwrap();
        let train = norm.forward_t(&x, true).unwrap().to_vec2::<f32>().unwrap();
        let eval = norm.forward_t(&x, false).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(train, eval);
        assert_eq!(norm.running_var.to_vec1::<f32>().unwrap(), [1.0, 1.0]);
        assert_eq!(norm.running_mean.to_vec1::<f32>().unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn one_image_of_many_pixels_has_a_variance() {
        let norm = norm(1);
        let x = Tensor::new(&[[[[1f32, 3.0]]]], &Device::Cpu).unwrap();
        norm.forward_t(&x, true).unwrap();
        let var = norm.running_var.to_vec1::<f32>().unwrap()[0];
        assert!((var - (0.9 + 0.1 * 2.0)).abs() < 1e-6, "{var}");
    }

    #[test]
    fn relu_is_flat_at_zero_and_keeps_nan() {
        let x = Tensor::new(&[-1f32, 0.0, 2.0, f32::NAN], &Device::Cpu).unwrap();
        let x = Var::from_tensor(&x).unwrap();
        let y = relu(&x).unwrap();
        let values = y.to_vec1::<f32>().unwrap();
        assert_eq!(values[..3], [0.0, 0.0, 2.0]);
        assert!(values[3].is_nan());
        let grads = y.sum_all().unwrap().backward().unwrap();
        assert_eq!(
            grads.get(&x).unwrap().to_vec1::<f32>().unwrap(),
            [0.0, 0.0, 1.0, 1.0]
        );
    }
}
