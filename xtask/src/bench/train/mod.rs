//! Training speed: our step beside PyTorch's, candle's own and the bare matrix products, and whole runs.

mod runs;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::{
    Target, available, built, folder, machine, median, output, page, program, python_with, removed,
    watched,
};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Train {
    /// Rounds; in each every variant has its turn.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Parts to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mlp5,resnet20,runs,pair,scaling,memory"
    )]
    only: Vec<Part>,
    /// Write the sections of docs/BENCHMARKS.md that are measured.
    #[arg(long)]
    write: bool,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// A step of MLP-5: batch 512, 784 inputs, 4 classes.
    Mlp5,
    /// A step of ResNet-20: batch 128, images of 3 x 32 x 32, 10 classes.
    Resnet20,
    /// Runs of `mpu-cli train` beside PyTorch scripts, from start to end.
    Runs,
    /// Two independent trainings on two cores.
    Pair,
    /// Time against rows and epochs, and memory against epochs.
    Scaling,
    /// Peak memory of a run on MNIST.
    Memory,
}

pub(crate) fn run(root: &Path, args: &Train) -> Result<()> {
    ensure!(
        args.rounds > 0 && args.threads.iter().all(|&n| n > 0),
        "rounds and threads must be at least 1"
    );
    let folder = folder(root)?;
    let python = available(
        "PyTorch",
        python_with(&folder, &["torch", "numpy", "setuptools"]),
    );
    let bench = Bench {
        root,
        python,
        rounds: args.rounds,
    };
    let conditions = format!(
        "Measured on {}; medians over {} rounds in which all take turns.",
        machine(),
        args.rounds
    );
    for &part in &args.only {
        let (name, text) = match part {
            Part::Mlp5 => ("mlp5", bench.steps("mlp5", 512, 20, &args.threads)?),
            Part::Resnet20 => ("resnet20", bench.steps("resnet20", 128, 2, &args.threads)?),
            Part::Runs => ("runs", bench.runs(&args.threads)?),
            Part::Pair => ("pair", bench.pair()?),
            Part::Scaling => ("scaling", bench.scaling()?),
            Part::Memory => ("memory", bench.memory()?),
        };
        let text = format!("{}\n\n{conditions}\n\n", text.trim());
        let section = format!("train-{name}");
        page::show_section(root, ("BENCHMARKS.md", &section), &text, args.write)?;
    }
    Ok(())
}

struct Bench<'a> {
    root: &'a Path,
    python: Option<PathBuf>,
    rounds: usize,
}

/// A process that makes steps on request.
struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().to_string_lossy()))?;
        let requests = child.stdin.take().context("no pipe to the worker")?;
        let answers = BufReader::new(child.stdout.take().context("no pipe from the worker")?);
        Ok(Self {
            child,
            requests,
            answers,
        })
    }

    fn ask(&mut self, variant: &str, steps: usize) -> Result<()> {
        writeln!(self.requests, "{variant} {steps}")?;
        Ok(self.requests.flush()?)
    }

    /// Seconds of all the steps and the loss of the last one; an error if the variant does not run here.
    fn answer(&mut self) -> Result<(f64, f64)> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let Some((seconds, loss)) = line.trim().split_once(' ') else {
            bail!("the worker stopped");
        };
        ensure!(seconds != "unavailable", "{loss}");
        Ok((seconds.parse()?, loss.parse()?))
    }

    fn steps(&mut self, variant: &str, steps: usize) -> Result<(f64, f64)> {
        self.ask(variant, steps)?;
        self.answer()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself, and there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who makes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Ours,
    /// Other crates for matrix products, in a package of their own.
    Crates,
    Torch,
}

/// A way of making a step.
struct Variant {
    label: &'static str,
    name: &'static str,
    maker: Maker,
    /// Seconds of a step, one entry a round.
    times: Vec<f64>,
}

const OURS: &str = "mpu";
const LIMIT: &str = "matrix products alone, gemm crate";
const PEAK: &str = "as many multiply-adds in registers (FMA peak)";
const PEER_LIMIT: &str = "matrix products alone, PyTorch";

fn variants(network: &str) -> Vec<Variant> {
    use Maker::{Crates, Ours, Torch};
    let mut list = vec![(OURS, "ours", Ours), ("mpu, candle engine", "candle", Ours)];
    let is_mlp = network == "mlp5";
    if is_mlp {
        list.push(("candle-nn, a loop of its own layers", "plain", Ours));
    }
    list.push((PEAK, "peak", Ours));
    list.push((LIMIT, "products", Ours));
    if is_mlp {
        let faer = "matrix products alone, private-gemm-x86 (faer)";
        let numpy = "matrix products alone, NumPy with OpenBLAS";
        list.extend([
            ("matrix products alone, gemmkit", "gemmkit", Crates),
            (faer, "private-gemm-x86", Crates),
            (numpy, "openblas", Torch),
            (PEER_LIMIT, "products", Torch),
        ]);
    }
    list.push(("PyTorch eager, fused Adam", "eager", Torch));
    list.push(("PyTorch eager, default Adam", "eager-unfused", Torch));
    if is_mlp {
        list.push(("torch.compile, fused Adam", "compiled", Torch));
    } else {
        list.push(("PyTorch eager, channels_last", "channels-last", Torch));
    }
    let variant = |(label, name, maker)| Variant {
        label,
        name,
        maker,
        times: Vec::new(),
    };
    list.into_iter().map(variant).collect()
}

impl Bench<'_> {
    fn ours(&self, network: &str, threads: usize) -> Result<Worker> {
        let program = built(self.root, "mpu-models", Target::Example("step"))?;
        let threads = threads.to_string();
        let mut command = Command::new(program);
        command.args([network, &threads]);
        // candle has threads of its own besides those of the pool that it is called in.
        command.env("CANDLE_NUM_THREADS", &threads);
        Worker::start(command.env("RAYON_NUM_THREADS", &threads))
    }

    fn peer(&self, network: &str, threads: usize) -> Result<Option<Worker>> {
        let Some(python) = &self.python else {
            return Ok(None);
        };
        let script = self.root.join("crates/mpu-models/examples/step_torch.py");
        let mut command = Command::new(python);
        command.arg(script).arg(network).arg(threads.to_string());
        // NumPy's products have threads of their own.
        command.env("OPENBLAS_NUM_THREADS", threads.to_string());
        Worker::start(&mut command).map(Some)
    }

    fn crates(&self, threads: usize) -> Result<Worker> {
        eprintln!("building products");
        let target = folder(self.root)?.join("products");
        let mut build = Command::new("cargo");
        build
            .args(["build", "--release"])
            .env("CARGO_TARGET_DIR", &target);
        output(build.current_dir(self.root.join("benches/products")))?;
        let mut command = Command::new(target.join("release/products"));
        Worker::start(command.arg(threads.to_string()))
    }

    fn steps(
        &self,
        network: &str,
        batch: usize,
        repeats: usize,
        threads: &[usize],
    ) -> Result<String> {
        let mut text = String::new();
        for &n in threads {
            text += &self.table(network, batch, repeats, n)?;
        }
        Ok(text)
    }

    /// One network at one number of threads.
    fn table(&self, network: &str, batch: usize, repeats: usize, threads: usize) -> Result<String> {
        let mut ours = self.ours(network, threads)?;
        let mut peer = self.peer(network, threads)?;
        let mut crates = match network {
            "mlp5" => available("other crates for products", self.crates(threads)),
            _ => None,
        };
        let mut variants = variants(network);
        variants.retain(|variant| match variant.maker {
            Maker::Ours => true,
            Maker::Crates => crates.is_some(),
            Maker::Torch => peer.is_some(),
        });
        let mut run = |variant: &Variant, steps| {
            let maker = match variant.maker {
                Maker::Ours => Some(&mut ours),
                Maker::Crates => crates.as_mut(),
                Maker::Torch => peer.as_mut(),
            };
            maker
                .context("it did not start")?
                .steps(variant.name, steps)
        };
        // The first three losses: all must compute the same thing.
        let mut losses: Option<Vec<f64>> = None;
        let mut missing = Vec::new();
        variants.retain(|variant| {
            let three: Result<Vec<f64>> = (0..3).map(|_| Ok(run(variant, 1)?.1)).collect();
            three
                .map_err(|error| missing.push((variant.label, error)))
                .is_ok_and(|found| {
                    if found.iter().all(|loss| loss.is_finite()) {
                        let first = losses.get_or_insert_with(|| found.clone());
                        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 2e-3 * a.abs().max(1.0);
                        if !first.iter().zip(&found).all(near) {
                            let error = anyhow::anyhow!("losses {found:?}, not {first:?}");
                            missing.push((variant.label, error));
                            return false;
                        }
                    }
                    true
                })
        });
        for round in 1..=self.rounds {
            eprint!(
                "\r{network}, {threads} thread(s): round {round} of {}",
                self.rounds
            );
            for variant in &mut variants {
                // The slow ones have fewer steps, so that a round stays a round.
                let is_slow = matches!(variant.name, "candle" | "plain");
                let steps = if is_slow { 1 } else { repeats };
                let (seconds, _) = run(variant, steps)?;
                variant.times.push(seconds / steps as f64);
            }
        }
        eprintln!();
        let mut text = format!(
            "\n**{network}, batch {batch}, {threads} thread{}** (csmpu-abs; the same first three losses: {:.6?})\n\n",
            if threads == 1 { "" } else { "s" },
            losses.unwrap_or_default(),
        );
        text +=
            "| step | samples/s | mpu is … times as fast | of the FMA peak |\n|---|---|---|---|\n";
        let times = |label: &str| {
            let found = variants.iter().find(|v| v.label == label);
            found.map(|v| v.times.clone())
        };
        let ours = times(OURS).context("our own step does not run")?;
        let peak = times(PEAK).map_or(f64::NAN, |mut times| median(&mut times));
        for variant in &variants {
            let seconds = median(&mut variant.times.clone());
            // Ratios are taken round by round: what disturbs one round disturbs both.
            let pairs = variant.times.iter().zip(&ours);
            let mut ratios: Vec<f64> = pairs.map(|(t, o)| t / o).collect();
            writeln!(
                text,
                "| {} | {:.0} | {:.2} | {:.2} |",
                variant.label,
                batch as f64 / seconds,
                median(&mut ratios),
                peak / seconds,
            )?;
        }
        for (label, error) in missing {
            writeln!(text, "\n{label}: not measured here ({error}).")?;
        }
        if self.python.is_none() {
            writeln!(
                text,
                "\nPyTorch could not be installed here: nothing to compare with."
            )?;
        }
        Ok(text)
    }

    /// Two trainings with a thread each, at once and in turn.
    fn pair(&self) -> Result<String> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        if cores < 2 {
            return Ok(
                "\nTwo trainings at once: not measured, this machine has one core.\n".to_owned(),
            );
        }
        let mut workers = [self.ours("mlp5", 1)?, self.ours("mlp5", 1)?];
        for worker in &mut workers {
            worker.steps("ours", 5)?;
        }
        let mut ratios = Vec::new();
        for _ in 0..self.rounds {
            let (alone, _) = workers[0].steps("ours", 40)?;
            for worker in &mut workers {
                worker.ask("ours", 40)?;
            }
            let mut both = 0.0_f64;
            for worker in &mut workers {
                both = both.max(worker.answer()?.0);
            }
            ratios.push(2.0 * alone / both);
        }
        Ok(format!(
            "\n**Two independent trainings on two cores** (mlp5, a thread each): {:.2} times the samples/s of one.\n",
            median(&mut ratios)
        ))
    }

    /// Seconds and memory of an epoch, for more and more rows and epochs.
    fn scaling(&self) -> Result<String> {
        let program = built(self.root, "mpu-train", Target::Example("scaling"))?;
        let epochs = |rows: usize, epochs: usize| -> Result<Vec<(f64, f64)>> {
            eprintln!("{rows} rows, {epochs} epochs");
            let sizes = [rows, 100, epochs].map(|size| size.to_string());
            let text = output(Command::new(&program).args(sizes))?;
            let numbers = |line: &str| -> Option<(f64, f64)> {
                let (seconds, memory) = line.strip_prefix("epoch ")?.split_once(' ')?;
                Some((seconds.parse().ok()?, memory.parse().ok()?))
            };
            text.lines()
                .map(|line| numbers(line).with_context(|| format!("not an epoch: {line}")))
                .collect()
        };
        let mut text = "\n**Cost against rows** (100 features, MLP-5, one thread)\n\n\
            | rows | time per row and epoch, of that at 10 000 rows |\n|---|---|\n"
            .to_owned();
        let mut first = None;
        for rows in [10_000, 100_000, 1_000_000] {
            let epochs = epochs(rows, 5)?;
            let times = epochs.iter().map(|(s, _)| s / rows as f64);
            let time = median(&mut times.collect::<Vec<_>>());
            let ratio = time / *first.get_or_insert(time);
            writeln!(text, "| {rows} | {ratio:.2} |")?;
        }
        let long = epochs(20_000, 40)?;
        let mean =
            |part: &[(f64, f64)]| part.iter().map(|(s, _)| s).sum::<f64>() / part.len() as f64;
        writeln!(
            text,
            "\n**Cost against epochs** (20 000 rows): an epoch among the last ten of 40 takes {:.2} times one among the \
             first ten; resident memory after epoch 40 is {:.3} times that after epoch 5.",
            mean(&long[30..]) / mean(&long[..10]),
            long[39].1 / long[4].1,
        )?;
        Ok(text)
    }

    /// Peak memory of training on all of MNIST, against the bar.
    fn memory(&self) -> Result<String> {
        let folder = self.root.join("target/bench/mnist-run");
        removed(&folder)?;
        let mut command = Command::new(program(self.root, None)?);
        let train =
            "train --dataset mnist --classes 10 --prior 0.5 --epochs 2 --threads 1 --quiet --out";
        command.args(train.split(' ')).arg(&folder);
        let (done, peak) = watched(&mut command)?;
        if !done.status.success() {
            let reason = String::from_utf8_lossy(&done.stderr);
            let first = reason.lines().next().unwrap_or("no reason given");
            return Ok(format!(
                "\nPeak memory of a run on MNIST: not measured ({first}).\n"
            ));
        }
        let Some(peak) = peak else {
            return Ok(
                "\nPeak memory of a run on MNIST: this system does not tell it.\n".to_owned(),
            );
        };
        let matrix = 60_000.0 * 784.0 * 4.0 / 1e6;
        Ok(format!(
            "\n**Peak memory of a run on MNIST** (k = 10, all 60 000 rows): {peak:.0} MB; the raw f32 training matrix has \
             {matrix:.0} MB, 1.5 times it and 200 MB more are {:.0} MB.\n",
            1.5 * matrix + 200.0
        ))
    }
}
