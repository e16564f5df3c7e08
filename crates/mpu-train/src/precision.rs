//! The numbers that a network computes with.

use candle_core::{DType, Device, Tensor};
use mpu_models::ModelSpec;

use crate::device::DeviceChoice;
use crate::engine::EngineChoice;
use crate::error::{Error, Result};

/// The numbers that a network computes with. Parameters, the optimiser's memory, batch normalisation and the risk stay
/// in `f32` all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// 16 bits with the range of 32 (bfloat16): forward and backward passes of the candle engine, on devices that have it.
    Bf16,
}

mpu_data::named!(Precision, "precision", { F32 => "f32", Bf16 => "bf16" });

impl Precision {
    /// Whether it is the default.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub fn is_f32(&self) -> bool {
        *self == Self::F32
    }

    pub(crate) fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
        }
    }

    /// Whether an engine and a device compute with it, for a network if one is named; without an engine, the one that does is
    /// meant.
    pub fn check(
        self,
        engine: Option<EngineChoice>,
        device: DeviceChoice,
        model: Option<&ModelSpec>,
    ) -> Result<()> {
        if self.is_f32() {
            return Ok(());
        }
        if engine == Some(EngineChoice::Fused) {
            return Err(Error::Precision {
                precision: self,
                why: "the fused engine computes in f32".to_owned(),
                instead: "`--engine candle`",
            });
        }
        let device = device.resolve()?.unwrap_or(Device::Cpu);
        // What the network needs; nothing is read back.
        let (what, done) = if let Some(ModelSpec::ResNet(_)) = model {
            let ones = Tensor::ones((1, 1, 3, 3), self.dtype(), &device);
            let done = ones.and_then(|ones| ones.conv2d(&ones, 1, 1, 1, 1));
            ("convolutions", done)
        } else {
            let ones = Tensor::ones((2, 2), self.dtype(), &device);
            ("matrix products", ones.and_then(|ones| ones.matmul(&ones)))
        };
        done.map_err(|error| Error::Precision {
            precision: self,
            why: format!(
                "this device has no {what} of such numbers ({})",
                error.to_string().lines().next().unwrap_or_default()
            ),
            instead: "a device that has them, such as `--device cuda`",
        })?;
        Ok(())
    }
}
