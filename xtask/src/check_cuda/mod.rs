//! `cargo xtask check-cuda`: the CUDA build on a machine without a card.
//!
//! A toolkit is put together from PyPI's wheels, driver and libraries from stubs. With a driver that finds no card
//! the program must say so; with one that only counts, what crosses the bus in a step is measured.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bench::{number, output, page, python_with, removed};

/// The parts of the toolkit that a build needs.
const WHEELS: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-runtime==13.0.96",
];

/// Modules of cudarc with the library that each declares, and its name on disk.
const LIBRARIES: [(&str, &str, &str); 5] = [
    ("driver", "libcuda.so", "libcuda.so.1"),
    ("cublas", "libcublas.so", "libcublas.so.13"),
    ("cublaslt", "libcublasLt.so", "libcublasLt.so.13"),
    ("curand", "libcurand.so", "libcurand.so.10"),
    ("nvrtc", "libnvrtc.so", "libnvrtc.so.13"),
];

/// What answers in place of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stub {
    /// Every call fails: there is no card.
    NoCard,
    /// Every call succeeds, and what crosses the bus is counted.
    Counting,
}

/// Bytes that a step may copy up: sizes, strides and scalars. The smaller batch of rows has 156 800, the parameters of either
/// network over a million.
const STEP_BYTES: f64 = 65_536.0;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckCuda {
    /// Write the section of docs/BENCHMARKS.md.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(root: &Path, args: &CheckCuda) -> Result<()> {
    let folder = root.join("target/check-cuda");
    fs::create_dir_all(&folder)?;
    let toolkit = toolkit(&folder)?;
    let sources = cudarc(root)?;
    stubs(&folder, &sources, Stub::NoCard, &toolkit.join("lib"))?;
    let no_card = folder.join("no-card");
    stubs(&folder, &sources, Stub::NoCard, &no_card)?;
    let counting = folder.join("counting");
    stubs(&folder, &sources, Stub::Counting, &counting)?;
    let program = build(root, &folder, &toolkit)?;
    digits(&folder.join("data/mnist"))?;
    let bench = Check {
        folder,
        program,
        no_card,
        counting,
        runtime: toolkit.join("lib"),
    };
    bench.refusals()?;
    let mut text = "| network | copies up a step | bytes up a step | copies down a step | kernels a step | copies down an epoch |\n|---|---|---|---|---|---|\n".to_owned();
    let resnet = "--set model.kind=resnet --set model.depth=20";
    for (name, model) in [("MLP-5", "--threads 1"), ("ResNet-20", resnet)] {
        text += &bench.counted(name, model)?;
    }
    text += "\nWithout a card `--device cuda` ends with exit code 2 and says what is missing, and leaves no folder behind; `--device auto` trains on the CPU and says so.\n";
    text.push('\n');
    page::show_section(root, ("BENCHMARKS.md", "check-cuda"), &text, args.write)
}

/// The toolkit, unpacked from the wheels.
fn toolkit(folder: &Path) -> Result<PathBuf> {
    let toolkit = folder.join("toolkit/nvidia/cu13");
    if toolkit.join("lib64").exists() {
        return Ok(toolkit);
    }
    let python = python_with(folder, &["pip"])?;
    let wheels = folder.join("wheels");
    let download = ["-m", "pip", "download", "--no-deps", "--quiet", "--dest"];
    let mut command = Command::new(&python);
    output(command.args(download).arg(&wheels).args(WHEELS))?;
    for wheel in fs::read_dir(&wheels)? {
        let mut unpack = Command::new(&python);
        unpack
            .args(["-m", "zipfile", "--extract"])
            .arg(wheel?.path());
        output(unpack.arg(folder.join("toolkit")))?;
    }
    let programs = [toolkit.join("bin"), toolkit.join("nvvm/bin")];
    output(Command::new("chmod").args(["-R", "+x"]).args(programs))?;
    link("libcudart.so.13", &toolkit.join("lib/libcudart.so"))?;
    link("lib", &toolkit.join("lib64"))?;
    Ok(toolkit)
}

fn link(to: &str, at: &Path) -> Result<()> {
    output(Command::new("ln").args(["-sfn", to]).arg(at)).map(|_| ())
}

/// Where the sources of cudarc are, which declare every function of driver and libraries.
fn cudarc(root: &Path) -> Result<PathBuf> {
    let metadata = "metadata --format-version 1 --features mpu-cli/cuda".split(' ');
    let text = output(Command::new("cargo").args(metadata).current_dir(root))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let found = packages.iter().find(|package| package["name"] == "cudarc");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("cudarc is no dependency of the CUDA build")?);
    Ok(manifest.with_file_name("src"))
}

/// Libraries in which every declared function answers the same, but for the few that must do something.
fn stubs(folder: &Path, cudarc: &Path, stub: Stub, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    let (by_hand, answer) = match stub {
        Stub::NoCard => ("", 100), // CUDA_ERROR_NO_DEVICE
        Stub::Counting => (include_str!("driver.c"), 0),
    };
    for (module, name, soname) in LIBRARIES {
        let path = cudarc.join(module).join("sys/mod.rs");
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        // Everything by hand stands in the driver, which every program links first.
        let written = if module == "driver" { by_hand } else { "" };
        let mut code = written.to_owned();
        for function in functions(&text) {
            if !by_hand.contains(&format!("int {function}(")) {
                writeln!(code, "int {function}(void) {{ return {answer}; }}")?;
            }
        }
        let source = folder.join(format!("{module}.c"));
        fs::write(&source, code)?;
        let mut compile = Command::new("cc");
        compile
            .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
            .arg(into.join(soname));
        output(compile.arg(format!("-Wl,-soname,{soname}")).arg(&source))?;
        link(soname, &into.join(name))?;
    }
    Ok(())
}

/// The functions that a module declares.
fn functions(text: &str) -> BTreeSet<&str> {
    let after = text.split("pub unsafe fn ").skip(1);
    after
        .filter_map(|rest| Some(rest.split_once('(')?.0))
        .collect()
}

fn build(root: &Path, folder: &Path, toolkit: &Path) -> Result<PathBuf> {
    eprintln!(
        "building mpu-cli with CUDA (the first time takes half an hour: keep {})",
        folder.display()
    );
    let target = folder.join("build");
    let path = std::env::var("PATH").unwrap_or_default();
    let (bin, nvvm) = (toolkit.join("bin"), toolkit.join("nvvm/bin"));
    let status = Command::new("cargo")
        .args(["build", "--release", "-p", "mpu-cli", "--features", "cuda"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &target)
        .env("CUDA_HOME", toolkit)
        .env("CUDA_PATH", toolkit)
        .env("CUDA_ROOT", toolkit)
        .env("CUDA_COMPUTE_CAP", "80")
        .env(
            "PATH",
            format!("{}:{}:{path}", bin.display(), nvvm.display()),
        )
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "mpu-cli does not build with CUDA");
    Ok(target.join("release/mpu-cli"))
}

struct Check {
    folder: PathBuf,
    program: PathBuf,
    no_card: PathBuf,
    counting: PathBuf,
    /// Where CUDA's own runtime is.
    runtime: PathBuf,
}

impl Check {
    /// Trains with one of the drivers; the folder of the run is new.
    fn train(&self, driver: &Path, args: &str) -> Result<(Output, PathBuf)> {
        let out = self.folder.join("run");
        removed(&out)?;
        let mut command = Command::new(&self.program);
        let libraries = format!("{}:{}", driver.display(), self.runtime.display());
        command.args(args.split(' ')).arg("--out").arg(&out);
        command
            .env("LD_LIBRARY_PATH", libraries)
            .env("MPU_CUDA_COUNTS", self.folder.join("counts"))
            .env("MPU_DATA_DIR", self.folder.join("data"))
            .env("MPU_OFFLINE", "1");
        let done = command.output().context("starting mpu-cli")?;
        Ok((done, out))
    }

    /// What the program says where there is no card.
    fn refusals(&self) -> Result<()> {
        let small = "train --set data.generated-rows=300 --epochs 1";
        let (done, out) = self.train(&self.no_card, &format!("{small} --device cuda"))?;
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        let code = done.status.code();
        ensure!(code == Some(2), "exit {code:?}: {told}");
        let says = |part: &str| told.contains(part);
        ensure!(says("device cuda") && says("NVIDIA"), "{told}");
        let other = says("--features cuda");
        ensure!(!other, "the hint is for another build: {told}");
        ensure!(!says("panicked"), "{told}");
        ensure!(!out.exists(), "{} was left behind", out.display());
        let (done, out) = self.train(&self.no_card, &format!("{small} --device auto"))?;
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(done.status.success(), "{told}");
        ensure!(
            told.contains("the CPU is used"),
            "no word of the CPU: {told}"
        );
        ensure!(out.join("record.json").exists(), "no record");
        Ok(())
    }

    /// What crosses the bus: half the batch makes twice the steps of the same epoch, and a second epoch makes all steps
    /// again, so that differences are those of steps and of epochs.
    fn counted(&self, name: &str, model: &str) -> Result<String> {
        let counts = |epochs: usize, batch: usize| -> Result<[f64; 5]> {
            let args = format!(
                "train --dataset mnist --classes 4 --prior 0.5 --method csmpu-abs {model} --device cuda --epochs {epochs} --batch-size {batch}"
            );
            let (done, out) = self.train(&self.counting, &args)?;
            let told = String::from_utf8_lossy(&done.stderr).into_owned();
            ensure!(done.status.success(), "{told}");
            let text = fs::read_to_string(self.folder.join("counts"))?;
            let of = |key: &str| number(&text, key);
            let steps = steps(&out)?;
            Ok([
                steps,
                of("up")?,
                of("up-bytes")?,
                of("down")?,
                of("kernels")?,
            ])
        };
        let (few, many, twice) = (counts(1, 100)?, counts(1, 50)?, counts(2, 100)?);
        let step = |i: usize| (many[i] - few[i]) / (many[0] - few[0]);
        let (up, bytes, down, kernels) = (step(1), step(2), step(3), step(4));
        ensure!(down == 0.0, "{name}: {down} copies down a step");
        ensure!(
            bytes < STEP_BYTES,
            "{name}: {bytes} bytes up a step: parameters or rows go up"
        );
        let epoch = twice[3] - few[3];
        ensure!(
            epoch <= 2.0,
            "{name}: {epoch} copies down an epoch: figures and test scores are two"
        );
        Ok(format!(
            "| {name} | {up:.0} | {bytes:.0} | {down:.0} | {kernels:.0} | {epoch:.0} |\n"
        ))
    }
}

/// Files in the form of MNIST with few images of noise: what is counted does not depend on what they show.
fn digits(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (part, n) in [("train", 4000_u32), ("t10k", 500)] {
        let pixels = (0..n * 784).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8);
        let header = [2051_u32, n, 28, 28].into_iter().flat_map(u32::to_be_bytes);
        let images: Vec<u8> = header.chain(pixels).collect();
        fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images)?;
        let header = [2049_u32, n].into_iter().flat_map(u32::to_be_bytes);
        let labels: Vec<u8> = header.chain((0..n).map(|i| (i % 10) as u8)).collect();
        fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels)?;
    }
    Ok(())
}

/// How many steps a run has made, by its checkpoint.
fn steps(run: &Path) -> Result<f64> {
    let bytes = fs::read(run.join("checkpoint.safetensors"))?;
    let text = String::from_utf8_lossy(&bytes);
    let after = text.split_once("\"step\":");
    let (_, after) = after.context("no step in the checkpoint")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_functions_are_found() {
        let text = "pub unsafe fn cuInit(Flags: u32) -> CUresult {\n} pub unsafe fn cuTwo(\n";
        assert_eq!(functions(text), BTreeSet::from(["cuInit", "cuTwo"]));
    }
}
