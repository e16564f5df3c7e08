//! Which network: the architectures and what each needs to be built.

use std::sync::atomic::{AtomicU64, Ordering};

use mpu_data::Shape;
use serde::{Deserialize, Serialize};

use crate::dropout::Dropout;
use crate::error::{Error, Result, setting};

/// Whether a pass trains the network or only asks it.
///
/// Batch normalisation uses the statistics of the batch in training, and updates its running
/// statistics; in evaluation it uses the running statistics and leaves them alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Statistics of the batch; the running statistics move.
    Train,
    /// The same, with some values of the hidden layers left out: for perceptrons.
    Drop(Dropout),
    /// Running statistics; nothing moves.
    Eval,
}

/// A multi-layer perceptron: `Linear → ReLU → BatchNorm` for every hidden layer, then `Linear`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MlpSpec {
    /// Values in one row of the input.
    pub inputs: usize,
    /// Width of each hidden layer, first to last; may be empty (a linear model).
    pub hidden: Vec<usize>,
    /// Scores per row: the number of classes.
    pub outputs: usize,
}

/// A residual network of depth `6n + 2` for small images, with 16, 32 and 64 planes.
///
/// A first convolution, three stages of `n` blocks of two convolutions, global average pooling and
/// a linear layer. All convolutions are 3×3 with padding 1 and no bias, each followed by batch
/// normalisation. The second and third stage begin with stride 2; there the shortcut has no
/// parameters ("option A"): every second pixel, and zeros in the new planes, half of them before
/// and half after the old ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResNetSpec {
    /// Channels of an image.
    pub channels: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// Layers with weights on the main path: 8, 14, 20, 32, …
    pub depth: usize,
    /// Scores per image: the number of classes.
    pub outputs: usize,
}

/// A network that somebody wrote for candle, as it was found when it was [built](crate::Module): enough to store its
/// parameters and to know it again, but not to build it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleSpec {
    /// The shape of a row.
    pub shape: Shape,
    /// Scores per row: the number of classes.
    pub outputs: usize,
    /// Names and shapes of its variables, in the order in which it asked for them.
    pub variables: Vec<(String, Vec<usize>)>,
}

/// The architecture of a network: of ours all that is needed to build it but its weights.
///
/// An image model takes rows in the order channel, row, column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelSpec {
    /// A multi-layer perceptron.
    Mlp(MlpSpec),
    /// A residual network.
    #[serde(rename = "resnet")]
    ResNet(ResNetSpec),
    /// A network of the user's own.
    Module(ModuleSpec),
}

/// Planes of the three stages of a residual network.
pub(crate) const PLANES: [usize; 3] = [16, 32, 64];

impl ModelSpec {
    /// The paper's MLP-5: four hidden layers of 300, then `n_classes` scores.
    pub fn mlp5(inputs: usize, n_classes: usize) -> Self {
        Self::Mlp(MlpSpec {
            inputs,
            hidden: vec![300; 4],
            outputs: n_classes,
        })
    }

    /// ResNet-20 for images of `channels × height × width`.
    pub fn resnet20(channels: usize, height: usize, width: usize, n_classes: usize) -> Self {
        Self::ResNet(ResNetSpec {
            channels,
            height,
            width,
            depth: 20,
            outputs: n_classes,
        })
    }

    /// Values in one row of the input.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Mlp(mlp) => mlp.inputs,
            Self::ResNet(net) => net
                .channels
                .saturating_mul(net.height)
                .saturating_mul(net.width),
            Self::Module(module) => module.shape.len(),
        }
    }

    /// The shape of a batch of so many rows, as the network takes it.
    pub(crate) fn batch_dims(&self, n_rows: usize) -> Vec<usize> {
        match self {
            Self::Module(ModuleSpec {
                shape:
                    Shape::Image {
                        channels,
                        height,
                        width,
                    },
                ..
            })
            | Self::ResNet(ResNetSpec {
                channels,
                height,
                width,
                ..
            }) => vec![n_rows, *channels, *height, *width],
            _ => vec![n_rows, self.inputs()],
        }
    }

    /// Scores per row.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Mlp(mlp) => mlp.outputs,
            Self::ResNet(net) => net.outputs,
            Self::Module(module) => module.outputs,
        }
    }

    /// Refuses what cannot be built.
    pub fn check(&self) -> Result<()> {
        let at_least_one = |field, found| match found {
            0 => Err(setting(field, 0.0, "at least 1")),
            _ => Ok(()),
        };
        at_least_one("outputs", self.outputs())?;
        match self {
            Self::Module(module) => {
                at_least_one("inputs", module.shape.len())?;
                at_least_one("variables", module.variables.len())
            }
            Self::Mlp(mlp) => {
                at_least_one("inputs", mlp.inputs)?;
                mlp.hidden
                    .iter()
                    .try_for_each(|&width| at_least_one("hidden width", width))?;
                let widths = [mlp.inputs].into_iter().chain(mlp.hidden.iter().copied());
                let next = mlp.hidden.iter().copied().chain([mlp.outputs]);
                check_weights(widths.zip(next).map(|(from, to)| from as f64 * to as f64))
            }
            Self::ResNet(net) => {
                at_least_one("channels", net.channels)?;
                at_least_one("height", net.height)?;
                at_least_one("width", net.width)?;
                if net.depth < 8 || !(net.depth - 2).is_multiple_of(6) {
                    let allowed = "6n + 2 with n at least 1 (8, 14, 20, 26, 32, …)";
                    return Err(setting("depth", net.depth as f64, allowed));
                }
                // Whatever the stage, a convolution counts as a layer of the least size.
                check_weights([net.depth as f64 * LEAST_LAYER].into_iter())
            }
        }
    }
}

/// What a layer counts as, at least: it takes time and memory besides its weights.
const LEAST_LAYER: f64 = (1 << 17) as f64;

/// How many weights a network may have.
static MOST_WEIGHTS: AtomicU64 = AtomicU64::new(1 << 28);

/// Sets how many weights a network may have, for the whole process; else it is 2²⁸, 1 GB. A layer counts as 2¹⁷ or more.
///
/// A guard against networks that would fill the memory before anybody notices. No result depends on it.
pub fn allow_weights(most: u64) {
    MOST_WEIGHTS.store(most, Ordering::Relaxed);
}

/// Refuses too many weights, given those of every layer.
fn check_weights(layers: impl Iterator<Item = f64>) -> Result<()> {
    let found: f64 = layers.map(|weights| weights.max(LEAST_LAYER)).sum();
    let most = MOST_WEIGHTS.load(Ordering::Relaxed);
    if found > most as f64 {
        return Err(Error::TooManyWeights { found, most });
    }
    Ok(())
}

impl ResNetSpec {
    /// Blocks in each of the three stages.
    pub fn blocks_per_stage(&self) -> usize {
        self.depth.saturating_sub(2) / 6
    }

    /// The blocks in order, with the sizes of their images.
    pub(crate) fn blocks(&self) -> Vec<BlockShape> {
        let mut blocks = Vec::new();
        let (mut inputs, mut height, mut width) = (PLANES[0], self.height, self.width);
        for (stage, planes) in PLANES.into_iter().enumerate() {
            for index in 0..self.blocks_per_stage() {
                let stride = if stage > 0 && index == 0 { 2 } else { 1 };
                blocks.push(BlockShape {
                    stage,
                    index,
                    inputs,
                    planes,
                    stride,
                    height,
                    width,
                });
                (inputs, height, width) = (planes, height.div_ceil(stride), width.div_ceil(stride));
            }
        }
        blocks
    }
}

/// One residual block: two convolutions, the first of which may halve the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockShape {
    /// The stage, from 0.
    pub(crate) stage: usize,
    /// Its place in the stage, from 0.
    pub(crate) index: usize,
    /// Planes that enter.
    pub(crate) inputs: usize,
    /// Planes that leave.
    pub(crate) planes: usize,
    /// 1, or 2 where the image is halved.
    pub(crate) stride: usize,
    /// Rows that enter.
    pub(crate) height: usize,
    /// Columns that enter.
    pub(crate) width: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_models_are_the_papers() {
        let ModelSpec::Mlp(mlp) = ModelSpec::mlp5(784, 4) else {
            panic!("an MLP")
        };
        assert_eq!(
            (mlp.inputs, mlp.hidden, mlp.outputs),
            (784, vec![300; 4], 4)
        );
        let ModelSpec::ResNet(net) = ModelSpec::resnet20(3, 32, 32, 10) else {
            panic!("a ResNet")
        };
        let blocks = net.blocks();
        assert_eq!(blocks.len(), 9);
        assert_eq!(blocks.iter().filter(|block| block.stride == 2).count(), 2);
        assert_eq!(
            (blocks[8].height, blocks[8].width, blocks[8].planes),
            (8, 8, 64)
        );
    }

    #[test]
    fn odd_images_halve_upwards() {
        let ModelSpec::ResNet(net) = ModelSpec::resnet20(1, 7, 5, 2) else {
            panic!("a ResNet")
        };
        let last = net.blocks()[8];
        assert_eq!((last.height, last.width), (2, 2));
    }

    #[test]
    fn impossible_models_are_refused() {
        let mlp = |hidden: Vec<usize>| {
            ModelSpec::Mlp(MlpSpec {
                inputs: 10,
                hidden,
                outputs: 3,
            })
        };
        assert!(mlp(vec![10_000, 10_000]).check().is_ok());
        assert!(mlp(vec![100_000, 100_000]).check().is_err());
        assert!(mlp(vec![usize::MAX, usize::MAX]).check().is_err());
        assert!(mlp(vec![1; 1000]).check().is_ok());
        let told = mlp(vec![1; 100_000]).check().unwrap_err().to_string();
        assert!(told.contains("MPU_MAX_WEIGHTS"), "{told}");
        assert!(ModelSpec::mlp5(0, 4).check().is_err());
        assert!(ModelSpec::mlp5(4, 0).check().is_err());
        assert!(ModelSpec::resnet20(3, 0, 32, 10).check().is_err());
        let depths = [
            (2, false),
            (7, false),
            (8, true),
            (20, true),
            (21, false),
            (1202, true),
            (600_002, false),
        ];
        for (depth, good) in depths {
            let net = ResNetSpec {
                channels: 3,
                height: 8,
                width: 8,
                depth,
                outputs: 2,
            };
            assert_eq!(
                ModelSpec::ResNet(net).check().is_ok(),
                good,
                "depth {depth}"
            );
        }
    }

    #[test]
    fn a_spec_survives_json() {
        for spec in [ModelSpec::mlp5(12, 3), ModelSpec::resnet20(3, 8, 8, 2)] {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<ModelSpec>(&text).unwrap(), spec);
        }
        let text = serde_json::to_string(&ModelSpec::mlp5(12, 3)).unwrap();
        assert!(text.starts_with(r#"{"kind":"mlp","inputs":12"#), "{text}");
    }
}
