//! Scoring a large CSV: `mpu-cli predict` beside scikit-learn, from file to file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::csv::Size;
use super::{
    available, folder, machine, median, number, output, program, python_with, removed, watched,
};

/// Rows that both models are trained on; how well does not matter here.
const TRAIN_ROWS: usize = 20_000;

/// A network of the same size; its training is not measured.
const FIT: &str = "import pickle, sys
import pandas
from sklearn.neural_network import MLPClassifier
table = pandas.read_csv(sys.argv[1], keep_default_na=False)
names = [name for name in table.columns if name != 'label']
model = MLPClassifier(hidden_layer_sizes=(100,), max_iter=2, random_state=1)
model.fit(table[names].to_numpy('float64'), table['label'])
pickle.dump((names, model), open(sys.argv[2], 'wb'))
";

/// The clock starts after the imports, unlike ours, which has the whole process.
const PEER: &str = "import pickle, sys, time
import pandas
import sklearn.neural_network
names, model = pickle.load(open(sys.argv[2], 'rb'))
start = time.perf_counter()
table = pandas.read_csv(sys.argv[1], usecols=names)
p = model.predict_proba(table[names].to_numpy())
scored = pandas.DataFrame(p, columns=['probability:' + (c or 'unknown') for c in model.classes_])
scored.insert(0, 'answer', model.classes_[p.argmax(axis=1)])
scored.to_csv(sys.argv[3])
print('seconds', time.perf_counter() - start)
print('rows', len(scored))
";

pub(crate) fn run(root: &Path, args: &Size) -> Result<()> {
    args.check()?;
    let folder = folder(root)?;
    let [large, tenth, train] =
        [args.rows, args.rows.div_ceil(10), TRAIN_ROWS].map(|rows| args.table(&folder, rows));
    let (large, tenth, train) = (large?, tenth?, train?);
    let ours = Ours::train(program(root, None)?, &folder, &train)?;
    let peer = available("scikit-learn", Peer::fit(&folder, &train));
    let (mut ratios, mut peaks, mut small_peaks) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        let (seconds, peak) = ours.predict(&large, args.rows)?;
        peaks.extend(peak);
        small_peaks.extend(ours.predict(&tenth, args.rows.div_ceil(10))?.1);
        if let Some(peer) = &peer {
            ratios.push(peer.predict(&large, args.rows)? / seconds);
        }
    }
    println!(
        "machine: {}; {} rows x {} columns, network of 100 hidden units, {} rounds, medians",
        machine(),
        args.rows,
        args.columns,
        args.rounds
    );
    if ratios.is_empty() {
        println!("rows/s: nothing to compare with here");
    } else {
        println!(
            "rows/s: {:.2} x scikit-learn with pandas, CSV to CSV (bar: 3)",
            median(&mut ratios)
        );
    }
    if peaks.is_empty() {
        println!("peak memory: this system does not tell it");
    } else {
        let (large, small) = (median(&mut peaks), median(&mut small_peaks));
        println!(
            "peak memory: {small:.0} MB for {} rows, {large:.0} MB for {} rows ({:.2} x)",
            args.rows.div_ceil(10),
            args.rows,
            large / small
        );
    }
    Ok(())
}

/// Our program and its model.
struct Ours {
    program: PathBuf,
    model: PathBuf,
    out: PathBuf,
}

impl Ours {
    fn train(program: PathBuf, folder: &Path, train: &Path) -> Result<Self> {
        let ours = Self {
            program,
            model: folder.join("predict-model"),
            out: folder.join("scored-ours.csv"),
        };
        removed(&ours.model)?;
        let settings = "--priors a=0.2,b=0.2 --method csmpu-exact-nn --epochs 2 --quiet";
        let mut command = Command::new(&ours.program);
        command.arg("train").arg("--data").arg(train);
        command.args(settings.split(' '));
        command.args(["--set", "model={kind=\"mlp\", hidden=[100]}"]);
        output(command.arg("--out").arg(&ours.model))?;
        Ok(ours)
    }

    /// Seconds of the whole process and its peak memory, where the system tells it.
    fn predict(&self, table: &Path, rows: usize) -> Result<(f64, Option<f64>)> {
        let mut command = Command::new(&self.program);
        command.arg("predict").arg("--model").arg(&self.model);
        command.arg("--data").arg(table).arg("--out").arg(&self.out);
        command.args(["--force", "--quiet", "--format", "json"]);
        let started = Instant::now();
        let (done, peak) = watched(&mut command)?;
        let seconds = started.elapsed().as_secs_f64();
        ensure!(done.status.success(), "mpu-cli predict failed");
        let summary: serde_json::Value = serde_json::from_slice(&done.stdout)?;
        ensure!(summary["rows"] == rows, "our program lost rows");
        Ok((seconds, peak))
    }
}

/// scikit-learn and its model.
struct Peer {
    python: PathBuf,
    model: PathBuf,
    out: PathBuf,
}

impl Peer {
    fn fit(folder: &Path, train: &Path) -> Result<Self> {
        let peer = Self {
            python: python_with(folder, &["pandas", "scikit-learn"])?,
            model: folder.join("predict-model.pickle"),
            out: folder.join("scored-theirs.csv"),
        };
        let mut command = Command::new(&peer.python);
        command.args(["-W", "ignore", "-c", FIT]).arg(train);
        output(command.arg(&peer.model))?;
        Ok(peer)
    }

    fn predict(&self, table: &Path, rows: usize) -> Result<f64> {
        let mut command = Command::new(&self.python);
        command.args(["-W", "ignore", "-c", PEER]);
        let text = output(command.arg(table).arg(&self.model).arg(&self.out))?;
        let found = number(&text, "rows")? as usize;
        ensure!(found == rows, "the peer lost rows");
        number(&text, "seconds")
    }
}
