//! The residual network in candle's layers.

use candle_core::{Module as _, ModuleT, Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, Linear, VarBuilder, conv2d_no_bias, linear};

use crate::norm::{BatchNorm, relu};
use crate::spec::{BlockShape, PLANES, ResNetSpec};

/// A 3×3 convolution with padding 1 and no bias, then batch normalisation.
#[derive(Debug, Clone)]
struct ConvNorm {
    conv: Conv2d,
    norm: BatchNorm,
}

impl ConvNorm {
    /// The layers `conv{name}` and `bn{name}`.
    fn new(
        (inputs, planes): (usize, usize),
        stride: usize,
        name: usize,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let config = config(stride);
        Ok(Self {
            conv: conv2d_no_bias(inputs, planes, 3, config, vb.pp(format!("conv{name}")))?,
            norm: BatchNorm::new(planes, &vb.pp(format!("bn{name}")))?,
        })
    }

    fn stride(&self) -> usize {
        self.conv.config().stride
    }
}

impl ModuleT for ConvNorm {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let (_, _, height, width) = x.dims4()?;
        let stride = self.stride();
        let conv = if stride == 1 || height % 2 == width % 2 {
            self.conv.forward(x)?
        } else {
            // Candle's gradient of a strided convolution takes the width for as odd or even as
            // the height.
            let whole = Conv2d::new(self.conv.weight().clone(), None, config(1));
            subsample(&whole.forward(x)?, stride)?
        };
        self.norm.forward_t(&conv, train)
    }
}

fn config(stride: usize) -> Conv2dConfig {
    Conv2dConfig {
        padding: 1,
        stride,
        ..Conv2dConfig::default()
    }
}

/// Two convolutions beside a shortcut.
#[derive(Debug, Clone)]
struct Block {
    first: ConvNorm,
    second: ConvNorm,
}

impl Block {
    fn new(shape: &BlockShape, vb: &VarBuilder<'_>) -> Result<Self> {
        let vb = vb.pp(format!("layer{}", shape.stage + 1)).pp(shape.index);
        let planes = shape.planes;
        Ok(Self {
            first: ConvNorm::new((shape.inputs, planes), shape.stride, 1, &vb)?,
            second: ConvNorm::new((planes, planes), 1, 2, &vb)?,
        })
    }
}

impl ModuleT for Block {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let inner = relu(&self.first.forward_t(x, train)?)?;
        let outer = self.second.forward_t(&inner, train)?;
        let short = shortcut(x, self.first.stride(), outer.dim(1)?)?;
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
    stem: ConvNorm,
    blocks: Vec<Block>,
    head: Linear,
}

impl ResNet {
    pub(crate) fn new(spec: &ResNetSpec, vb: &VarBuilder<'_>) -> Result<Self> {
        let blocks = spec.blocks();
        Ok(Self {
            stem: ConvNorm::new((spec.channels, PLANES[0]), 1, 1, vb)?,
            blocks: blocks
                .iter()
                .map(|shape| Block::new(shape, vb))
                .collect::<Result<_>>()?,
            head: linear(PLANES[2], spec.outputs, vb.pp("linear"))?,
        })
    }
}

impl ModuleT for ResNet {
    /// Scores `[n, outputs]` of images `[n, channels, height, width]`.
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let mut x = relu(&self.stem.forward_t(x, train)?)?;
        for block in &self.blocks {
            x = block.forward_t(&x, train)?;
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
