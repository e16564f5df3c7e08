//! Where a run computes, chosen once.

use std::fmt;
use std::str::FromStr;

use candle_core::Device;
use mpu_data::UnknownName;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The device of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// The fused path on the CPU.
    #[default]
    Cpu,
    /// The reference path on a CUDA device.
    Cuda(usize),
    /// The reference path on a Metal device.
    Metal,
    /// CUDA or Metal if built in and there, else the CPU.
    Auto,
}

impl DeviceChoice {
    /// The device for the reference path; `None` means the fused path on the CPU.
    pub(crate) fn resolve(self) -> Result<Option<Device>> {
        let fail = |error: candle_core::Error| Error::Device {
            name: self.to_string(),
            why: format!(
                "{error}\nhint: build with `--features cuda` or `--features metal`, or use `--device cpu`"
            ),
        };
        match self {
            Self::Cpu => Ok(None),
            Self::Cuda(ordinal) => Device::new_cuda(ordinal).map(Some).map_err(fail),
            Self::Metal => Device::new_metal(0).map(Some).map_err(fail),
            Self::Auto => Ok(Device::new_cuda(0).or_else(|_| Device::new_metal(0)).ok()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(0) => f.pad("cuda"),
            Self::Cuda(ordinal) => f.pad(&format!("cuda:{ordinal}")),
            Self::Metal => f.pad("metal"),
            Self::Auto => f.pad("auto"),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = UnknownName;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownName> {
        match name {
            "cpu" => return Ok(Self::Cpu),
            "cuda" => return Ok(Self::Cuda(0)),
            "metal" => return Ok(Self::Metal),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        let ordinal = name.strip_prefix("cuda:").and_then(|n| n.parse().ok());
        let allowed = ["cpu", "cuda", "cuda:N", "metal", "auto"];
        ordinal
            .map(Self::Cuda)
            .ok_or_else(|| UnknownName::new("device", name, &allowed))
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = UnknownName;

    fn try_from(name: String) -> std::result::Result<Self, UnknownName> {
        name.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(device: DeviceChoice) -> Self {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in ["cpu", "cuda", "cuda:3", "metal", "auto"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        for bad in ["gpu", "cuda:x", ""] {
            let error = bad.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(error.contains("cuda:N"), "{error}");
        }
    }

    #[test]
    fn a_device_that_is_not_built_in_is_explained() {
        if candle_core::utils::cuda_is_available() || candle_core::utils::metal_is_available() {
            return;
        }
        let error = DeviceChoice::Cuda(0).resolve().unwrap_err().to_string();
        assert!(error.contains("--features cuda"), "{error}");
        assert!(DeviceChoice::Auto.resolve().unwrap().is_none());
    }
}
