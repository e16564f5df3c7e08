//! Arguments of the commands that make many runs.

use std::path::PathBuf;

use mpu_data::DatasetId;
use mpu_train::Method;

use super::{Place, Report, slug_parser};

/// A list of runs and the store they go to.
#[derive(Debug, clap::Args)]
pub(crate) struct Sweep {
    /// A sweep (TOML in which keys may have lists of values) or a plan (JSON lines).
    pub(crate) file: PathBuf,

    /// The folder of the store.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,
}

/// `mpu-cli plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// A sweep (TOML in which keys may have lists of values) or a plan (JSON lines).
    pub(crate) file: PathBuf,

    /// Write the resolved runs to this file, as JSON lines that `run` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) sweep: Sweep,

    #[command(flatten)]
    pub(crate) local: Local,

    /// Train only part I of N of the runs, such as 1/4.
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub(crate) shard: Option<Shard>,

    /// Train only one part of N; SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX (from 0) says which.
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub(crate) shards: Option<usize>,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// How runs are made on this machine.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Local {
    /// Runs at the same time; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = super::thread_count)]
    pub(crate) jobs: Option<usize>,

    /// Threads of each run. The result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::thread_count)]
    pub(crate) threads: usize,

    /// Try failed runs again.
    #[arg(long)]
    pub(crate) retry_failed: bool,
}

/// `mpu-cli status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) sweep: Sweep,
    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli collect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Collect {
    /// Sweeps (TOML) or plans (JSON lines) whose runs are in the store, folders of runs, or other stores.
    #[arg(required = true, value_name = "FILE|RUN|STORE")]
    pub(crate) runs: Vec<PathBuf>,

    /// The store that sweeps and plans are looked up in.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// `mpu-cli submit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) sweep: Sweep,
    #[command(flatten)]
    pub(crate) slurm: Slurm,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// What is passed on to Slurm.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Slurm {
    /// The partition.
    #[arg(long)]
    pub(crate) partition: Option<String>,

    /// The account.
    #[arg(long)]
    pub(crate) account: Option<String>,

    /// The time limit of a task, as Slurm writes it.
    #[arg(long, value_name = "TIME", default_value = "04:00:00")]
    pub(crate) time: String,

    /// About how many minutes of runs a task gets, judged by the runs so far.
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0)]
    pub(crate) task_minutes: f64,

    /// Cores of a task, which is also how many runs it trains at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) task_cores: usize,

    /// Show the script and submit nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

/// `mpu-cli pack`.
#[derive(Debug, clap::Args)]
pub(crate) struct Pack {
    /// The folder of the store.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,
}

/// `mpu-cli reproduce`.
#[derive(Debug, clap::Args)]
pub(crate) struct Reproduce {
    /// What to reproduce.
    #[arg(value_enum)]
    pub(crate) what: What,

    /// Only these tables and figures.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Artefact>,

    /// Only these datasets.
    #[arg(long, value_delimiter = ',', value_parser = slug_parser::<DatasetId>(&DatasetId::PAPER.map(DatasetId::slug)))]
    pub(crate) datasets: Vec<DatasetId>,

    /// Only these methods.
    #[arg(long, value_delimiter = ',', value_parser = slug_parser::<Method>(&Method::ALL.map(Method::slug)))]
    pub(crate) methods: Vec<Method>,

    /// Seeds 1 to N for split, weights and shuffling; 5 by default, as in the paper.
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,

    /// Epochs of each run; 100 by default, as in the paper. With fewer, the residual network of svhn has batches of 64 in place of 512.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,

    /// Try everything in minutes: one seed, 2 epochs, at most 1000 rows, the paper's methods and the oracle.
    #[arg(long)]
    pub(crate) quick: bool,

    /// The learning rate: that of the authors' script, or the best of the paper's four on held-out rows.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) lr: Rate,

    /// Where to train.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineKind,

    /// Train nothing; only write what the stored runs give.
    #[arg(long)]
    pub(crate) report_only: bool,

    /// Download datasets that are not on this machine.
    #[arg(long)]
    pub(crate) fetch: bool,

    /// The folder of the store; tables and figures go there too.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) local: Local,

    #[command(flatten)]
    pub(crate) slurm: Slurm,

    #[command(flatten)]
    pub(crate) place: Place,
}

/// Tables, figures or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    Tables,
    Figures,
    All,
}

/// A table or figure of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Artefact {
    /// Accuracy at π_k = 0.2.
    Table1,
    /// Accuracy at π_k = 0.5.
    Table2,
    /// Accuracy at π_k = 0.8.
    Table3,
    /// The table of losses.
    Losses,
    /// The macro-F1 table with its tests.
    MacroF1,
    /// Methods of the literature that the paper does not have.
    Rivals,
    /// What a sweep of learning rates changes.
    Rates,
    /// Curves.
    Figure1,
    /// Scores against the prior.
    Figure2,
    /// Wrong priors.
    Figure3,
    /// Margins and support.
    Figure4,
}

/// How the learning rate is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Rate {
    /// That of the authors' script.
    #[default]
    Fixed,
    /// The best of the paper's four on held-out positive and unlabelled rows.
    Sweep,
}

/// Where runs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum EngineKind {
    /// On this machine.
    #[default]
    Local,
    /// On a cluster, through Slurm.
    Slurm,
}

/// A part of a plan: part `index` (from 0) of `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) index: usize,
    pub(crate) count: usize,
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    match parts {
        Some((index, count)) if 1 <= index && index <= count => Ok(Shard {
            index: index - 1,
            count,
        }),
        _ => Err(format!(
            "`{text}` is not a part: write I/N with 1 <= I <= N, such as 1/4"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_checked() {
        assert_eq!(parse_shard("2/4"), Ok(Shard { index: 1, count: 4 }));
        for bad in ["0/4", "5/4", "4", "a/b", "1/0"] {
            assert!(parse_shard(bad).unwrap_err().contains("I/N"), "{bad}");
        }
    }
}
