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
    /// The CPU.
    #[default]
    Cpu,
    /// A CUDA device.
    Cuda(usize),
    /// A Metal device.
    Metal,
    /// CUDA or Metal if built in and there, else the CPU.
    Auto,
}

impl DeviceChoice {
    /// Whether it can be used: built in, and there.
    pub fn check(self) -> Result<()> {
        self.resolve().map(|_| ())
    }

    /// The device; `None` for the CPU.
    pub(crate) fn resolve(self) -> Result<Option<Device>> {
        let fail = |is_built_in: bool, feature: &str, needed: &str| {
            let hint = if is_built_in {
                format!("{needed}; `--device cpu` works anywhere")
            } else {
                format!("build with `--features {feature}`, or use `--device cpu`")
            };
            move |error: candle_core::Error| {
                // What follows the first line is where in candle it happened.
                let error = error.to_string();
                let first = error.lines().next().unwrap_or_default();
                Error::Device {
                    name: self.to_string(),
                    why: format!("{first}\nhint: {hint}"),
                }
            }
        };
        match self {
            Self::Cpu => Ok(None),
            Self::Cuda(ordinal) => {
                let needed = "an NVIDIA card and its driver are needed (`nvidia-smi` shows both)";
                let fail = fail(cfg!(feature = "cuda"), "cuda", needed);
                Device::new_cuda(ordinal).map(Some).map_err(fail)
            }
            Self::Metal => {
                let fail = fail(cfg!(feature = "metal"), "metal", "an Apple GPU is needed");
                Device::new_metal(0).map(Some).map_err(fail)
            }
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
    use crate::error::tests::check_message;

    #[test]
    fn names_are_read_back() {
        for name in ["cpu", "cuda", "cuda:3", "metal", "auto"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        for bad in ["gpu", "cuda:x", ""] {
            check_message(bad.parse::<DeviceChoice>(), "cuda:N");
        }
    }

    #[test]
    fn a_device_that_cannot_be_had_is_explained() {
        for (choice, is_built_in, feature) in [
            (DeviceChoice::Cuda(99), cfg!(feature = "cuda"), "cuda"),
            (DeviceChoice::Metal, cfg!(feature = "metal"), "metal"),
        ] {
            // Where there is a Metal device it can be had; there is no machine with a hundred cards.
            let Err(error) = choice.check() else {
                assert_eq!(choice, DeviceChoice::Metal);
                continue;
            };
            let error = error.to_string();
            assert!(error.starts_with(&format!("device {choice}: ")), "{error}");
            let told = error.contains(&format!("--features {feature}"));
            assert_eq!(told, !is_built_in, "{error}");
            assert!(error.contains("--device cpu"), "{error}");
        }
        assert!(
            DeviceChoice::Auto.check().is_ok(),
            "there is always the CPU"
        );
        assert!(DeviceChoice::Cpu.resolve().unwrap().is_none());
    }
}
