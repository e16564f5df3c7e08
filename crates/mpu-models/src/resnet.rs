//! The residual network in plain tensor operations.

use candle_core::{Result, Tensor, Var};

use crate::mlp::Linear;
use crate::norm::{BatchNorm, relu};
use crate::spec::Mode;

/// A 3×3 convolution with padding 1 and no bias, then batch normalisation.
#[derive(Debug, Clone)]
pub(crate) struct ConvNorm {
    pub(crate) weight: Var,
    pub(crate) norm: BatchNorm,
    pub(crate) stride: usize,
}

impl ConvNorm {
    fn forward(&self, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let (_, _, height, width) = x.dims4()?;
        let weight = self.weight.as_tensor();
        let conv = if self.stride == 1 || height % 2 == width % 2 {
            x.conv2d(weight, 1, self.stride, 1, 1)?
        } else {
            // Candle's gradient of a strided convolution takes the width for as odd or even as
            // the height.
            subsample(&x.conv2d(weight, 1, 1, 1, 1)?, self.stride)?
        };
        self.norm.forward(&conv, mode)
    }
}

/// Two convolutions beside a shortcut.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) first: ConvNorm,
    pub(crate) second: ConvNorm,
}

impl Block {
    fn forward(&self, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let inner = relu(&self.first.forward(x, mode)?)?;
        let outer = self.second.forward(&inner, mode)?;
        let short = shortcut(x, self.first.stride, outer.dim(1)?)?;
        relu(&(outer + short)?)
    }
}

/// Option A: every `stride`-th pixel, and zeros in the new planes, half before and half after.
fn shortcut(x: &Tensor, stride: usize, planes: usize) -> Result<Tensor> {
    if stride == 1 {
        return Ok(x.clone());
    }
    let extra = planes - x.dim(1)?;
    subsample(x, stride)?.pad_with_zeros(1, extra / 2, extra - extra / 2)
}

/// Every `stride`-th pixel.
fn subsample(x: &Tensor, stride: usize) -> Result<Tensor> {
    let (_, _, height, width) = x.dims4()?;
    let every = |size: usize| Tensor::arange_step(0u32, size as u32, stride as u32, x.device());
    x.index_select(&every(height)?, 2)?
        .index_select(&every(width)?, 3)
}

/// A first convolution, the blocks, global average pooling and a linear layer.
#[derive(Debug, Clone)]
pub(crate) struct ResNet {
    pub(crate) stem: ConvNorm,
    pub(crate) blocks: Vec<Block>,
    pub(crate) head: Linear,
}

impl ResNet {
    /// Scores `[n, outputs]` of images `[n, channels, height, width]`.
    pub(crate) fn forward(&self, x: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut x = relu(&self.stem.forward(x, mode)?)?;
        for block in &self.blocks {
            x = block.forward(&x, mode)?;
        }
        self.head.forward(&x.mean((2, 3))?)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn the_shortcut_subsamples_and_pads() {
        let x = Tensor::arange(0f32, 18.0, &Device::Cpu)
            .unwrap()
            .reshape((1, 2, 3, 3))
            .unwrap();
        let y = shortcut(&x, 2, 4).unwrap();
        assert_eq!(y.dims(), [1, 4, 2, 2]);
        let y = y.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(y[..4], [0.0; 4]);
        assert_eq!(y[4..8], [0.0, 2.0, 6.0, 8.0]);
        assert_eq!(y[8..12], [9.0, 11.0, 15.0, 17.0]);
        assert_eq!(y[12..], [0.0; 4]);
    }
}
