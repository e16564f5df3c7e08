//! Bootstrapping the moments of margins: ours beside the same in NumPy.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{
    Target, available, built, folder, generator, machine, median, number, output, python_with,
};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Prior {
    /// Rows, labelled and unlabelled together.
    #[arg(long, default_value_t = 60_000)]
    rows: usize,
    /// Observed classes.
    #[arg(long, default_value_t = 5)]
    classes: usize,
    /// Bootstrap replicates.
    #[arg(long, default_value_t = 1000)]
    replicates: usize,
    /// Rounds; ours and the peer take turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// The same estimate on the same bins: rows are drawn again within folds, shares above 200 thresholds are counted, the
/// region is where the upper Wilson limit of the ratio is least, and the square system of the regions is solved.
const PEER: &str = "import sys, time
import numpy as np
path, classes, replicates = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
table = np.fromfile(path, '<f8').reshape(-1, classes + 1)
groups = [table[table[:, 0] == g, 1:] for g in range(classes + 1)]
start = time.process_time()
rng = np.random.default_rng(1)
G, c, least = 200, 5.0, 0.1
codes = [np.empty(g.shape, np.int64) for g in groups]
for j in range(classes):
    own = np.sort(groups[j][:, j])
    thresholds = own[np.arange(G) * len(own) // G]
    for g, rows in enumerate(groups):
        codes[g][:, j] = np.searchsorted(thresholds, rows[:, j], 'right') + j * (G + 1)
folds = [[np.arange(f, len(g), 3) for f in range(3)] for g in groups]
def wilson(p, n):
    s = c * c / n
    half = c * np.sqrt(p * (1 - p) / n + s / n / 4)
    return (p + s / 2 - half) / (1 + s), (p + s / 2 + half) / (1 + s)
def point(counted):
    above = []
    for g, rows in enumerate(counted):
        bins = np.bincount(rows.ravel(), minlength=classes * (G + 1)).reshape(classes, G + 1)
        above.append(bins[:, :0:-1].cumsum(1)[:, ::-1] / len(rows))
    A, b = np.empty((classes, classes)), np.empty(classes)
    for j in range(classes):
        own, pool = above[j][j], above[classes][j]
        _, high = wilson(pool, len(counted[classes]))
        low, _ = wilson(own, len(counted[j]))
        ratio = np.where(own >= least, high / low, np.inf)
        t = ratio.argmin()
        A[j] = [above[i][j][t] for i in range(classes)]
        b[j] = pool[t]
    return np.linalg.solve(A, b)
estimate = point(codes)
drawn = []
for _ in range(replicates):
    counted = []
    for g in range(classes + 1):
        picks = [f[rng.integers(0, len(f), len(f))] for f in folds[g]]
        counted.append(codes[g][np.concatenate(picks)])
    drawn.append(point(counted)[0])
print('seconds', time.process_time() - start)
print('estimate', estimate[0])
print('mean', np.mean(drawn))
print('deviation', np.std(drawn))
";

pub(crate) fn run(root: &Path, args: &Prior) -> Result<()> {
    ensure!(
        args.classes > 0
            && args.replicates > 1
            && args.rounds > 0
            && args.rows >= 100 * args.classes,
        "classes and rounds must be at least 1, replicates at least 2, rows at least 100 a class"
    );
    let folder = folder(root)?;
    let table = folder.join(format!("margins-{}x{}.f64", args.rows, args.classes));
    write_margins(&table, args.rows, args.classes)?;
    let ours = built(root, "mpu-prior", Target::Example("bootstrap"))?;
    let python = available("NumPy", python_with(&folder, &["numpy"]));
    let sizes = [args.classes.to_string(), args.replicates.to_string()];
    let (mut mine, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        let text = output(Command::new(&ours).arg(&table).args(&sizes))?;
        let seconds = number(&text, "seconds")? / args.classes as f64;
        mine.push(seconds);
        let Some(python) = &python else { continue };
        let mut peer = Command::new(python);
        peer.args(["-c", PEER]).arg(&table).args(&sizes);
        // One thread each.
        peer.env("OMP_NUM_THREADS", "1");
        let peer = output(peer.env("OPENBLAS_NUM_THREADS", "1"))?;
        check_same(&text, &peer)?;
        let other = number(&peer, "seconds")? / args.classes as f64;
        theirs.push(other);
        ratios.push(other / seconds);
    }
    println!("Machine: {}.", machine());
    println!(
        "{} rows, {} observed classes, {} replicates, {} rounds, medians, one thread",
        args.rows, args.classes, args.replicates, args.rounds
    );
    println!("ours: {:.3} CPU seconds per class", median(&mut mine));
    if !ratios.is_empty() {
        println!("NumPy: {:.3} CPU seconds per class", median(&mut theirs));
        println!(
            "speed: {:.1} x NumPy (same estimate; mean and deviation of the replicates agree)",
            median(&mut ratios)
        );
    }
    Ok(())
}

/// Both estimated the same prior, and their replicates spread alike.
fn check_same(ours: &str, peer: &str) -> Result<()> {
    let both = |key| Ok::<_, anyhow::Error>((number(ours, key)?, number(peer, key)?));
    let (a, b) = both("estimate")?;
    ensure!((a - b).abs() < 1e-6, "estimates differ: {a} and {b}");
    let (spread, other) = both("deviation")?;
    let (a, b) = both("mean")?;
    ensure!(
        (a - b).abs() < 0.3 * spread && (0.8..1.25).contains(&(spread / other)),
        "replicates differ: {a} ± {spread} and {b} ± {other}"
    );
    Ok(())
}

/// Margins of classes that overlap a little, half of the rows in the pool: a group number, then its margins.
fn write_margins(path: &Path, rows: usize, classes: usize) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(writing)?);
    let mut next = generator();
    // A bell from four uniform numbers.
    let mut bell = || {
        let mut sum = -2.0;
        for _ in 0..4 {
            sum += (next() >> 11) as f64 / (1_u64 << 53) as f64;
        }
        sum * 3.0_f64.sqrt()
    };
    for row in 0..rows {
        // Rows of even number are labelled; the pool has half of its rows from no observed class.
        let (group, class) = match row % 2 {
            0 => (row / 2 % classes, row / 2 % classes),
            _ => (classes, row / 2 % (2 * classes)),
        };
        file.write_all(&(group as f64).to_le_bytes())
            .with_context(writing)?;
        for margin in 0..classes {
            let center = if margin == class { 3.0 } else { -1.0 };
            let value: f64 = center + bell();
            file.write_all(&value.to_le_bytes()).with_context(writing)?;
        }
    }
    file.flush().with_context(writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_rows_and_groups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("margins.f64");
        write_margins(&path, 12, 2).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 12 * 3 * 8);
        let group = |row: usize| f64::from_le_bytes(bytes[row * 24..][..8].try_into().unwrap());
        let groups: Vec<f64> = (0..4).map(group).collect();
        assert_eq!(groups, [0.0, 2.0, 1.0, 2.0]);
    }

    #[test]
    fn only_equal_work_is_compared() {
        let text = |estimate: f64, mean: f64, deviation: f64| {
            format!("estimate {estimate}\nmean {mean}\ndeviation {deviation}\n")
        };
        let ours = text(0.1, 0.1, 0.003);
        assert!(check_same(&ours, &text(0.1, 0.1005, 0.0031)).is_ok());
        assert!(check_same(&ours, &text(0.101, 0.1, 0.003)).is_err());
        assert!(check_same(&ours, &text(0.1, 0.102, 0.003)).is_err());
        assert!(check_same(&ours, &text(0.1, 0.1, 0.03)).is_err());
    }
}
