//! Loading a large CSV: our reader beside `pandas.read_csv`.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Target, available, built, folder, generator, median, number, output, python_with};

/// The table to measure with, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Size {
    /// Rows of the table.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) rows: usize,
    /// Columns of numbers.
    #[arg(long, default_value_t = 50)]
    pub(super) columns: usize,
    /// Rounds; ours and the peer take turns.
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
}

impl Size {
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.rows > 0 && self.columns > 0 && self.rounds > 0,
            "rows, columns and rounds must be at least 1"
        );
        Ok(())
    }

    /// A table of so many rows, written if it is not there.
    pub(super) fn table(&self, folder: &Path, rows: usize) -> Result<PathBuf> {
        let path = folder.join(format!("{rows}x{}.csv", self.columns));
        if !path.exists() {
            eprintln!("writing {}", path.display());
            write_table(&path, rows, self.columns)?;
        }
        Ok(path)
    }
}

const PEER: &str = "import sys, time, resource
import pandas
names = {f'c{i}': 'float32' for i in range(int(sys.argv[2]))}
start = time.perf_counter()
table = pandas.read_csv(sys.argv[1], dtype=names)
matrix = table[list(names)].to_numpy('float32')
print('seconds', time.perf_counter() - start)
print('sum', float(matrix.sum(dtype='float64')))
print('rows', len(table))
print('peak-mb', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
";

pub(crate) fn run(root: &Path, args: &Size) -> Result<()> {
    args.check()?;
    let folder = folder(root)?;
    let table = args.table(&folder, args.rows)?;
    let ours = built(root, "mpu-data", Target::Example("load_csv"))?;
    let python = available("pandas", python_with(&folder, &["pandas"]));
    let (mut mine, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}", args.rounds);
        let text = output(Command::new(&ours).arg(&table).arg("label"))?;
        ensure!(
            number(&text, "rows")? as usize == args.rows,
            "our reader lost rows"
        );
        let seconds = number(&text, "seconds")?;
        mine.push(number(&text, "peak-over-matrix")?);
        let Some(python) = &python else { continue };
        let mut peer = Command::new(python);
        peer.args(["-c", PEER]).arg(&table);
        let peer = output(peer.arg(args.columns.to_string()))?;
        let (sum, theirs) = (number(&text, "sum")?, number(&peer, "sum")?);
        ensure!(
            (sum - theirs).abs() <= 1e-3 * theirs.abs().max(1.0),
            "sums differ: {sum} and {theirs}"
        );
        ratios.push(number(&peer, "seconds")? / seconds);
        let matrix = (args.rows * args.columns * 4) as f64 / 1e6;
        peers.push(number(&peer, "peak-mb")? / matrix);
    }
    println!(
        "table: {} rows x {} columns, {} rounds, medians",
        args.rows, args.columns, args.rounds
    );
    println!(
        "peak memory, ours: {:.2} x the f32 matrix",
        median(&mut mine)
    );
    if !ratios.is_empty() {
        println!(
            "peak memory, pandas: {:.2} x the f32 matrix",
            median(&mut peers)
        );
        println!(
            "speed: {:.2} x pandas.read_csv to float32 (same sum of all values)",
            median(&mut ratios)
        );
    }
    Ok(())
}

/// Numbers of six digits from a fixed generator, and a label that is blank in half of the rows.
fn write_table(path: &Path, rows: usize, columns: usize) -> Result<()> {
    let beside = path.with_extension("part");
    let writing = || format!("writing {}", beside.display());
    let mut file = BufWriter::new(File::create(&beside).with_context(writing)?);
    for column in 0..columns {
        write!(file, "c{column},").with_context(writing)?;
    }
    writeln!(file, "label").with_context(writing)?;
    let mut next = generator();
    for row in 0..rows {
        for _ in 0..columns {
            let value = (next() >> 40) as f64 / f64::from(1 << 24) * 20.0 - 10.0;
            write!(file, "{value:.5},").with_context(writing)?;
        }
        let label = ["a", "", "b", ""][row % 4];
        writeln!(file, "{label}").with_context(writing)?;
    }
    file.into_inner()
        .context("writing the table")?
        .sync_all()
        .with_context(writing)?;
    fs::rename(&beside, path).with_context(|| format!("renaming to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_rows_columns_and_labels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.csv");
        write_table(&path, 4, 3).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "c0,c1,c2,label");
        assert_eq!(lines.len(), 5);
        assert!(lines[1].ends_with(",a") && lines[2].ends_with(',') && lines[3].ends_with(",b"));
        assert!(lines.iter().all(|line| line.split(',').count() == 4));
    }
}
