//! Growing forests: ours beside scikit-learn's, on one thread.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{
    Target, built, folder, generator, machine, median, number, output, page, scikit_learn,
};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Forest {
    /// Rows to learn from; a fifth as many are answered.
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// Columns.
    #[arg(long, default_value_t = 50)]
    columns: usize,
    /// Classes.
    #[arg(long, default_value_t = 5)]
    classes: usize,
    /// Trees.
    #[arg(long, default_value_t = 100)]
    trees: usize,
    /// Rounds; ours and the peer take turns, each round with another seed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Write the section of docs/BENCHMARKS.md.
    #[arg(long)]
    write: bool,
}

/// The forests that are compared: ours by its words, scikit-learn's as it is called there.
const PAIRS: [([&str; 2], &str); 3] = [
    (["random", "every"], "ExtraTreesClassifier"),
    (
        ["random", "bootstrap"],
        "ExtraTreesClassifier, bootstrap=True",
    ),
    (["best", "bootstrap"], "RandomForestClassifier"),
];

const PEER: &str = "import sys, time
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
path, columns, train, trees, seed = sys.argv[1], *map(int, sys.argv[2:6])
name, *options = sys.argv[6].split(', ')
table = np.fromfile(path, '<f4').reshape(-1, columns + 1)
X, y = np.ascontiguousarray(table[:, :columns]), table[:, columns].astype(int)
options = {'bootstrap': True} if options else {}
model = globals()[name](trees, min_samples_leaf=3, n_jobs=1, random_state=seed, **options)
start = time.process_time()
model.fit(X[:train], y[:train])
print('seconds', time.process_time() - start)
start = time.process_time()
answers = model.predict(X[train:])
print('predict-seconds', time.process_time() - start)
print('accuracy', (answers == y[train:]).mean())
";

/// What one forest took, and how good it was.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    predict: Vec<f64>,
    accuracies: Vec<f64>,
}

impl Runs {
    fn add(&mut self, text: &str) -> Result<()> {
        self.seconds.push(number(text, "seconds")?);
        self.predict.push(number(text, "predict-seconds")?);
        self.accuracies.push(number(text, "accuracy")?);
        Ok(())
    }

    fn accuracy(&self) -> f64 {
        self.accuracies.iter().sum::<f64>() / self.accuracies.len() as f64
    }
}

pub(crate) fn run(root: &Path, args: &Forest) -> Result<()> {
    ensure!(
        args.rows >= 100 && args.columns >= 4 && args.classes >= 2 && args.rounds > 0,
        "at least 100 rows, 4 columns, 2 classes and 1 round"
    );
    let folder = folder(root)?;
    let &Forest {
        rows,
        columns,
        classes,
        ..
    } = args;
    let table = folder.join(format!("forest-{rows}x{columns}x{classes}.f32"));
    write_table(&table, rows + rows / 5, columns, classes)?;
    let ours = built(root, "mpu-models", Target::Example("forest"))?;
    let python = scikit_learn(&folder)?;
    let mut text = String::new();
    writeln!(
        text,
        "{} rows to learn from, {} columns, {} classes, {} trees, leaves of at least 3 rows, one thread.\n\n\
         | scikit-learn | ours: splits, sample | growing: ours is … times as fast | answering: … times | accuracy, ours | scikit-learn |\n\
         |---|---|---|---|---|---|",
        args.rows, args.columns, args.classes, args.trees
    )?;
    for ([splits, sample], peer) in PAIRS {
        let (mut mine, mut theirs) = (Runs::default(), Runs::default());
        for round in 1..=args.rounds {
            eprintln!("{peer}: round {round} of {}", args.rounds);
            let sizes = [columns, classes, rows, args.trees].map(|size| size.to_string());
            let mut our_run = Command::new(&ours);
            our_run.arg(&table).args(sizes).args([splits, sample]);
            mine.add(&output(our_run.arg(round.to_string()))?)?;
            let sizes = [columns, rows, args.trees, round].map(|size| size.to_string());
            let mut their_run = Command::new(&python);
            their_run.args(["-W", "ignore", "-c", PEER]).arg(&table);
            their_run.args(sizes).arg(peer).env("OMP_NUM_THREADS", "1");
            theirs.add(&output(&mut their_run)?)?;
        }
        writeln!(
            text,
            "| {peer} | {splits}, {sample} | {:.2} | {:.2} | {:.4} | {:.4} |",
            median(&mut theirs.seconds) / median(&mut mine.seconds),
            median(&mut theirs.predict) / median(&mut mine.predict),
            mine.accuracy(),
            theirs.accuracy()
        )?;
    }
    writeln!(
        text,
        "\nMeasured on {}; ratios of the medians of CPU seconds over {} rounds in turn.",
        machine(),
        args.rounds
    )?;
    page::show_section(root, ("BENCHMARKS.md", "forest"), &text, args.write)
}

/// Three clouds of each class in the first two fifths of the columns, sums of two of these in another fifth, and
/// noise in the rest. The class stands behind the features.
fn write_table(path: &Path, rows: usize, columns: usize, classes: usize) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(writing)?);
    let mut next = generator();
    let mut unit = || (next() >> 11) as f64 / (1_u64 << 53) as f64;
    let informative = columns * 2 / 5;
    let clouds = 3 * classes;
    let centers: Vec<f64> = (0..clouds * informative)
        .map(|_| 3.0 * unit() - 1.5)
        .collect();
    // A bell from four uniform numbers.
    let mut bell = || ((0..4).map(|_| unit()).sum::<f64>() - 2.0) * 3.0_f64.sqrt();
    for row in 0..rows {
        let cloud = row % clouds;
        let mut features: Vec<f64> = (0..columns).map(|_| bell()).collect();
        for j in 0..informative {
            features[j] = features[j] * 2.0 + centers[cloud * informative + j];
        }
        for j in informative..(informative + columns / 5) {
            let other = 7 * j % informative;
            features[j] = features[j - informative] + features[other];
        }
        for &value in features.iter().chain([&((cloud % classes) as f64)]) {
            file.write_all(&(value as f32).to_le_bytes())
                .with_context(writing)?;
        }
    }
    file.flush().with_context(writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_rows_and_classes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.f32");
        write_table(&path, 30, 10, 4).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 30 * 11 * 4);
        let fours = bytes.as_chunks::<4>().0.iter();
        let numbers: Vec<f32> = fours.map(|four| f32::from_le_bytes(*four)).collect();
        let classes: Vec<f32> = numbers.chunks(11).map(|row| row[10]).collect();
        assert_eq!(classes[..6], [0.0, 1.0, 2.0, 3.0, 0.0, 1.0]);
        assert!(numbers.iter().all(|value| value.is_finite()));
    }

    #[test]
    fn a_run_is_read_from_what_was_printed() {
        let mut runs = Runs::default();
        runs.add("seconds 2\npredict-seconds 1\naccuracy 0.5\n")
            .unwrap();
        runs.add("seconds 4\npredict-seconds 1\naccuracy 0.7\n")
            .unwrap();
        assert_eq!(runs.accuracy(), 0.6);
        assert!(runs.add("seconds 2\n").is_err());
    }
}
