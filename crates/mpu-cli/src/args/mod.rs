//! Arguments, as typed.

pub(crate) mod completions;
pub(crate) mod decision;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod predict;
pub(crate) mod priors;
pub(crate) mod report;
pub(crate) mod runs;
mod table;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Parser, Subcommand};
use mpu_data::source::resolve::{Locations, Network};
use mpu_data::split::{Protocol, Scenario};
use mpu_data::{ClassCount, DatasetId};
use mpu_loss::Surrogate;
use mpu_report::Format;
use mpu_train::{DeviceChoice, EngineChoice, Method, Precision};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;

pub(crate) use table::{Check, TableArgs, TextArgs};

/// Multi-class positive-unlabelled learning: find the observed classes, reject everything else.
#[derive(Debug, Parser)]
#[command(name = "mpu-cli", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print more on standard error (repeat for even more).
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,

    /// Print only errors on standard error.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Args {
    /// Starts the log on standard error.
    pub(crate) fn log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => LevelFilter::WARN,
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        };
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // How long each part took is told when it ends; what time it is, is not.
        let form = tracing_subscriber::fmt::format()
            .without_time()
            .with_target(false);
        tracing_subscriber::fmt()
            .event_format(form)
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .log_internal_errors(false)
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(std::io::stderr().is_terminal() && !no_color)
            .init();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a classifier; without arguments, a small example that needs no file.
    #[command(after_help = "Examples:
  mpu-cli train
  mpu-cli train --dataset usps --classes 4 --prior 0.5 --method csmpu-exact-nn
  mpu-cli train configs/mnist.toml --set train.epochs=20 --set method=area
  mpu-cli train --data items.csv --label-column kind
  mpu-cli train --data items.csv --label-column kind --priors dent=0.1,scratch=0.05 --test checked.csv
  mpu-cli train --resume runs/NAME")]
    Train(Box<Train>),

    /// Print the configuration that a run would use, with every default.
    #[command(after_help = "Examples:
  mpu-cli show
  mpu-cli show configs/mnist.toml --set train.lr=0.0005")]
    Show(Show),

    /// List, verify and fetch the benchmark datasets.
    #[command(subcommand)]
    Data(Data),

    /// Check your own table or images: what was understood, and what needs a look.
    #[command(after_help = "Examples:
  mpu-cli check --data items.csv --label-column kind
  mpu-cli check --data known.csv --unlabeled pool.csv --label-column kind --format json
  mpu-cli check --data photos/")]
    Check(Box<Check>),

    /// Score rows with a trained model: answers, probabilities, decisions.
    #[command(after_help = "Examples:
  mpu-cli predict --model runs/items --data new.csv --out scored.csv
  mpu-cli predict --model runs/items --data new.parquet --out scored.parquet --precision-target 0.95
  mpu-cli predict --model runs/items --data new.csv --out - --target-priors estimate --threshold dent=0.9,scratch=0.8
  mpu-cli predict --model runs/items --data new.csv --out review.csv --top 100
  mpu-cli predict --model runs/items --data new.csv --out scored.jsonl --cost-matrix costs.csv

A cost matrix as CSV (what each answer costs, one line for each true class):
  truth,dent,scratch,unknown
  dent,0,1,5
  scratch,1,0,2
  unknown,1,1,0")]
    Predict(Box<predict::Predict>),

    /// Judge a trained model, with or without true labels.
    #[command(after_help = "Examples:
  mpu-cli evaluate --model runs/items
  mpu-cli evaluate --model runs/items --data checked.csv
  mpu-cli evaluate --model runs/items --data checked.csv --label-column truth --format json")]
    Evaluate(Box<evaluate::Evaluate>),

    /// Write a report about one or more runs.
    #[command(after_help = "Examples:
  mpu-cli report runs/items
  mpu-cli report runs/items --data checked.csv --out report.html
  mpu-cli report runs/first runs/second --format md --out report.md
  mpu-cli report results --id 011fa5efba1dc986")]
    Report(Box<report::ReportArgs>),

    /// Export a model as ONNX, with a model card that describes it.
    #[command(after_help = "Examples:
  mpu-cli export runs/items
  mpu-cli export runs/items --onnx items.onnx --card ITEMS.md")]
    Export(Box<export::Export>),

    /// Print completions for a shell.
    #[command(after_help = "Examples:
  mpu-cli completions bash > ~/.local/share/bash-completion/completions/mpu-cli
  mpu-cli completions zsh > ~/.zfunc/_mpu-cli
  mpu-cli completions fish > ~/.config/fish/completions/mpu-cli.fish")]
    Completions(Box<completions::Completions>),

    /// Estimate the class priors of a pool: bounds, point estimate, interval, warnings.
    #[command(after_help = "Examples:
  mpu-cli prior --data items.csv --label-column kind
  mpu-cli prior --dataset usps --classes 4 --prior 0.5 --estimator all
  mpu-cli prior --scores margins.csv --plot priors.svg --format json")]
    Prior(Box<priors::Prior>),

    /// Train with priors made wrong on purpose, and show what that costs.
    #[command(after_help = "Examples:
  mpu-cli sensitivity
  mpu-cli sensitivity --dataset usps --classes 4 --prior 0.5 --method csmpu-abs --plot wrong-priors.svg
  mpu-cli sensitivity --data items.csv --label-column kind --sizes 0.1,0.3
  mpu-cli sensitivity --data items.csv --label-column kind --wrong sampled --draws 20")]
    Sensitivity(Box<priors::Sensitivity>),

    /// List the runs of a sweep.
    #[command(after_help = "Examples:
  mpu-cli plan sweep.toml
  mpu-cli plan sweep.toml --write plan.jsonl")]
    Plan(runs::Plan),

    /// Train the runs of a sweep that are still missing.
    #[command(after_help = "Examples:
  mpu-cli run sweep.toml --out results
  mpu-cli run sweep.toml --out results --shard 1/4")]
    Run(runs::Run),

    /// Show how far a sweep has got.
    #[command(after_help = "Example:\n  mpu-cli status sweep.toml --out results")]
    Status(runs::Status),

    /// Tabulate runs: mean and standard deviation over seeds.
    #[command(after_help = "Examples:
  mpu-cli collect sweep.toml --out results
  mpu-cli collect sweep.toml --out results --format csv
  mpu-cli collect runs/first runs/second")]
    Collect(runs::Collect),

    /// Submit the missing runs of a sweep to Slurm as a job array.
    #[command(after_help = "Examples:
  mpu-cli submit sweep.toml --out results --partition short --time 01:00:00
  mpu-cli submit sweep.toml --out results --print")]
    Submit(runs::Submit),

    /// Reproduce the paper's tables and figures, with our results beside the published ones.
    #[command(after_help = "Examples:
  mpu-cli reproduce tables --quick
  mpu-cli reproduce all --datasets usps,pendigits --out results
  mpu-cli reproduce tables --only table1,losses --seeds 2 --epochs 30")]
    Reproduce(Box<runs::Reproduce>),

    /// Pack the records of a store into one file per dataset.
    #[command(after_help = "Example:\n  mpu-cli pack --out results")]
    Pack(runs::Pack),

    /// Show how a protocol splits a dataset: groups, priors, digest.
    #[command(after_help = "Examples:
  mpu-cli split --dataset waveform1 --classes 3 --prior 0.5
  mpu-cli split --dataset mnist --classes 4 --prior 0.5 --protocol first-k --seed 1 --format json")]
    Split(SplitArgs),

    /// Check every loss of the paper's table against the constant-sum condition.
    #[command(after_help = "Examples:\n  mpu-cli losses\n  mpu-cli losses --format json")]
    Losses(Losses),
}

/// `mpu-cli train`.
#[derive(Debug, clap::Args)]
pub(crate) struct Train {
    /// A configuration file; the built-in default if not given.
    #[arg(conflicts_with = "resume")]
    pub(crate) config: Option<PathBuf>,

    /// Set a key of the configuration, such as train.epochs=20 (may be repeated).
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "resume")]
    set: Vec<String>,

    /// The dataset.
    #[arg(long, value_parser = slug_parser::<DatasetId>(&DatasetId::ALL.map(DatasetId::slug)), conflicts_with = "resume")]
    dataset: Option<DatasetId>,

    /// The number of classes, the negative one included.
    #[arg(long, conflicts_with = "resume")]
    classes: Option<usize>,

    /// For a benchmark, the share of negatives in the pool; `auto` to train with estimated priors.
    #[arg(
        long,
        value_name = "SHARE|auto",
        conflicts_with = "resume",
        allow_negative_numbers = true
    )]
    prior: Option<String>,

    /// Your own table, or a folder of images, in place of a benchmark.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "dataset", "classes"])]
    pub(crate) data: Option<PathBuf>,

    /// A table with true labels, to test the model on.
    #[arg(long, value_name = "FILE", requires = "data")]
    test: Option<PathBuf>,

    /// The share of each observed class in the pool, such as a=0.1,b=0.2; estimated if not given.
    #[arg(
        long,
        value_name = "CLASS=SHARE",
        value_delimiter = ',',
        requires = "data",
        conflicts_with = "prior"
    )]
    priors: Vec<String>,

    /// What mistakes cost: CSV with a line for each true class and a column for each answer, or TOML
    /// with a table for each true class. Answers are then the cheapest ones, not the likeliest.
    #[arg(long, value_name = "FILE")]
    pub(crate) cost_matrix: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    /// The method.
    #[arg(long, value_parser = slug_parser::<Method>(&Method::ALL.map(Method::slug)), conflicts_with = "resume")]
    method: Option<Method>,

    /// The surrogate loss.
    #[arg(long, value_parser = slug_parser::<Surrogate>(&Surrogate::ALL.map(Surrogate::slug)), conflicts_with = "resume")]
    loss: Option<Surrogate>,

    /// Passes over the training rows.
    #[arg(long, conflicts_with = "resume")]
    epochs: Option<usize>,

    /// The learning rate.
    #[arg(long, conflicts_with = "resume", allow_negative_numbers = true)]
    lr: Option<f64>,

    /// Rows per batch.
    #[arg(long, conflicts_with = "resume")]
    batch_size: Option<usize>,

    /// The seed of initial weights and shuffling.
    #[arg(long, conflicts_with = "resume")]
    seed: Option<u64>,

    /// Where to compute: cpu, cuda, cuda:N, metal or auto.
    #[arg(long, conflicts_with = "resume")]
    device: Option<DeviceChoice>,

    /// What makes the steps: fused (CPU only, the fastest there) or candle (any device); by the device if not given.
    #[arg(long, value_parser = slug_parser::<EngineChoice>(&EngineChoice::ALL.map(EngineChoice::slug)), conflicts_with = "resume")]
    engine: Option<EngineChoice>,

    /// The numbers that the network computes with: f32, or bf16 with the candle engine on devices that have it.
    #[arg(long, value_parser = slug_parser::<Precision>(&Precision::ALL.map(Precision::slug)), conflicts_with = "resume")]
    precision: Option<Precision>,

    /// Threads; all cores if not given. The result does not depend on it.
    #[arg(long, value_parser = thread_count)]
    pub(crate) threads: Option<usize>,

    /// The run's folder; a new one in runs/ if not given.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,

    /// Continue a run that was stopped.
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,

    /// Also write TensorBoard event files into the run's folder.
    #[arg(long)]
    pub(crate) tensorboard: bool,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) report: Report,
}

impl Train {
    /// The flags as assignments, after those of `--set`.
    pub(crate) fn overrides(&self) -> anyhow::Result<Vec<String>> {
        let mut overrides = self.set.clone();
        let mut set = |key: &str, value: Option<String>| {
            overrides.extend(value.map(|value| format!("{key}={value}")));
        };
        set("data.dataset", self.dataset.map(|d| text(d.slug())));
        set("data.classes", self.classes.map(|k| k.to_string()));
        set("method", self.method.map(|m| text(m.slug())));
        set("loss.surrogate", self.loss.map(|l| text(l.slug())));
        set("train.epochs", self.epochs.map(|n| n.to_string()));
        set("train.lr", self.lr.map(float));
        set("train.batch-size", self.batch_size.map(|n| n.to_string()));
        set("seed", self.seed.map(|n| n.to_string()));
        set("device", self.device.map(|d| text(&d.to_string())));
        set("engine", self.engine.map(|e| text(e.slug())));
        set("precision", self.precision.map(|p| text(p.slug())));
        set("data.file", self.data.as_ref().map(|file| path(file)));
        set("data.test", self.test.as_ref().map(|file| path(file)));
        match self.prior.as_deref() {
            None => {}
            Some("auto") => set("data.priors", Some(text("auto"))),
            Some(share) => {
                let share: f64 = share.parse().with_context(|| {
                    format!("--prior is `{share}`: it must be a number or `auto`")
                })?;
                anyhow::ensure!(
                    self.data.is_none(),
                    "--prior {share} is the share of negatives of a benchmark\nhint: for your own data give the share of each class, as in --priors a=0.1,b=0.2, or leave it out"
                );
                set("data.prior", Some(float(share)));
            }
        }
        if !self.priors.is_empty() {
            let mut given = toml::Table::new();
            for one in &self.priors {
                let share = one.rsplit_once('=').and_then(|(name, share)| {
                    Some((name.trim().to_owned(), share.trim().parse::<f64>().ok()?))
                });
                let (name, share) = share.with_context(|| {
                    format!("--priors has `{one}`: write CLASS=SHARE, such as dent=0.1")
                })?;
                given.insert(name, toml::Value::Float(share));
            }
            set("data.priors", Some(toml::Value::Table(given).to_string()));
        }
        if self.data.is_some() {
            overrides.extend(self.table.assignments());
        } else {
            let stray = self.table.assignments();
            anyhow::ensure!(
                stray.is_empty(),
                "{} is about your own table: name it with --data",
                stray.join(", ")
            );
        }
        Ok(overrides)
    }
}

/// A text as TOML writes it.
fn text(value: &str) -> String {
    toml::Value::String(value.to_owned()).to_string()
}

fn path(value: &std::path::Path) -> String {
    text(&value.to_string_lossy())
}

/// A float that TOML reads back as one.
fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else {
        format!("{value:?}")
    }
}

/// `mpu-cli show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A configuration file; the built-in default if not given.
    pub(crate) config: Option<PathBuf>,

    /// Set a key of the configuration (may be repeated).
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// TOML (`table`) or `json`.
    #[arg(long, default_value_t, value_name = "FORMAT", value_parser = slug_parser::<Format>(&["table", "json"]))]
    pub(crate) format: Format,
}

/// `mpu-cli data`.
#[derive(Debug, Subcommand)]
pub(crate) enum Data {
    /// List the benchmark datasets, and whether they are on this machine.
    #[command(after_help = "Example:\n  mpu-cli data list")]
    List(DataList),
    /// Check the files, checksums and row counts of the datasets on this machine.
    #[command(after_help = "Examples:\n  mpu-cli data verify\n  mpu-cli data verify waveform1")]
    Verify(DataVerify),
    /// Download datasets into the cache.
    #[command(after_help = "Example:\n  mpu-cli data fetch mnist usps")]
    Fetch(DataFetch),
}

/// `mpu-cli data list`.
#[derive(Debug, clap::Args)]
pub(crate) struct DataList {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli data verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct DataVerify {
    /// Which datasets; all that are on this machine if none is named.
    #[arg(value_parser = slug_parser::<DatasetId>(&DatasetId::ALL.map(DatasetId::slug)))]
    pub(crate) names: Vec<DatasetId>,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli data fetch`.
#[derive(Debug, clap::Args)]
pub(crate) struct DataFetch {
    /// Which datasets.
    #[arg(required = true, value_parser = slug_parser::<DatasetId>(&DatasetId::ALL.map(DatasetId::slug)))]
    pub(crate) names: Vec<DatasetId>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `mpu-cli split`.
#[derive(Debug, clap::Args)]
pub(crate) struct SplitArgs {
    /// The dataset.
    #[arg(long, value_parser = slug_parser::<DatasetId>(&DatasetId::ALL.map(DatasetId::slug)))]
    pub(crate) dataset: DatasetId,

    /// The number of classes, the negative one included.
    #[arg(long, value_parser = parse_classes)]
    pub(crate) classes: ClassCount,

    /// The share of negatives in the pool.
    #[arg(long)]
    pub(crate) prior: f64,

    /// Which rows make up the classes.
    #[arg(long, default_value = Protocol::FirstK.slug(), value_parser = slug_parser::<Protocol>(&Protocol::ALL.map(Protocol::slug)))]
    pub(crate) protocol: Protocol,

    /// How labelled and unlabelled rows were drawn.
    #[arg(long, default_value = Scenario::CaseControl.slug(), value_parser = slug_parser::<Scenario>(&Scenario::ALL.map(Scenario::slug)))]
    pub(crate) scenario: Scenario,

    /// The share of each observed class left unlabelled, if the protocol does not fix it.
    #[arg(long)]
    pub(crate) unlabeled_fraction: Option<f64>,

    /// The share of every group that is held out.
    #[arg(long, default_value_t = 0.0)]
    pub(crate) validation_share: f64,

    /// The seed of the draw.
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli losses`.
#[derive(Debug, clap::Args)]
pub(crate) struct Losses {
    #[command(flatten)]
    pub(crate) report: Report,
}

/// Where data are looked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// A folder with the upstream files, such as DIR/mnist/train-images-idx3-ubyte.gz; the variable `MPU_DATA_DIR` names
    /// one as well.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Do not download anything.
    #[arg(long)]
    offline: bool,
}

impl Place {
    /// The folder with the upstream files, if one is named.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.locations().data_dir
    }

    /// The environment's locations with these flags laid over them.
    pub(crate) fn locations(&self) -> Locations {
        let mut locations = Locations::from_env();
        if self.data_dir.is_some() {
            locations.data_dir.clone_from(&self.data_dir);
        }
        if self.offline {
            locations.network = Network::Offline;
        }
        locations
    }
}

/// What every reporting command takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// How to write the result.
    #[arg(long, default_value_t, value_name = "FORMAT", value_parser = slug_parser::<Format>(&Format::ALL.map(Format::slug)))]
    pub(crate) format: Format,
}

/// A parser of one closed list of names, which clap shows and completes.
fn slug_parser<T>(slugs: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(slugs.to_vec()).try_map(|name| name.parse::<T>())
}

/// A number of threads, or of runs at the same time, that a machine can have.
fn thread_count(text: &str) -> Result<usize, String> {
    let n: usize = text
        .parse()
        .map_err(|_| format!("`{text}` is not a whole number"))?;
    let most = limit("MPU_MAX_THREADS").map_err(|error| error.to_string())?;
    match most.unwrap_or(1024) {
        most if n as u64 > most => Err(format!(
            "it must be at most {most}; the variable MPU_MAX_THREADS raises this limit"
        )),
        _ => Ok(n),
    }
}

/// The limit that a variable sets, if it does.
pub(crate) fn limit(variable: &str) -> anyhow::Result<Option<u64>> {
    let text = std::env::var(variable).unwrap_or_default();
    let wrong = || format!("{variable} is `{text}`: it must be a whole number");
    Ok(match text.as_str() {
        "" => None,
        _ => Some(text.parse().with_context(wrong)?),
    })
}

fn parse_classes(text: &str) -> Result<ClassCount, String> {
    let n: usize = text
        .parse()
        .map_err(|_| format!("`{text}` is not a whole number"))?;
    ClassCount::new(n).map_err(|error| error.to_string())
}
