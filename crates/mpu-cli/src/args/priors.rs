//! The arguments of commands about class priors.

use std::path::PathBuf;

use mpu_data::{DatasetId, UnknownName};
use mpu_prior::EstimatorKind;
use mpu_train::Method;

use super::{Place, Report, TableArgs, float, path, slug_parser, text};

/// A benchmark, or the user's own rows.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// A benchmark dataset.
    #[arg(long, value_parser = slug_parser::<DatasetId>(&DatasetId::ALL.map(DatasetId::slug)))]
    dataset: Option<DatasetId>,

    /// For a benchmark: the number of classes, the negative one included.
    #[arg(long, conflicts_with = "data")]
    classes: Option<usize>,

    /// For a benchmark: the share of negatives in the pool.
    #[arg(long, conflicts_with = "data")]
    prior: Option<f64>,

    /// Your own table, or a folder of images.
    #[arg(long, value_name = "FILE", conflicts_with = "dataset")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    /// The seed of splits, folds, weights and bootstrap.
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) place: Place,
}

impl Source {
    /// The flags as assignments to a configuration.
    pub(crate) fn overrides(&self) -> Vec<String> {
        let mut overrides = vec![format!("seed={}", self.seed)];
        let mut set = |key: &str, value: Option<String>| {
            overrides.extend(value.map(|value| format!("{key}={value}")));
        };
        set("data.dataset", self.dataset.map(|d| text(d.slug())));
        set("data.classes", self.classes.map(|k| k.to_string()));
        set("data.prior", self.prior.map(float));
        set("data.file", self.data.as_deref().map(path));
        if self.data.is_some() {
            overrides.extend(self.table.assignments());
        } else {
            set("data.split-seed", Some(self.seed.to_string()));
        }
        overrides
    }
}

/// The estimator that suits the rows, one estimator, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Auto,
    One(EstimatorKind),
    All,
}

impl Which {
    fn parse(name: &str) -> Result<Self, UnknownName> {
        match name {
            "auto" => return Ok(Self::Auto),
            "all" => return Ok(Self::All),
            _ => {}
        }
        name.parse().map(Self::One).map_err(|_: UnknownName| {
            let kinds = EstimatorKind::ALL.map(EstimatorKind::slug);
            UnknownName::new(
                "estimator",
                name,
                &[&["auto"], &kinds[..], &["all"]].concat(),
            )
        })
    }

    /// The estimators, if `auto` means this one.
    pub(crate) fn kinds(self, auto: EstimatorKind) -> Vec<EstimatorKind> {
        match self {
            Self::Auto => vec![auto],
            Self::One(kind) => vec![kind],
            Self::All => EstimatorKind::ALL.to_vec(),
        }
    }
}

/// What is estimated as one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum By {
    /// Each class: its labelled rows must be a random draw of its rows.
    #[default]
    Classes,
    /// Clusters of a class's labelled rows, summed afterwards: only within a cluster must they be a random draw.
    Clusters,
}

/// `mpu-cli prior`.
#[derive(Debug, clap::Args)]
pub(crate) struct Prior {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Out-of-fold margins of your own detector: a CSV with a column `label` (blank for the pool), an optional
    /// column `fold`, and one column for each class, named after it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "dataset"])]
    pub(crate) scores: Option<PathBuf>,

    /// The estimator: moments, bbe, elkan-noto, km2, pen-l1, dedpul, labeling-rate, shared-rate, all of them side by
    /// side, or auto: what `train` uses for your own table; moments for benchmarks, --scores and --by clusters.
    #[arg(long, default_value = "auto", value_parser = Which::parse)]
    pub(crate) estimator: Which,

    /// What is estimated as one piece.
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["scores", "write_scores"])]
    pub(crate) by: By,

    /// Bootstrap replicates.
    #[arg(long, default_value_t = 1000)]
    pub(crate) replicates: usize,

    /// How often the intervals may miss the truth.
    #[arg(long, default_value_t = 0.05)]
    pub(crate) delta: f64,

    /// Draw estimates and intervals into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Write the margins that were used, in the form that --scores reads.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) write_scores: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) report: Report,
}

/// How priors are made wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wrong {
    /// Shifted by two schemes whose differences sum to zero, as in the paper's figure 3.
    Shifted,
    /// All observed priors scaled by a factor: ±10, ±20 and ±30 % if no sizes are given.
    Scaled,
    /// Drawn from the bootstrap of their estimate.
    Sampled,
}

/// `mpu-cli sensitivity`.
#[derive(Debug, clap::Args)]
pub(crate) struct Sensitivity {
    #[command(flatten)]
    pub(crate) source: Source,

    /// The method.
    #[arg(long, value_parser = slug_parser::<Method>(&Method::ALL.map(Method::slug)))]
    pub(crate) method: Option<Method>,

    /// Passes over the training rows.
    #[arg(long)]
    pub(crate) epochs: Option<usize>,

    /// Runs of each setting, with different initial weights.
    #[arg(long, default_value_t = 3)]
    pub(crate) seeds: u64,

    /// How the priors are made wrong.
    #[arg(long, value_enum, default_value_t = Wrong::Shifted)]
    pub(crate) wrong: Wrong,

    /// For shifted priors: sums of absolute differences. For scaled ones: relative changes, each up and down.
    #[arg(long, value_delimiter = ',')]
    pub(crate) sizes: Vec<f64>,

    /// For sampled priors: how many are drawn.
    #[arg(long, default_value_t = 10)]
    pub(crate) draws: usize,

    /// Set a key of the configuration, such as train.lr=0.0005 (may be repeated).
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Draw the figure into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Runs at the same time; as many as there are cores if not given.
    #[arg(long, value_parser = super::thread_count)]
    pub(crate) jobs: Option<usize>,

    #[command(flatten)]
    pub(crate) report: Report,
}
