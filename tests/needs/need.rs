//! What a test needs from outside, and whether it is here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use mpu_data::source::DatasetId;

use crate::commands::Tiny;

/// Something that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The files of one benchmark.
    Dataset(DatasetId),
    /// The files of the paper's benchmarks.
    Data,
    /// A Python, without any package.
    Python,
    /// A Python with ONNX Runtime and NumPy.
    Onnx,
    /// A Python with scikit-learn.
    ScikitLearn,
    /// A browser that runs without a screen.
    Chromium,
    /// A Slurm that a test may start.
    Slurm,
    /// A Python with TensorBoard.
    Tensorboard,
    /// The right to mount a small file system.
    Mount,
}

impl Need {
    /// The name that `MPU_REQUIRE` knows it by.
    fn slug(self) -> &'static str {
        match self {
            // Not of the paper: asked for by its own name only.
            Self::Dataset(DatasetId::Cifar10) => "cifar10",
            Self::Dataset(_) | Self::Data => "data",
            Self::Python => "python",
            Self::Onnx => "onnx",
            Self::ScikitLearn => "scikit-learn",
            Self::Chromium => "chromium",
            Self::Slurm => "slurm",
            Self::Tensorboard => "tensorboard",
            Self::Mount => "mount",
        }
    }

    fn reason(self) -> String {
        match self {
            Self::Dataset(id) => format!("needs the files of {id} (set MPU_DATA_DIR)"),
            Self::Data => "needs the benchmark files (set MPU_DATA_DIR)".to_owned(),
            Self::Python => "needs python3 (MPU_PYTHON names another one)".to_owned(),
            Self::Onnx => {
                "needs the Python packages onnxruntime and numpy (MPU_PYTHON names another Python)"
                    .to_owned()
            }
            Self::ScikitLearn => {
                "needs the Python package scikit-learn (MPU_PYTHON names another Python)".to_owned()
            }
            Self::Chromium => {
                "needs chromium, chromium-browser or google-chrome on the path".to_owned()
            }
            Self::Slurm => "needs the packages slurm-wlm and munge, and root".to_owned(),
            Self::Tensorboard => "needs the Python package tensorboard".to_owned(),
            Self::Mount => "needs the right to mount a file system".to_owned(),
        }
    }

    fn is_here(self) -> bool {
        static ONNX: OnceLock<bool> = OnceLock::new();
        match self {
            Self::Dataset(id) => {
                data_dir().is_some_and(|folder| folder.join(id.card().folder).is_dir())
            }
            Self::Data => DatasetId::PAPER
                .into_iter()
                .all(|id| Self::Dataset(id).is_here()),
            Self::Python => python_has("json"),
            Self::Onnx => *ONNX.get_or_init(|| python_has("onnxruntime, numpy")),
            Self::ScikitLearn => python_has("sklearn"),
            Self::Chromium => browser().is_some(),
            Self::Slurm => daemons().is_some(),
            Self::Tensorboard => python_has("tensorboard"),
            Self::Mount => Tiny::mount().is_some(),
        }
    }

    /// Whether `MPU_REQUIRE`, a list such as `data,onnx` or the word `all`, names it.
    fn is_required(self) -> bool {
        let list = std::env::var("MPU_REQUIRE").unwrap_or_default();
        list.split(',')
            .any(|name| name.trim() == "all" || name.trim() == self.slug())
    }

    /// A test that is reported as ignored where its need is missing, and as failed if it is required.
    pub(crate) fn test(self, name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
        Trial::ignorable_test(name.trim_start_matches("needs::"), move || {
            if self.is_here() {
                run();
                Ok(Completion::Completed)
            } else if self.is_required() {
                let slug = self.slug();
                Err(Failed::from(format!(
                    "MPU_REQUIRE asks for {slug}: {}",
                    self.reason()
                )))
            } else {
                Ok(Completion::ignored_with(self.reason()))
            }
        })
    }
}

/// The folder with the benchmark files, if the environment names one.
pub(crate) fn data_dir() -> Option<PathBuf> {
    let folder = std::env::var_os("MPU_DATA_DIR").filter(|folder| !folder.is_empty());
    folder.map(PathBuf::from)
}

/// The Python to ask.
pub(crate) fn python() -> String {
    std::env::var("MPU_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn python_has(packages: &str) -> bool {
    let probe = Command::new(python())
        .args(["-c", &format!("import {packages}")])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

pub(crate) fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// `munged`, `slurmctld` and `slurmd`, if they may be started.
pub(crate) fn daemons() -> Option<[PathBuf; 3]> {
    let program = |name: &str| {
        ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"]
            .iter()
            .map(|folder| Path::new(folder).join(name))
            .find(|path| path.is_file())
    };
    let found = ["munged", "slurmctld", "slurmd"].map(program);
    match found {
        [Some(munged), Some(slurmctld), Some(slurmd)] if is_root() => {
            Some([munged, slurmctld, slurmd])
        }
        _ => None,
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout == b"0\n")
}
